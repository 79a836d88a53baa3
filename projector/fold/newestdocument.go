package fold

import (
	"bytes"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// A Recent by creation changes mostly because a document comes. The new document is then its first element. The list that
// the target shows has the others, so no other document is read.

// newestDocument is the document that the event creates.
type newestDocument struct {
	body []byte // its embedded view so far; nil where the event creates none
	t    jsondoc.Tree
	read bool // t has read body
}

// set sets the embedded view of the document, which must not change from then on.
func (d *newestDocument) set(body []byte) { d.body, d.read = body, false }

// tree returns the parsed view.
func (d *newestDocument) tree() *jsondoc.Tree {
	if !d.read {
		d.t.Reset(d.body)
		d.read = true
	}
	return &d.t
}

// isNewest returns whether the document is the newest of a Recent on target: the Recent is by creation, and the event
// creates the document. A document that refers to itself is not taken for it.
func (f *folding) isNewest(r *Rule, number int64, key fanfold.Key, target string) bool {
	return f.creates && number == f.direct && r.Kind == model.Recent && !r.KeepsOrder() && (key.Collection != r.Collection || key.ID != target)
}

// aggregate returns the document's value of a rule about the documents that refer to it. If the event only added one
// document, the value is made from that and from the stored view.
func (v *changedValues) aggregate(r *Rule) ([]byte, error) {
	t := &v.f.view // of v.row.Body
	shown, m := r.Path.Lookup(t, jsondoc.Root), v.level.counted[r][v.row.Key.ID]
	switch {
	case m.newest && t.Kind(shown) == jsondoc.Array && v.f.values.newest.body != nil:
		return v.f.values.newestFirst(r, t, shown)
	case m.entered != nil && t.Kind(shown) == jsondoc.Number && (r.Kind == model.Min || r.Kind == model.Max):
		return extremeWith(r, t.Raw(shown), m.entered)
	}
	return v.f.values.ofHolders(r, v.row.Key.ID)
}

// extremeWith returns the value of a Min or Max that gave shown, and into which a sort key came.
func extremeWith(r *Rule, shown, entered []byte) ([]byte, error) {
	d, err := decimal.ParseExact(string(shown))
	if err != nil {
		return nil, err
	}
	if order := bytes.Compare(entered, sortkey.AppendNumber(nil, d)); r.Kind == model.Min && order >= 0 || r.Kind == model.Max && order <= 0 {
		return shown, nil
	}
	return ExtremeValue(entered, nil)
}

// newestFirst returns a Recent's value: the document that the event creates, followed by the documents that a view shows.
func (v *values) newestFirst(r *Rule, t *jsondoc.Tree, shown jsondoc.Node) ([]byte, error) {
	list := NewExcerpts(r)
	if err := list.add(v.newest.tree()); err != nil {
		return nil, err
	}
	if err := list.addShown(t, shown); err != nil {
		return nil, err
	}
	return list.Value(), nil
}

// addShown adds elements of the rule's value in a view, as many as there is room for.
func (e *Excerpts) addShown(t *jsondoc.Tree, shown jsondoc.Node) error {
	n := t.First(shown)
	for i := 1; i < e.rule.Limit && n != jsondoc.None; i++ {
		if e.out = append(append(e.out, ','), t.Raw(n)...); len(e.out) > e.rule.viewLimit {
			return errPastLimit
		}
		n = t.Next(n)
	}
	return nil
}
