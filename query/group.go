package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// group is one group, while its documents come by.
type group struct {
	key    []byte   // the ascending keys of its terms
	terms  [][]byte // the values of its terms as JSON, nil for an absent one
	number int64    // of the document that they are of; the least that has come by, where documents with the key may have others
	exact  bool
	totals []total
	order  []byte // its key in the order of the answer
}

// groups are the groups of one run.
type groups struct {
	*run
	*grouping
	all  map[string]*group
	list []*group // in the order in which they came
	size int      // in bytes
	more bool     // others follow the list

	// Of a plan that covers the grouping: which components the terms and the aggregates are of, and memory that is used again.
	grouped, computed []int
	parts, values     [][]byte
	key               []byte
}

// groupBytes is what a group takes besides its key and values, in bytes.
const groupBytes = 200

// group answers with groups.
func (r *run) group() error {
	g := &groups{run: r, grouping: r.q.grouping, all: map[string]*group{}}
	r.out.Order = orderSorted
	if len(g.by.Components) == 0 {
		if _, err := g.of(nil, 0); err != nil {
			return err
		}
	}
	if r.plan.covers {
		g.findParts()
	}
	switch {
	case r.plan.covers && r.plan.grouped:
		r.out.Order = orderIndex
		return g.walkInOrder()
	case r.plan.covers:
		if err := g.walkEntries(); err != nil {
			return err
		}
	default:
		if err := r.walk(nil, g.item); err != nil {
			return err
		}
	}
	for _, x := range g.list {
		x.order = g.orderOf(x)
	}
	slices.SortFunc(g.list, func(a, b *group) int { return bytes.Compare(a.order, b.order) })
	if c := r.q.place; c != nil {
		i, found := slices.BinarySearchFunc(g.list, c.key, func(x *group, key []byte) int { return bytes.Compare(x.order, key) })
		if found {
			i++
		}
		g.list = g.list[i:]
	}
	return g.answer()
}

// answer answers with the first groups of the list: a page of them, which ends early where it gets large.
func (g *groups) answer() error {
	g.result.Groups = []Group{}
	if most := g.q.request.Limit; len(g.list) > most {
		g.list, g.more = g.list[:most], true
	}
	size := 0
	for i, x := range g.list {
		if size > maxPage {
			g.list, g.more = g.list[:i], true
			break
		}
		if err := g.tell(x); err != nil {
			return err
		}
		size += len(g.result.Groups[i].Key) + len(g.result.Groups[i].Values)
	}
	if g.more {
		g.setNext(cursor{source: g.plan.id, key: g.list[len(g.list)-1].order})
	}
	return nil
}

// tell adds a group to the answer.
func (g *groups) tell(x *group) error {
	out := Group{Key: []byte{'{'}, Values: []byte{'{'}}
	for i, name := range g.names {
		if !x.exact {
			if err := g.readTerms(x); err != nil {
				return err
			}
		}
		out.Key = appendMember(out.Key, name, x.terms[i])
	}
	for i := range g.compute {
		out.Values = appendMember(out.Values, g.compute[i].name, g.compute[i].value(&x.totals[i]))
	}
	out.Key, out.Values = append(out.Key, '}'), append(out.Values, '}')
	g.result.Groups = append(g.result.Groups, out)
	return nil
}

// appendMember appends a member to the text of an object without its end, unless the value is nil.
func appendMember(dst json.RawMessage, name string, value []byte) json.RawMessage {
	if value == nil {
		return dst
	}
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(append(jsondoc.AppendQuote(dst, name), ':'), value...)
}

// of returns the group with a key after it has come by a document of it.
func (g *groups) of(key []byte, number int64) (*group, error) {
	x := g.all[string(key)]
	if x == nil {
		if len(g.all) == g.q.work.groups && !g.plan.grouped {
			return nil, g.pastGroups(fmt.Sprintf("the request makes more than %d groups", g.q.work.groups))
		}
		x = &group{key: bytes.Clone(key), number: number, totals: make([]total, len(g.compute))}
		x.terms, x.exact = g.termsOf(key)
		g.all[string(key)] = x
		g.list = append(g.list, x)
		if err := g.keep(2*len(key) + groupBytes + len(g.compute)*sortedBytes); err != nil {
			return nil, err
		}
	}
	x.number = min(x.number, number)
	return x, nil
}

