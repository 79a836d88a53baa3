package access

import (
	"cmp"
	"slices"
	"sync"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/mask"
	"github.com/fanfold/fanfold/model"
)

// ParseRule returns an error where an expression cannot be the rule of a right to an action, one of model.Acts, or write for all that write. The
// error says what is wrong and in which column.
func ParseRule(act, source string) error {
	_, err := partsOf(act, source)
	return err
}

// CheckRule does what ParseRule does for a new rule, which has bounds, and returns how many parts it has: names, literals, calls and what
// macros such as map stand for.
func CheckRule(act, source string) (parts int, err error) {
	if parts, err = partsOf(act, source); err == nil {
		err = expr.CheckRule(source, parts)
	}
	return parts, err
}

// partsOf returns how many parts a rule has. The error is ParseRule's.
func partsOf(act, source string) (int, error) {
	if act == model.ActRead {
		r, err := expr.CompileReading(source)
		if err != nil {
			return 0, err
		}
		return r.Parts(), nil
	}
	r, err := expr.CompileWriting(source, documentsOf(act)...)
	if err != nil {
		return 0, err
	}
	return r.Parts(), nil
}

// documentsOf returns the documents that the rule of a right to write sees besides auth. A rule of write stands for rules that see different ones.
func documentsOf(act string) []string {
	switch act {
	case model.ActCreate:
		return []string{expr.RuleDoc}
	case model.ActUpdate:
		return []string{expr.RuleOld, expr.RuleDoc}
	case model.ActDelete:
		return []string{expr.RuleOld}
	}
	return nil
}

// Grant says to which documents of a collection a principal has the right to one action. The zero Grant is the right to none. It is for one
// goroutine.
type Grant struct {
	act, where string     // where is "" where no rule decides
	every      bool       // it is a right to every document
	mask       *mask.Mask // hides members of the documents; nil for none
	all        bool       // it is a right to every document, with all its members
	auth       *jsondoc.Tree
	bound      *expr.Bound // of a rule about reading, once a document was judged
	cost       int         // of the bounds before it
	refused    func()      // counts documents that the rule lets nobody have
}

// All tells whether it is a right to every document, whatever is in it, with all its members.
func (g *Grant) All() bool { return g.all }

// Conditional tells whether each document must be looked at: a rule decides about it, or it has members that are not shown.
func (g *Grant) Conditional() bool { return !g.all && !g.None() }

// None tells whether it is a right to no document.
func (g *Grant) None() bool { return !g.all && !g.every && g.where == "" }

// Uncounted returns the right, whose refusals nobody counts, for what is not asked for by who has it.
func (g *Grant) Uncounted() Grant {
	out := *g
	out.refused = nil
	return out
}

// Cost returns what Reads has cost so far.
func (g *Grant) Cost() int {
	if g.bound == nil {
		return g.cost
	}
	return g.cost + g.bound.Cost()
}

// Bound returns the rule of a conditional right to read, as a condition of a query. It may not be used by several goroutines at a time.
func (g *Grant) Bound() (*expr.Bound, error) {
	r, err := expr.CompileReading(cmp.Or(g.where, "true"))
	if err != nil {
		return nil, err
	}
	return r.Bind(g.auth)
}

// Reads tells whether a document may be read whose embedded view this is. An error, a missing member, a value that is not true and a rule that costs
// too much are all a refusal.
func (g *Grant) Reads(view []byte) bool {
	if g.where == "" {
		return g.all || g.every
	}
	t := &jsondoc.Tree{}
	if t.Parse(view) != nil {
		return false
	}
	if g.bound == nil || g.bound.Cost() > expr.MaxCost/2 { // each document has its own limit, and not all of them together
		var err error
		g.cost = g.Cost()
		if g.bound, err = g.Bound(); err != nil {
			return g.refuse()
		}
	}
	verdict, err := g.bound.Judge(expr.Facts{Doc: t})
	return err == nil && verdict == expr.True || g.refuse()
}

// Writes tells whether a document may be written. old is its embedded view as it is, nil for a new document. doc is its view as it is to be, nil for a
// document that goes. Whatever Reads takes for a refusal is one here, too.
func (g *Grant) Writes(old, doc []byte) bool {
	if g.where == "" {
		return g.all || g.every
	}
	rule, values, err := g.aboutWrite(old, doc)
	return err == nil && rule.JudgeFor(g.auth, values) == expr.True || g.refuse()
}

