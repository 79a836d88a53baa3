package fold

import (
	"errors"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// values makes the values that rules give, from the rows as they are.
type values struct {
	*folding

	holders       *knownHolders
	cache         valueCache
	contributions contributionCache // during one level
	parsed        parsedViews
	newest        newestDocument          // the document that the event creates
	noneBefore    bool                    // the event creates the document that it writes to, without values from elsewhere
	frozenByEvent map[keptValueKey][]byte // on that document
}

// begin makes them ready for one event.
func (v *values) begin() {
	v.noneBefore, v.newest.body = false, nil
	v.contributions.clear()
	clear(v.frozenByEvent)
}

// copyFunc returns what a copy rule's expression gives for one id; raw nil is "no value".
type copyFunc func(r *Rule, id string) (raw []byte, err error)

// CopyValue returns a copy rule's value below anchor: of the id beside it, or a list with one entry for each id, null
// where that id has no value. nil is "no value": of a list, where no id has one. The error is get's, or errPastLimit for
// a list that no view has room for.
func CopyValue(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node, get copyFunc) ([]byte, error) {
	if anchor == jsondoc.None {
		return nil, nil
	}
	path := r.Relation.Path[r.Base:]
	if !r.List() {
		id, ok := soleID(t, anchor, path)
		if !ok {
			return nil, nil
		}
		return get(r, id)
	}
	out, anyValue := []byte{'['}, false
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
			anyValue = true
		}
		if out = append(out, raw...); len(out) > r.viewLimit {
			return nil, errPastLimit
		}
	}
	if !anyValue {
		return nil, nil
	}
	return append(out, ']'), nil
}

// soleID returns the id at the end of a path without arrays. ok is false where there is none, or it is too long.
func soleID(t *jsondoc.Tree, n jsondoc.Node, path model.Path) (id string, ok bool) {
	if n = path.Lookup(t, n); n == jsondoc.None {
		return "", false
	}
	id = t.Text(n)
	return id, id != "" && len(id) <= fanfold.MaxIDLen
}

// Evaluate runs a copy's expression on a target's embedded view and returns its value; nil is "no value". Any error
// leaves the field absent; one other than a missing member is reported.
func (r *Rule) Evaluate(body []byte, id string, reporter Reporter) []byte {
	return r.evaluateView(jsondoc.MustParse(body), id, reporter)
}

// evaluate does what Evaluate does, and keeps the parsed view for the next rule.
func (v *values) evaluate(r *Rule, body []byte, id string, reporter Reporter) []byte {
	return r.evaluateView(v.parsed.tree(body), id, reporter)
}

// evaluateView does what Evaluate does, on a view that was parsed.
func (r *Rule) evaluateView(t *jsondoc.Tree, id string, reporter Reporter) []byte {
	raw, err := r.value.Eval(t)
	if err == nil {
		return r.copied(raw)
	}
	if !errors.Is(err, expr.ErrNoValue) {
		r.failed(reporter, fanfold.Key{Collection: r.Relation.To, ID: id}, err)
	}
	return nil
}

// failed reports an error, where there is a reporter.
func (r *Rule) failed(reporter Reporter, key fanfold.Key, err error) {
	if reporter != nil {
		reporter.RuleFailed(r.FullName, key, err)
	}
}

// Includes returns whether the rule's condition holds for a document, given the view that EntryOf takes. It does where
// there is no condition, and does not where the condition fails, which is reported.
func (r *Rule) Includes(t *jsondoc.Tree, key fanfold.Key, reporter Reporter) bool {
	if r.over != nil {
		return r.totalEntry(t, Entrant{Key: key}, reporter).Included
	}
	if r.where == nil {
		return true
	}
	ok, err := r.where.Matches(t)
	if err != nil {
		r.failed(reporter, key, err)
	}
	return ok
}

// IDList returns an IDs rule's value, of up to limit+1 ids: where there is one more than limit, the list is cut off.
func IDList(ids []string, limit int) []byte {
	truncated := len(ids) > limit
	if truncated {
		ids = ids[:limit]
	}
	out := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsondoc.AppendQuote(out, id)
	}
	return appendTruncated(append(out, ']'), truncated)
}

// currentValues gives every derived value of one document, from the rows as they are. Counts, lists and aggregates
// that old holds stay as they are, and so does, where the document is being written, what follows its own view: what changes
// them is marked.
type currentValues struct {
	f       *Fold
	id      string
	holder  int64
	old     *jsondoc.Tree // nil for none
	idList  idList        // that was made last
	write   bool          // the document is being written: what follows its own view comes on its level
	workers Workers       // as in changedValues
	crowds  Crowds
}

