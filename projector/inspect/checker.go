package inspect

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// checker recomputes embedded views the slow way, on one snapshot: every derived value from the referenced views, none
// from what is stored. With a scope it takes what that leaves out from what is stored.
type checker struct {
	ctx              context.Context
	sc               *sqlite.Scanner
	plan             *fold.Plan
	copies           map[copyKey][]byte // values of copies, and entries, that were computed; others are in a temporary file
	size             int                // of copies, in bytes
	longValueLengths map[copyKey]int    // of values in the temporary file that are long, in bytes
	last             lastView
	change           *fold.ModelChange // to the plan, that is yet to come; nil where the plan applies
	scope            *fold.Scope       // what change concerns; nil for everything
	linkIndexOf      map[string]bool   // full names of the relations of the private link index; nil for all
	work             *workCount
	tally            *tally // counts what copies find; nil where nobody asks
	contributions    contributionCache
}

// copyKey names the value of a copy rule for one target, or what one document enters into a rule.
type copyKey struct {
	rule *fold.Rule
	id   string
}

// lastView is the view that expected returned last, which two rules that read one document ask for in a row.
type lastView struct {
	number        int64
	level         int
	body, omitted []byte
}

// Bounds of the values of copies that are held in memory. Every one that is computed is kept, for documents can lead to
// one another in very many ways.
const (
	maxCopies     = 200_000
	maxCopiesSize = 32 << 20 // bytes
	maxCopySize   = 16 << 10 // of one
)

// newChecker returns a checker of the snapshot under a plan, whose progress is told.
func newChecker(ctx context.Context, sc *sqlite.Scanner, pl *fold.Plan, progress fanfold.Progress) *checker {
	return &checker{ctx: ctx, sc: sc, plan: pl, copies: map[copyKey][]byte{}, longValueLengths: map[copyKey]int{}, work: &workCount{progress: progress}}
}

// uniqueIndex returns the name of the private index of what is unique under a name.
func uniqueIndex(collection, name string) string { return "unique " + collection + "." + name }

// indexUnique enters the unique values of a collection's documents into their private indexes. It calls bad for what
// cannot be compared, which has no claim.
func (c *checker) indexUnique(collection string, all []*model.Unique, bad func(row *sqlite.Row, err error)) error {
	return c.eachRow([]string{collection}, func(row *sqlite.Row) error {
		t := jsondoc.MustParse(row.ReferencedText())
		for _, u := range all {
			value, err := u.Value(t)
			if err != nil {
				bad(row, err)
			}
			if value == "" {
				continue
			}
			if err := c.sc.AddLink(uniqueIndex(collection, u.Name()), value, row.Number); err != nil {
				return err
			}
		}
		return nil
	})
}

