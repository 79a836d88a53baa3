package history_test

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// oindex is an index as the tests generate it.
type oindex struct {
	collection, name string
	components       []string // with "-" before those that descend
}

// json is the index as a model declares it.
func (x *oindex) json() string {
	parts := make([]string, len(x.components))
	for i, c := range x.components {
		parts[i] = jsonvalue.Quote(c)
	}
	return jsonvalue.Quote(x.name) + ":[" + strings.Join(parts, ",") + "]"
}

// indexesOf is what a collection of the model declares of indexes.
func (m *omodel) indexesOf(collection string) string {
	var all []string
	for _, x := range m.indexes {
		if x.collection == collection {
			all = append(all, x.json())
		}
	}
	if len(all) == 0 {
		return ""
	}
	return `,"indexes":{` + strings.Join(all, ",") + "}"
}

// The expressions in indexes that the oracle knows.
const (
	lowerName = "lower(doc.name)"
	bothTexts = "doc.a + '-' + doc.b"
	bothInOne = "[doc.a, doc.b]"
)

// addIndex adds an index, or declares one otherwise.
func (m *omodel) addIndex(t *rapid.T) {
	x := &oindex{collection: draw(t, m.collections()...), name: draw(t, "i1", "I-2", "i_3")}
	array := draw(t, "", "", "tags[]", "authors[].", "sections[].")
	for range 1 + upTo(t, 2) {
		c := draw(t, m.indexable(t, x.collection, array)...)
		if slices.ContainsFunc(x.components, func(o string) bool { return strings.TrimPrefix(o, "-") == c }) {
			continue
		}
		x.components = append(x.components, draw(t, "", "-")+c)
	}
	m.indexes = slices.DeleteFunc(m.indexes, func(o *oindex) bool { return o.collection == x.collection && o.name == x.name })
	m.indexes = append(m.indexes, x)
}

// indexable is what an index of a collection may be of, through one array or none.
func (m *omodel) indexable(t *rapid.T, collection, array string) []string {
	out := append([]string{"stats.x", "up.id", "_meta.createdAt", "_meta.updatedAt", lowerName, bothTexts, bothInOne}, plainMembers...)
	for range 3 {
		out = append(out, m.derivedMember(t, collection))
	}
	switch array {
	case "tags[]":
		out = append(out, array, array, array, array)
	case "authors[].":
		out = append(out, array+"id", array+"name", array+"more.name", array+"role", array+"id")
	case "sections[].":
		out = append(out, array+"t", array+"titles", array+"sum.titles", array+"t")
	}
	return out
}

// ovalue is a value in an order of documents: of no value where v is nil and at is zero.
type ovalue struct {
	v  *jsonvalue.Value
	at time.Time // of a time
}

// class is the place of a kind of values in the order.
func (o ovalue) class() int {
	if !o.at.IsZero() {
		return 5
	}
	if o.v == nil {
		return 0
	}
	return map[byte]int{'n': 1, '[': 2, '{': 2, 'f': 3, 't': 4, '0': 5, '"': 6}[o.v.Kind]
}

// compare orders two values as documents are.
func (o ovalue) compare(p ovalue) int {
	if c := cmp.Compare(o.class(), p.class()); c != 0 {
		return c
	}
	switch {
	case !o.at.IsZero():
		return o.at.Compare(p.at)
	case o.class() == 5:
		a, _ := new(big.Rat).SetString(o.v.Text)
		b, _ := new(big.Rat).SetString(p.v.Text)
		return a.Cmp(b)
	case o.class() == 6:
		a, b := jsonvalue.Unquote(o.v.Text), jsonvalue.Unquote(p.v.Text)
		return strings.Compare(a[:min(len(a), 1024)], b[:min(len(b), 1024)])
	}
	return 0
}

// oentry is a document's place in an index.
type oentry struct {
	doc    *fanfold.Document
	values []ovalue
}

// indexOrder returns the ids of documents in the order of an index.
func (h *history) indexOrder(x *oindex) []string {
	var all []oentry
	if err := h.shown().read(func(s *sqlite.Snapshot) error {
		for key, view := range h.views {
			if key.collection != x.collection {
				continue
			}
			doc, err := s.Get(fanfold.Key{Collection: key.collection, ID: key.id}, fanfold.Embedded)
			if err != nil {
				return err
			}
			if doc == nil {
				return fmt.Errorf("there is no %s", key)
			}
			all = append(all, x.entries(doc, jsonvalue.Parse(view))...)
		}
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b oentry) int { return cmp.Or(x.compare(a, b), x.ties(a, b)) })
	var out []string
	for _, e := range all {
		out = append(out, e.doc.Key.ID)
	}
	return out
}

// compare orders two entries by their values.
func (x *oindex) compare(a, b oentry) int {
	for i, c := range x.components {
		order := a.values[i].compare(b.values[i])
		if strings.HasPrefix(c, "-") {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// ties orders documents with the same values by creation.
func (x *oindex) ties(a, b oentry) int {
	order := cmp.Compare(a.doc.Number, b.doc.Number)
	if strings.HasPrefix(x.components[len(x.components)-1], "-") {
		return -order
	}
	return order
}

// entries are a document's places: one for each different element.
func (x *oindex) entries(doc *fanfold.Document, view *jsonvalue.Value) (out []oentry) {
	elements := []*jsonvalue.Value{nil}
	for _, c := range x.components {
		name, _, through := strings.Cut(strings.TrimPrefix(c, "-"), "[]")
		if !through {
			continue
		}
		if list := view.Get(name); list != nil && list.Kind == '[' && len(list.Items) > 0 {
			elements = list.All([]string{"[]"})
		}
	}
	for _, element := range elements {
		e := oentry{doc: doc}
		for _, c := range x.components {
			e.values = append(e.values, indexedValue(strings.TrimPrefix(c, "-"), doc, view, element))
		}
		if !slices.ContainsFunc(out, func(o oentry) bool { return x.compare(o, e) == 0 }) {
			out = append(out, e)
		}
	}
	return out
}

// indexedValue is the value of one component, without its direction.
func indexedValue(c string, doc *fanfold.Document, view, element *jsonvalue.Value) ovalue {
	switch c {
	case "_meta.createdAt":
		return ovalue{at: doc.Created}
	case "_meta.updatedAt":
		return ovalue{at: doc.Updated}
	case lowerName:
		return textOf(view.Get("name"), strings.ToLower)
	case bothTexts:
		a, b := view.Get("a"), view.Get("b")
		if a == nil || b == nil || b.Kind != '"' {
			return ovalue{}
		}
		return textOf(a, func(text string) string { return text + "-" + jsonvalue.Unquote(b.Text) })
	case bothInOne:
		if view.Get("a") == nil || view.Get("b") == nil {
			return ovalue{}
		}
		return ovalue{v: &jsonvalue.Value{Kind: '['}}
	}
	if _, rest, through := strings.Cut(c, "[]"); through {
		view, c = element, strings.TrimPrefix(rest, ".")
	}
	if c == "" {
		return ovalue{v: view}
	}
	if all := view.All(strings.Split(c, ".")); len(all) > 0 {
		return ovalue{v: all[0]}
	}
	return ovalue{}
}

// textOf is what becomes of a text; of what is none there is no value.
func textOf(v *jsonvalue.Value, of func(string) string) ovalue {
	if v == nil || v.Kind != '"' {
		return ovalue{}
	}
	return ovalue{v: &jsonvalue.Value{Kind: '"', Text: jsonvalue.Quote(of(jsonvalue.Unquote(v.Text)))}}
}
