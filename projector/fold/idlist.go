package fold

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// A list of ids changes because one document comes into it or goes. The other ids are in the list that the target shows, so that their
// documents need not be read.

// idList is an IDs rule's value on a document.
type idList struct {
	rule *Rule // nil for none
	raw  []byte
	same bool // as in Values
}

// ids returns the document's value of an IDs rule. The list and the member beside it ask for it one after the other.
func (v *changedValues) ids(r *Rule) (raw []byte, same bool, err error) {
	if v.idList.rule != r {
		raw, same, err := v.changedIDs(r)
		if err != nil {
			return nil, false, err
		}
		v.idList = idList{r, raw, same}
	}
	return v.idList.raw, v.idList.same, nil
}

// changedIDs returns the document's value of an IDs rule, from what the stored view shows where it shows a list.
func (v *changedValues) changedIDs(r *Rule) (raw []byte, same bool, err error) {
	t, m := &v.f.view, v.level.counted[r][v.row.Key.ID] // of v.row.Body
	shown := r.Path.Lookup(t, jsondoc.Root)
	if m.recount || v.row.Omitted != nil || t.Kind(shown) != jsondoc.Array {
		raw, err = v.f.values.ids(r, v.row.Key.ID)
		return raw, false, err
	}
	cut := r.truncated.Lookup(t, jsondoc.Root) != jsondoc.None
	if m.delta > 0 && v.f.creates {
		if cut {
			return nil, true, nil
		}
		return appendID(r, t, shown, v.f.event.Key.ID), false, nil
	}
	return v.idsAround(r, t, shown, m.delta)
}

// appendID returns the value of an IDs rule that shows a whole list, with one id more at its end.
func appendID(r *Rule, t *jsondoc.Tree, shown jsondoc.Node, id string) []byte {
	n := 0
	for c := t.First(shown); c != jsondoc.None; c = t.Next(c) {
		n++
	}
	list := t.Raw(shown)
	out := make([]byte, 0, len(list)+len(id)+8)
	if n >= r.Limit {
		return appendTruncated(append(out, list...), true)
	}
	out = append(out, list[:len(list)-1]...)
	if n > 0 {
		out = append(out, ',')
	}
	return append(jsondoc.AppendQuote(out, id), ']')
}

// idsAround returns the value of an IDs rule that shows a list when the event's document enters the middle of the list or leaves it.
func (v *changedValues) idsAround(r *Rule, t *jsondoc.Tree, shown jsondoc.Node, delta int64) (raw []byte, same bool, err error) {
	numbers, _, err := v.f.holders.some(r.RelationName, v.row.Key.ID, r.Limit+1)
	if err != nil {
		return nil, false, err
	}
	cut := len(numbers) > r.Limit
	numbers = numbers[:min(len(numbers), r.Limit)]
	var ids [][]byte
	own := jsondoc.AppendQuote(nil, v.f.event.Key.ID)
	for c := t.First(shown); c != jsondoc.None; c = t.Next(c) {
		if id := t.Raw(c); !bytes.Equal(id, own) {
			ids = append(ids, id)
		}
	}
	if i := slices.Index(numbers, v.f.direct); delta > 0 && i >= 0 {
		ids = slices.Insert(ids, min(i, len(ids)), own)
	}
	ids = ids[:min(len(ids), len(numbers))]
	for _, number := range numbers[len(ids):] { // the one that came after the last
		id, err := v.f.tx.Documents.IDOf(number)
		if err != nil {
			return nil, false, err
		}
		if id != "" {
			ids = append(ids, jsondoc.AppendQuote(nil, id))
		}
	}
	out := append(append([]byte{'['}, bytes.Join(ids, []byte{','})...), ']')
	return appendTruncated(out, cut), false, nil
}

// ids returns an IDs rule's value on target.
func (v *values) ids(r *Rule, target string) ([]byte, error) {
	numbers, _, err := v.holders.some(r.RelationName, target, r.Limit+1)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, number := range numbers[:min(len(numbers), r.Limit+1)] {
		id, err := v.tx.Documents.IDOf(number)
		if err != nil {
			return nil, err
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	return IDList(ids, r.Limit), nil
}

// truncatedPath returns the path of the member that says that an IDs rule's list is cut off, nil for another rule.
func truncatedPath(r *model.Rule) model.Path {
	if r.Kind != model.IDs {
		return nil
	}
	return r.OwnedPaths()[1]
}