// indexLinks builds the private link index, from which everything else is computed. Links by written ids come first, then
// links by derived ones, each relation after the relations that its ids may come by. If only some relations are to be linked,
// it looks at the documents of their collections alone.
func (c *checker) indexLinks() error {
	var collections []string
	if c.linkIndexOf != nil {
		collections = c.linkIndexCollections()
	}
	if err := c.eachRow(collections, func(row *sqlite.Row) error {
		t := jsondoc.MustParse(row.ReferencedText())
		for _, r := range c.plan.Collection(row.Key.Collection).Relations {
			if r.Derived() || !c.inLinkIndex(r) {
				continue
			}
			if err := c.indexLinksOf(row.Number, t, r); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for _, r := range c.plan.DerivedRelations() {
		if !c.inLinkIndex(r) {
			continue
		}
		if err := c.eachRow([]string{r.Collection}, func(row *sqlite.Row) error {
			body, _, err := c.expected(row, r.Level)
			if err != nil {
				return err
			}
			return c.indexLinksOf(row.Number, jsondoc.MustParse(body), r)
		}); err != nil {
			return err
		}
	}
	return nil
}

// inLinkIndex returns whether a relation is in the private link index. Of others the stored links are right.
func (c *checker) inLinkIndex(r *model.Relation) bool {
	return c.linkIndexOf == nil || c.linkIndexOf[r.FullName()]
}

// linkIndexCollections returns the collections with written ids of the relations of the private link index; it is not nil.
func (c *checker) linkIndexCollections() []string {
	names := []string{}
	for _, r := range c.plan.Model.Relations() {
		if c.linkIndexOf[r.FullName()] && !r.Derived() {
			names = append(names, r.Collection)
		}
	}
	return slices.Compact(names) // they come by collection
}

// eachRow calls fn for every document of some collections, of all where these are nil, in order of creation. Its work goes
// with what these hold, however many collections there are.
func (c *checker) eachRow(collections []string, fn func(row *sqlite.Row) error) error {
	return c.sc.EachRow(collections, func(row *sqlite.Row) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		c.work.one()
		return fn(row)
	})
}

// expected returns the embedded view that the document should have, with the rules of the levels below level only, and
// how many values it has no room for. It returns the errors of the read model and the context.
func (c *checker) expected(row *sqlite.Row, level int) (body, omitted []byte, err error) {
	if err := c.ctx.Err(); err != nil {
		return nil, nil, err
	}
	if c.scope != nil && !c.scope.Collections[row.Key.Collection] {
		return row.Body, row.Omitted, nil
	}
	if l := c.last; l.body != nil && l.number == row.Number && l.level == level {
		return l.body, l.omitted, nil
	}
	old, err := c.viewSoFar(row, level)
	if err != nil {
		return nil, nil, err
	}
	values := &expectedValues{c: c, row: row, level: level}
	body, omitted, err = c.plan.View(c.plan.Collection(row.Key.Collection), values, jsondoc.MustParse(row.ReferencedText()), old)
	if err == nil && omitted != nil && c.scope != nil && !c.scope.Whole(row.Key.Collection) {
		return nil, nil, errDisplaces
	}
	c.last = lastView{row.Number, level, body, omitted}
	return body, omitted, err
}

// errDisplaces says that a view has no room for all its values, so that values outside the scope may change.
var errDisplaces = errors.New("a view has no room for all values")

// viewSoFar returns the view from which the values of a document's view are taken or found. It is the stored one if only some
// values are computed, and otherwise viewOfIDs's.
func (c *checker) viewSoFar(row *sqlite.Row, level int) (*jsondoc.Tree, error) {
	if c.scope != nil && !c.scope.Whole(row.Key.Collection) {
		return jsondoc.MustParse(row.Body), nil
	}
	return c.viewOfIDs(row, level)
}

// viewOfIDs returns the embedded view that a document should have below the last level, among those under a given one, that has
// a copy by derived ids on it. The view has these ids. It is nil where there is no such copy.
func (c *checker) viewOfIDs(row *sqlite.Row, level int) (*jsondoc.Tree, error) {
	for _, r := range slices.Backward(c.plan.Collection(row.Key.Collection).Rules) { // by level
		if r.Level < level && r.Kind == model.Copy && r.Relation.Derived() {
			body, _, err := c.expected(row, r.Level)
			if err != nil {
				return nil, err
			}
			return jsondoc.MustParse(body), nil
		}
	}
	return nil, nil
}

// expectedValues gives the values that a document should have, of the rules of the levels below level.
type expectedValues struct {
	c      *checker
	row    *sqlite.Row
	level  int
	crowds fold.Crowds
	each   map[*fold.Rule]*fold.ElementValues
}

// Value implements fold.Values.
func (v *expectedValues) Value(r *fold.Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case r.Level >= v.level:
	case v.c.scope != nil && !v.c.scope.Computes(r):
		return nil, true, nil
	case v.crowds.Crowded(r, t):
	case r.Kind == model.Copy:
		raw, err = fold.CopyValue(r, t, anchor, func(r *fold.Rule, id string) ([]byte, error) { return v.c.copyOf(r, id, v.row.Number) })
	case r.Each():
		raw, err = v.ofElement(r, t, anchor)
	case r.Kind == model.Computed:
		raw, err = v.c.compute(r, v.row)
	case r.Kind == model.Count && !r.EntersDerived:
		raw, err = v.c.count(r, v.row.Key.ID)
	case r.Kind == model.IDs:
		raw, err = v.c.ids(r, v.row.Key.ID)
	default:
		raw, err = v.c.aggregate(r, v.row.Key.ID)
	}
	return raw, false, err
}

// ofElement returns a computed member's value beside an element of the document, which a view has at a node.
func (v *expectedValues) ofElement(r *fold.Rule, t *jsondoc.Tree, element jsondoc.Node) ([]byte, error) {
	if v.each[r] == nil {
		text, err := v.c.compute(r, v.row)
		if err != nil {
			return nil, err
		}
		if v.each == nil {
			v.each = map[*fold.Rule]*fold.ElementValues{}
		}
		v.each[r] = fold.NewElementValues(r, text)
	}
	return v.each[r].At(t, element), nil
}

// compute returns a computed member's value on a document. It is kept if other computed members of the document may read
// it: each asks for the view of the levels before its own.
func (c *checker) compute(r *fold.Rule, row *sqlite.Row) ([]byte, error) {
	key := copyKey{r, row.Key.ID}
	kept := slices.ContainsFunc(c.plan.Collection(r.Collection).Rules, func(o *fold.Rule) bool {
		return o.Kind == model.Computed && o.Level > r.Level
	})
	if kept {
		if raw, ok := c.copies[key]; ok {
			return raw, nil
		}
		if raw, found, err := c.sc.Value(r.FullName, row.Key.ID); err != nil || found {
			return raw, err
		}
	}
	body, _, err := c.expected(row, r.Level)
	if err != nil {
		return nil, err
	}
	raw := r.Compute(jsondoc.MustParse(body), row, nil)
	if !kept {
		return raw, nil
	}
	return raw, c.keepCopy(key, raw)
}

// ValueLength returns the length of a copy's value that is long, and kept.
func (v *expectedValues) ValueLength(r *fold.Rule, t *jsondoc.Tree, anchor jsondoc.Node) (length int, ok bool) {
	if r.Level >= v.level || v.c.scope != nil && !v.c.scope.Computes(r) {
		return 0, false
	}
	id, ok := r.SoleTarget(t, anchor)
	if !ok || r.Frozen || v.crowds.Crowded(r, t) {
		return 0, false
	}
	length, ok = v.c.longValueLengths[copyKey{r, id}]
	return length, ok
}

// copyOf returns the value of a copy for one id; nil is "no value".
func (c *checker) copyOf(r *fold.Rule, id string, holder int64) ([]byte, error) {
	if r.Frozen {
		if raw, done, err := c.frozen(r, id, holder); err != nil || done {
			return raw, err
		}
	}
	key := copyKey{r, id}
	if raw, ok := c.copies[key]; ok {
		return raw, nil
	}
	if raw, found, err := c.sc.Value(r.FullName, id); err != nil || found {
		return raw, err
	}
	row, err := c.sc.Row(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err != nil {
		return nil, err
	}
	if row == nil {
		if r.KeepsGone() && (!c.isNew(r) || c.change.Restores(r.FullName)) {
			return c.sc.KeptValue(r.FullName, id, holder)
		}
		return nil, nil
	}
	body, _, err := c.expected(row, r.Level)
	if err != nil {
		return nil, err
	}
	raw := r.Evaluate(body, id, nil)
	if c.tally != nil {
		c.tally.add(r, 0, raw != nil, &examined{key: row.Key, row: row, body: body})
	}
	return raw, c.keepCopy(key, raw)
}

// isNew returns whether the rule is yet to be applied.
func (c *checker) isNew(r *fold.Rule) bool { return c.change != nil && c.change.NewRules[r.FullName] }

// frozen returns the value that stays on a holder by a frozen copy. done is false where the rule is yet to be applied and
// takes the value from the target.
func (c *checker) frozen(r *fold.Rule, id string, holder int64) (raw []byte, done bool, err error) {
	if c.isNew(r) && !c.change.Restores(r.FullName) {
		return nil, false, nil
	}
	raw, err = c.sc.KeptValue(r.FullName, id, holder)
	return raw, raw != nil || !c.isNew(r), err
}

// keepCopy keeps the value of a copy, in memory where there is room.
func (c *checker) keepCopy(key copyKey, raw []byte) error {
	if len(raw) > maxCopySize {
		c.longValueLengths[key] = len(raw)
		return c.sc.KeepValue(key.rule.FullName, key.id, raw)
	}
	if len(c.copies) >= maxCopies || c.size > maxCopiesSize {
		for k, value := range c.copies {
			if err := c.sc.KeepValue(k.rule.FullName, k.id, value); err != nil {
				return err
			}
		}
		c.copies, c.size = map[copyKey][]byte{}, 0
	}
	c.copies[key] = bytes.Clone(raw) // not a part of the view, which is much longer
	c.size += len(raw)
	return nil
}