// aboutWrite returns the rule of a conditional right to write, and the documents that it sees.
func (g *Grant) aboutWrite(old, doc []byte) (rule *expr.Filter, values *jsondoc.Tree, err error) {
	if rule, err = expr.CompileWriting(g.where, documentsOf(g.act)...); err != nil {
		return nil, nil, err
	}
	text := []byte(`{}`)
	if old != nil {
		text = jsondoc.WithLast(text, expr.RuleOld, old)
	}
	if doc != nil {
		text = jsondoc.WithLast(text, expr.RuleDoc, doc)
	}
	values = &jsondoc.Tree{}
	return rule, values, values.Parse(text)
}

// Explain returns why a document may be had, or may not, in words for people: see Reads and Writes.
func (g *Grant) Explain(old, doc []byte) (allowed bool, why string) {
	if g.where == "" {
		return g.all || g.every, ""
	}
	asked := g.Uncounted()
	g = &asked
	if g.act == model.ActRead {
		t := &jsondoc.Tree{}
		rule, err := expr.CompileReading(g.where)
		if err == nil {
			err = t.Parse(doc)
		}
		if err != nil {
			return false, err.Error()
		}
		return inWords(g.Reads(doc), func() string { return rule.Explain(g.auth, t) })
	}
	rule, values, err := g.aboutWrite(old, doc)
	if err != nil {
		return false, err.Error()
	}
	return inWords(g.Writes(old, doc), func() string { return rule.Explain(g.auth, values) })
}

// inWords says what a rule says. explain returns why it has no value.
func inWords(allowed bool, explain func() string) (bool, string) {
	if allowed {
		return true, "where is true"
	}
	if why := explain(); why != "" {
		return false, "where has no value: " + why
	}
	return false, "where is false"
}

// Looks returns the names of the members at which the rule of a conditional right looks in the document that is read, or as it is to be. whole tells that
// it may look at all of them.
func (g *Grant) Looks() (names []string, whole bool) {
	if g.where == "" || g.act == model.ActDelete {
		return nil, false
	}
	var rule interface{ DocPaths() [][]string }
	var err error
	if g.act == model.ActRead {
		rule, err = expr.CompileReading(g.where)
	} else {
		rule, err = expr.CompileWriting(g.where, documentsOf(g.act)...)
	}
	if err != nil {
		return nil, false // it lets nobody have anything
	}
	for _, path := range rule.DocPaths() {
		if len(path) == 0 {
			return nil, true
		}
		names = append(names, path[0])
	}
	return names, false
}

// looksAtOneOf tells whether the rule of a conditional right may look at one of some members; "" stands for all of them.
func (g *Grant) looksAtOneOf(members []string) bool {
	looks, whole := g.Looks()
	return whole || slices.Contains(members, "") || slices.ContainsFunc(looks, func(name string) bool { return slices.Contains(members, name) })
}

// derivedMembers returns the members in which rules of a model derive values.
func derivedMembers(m *model.Model, collection string) (names []string) {
	if c := m.Collection(collection); c != nil {
		for _, rule := range c.Rules {
			for _, path := range rule.OwnedPaths() {
				names = append(names, path[0].Name)
			}
		}
	}
	return names
}

// refuse counts a refusal, and returns false.
func (g *Grant) refuse() bool {
	g.Refused()
	return false
}

// Refused counts one document that the rule lets nobody have.
func (g *Grant) Refused() {
	if g.refused != nil {
		g.refused()
	}
}

// valueAt returns the text of the value at a path, nil where there is none.
func valueAt(t *jsondoc.Tree, path []string) []byte {
	n := jsondoc.Root
	for _, name := range path {
		if n = t.Member(n, name); n == jsondoc.None {
			return nil
		}
	}
	return t.Raw(n)
}

// refusals counts refusals by rules.
type refusals struct {
	mu    sync.Mutex
	count map[Refusals]uint64
}

// Refusals are refusals by the rule of a right in a collection.
type Refusals struct {
	Collection, Act string
	Count           uint64
}

// of returns a function that counts one.
func (r *refusals) of(collection, act string) func() {
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.count == nil {
			r.count = map[Refusals]uint64{}
		}
		r.count[Refusals{Collection: collection, Act: act}]++
	}
}