// pastGroups returns the error of a bound on groups.
func (g *groups) pastGroups(why string) error {
	g.tooManyGroups = true
	return &pastBound{why}
}

// keep counts bytes of memory.
func (g *groups) keep(n int) error {
	if g.size += n; g.size > g.q.work.memory {
		return g.pastGroups("the groups take more than " + mebibytes(g.q.work.memory))
	}
	return nil
}

// termsOf returns the values of a group's terms. exact is false where the key does not hold one.
func (g *groups) termsOf(key []byte) (terms [][]byte, exact bool) {
	exact = true
	for i, part := range parts(key, len(g.by.Components)) {
		text, ok := valueOf(part)
		if g.by.Components[i].Time != "" {
			text = timeText(text)
		}
		terms, exact = append(terms, text), exact && ok
	}
	return terms, exact
}

// timeText returns the JSON text of a time; text has the nanoseconds since 1970.
func timeText(text []byte) []byte {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return nil
	}
	return jsondoc.Quote(time.Unix(0, n).UTC().Format(time.RFC3339Nano))
}

// readTerms reads the values of a group's terms that its key does not hold from the first document of the group.
func (g *groups) readTerms(x *group) error {
	it := item{number: x.number}
	if err := g.look(&it); err != nil {
		return err
	}
	cut(g.run, &it)
	facts, err := g.facts(it.document)
	if err != nil {
		return err
	}
	x.exact = true
	for i, part := range parts(x.key, len(g.by.Components)) {
		if _, exact := valueOf(part); exact {
			continue
		}
		g.by.Components[i].Find(model.IndexFacts{Doc: facts.Doc, Created: facts.Created, Updated: facts.Updated}, func(t *jsondoc.Tree, n jsondoc.Node) bool {
			if !bytes.Equal(sortkey.Append(nil, t, n), part) {
				return true
			}
			x.terms[i] = bytes.Clone(t.Raw(n))
			return false
		})
	}
	return nil
}

// item takes a document that the walk comes to.
func (g *groups) item(it item) (bool, error) {
	ok, err := g.matches(&it)
	if err != nil || !ok {
		return err == nil, err
	}
	facts, err := g.facts(it.document)
	if err != nil {
		return false, err
	}
	f := model.IndexFacts{Doc: facts.Doc, Created: facts.Created, Updated: facts.Updated}
	keys := [][]byte{nil}
	if len(g.by.Components) > 0 {
		if keys, ok = g.by.GroupKeys(f, g.q.work.groups); !ok {
			return false, &pastBound{fmt.Sprintf("a document is in more than %d groups", g.q.work.groups)}
		}
	}
	values := make([][]byte, len(g.compute))
	for i, a := range g.compute {
		if a.of != nil {
			values[i] = keyOf(a.of, facts)
		}
	}
	for _, key := range keys {
		if err := g.add(key, it.number, 1, values); err != nil {
			return false, err
		}
	}
	return true, nil
}

// add adds n documents to a group. values has the keys of what is computed.
func (g *groups) add(key []byte, number, n int64, values [][]byte) error {
	x, err := g.of(key, number)
	if err != nil {
		return err
	}
	for i := range g.compute {
		if kept := g.compute[i].add(&x.totals[i], values[i], n); kept > 0 {
			if err := g.keep(kept); err != nil {
				return err
			}
		}
	}
	return nil
}

// orderOf returns a group's key in the order of the answer.
func (g *groups) orderOf(x *group) (key []byte) {
	terms := parts(x.key, len(g.by.Components))
	for _, s := range g.sort {
		var part []byte
		switch {
		case s.term >= 0:
			part = terms[s.term]
		default:
			part = sortkey.AppendAbsent(nil)
			if text := g.compute[s.compute].value(&x.totals[s.compute]); text != nil {
				part = sortkey.Append(nil, jsondoc.MustParse(text), jsondoc.Root)
			}
		}
		key = append(key, turned(part, s.descending)...)
	}
	return append(key, x.key...)
}
