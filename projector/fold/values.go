package fold

import (
	"errors"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// copied answers what a copy rule's expression gives for one id; raw nil is "no value".
type copied func(r *Rule, id string) (raw []byte, err error)

// copyValue is a copy rule's value below anchor: of the id beside it, or a list with one entry
// an id, null where that id has no value, absent where none has.
func CopyValue(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node, get copied) ([]byte, error) {
	path := r.Relation.Path[r.Base:]
	if !r.List() {
		id, ok := soleID(t, anchor, path)
		if !ok {
			return nil, nil
		}
		return get(r, id)
	}
	out, some := []byte{'['}, false
	for i, id := range path.AppendIDs(nil, t, anchor) {
		if i > 0 {
			out = append(out, ',')
		}
		raw, err := get(r, id)
		if err != nil {
			return nil, err
		}
		if raw == nil {
			raw = []byte("null")
		} else {
			some = true
		}
		out = append(out, raw...)
	}
	if !some {
		return nil, nil
	}
	return append(out, ']'), nil
}

// soleID returns the id at the end of a path without arrays; ok is false where there is none.
func soleID(t *jsondoc.Tree, n jsondoc.Node, path fanfold.Path) (id string, ok bool) {
	if n = path.Lookup(t, n); n == jsondoc.None {
		return "", false
	}
	id = t.Text(n)
	return id, id != "" && len(id) <= fanfold.MaxIDLen
}

// evaluate runs a copy's expression on a target's embedded view. Errors other than a missing
// member leave the field absent too, but are reported.
func (r *Rule) Evaluate(body []byte, id string, reporter Reporter) []byte {
	raw, err := r.value.Eval(jsondoc.MustParse(body))
	if err == nil {
		return raw
	}
	if !errors.Is(err, expr.ErrNoValue) {
		r.failed(reporter, fanfold.Key{Collection: r.Relation.To, ID: id}, err)
	}
	return nil
}

// failed tells the reporter, where there is one.
func (r *Rule) failed(reporter Reporter, key fanfold.Key, err error) {
	if reporter != nil {
		reporter.RuleFailed(r.FullName, key, err)
	}
}

// Includes tells whether the count's condition holds for a child, given its referenced view.
func (r *Rule) Includes(t *jsondoc.Tree, key fanfold.Key, reporter Reporter) bool {
	if r.where == nil {
		return true
	}
	ok, err := r.where.Matches(t)
	if err != nil {
		r.failed(reporter, key, err)
	}
	return ok
}

// idList is an IDs rule's value, of up to Limit+1 ids.
func IDList(ids []string, limit int) []byte {
	cut := len(ids) > limit
	if cut {
		ids = ids[:limit]
	}
	out := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsondoc.AppendQuote(out, id)
	}
	return appendTruncated(append(out, ']'), cut)
}

// fresh gives every derived value of one document anew, from the rows as they are. Counts and
// id lists that old holds stay as they are: what changes them is marked as work.
type currentValues struct {
	f      *Fold
	id     string
	holder int64
	old    *jsondoc.Tree // nil for none
}

func (v *currentValues) Value(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case r.Kind == fanfold.Copy:
		raw, err = CopyValue(r, t, anchor, func(r *Rule, id string) ([]byte, error) { return v.f.copyOf(r, id, v.holder) })
		return raw, false, err
	case v.old != nil && r.Path.Lookup(v.old, jsondoc.Root) != jsondoc.None:
		return nil, true, nil
	default:
		raw, err = v.f.aggregateOf(r, v.id)
	}
	return raw, false, err
}

// counted is the value on a target of a rule about the documents that refer to it.
func (f *Fold) aggregateOf(r *Rule, target string) ([]byte, error) {
	switch r.Kind {
	case fanfold.Count:
		return f.count(r, target)
	case fanfold.IDs:
		return f.ids(r, target)
	}
	return r.aggregate(f.tx, target)
}

