package inspect

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// entryOf returns what a document enters into a rule. Entries made from derived members are kept, like the value of a
// copy, because documents can lead to one another in very many ways.
func (c *checker) entryOf(r *fold.Rule, row *sqlite.Row) (fold.RuleEntry, error) {
	d := fold.EntrantOf(row)
	if !r.EntersDerived {
		return r.EntryOf(jsondoc.MustParse(row.ReferencedText()), d, nil), nil
	}
	key := copyKey{r, row.Key.ID}
	text, known := c.copies[key]
	if !known {
		var err error
		if text, known, err = c.sc.Value(r.FullName, row.Key.ID); err != nil {
			return fold.RuleEntry{}, err
		}
	}
	if known {
		return entryFrom(r, text)
	}
	body, _, err := c.expected(row, r.Level)
	if err != nil {
		return fold.RuleEntry{}, err
	}
	e := r.EntryOf(jsondoc.MustParse(body), d, nil)
	return e, c.keepCopy(key, entryText(r, e))
}

// entryText returns an entry of a rule as entryFrom reads it; nil for a document that is not included. It is never empty, for
// the entries of some rules have no sort key.
func entryText(r *fold.Rule, e fold.RuleEntry) []byte {
	switch {
	case !e.Included:
		return nil
	case r.KeepsTotals():
		return []byte(strconv.FormatInt(e.Count, 10) + " " + e.Number.String())
	}
	return hex.AppendEncode([]byte("="), e.SortKey)
}

// entryFrom returns the entry that entryText gave the text of. The error says that it did not.
func entryFrom(r *fold.Rule, text []byte) (e fold.RuleEntry, err error) {
	switch {
	case text == nil:
		return e, nil
	case r.KeepsTotals():
		count, number, _ := strings.Cut(string(text), " ")
		if e.Count, err = strconv.ParseInt(count, 10, 64); err == nil {
			e.Number, err = decimal.ParseExact(number)
		}
	default:
		e.SortKey, err = hex.AppendDecode(nil, bytes.TrimPrefix(text, []byte("=")))
	}
	e.Included = true
	return e, err
}
