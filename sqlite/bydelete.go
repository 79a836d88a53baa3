package sqlite

import (
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// The writes that a delete brings with it by its policies have a form, as derived changes have. In place of rules it names
// relations, and in place of a patch the deleted document. So a delete with a thousand writes is named once for each relation.

// formOfDelete returns the form of the changes that a delete brings with it by the same relations, as a value to bind; NULL
// where there is none.
func (w *changeWriter) formOfDelete(by *fanfold.ByDelete) (driver.Value, error) {
	if by == nil {
		return nil, nil
	}
	named := append([]byte(`{"collection":"`), by.Key.Collection+`","id":`...)
	named = jsondoc.AppendQuote(named, by.Key.ID)
	named = strconv.AppendUint(append(named, `,"seq":`...), by.Seq, 10)
	return w.formOf(by.Relations, append(named, '}'))
}

// readByDelete returns the delete that a form names.
func readByDelete(relations, named string) *fanfold.ByDelete {
	t := jsondoc.MustParse([]byte(named))
	seq, _ := strconv.ParseUint(t.Text(t.Member(jsondoc.Root, "seq")), 10, 64) // as formOfDelete has written it
	return &fanfold.ByDelete{Seq: seq, Relations: strings.Split(relations, ","),
		Key: fanfold.Key{Collection: t.Text(t.Member(jsondoc.Root, "collection")), ID: t.Text(t.Member(jsondoc.Root, "id"))}}
}