// copied is the value of a copy for one id: the target's, or the one kept from it.
func (f *Fold) copyOf(r *Rule, id string, holder int64) ([]byte, error) {
	if r.Frozen {
		return f.tx.Kept(r.FullName, id, holder)
	}
	if raw, ok := f.cache.get(r, id); ok { // also that a target which is there gives no value
		return raw, nil
	}
	body, err := f.body(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err != nil {
		return nil, err
	}
	if body == nil {
		if r.Relation.OnDelete == fanfold.Keep {
			return f.tx.Kept(r.FullName, id, holder)
		}
		return nil, nil
	}
	raw := r.Evaluate(body, id, f.opt.Reporter)
	f.cache.put(r, id, raw)
	return raw, nil
}

// count recomputes a count from the links.
func (f *Fold) count(r *Rule, target string) ([]byte, error) {
	if r.where == nil {
		n, err := f.tx.CountHolders(r.RelationName, target, -1)
		return strconv.AppendInt(nil, n, 10), err
	}
	holders, err := f.tx.Holders(nil, r.RelationName, target, -1)
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, number := range holders {
		row, err := f.tx.ByNumber(number)
		if err != nil {
			return nil, err
		}
		if row == nil {
			continue // the document being created: it enters the count once it is there
		}
		if r.Includes(jsondoc.MustParse(row.Source()), row.Key, f.opt.Reporter) {
			n++
		}
	}
	return strconv.AppendInt(nil, n, 10), nil
}

func (f *Fold) ids(r *Rule, target string) ([]byte, error) {
	ids, err := f.tx.HolderIDs(r.RelationName, target, r.Limit+1)
	return IDList(ids, r.Limit), err
}

// updated gives new values for copies of changed targets and for changed counts and id lists;
// everything else is as before.
type changedValues struct {
	f    *Fold
	row  *sqlite.Row
	work *level
}

func (v *changedValues) dirty(r *Rule) bool {
	if v.work.every[r] || r.Kind == fanfold.Copy && len(v.work.targets[r]) > 0 || v.captures(r) {
		return true
	}
	if r.Kind == fanfold.Copy {
		return false
	}
	_, counted := v.work.counted[r][v.row.Key.ID]
	return counted
}

func (v *changedValues) captures(r *Rule) bool {
	return v.work.capture[r] && v.row.Number == v.f.direct
}

func (v *changedValues) Value(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case !v.dirty(r):
		return nil, true, nil
	case v.work.every[r] || v.captures(r):
		return (&currentValues{f: v.f, id: v.row.Key.ID, holder: v.row.Number}).Value(r, t, anchor)
	case r.Kind == fanfold.Count:
		raw, err = v.count(r)
		return raw, false, err
	case r.Kind != fanfold.Copy:
		raw, err = v.f.aggregateOf(r, v.row.Key.ID)
		return raw, false, err
	}
	changed := v.work.targets[r]
	path := r.Relation.Path[r.Base:]
	hit := func(id string) bool { _, ok := changed[id]; return ok }
	if r.List() {
		if !slices.ContainsFunc(path.AppendIDs(nil, t, anchor), hit) {
			return nil, true, nil
		}
	} else if id, ok := soleID(t, anchor, path); !ok || !hit(id) {
		return nil, true, nil
	}
	raw, err = CopyValue(r, t, anchor, func(r *Rule, id string) ([]byte, error) { return v.f.copyOf(r, id, v.row.Number) })
	return raw, false, err
}

// count adds the event's difference to the count in the stored view, so that a count costs
// the same however many there are to count.
func (v *changedValues) count(r *Rule) ([]byte, error) {
	change := v.work.counted[r][v.row.Key.ID]
	t := &v.f.view // of v.row.Body
	before, err := strconv.ParseInt(t.Text(r.Path.Lookup(t, jsondoc.Root)), 10, 64)
	if err != nil || change.recount {
		return v.f.count(r, v.row.Key.ID)
	}
	return strconv.AppendInt(nil, before+change.delta, 10), nil
}