// Value implements Values.
func (v *currentValues) Value(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case v.write && r.FollowsOwn():
		return nil, true, nil
	case r.Kind == model.Copy:
		if v.crowds.Crowded(r, t) {
			return nil, false, nil
		}
		raw, err = CopyValue(r, t, anchor, v.ofTarget)
		return raw, false, err
	case v.old != nil && r.Path.Lookup(v.old, jsondoc.Root) != jsondoc.None:
		return nil, true, nil
	case v.f.creates && v.holder == v.f.direct:
		held, err := v.f.holders.has(r.RelationName, v.id)
		if err != nil || !held {
			return r.ofNothing(), false, err
		}
	}
	if r.Kind == model.IDs && v.idList.rule == r { // the list and the member beside it
		return v.idList.raw, false, nil
	}
	raw, err = v.f.values.ofHolders(r, v.id)
	if r.Kind == model.IDs && err == nil {
		v.idList = idList{rule: r, raw: raw}
	}
	return raw, false, err
}

// ofTarget returns a copy's value for one id, one worker after the other.
func (v *currentValues) ofTarget(r *Rule, id string) ([]byte, error) {
	if v.workers != nil {
		v.workers.Lock()
		defer v.workers.Unlock()
	}
	return v.f.values.ofTarget(r, id, v.holder)
}

// ofNothing returns the rule's value on a document to which none refers; nil is "no value".
func (r *Rule) ofNothing() []byte {
	switch r.Kind {
	case model.Count:
		return []byte{'0'}
	case model.IDs:
		return IDList(nil, r.Limit)
	case model.Recent:
		return NewExcerpts(r).Value()
	case model.Sum, model.Avg:
		return r.AggregateValue(0, decimal.Decimal{})
	}
	return nil
}

