package changefeed

import (
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// appendRow appends a change as JSON. With all it includes the previous value and the patch.
func appendRow(dst []byte, row fanfold.ChangeRow, all bool) []byte {
	dst = append(dst, `{"seq":"`+row.Position.String()+`","collection":"`+row.Key.Collection+`","id":`...)
	dst = jsondoc.AppendQuote(dst, row.Key.ID)
	dst = append(dst, `,"op":"`+string(row.Op)+`","rev":`...)
	dst = strconv.AppendUint(dst, uint64(row.Revision), 10)
	dst = append(dst, `,"time":"`...)
	dst = row.Time.AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, '"')
	if row.Tx != "" {
		dst = jsondoc.AppendQuote(append(dst, `,"tx":`...), row.Tx)
	}
	if row.Op == fanfold.OpDerive {
		dst = appendCause(dst, row)
	}
	if all && len(row.Previous) > 0 {
		dst = append(append(dst, `,"previous":`...), row.Previous...)
	}
	if all && len(row.Delta) > 0 {
		dst = append(append(dst, `,"patch":`...), row.Delta...)
	}
	if row.Omitted != nil {
		dst = append(append(dst, `,"omitted":`...), row.Omitted...)
	}
	if row.Doc != nil {
		dst = append(append(dst, `,"doc":`...), row.Doc.WithMeta()...)
	}
	return append(dst, '}')
}

// appendCause appends the write that a derived change follows from, and the rule. Where several
// rules changed the document at once, the member rules lists all of them.
func appendCause(dst []byte, row fanfold.ChangeRow) []byte {
	dst = append(dst, `,"cause":{"seq":"`+fanfold.At(row.Position.Seq(), 0).String()+`"`...)
	if row.Cause != nil {
		dst = append(dst, `,"collection":"`+row.Cause.Collection+`","id":`...)
		dst = jsondoc.AppendQuote(dst, row.Cause.ID)
	}
	for i, rule := range row.Rules {
		switch i {
		case 0:
			dst = jsondoc.AppendQuote(append(dst, `,"rule":`...), rule)
			if len(row.Rules) == 1 {
				continue
			}
			dst = jsondoc.AppendQuote(append(dst, `,"rules":[`...), rule)
		default:
			dst = jsondoc.AppendQuote(append(dst, ','), rule)
		}
		if i == len(row.Rules)-1 {
			dst = append(dst, ']')
		}
	}
	return append(dst, '}')
}
