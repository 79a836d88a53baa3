package fold

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// A Recent shows members of the documents that refer to one, and a few documents may be shown on very many. So it is marked only
// where what it shows may be another, and each document is read once for all that a level shows it on.

// recent returns the value of a Recent on target.
func (v *values) recent(r *Rule, target string) ([]byte, error) {
	list := NewExcerpts(r)
	add := func(number int64) (there bool, err error) {
		excerpt, err := v.excerpt(r, number)
		if err != nil || excerpt == nil {
			return false, err
		}
		return true, list.Add(excerpt)
	}
	var err error
	if r.KeepsOrder() {
		err = v.tx.Aggregates.EachLast(r.FullName, target, r.Limit, add)
	} else {
		err = v.tx.Links.EachNewest(r.RelationName, target, r.Limit, add)
	}
	if err != nil {
		return nil, err
	}
	return list.Value(), nil
}

// excerpt returns what a Recent shows of the document with a number, nil where there is none.
func (v *values) excerpt(r *Rule, number int64) ([]byte, error) {
	if text, ok := v.contributions.get(r, number); ok {
		return text, nil
	}
	body, err := v.tx.Documents.BodyOf(number)
	if err == nil {
		err = v.ended()
	}
	if err != nil || body == nil {
		return nil, err
	}
	text := r.appendExcerpt(nil, v.parsed.tree(body))
	v.contributions.put(r, number, text)
	return text, nil
}

// Excerpts makes a Recent's value, document by document.
type Excerpts struct {
	rule *Rule
	out  []byte
}

// NewExcerpts returns a Recent's value of no documents.
func NewExcerpts(r *Rule) *Excerpts { return &Excerpts{rule: r, out: []byte{'['}} }

// Add adds what Excerpt returned. The error is that no view has room for the value.
func (e *Excerpts) Add(excerpt []byte) error {
	e.comma()
	e.out = append(e.out, excerpt...)
	return e.check()
}

// Excerpt returns the members of an embedded view that a Recent shows and the view has, as an object.
func (r *Rule) Excerpt(body []byte) []byte { return r.appendExcerpt(nil, jsondoc.MustParse(body)) }

// appendExcerpt appends what Excerpt returns, of a view that was parsed.
func (r *Rule) appendExcerpt(out []byte, t *jsondoc.Tree) []byte {
	out = append(out, '{')
	begin := len(out)
	for _, name := range r.Fields {
		n := t.Member(jsondoc.Root, name)
		if n == jsondoc.None {
			continue
		}
		if len(out) > begin {
			out = append(out, ',')
		}
		out = append(append(jsondoc.AppendQuote(out, name), ':'), t.Raw(n)...)
	}
	return append(out, '}')
}

// add adds the members of an embedded view that the rule shows and the view has.
func (e *Excerpts) add(t *jsondoc.Tree) error {
	e.comma()
	e.out = e.rule.appendExcerpt(e.out, t)
	return e.check()
}

// comma separates the next document from those before it.
func (e *Excerpts) comma() {
	if len(e.out) > 1 {
		e.out = append(e.out, ',')
	}
}

// check returns an error where no view has room for the value.
func (e *Excerpts) check() error {
	if len(e.out) > e.rule.viewLimit {
		return errPastLimit
	}
	return nil
}

// Value returns the value.
func (e *Excerpts) Value() []byte { return append(e.out, ']') }

// unmovedEntry is a place in a Recent at which a document that is written stays, by the same entry.
type unmovedEntry struct {
	rule   *Rule
	target string
}

// unmovedShown marks those Recents at which the document that is written stays of whose members they show another value. old is
// its row before.
func (ms *marks) unmovedShown(old *sqlite.Row, body []byte) {
	if len(ms.unmoved) == 0 || bytes.Equal(old.Body, body) {
		return
	}
	before, after := jsondoc.MustParse(old.Body), jsondoc.MustParse(body)
	ms.unmovedWhere(func(r *Rule) bool { return r.showsOther(before, after) })
}

// unmovedUnread does what unmovedShown does where the view is not made, given the referenced views before and after: whatever rules
// give the members that are shown may be another.
func (ms *marks) unmovedUnread(c *Collection, before, after *jsondoc.Tree) {
	ms.unmovedWhere(func(r *Rule) bool {
		return r.showsOther(before, after) || slices.ContainsFunc(c.Shape.Members, func(m *model.Shape) bool { return slices.Contains(r.Fields, m.Name) })
	})
}

// unmovedWhere marks the Recents at which the document stays for which other holds.
func (ms *marks) unmovedWhere(other func(r *Rule) bool) {
	known := map[*Rule]bool{}
	for _, e := range ms.unmoved {
		shows, ok := known[e.rule]
		if !ok {
			shows = !ms.levels[e.rule.Level].recompute[e.rule] && other(e.rule)
			known[e.rule] = shows
		}
		if shows {
			ms.counted(e.rule, e.target, membership{recount: true})
		}
	}
}

// showsOther returns whether a Recent shows other members of one view than of another.
func (r *Rule) showsOther(before, after *jsondoc.Tree) bool {
	return slices.ContainsFunc(r.Fields, func(name string) bool {
		was, is := before.Member(jsondoc.Root, name), after.Member(jsondoc.Root, name)
		return (was == jsondoc.None) != (is == jsondoc.None) || !bytes.Equal(before.Raw(was), after.Raw(is))
	})
}

// shownDigest returns a digest of what a Recent shows of a view, and the same for all views where the rule is another kind.
func (r *Rule) shownDigest(t *jsondoc.Tree) (digest [sha256.Size]byte) {
	if r.Kind == model.Recent {
		digest = sha256.Sum256(r.appendExcerpt(nil, t))
	}
	return digest
}

// shown marks the Recents that show what a derived change altered on the document of a row. body is one of its views, and does not change;
// changed names the members that differ, nil any. Those that look at derived members for the document's entry are marked with it.
func (ms *marks) shown(c *Collection, row *sqlite.Row, body []byte, changed map[string]bool) {
	var t *jsondoc.Tree
	for _, rule := range c.Counters {
		if rule.Kind != model.Recent || rule.EntersDerived || ms.levelDone(rule) || !rule.ReadsHolderMembers(changed) || ms.levels[rule.Level].recompute[rule] {
			continue
		}
		if t == nil {
			t = ms.values.parsed.tree(body)
		}
		for _, id := range rule.Relation.Targets(t) {
			ms.counted(rule, id, membership{recount: true, newest: ms.isNewest(rule, row.Number, row.Key, id)})
		}
	}
}