// ValueLength implements valueLengths.
func (v *currentValues) ValueLength(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (length int, ok bool) {
	if v.write && r.FollowsOwn() {
		return 0, false
	}
	id, ok := r.SoleTarget(t, anchor)
	if !ok || r.Frozen || r.returns || v.crowds.Crowded(r, t) {
		return 0, false
	}
	return v.f.values.cache.lengthOf(r, id)
}

// SoleTarget returns the id that a copy beside an id goes by, below anchor. ok is false for a list, and where there is no
// id.
func (r *Rule) SoleTarget(t *jsondoc.Tree, anchor jsondoc.Node) (id string, ok bool) {
	if r.Kind != model.Copy || r.List() || anchor == jsondoc.None {
		return "", false
	}
	return soleID(t, anchor, r.Relation.Path[r.Base:])
}

// ofHolders returns the value on a target of a rule about the documents that refer to it.
func (v *values) ofHolders(r *Rule, target string) ([]byte, error) {
	switch {
	case r.countsLinks():
		return v.count(r, target)
	case r.Kind == model.IDs:
		return v.ids(r, target)
	}
	return v.aggregate(r, target)
}

// ofTarget returns the value of a copy for one id: the target's, or the one kept from it; nil is "no value".
func (v *values) ofTarget(r *Rule, id string, holder int64) ([]byte, error) {
	if r.Frozen {
		return v.staying(r, id, holder)
	}
	if r.returns {
		if raw, err := v.staying(r, id, holder); err != nil || raw != nil {
			return raw, err
		}
	}
	if raw, ok := v.cache.get(r, id); ok { // also that a target gives no value, or is not there
		return raw, nil
	}
	if err := v.ended(); err != nil {
		return nil, err
	}
	body, err := v.tx.Documents.Body(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err != nil {
		return nil, err
	}
	var raw []byte
	switch {
	case body != nil:
		raw = v.evaluate(r, body, id, v.opt.Reporter)
	case r.Relation.OnDelete == model.Keep:
		return v.staying(r, id, holder)
	}
	v.cache.put(r, id, raw)
	return raw, nil
}

// countsLinks returns whether the rule is a Count that is made from the links and the documents as written. It has no
// row of its own, so that a view has room for it whatever its limit is.
func (r *Rule) countsLinks() bool { return r.Kind == model.Count && !r.EntersDerived }

// count counts the documents that refer to target from the links.
func (v *values) count(r *Rule, target string) ([]byte, error) {
	if r.where == nil {
		n, err := v.holders.count(r.RelationName, target)
		return strconv.AppendInt(nil, n, 10), err
	}
	holders, err := v.tx.Links.Holders(nil, r.RelationName, target, -1)
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, number := range holders {
		counted, err := v.isCounted(r, number)
		if err != nil {
			return nil, err
		}
		if counted {
			n++
		}
	}
	return strconv.AppendInt(nil, n, 10), nil
}

// isCounted returns whether a Count takes in the document with a number. One that is being created is not there yet: it enters
// the count once it is.
func (v *values) isCounted(r *Rule, number int64) (bool, error) {
	if text, ok := v.contributions.get(r, number); ok {
		return text != nil, nil
	}
	row, err := v.tx.Documents.ByNumber(number)
	if err = errors.Join(err, v.ended()); err != nil || row == nil {
		return false, err
	}
	var text []byte
	if r.Includes(jsondoc.MustParse(row.ReferencedText()), row.Key, v.opt.Reporter) {
		text = []byte{}
	}
	v.contributions.put(r, number, text)
	return text != nil, nil
}

// changedValues gives one document's values of the rules that a level has marked; everything else is as before.
type changedValues struct {
	f       *Fold
	row     *sqlite.Row
	level   *level
	refit   bool           // every rule of the level may give another value, but counts of links, which are always there
	now     *currentValues // the document's values as they are now; nil until they are needed
	workers Workers        // that ask for values of targets one after the other; nil for none
	each    map[*Rule]*ElementValues

	idList idList // that was made last
}

// dirty returns whether the rule may give the document another value.
func (v *changedValues) dirty(r *Rule) bool {
	if v.level.recompute[r] || r.Kind == model.Copy && len(v.level.targets[r]) > 0 || v.freezes(r) || v.refits(r) {
		return true
	}
	if v.follows(r) || r.Kind == model.Copy || r.Kind == model.Computed {
		return v.follows(r)
	}
	_, counted := v.level.counted[r][v.row.Key.ID]
	return counted
}

// follows returns whether a rule that follows the document's own view is computed because that changed.
func (v *changedValues) follows(r *Rule) bool {
	return r.FollowsOwn() && r.Level == v.level.number && v.level.own[v.row.Number]
}

// refits returns whether the rule is computed because values before it may have left other room.
func (v *changedValues) refits(r *Rule) bool {
	return v.refit && r.Level == v.level.number && !r.countsLinks()
}

// ValueLength implements valueLengths.
func (v *changedValues) ValueLength(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (length int, ok bool) {
	return v.current().ValueLength(r, t, anchor)
}

// LeftOut implements leftOutValues.
func (v *changedValues) LeftOut(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) ([]byte, error) {
	if r.Kind == model.Computed {
		return v.computed(r, t, anchor), nil
	}
	raw, _, err := v.current().Value(r, t, anchor)
	return raw, err
}

// computed returns the document's value of a computed member below anchor. The stored view has whatever it reads.
func (v *changedValues) computed(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) []byte {
	if !r.Each() {
		return r.Compute(&v.f.view, v.row, v.f.opt.Reporter)
	}
	if v.each[r] == nil {
		if v.each == nil {
			v.each = map[*Rule]*ElementValues{}
		}
		v.each[r] = r.ComputeEach(&v.f.view, v.row, v.f.opt.Reporter)
	}
	return v.each[r].At(t, anchor)
}

// current gives the document's values as they are now.
func (v *changedValues) current() *currentValues {
	if v.now == nil {
		v.now = &currentValues{f: v.f, id: v.row.Key.ID, holder: v.row.Number, workers: v.workers}
	}
	return v.now
}

// freezes returns whether the event takes a frozen copy on this document.
func (v *changedValues) freezes(r *Rule) bool {
	return v.level.freeze[r] && v.row.Number == v.f.direct
}

// Value implements Values.
func (v *changedValues) Value(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case !v.dirty(r):
		return nil, true, nil
	case r.Kind == model.Computed:
		return v.computed(r, t, anchor), false, nil
	case v.level.recompute[r] || v.freezes(r) || v.refits(r) || v.follows(r):
		return v.current().Value(r, t, anchor)
	case r.countsLinks():
		raw, err = v.count(r)
		return raw, false, err
	case r.Kind == model.IDs:
		return v.ids(r)
	case r.Kind != model.Copy:
		raw, err = v.aggregate(r)
		return raw, false, err
	}
	changed := v.level.targets[r]
	path := r.Relation.Path[r.Base:]
	isChanged := func(id string) bool { _, ok := changed[id]; return ok }
	if r.List() {
		if !slices.ContainsFunc(path.AppendIDs(nil, t, anchor), isChanged) {
			return nil, true, nil
		}
	} else if id, ok := soleID(t, anchor, path); !ok || !isChanged(id) {
		return nil, true, nil
	}
	return v.current().Value(r, t, anchor)
}

// count adds the event's difference to the count in the stored view, so that a count costs the same however many
// documents there are to count.
func (v *changedValues) count(r *Rule) ([]byte, error) {
	change := v.level.counted[r][v.row.Key.ID]
	t := &v.f.view // of v.row.Body
	before, err := strconv.ParseInt(t.Text(r.Path.Lookup(t, jsondoc.Root)), 10, 64)
	if err != nil || change.recount {
		return v.f.values.count(r, v.row.Key.ID)
	}
	return strconv.AppendInt(nil, before+change.delta, 10), nil
}
