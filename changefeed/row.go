package changefeed

import (
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sending"
)

// addRow adds a change as JSON, with the positions that issuer gives out. For all changes it includes the previous
// value and the patch, and for administrators who sent the request. Of a document that leaves it says nothing but that, and one that enters has no value before.
func addRow(out *sending.Buffer, row fanfold.ChangeRow, issuer fanfold.Issuer, req *request) {
	if row.Hides {
		out.Add(append(appendKey(make([]byte, 0, 128), row, issuer), `,"op":"`+string(fanfold.OpLeave)+`"}`...))
		return
	}
	all := req.AllChanges && !row.Enters
	head := appendHead(make([]byte, 0, 256), row, issuer)
	if req.actors && row.Actor != "" {
		head = jsondoc.AppendQuote(append(head, `,"actor":`...), row.Actor)
	}
	out.Add(head)
	if row.Leaves {
		out.AddString("}")
		return
	}
	if all && len(row.Previous) > 0 {
		out.AddString(`,"previous":`)
		out.Add(row.Previous)
	}
	if all && len(row.Delta) > 0 {
		out.AddString(`,"patch":`)
		out.Add(row.Delta)
	}
	if row.Omitted != nil {
		out.AddString(`,"omitted":`)
		out.Add(row.Omitted)
	}
	if row.Doc != nil {
		out.AddString(`,"doc":`)
		separator := out.AddOpenObject(row.Doc.Body)
		out.AddString(separator + `"_meta":` + string(row.Doc.Meta(issuer.Unmarked())) + "}")
	}
	out.AddString("}")
}

// AddVersion adds a change of a document's history as JSON: what the feed says of it, the patch, and the document where it was asked
// for. actors tells that the reader is an administrator, who is told who sent the request.
func AddVersion(out *sending.Buffer, v fanfold.Version, issuer fanfold.Issuer, actors bool) {
	row := v.ChangeRow
	change := *row.Change
	change.Previous, change.Delta = nil, v.Patch
	row.Change = &change
	addRow(out, row, issuer, &request{Query: Query{Selection: Selection{AllChanges: true}}, actors: actors})
}

// appendHead appends what a change is, without the documents and without the object's end.
func appendHead(head []byte, row fanfold.ChangeRow, issuer fanfold.Issuer) []byte {
	head = appendKey(head, row, issuer)
	op := row.Op
	switch {
	case row.Leaves:
		op = fanfold.OpLeave
	case row.Enters:
		op = fanfold.OpEnter
	}
	head = append(head, `,"op":"`+string(op)+`","rev":`...)
	head = strconv.AppendUint(head, uint64(row.Revision), 10)
	head = append(head, `,"time":"`...)
	head = row.Time.AppendFormat(head, time.RFC3339Nano)
	head = append(head, '"')
	if row.Tx != "" {
		head = jsondoc.AppendQuote(append(head, `,"tx":`...), row.Tx)
	}
	if row.Call != "" {
		head = jsondoc.AppendQuote(append(head, `,"call":`...), row.Call)
	}
	if by := row.ByDelete; by != nil {
		at := fanfold.Position(0)
		if by.Seq != 0 {
			at = fanfold.At(by.Seq, 0)
		}
		key := &by.Key
		if by.Key == (fanfold.Key{}) { // the consumer may not know it
			key = nil
		}
		return appendCause(head, issuer, at, key, by.Relations)
	}
	if row.Within {
		head = append(head, `,"within":true`...)
	}
	if row.Op == fanfold.OpDerive {
		head = appendCause(head, issuer, fanfold.At(row.Position.Seq(), 0), row.Cause, row.Rules)
	}
	return head
}

// appendKey appends which document a row is about, and where it stands.
func appendKey(head []byte, row fanfold.ChangeRow, issuer fanfold.Issuer) []byte {
	head = append(head, `{"seq":"`...)
	head = issuer.Mark(row.Position).Append(head)
	head = append(head, `","collection":"`+row.Key.Collection+`","id":`...)
	return jsondoc.AppendQuote(head, row.Key.ID)
}

// appendCause appends the write that a derived change follows from, or the delete that another write does, and by which rule
// or relation. If there are several, the member rules lists all of them. at is 0 where the delete was still to come.
func appendCause(dst []byte, issuer fanfold.Issuer, at fanfold.Position, key *fanfold.Key, rules []string) []byte {
	dst = append(dst, `,"cause":{`...)
	begin := len(dst)
	if at != 0 {
		dst = append(issuer.Mark(at).Append(append(dst, `"seq":"`...)), `",`...)
	}
	if key != nil {
		dst = append(dst, `"collection":"`+key.Collection+`","id":`...)
		dst = append(jsondoc.AppendQuote(dst, key.ID), ',')
	}
	for i, rule := range rules {
		switch i {
		case 0:
			dst = append(jsondoc.AppendQuote(append(dst, `"rule":`...), rule), ',')
			if len(rules) == 1 {
				continue
			}
			dst = jsondoc.AppendQuote(append(dst, `"rules":[`...), rule)
		default:
			dst = jsondoc.AppendQuote(append(dst, ','), rule)
		}
		if i == len(rules)-1 {
			dst = append(dst, "],"...)
		}
	}
	if len(dst) > begin {
		dst = dst[:len(dst)-1] // the last comma
	}
	return append(dst, '}')
}
