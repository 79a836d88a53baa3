package query_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
)

// scalars are values of documents and constants of filters: of every type, and close to each other.
var scalars = []string{"null", "true", "false", "0", "1", "1.0", "10e-1", "2", "-1", "0.1", "0.10000000000000000001", "9007199254740992", "9007199254740993",
	"9223372036854775807", "18446744073709551617", "1e300", "-1e300", "1e-300", "12", "1.5", `""`, `"a"`, `"A"`, `"ab"`, `"a\u0000"`, `"a\u0000b"`, `"b"`, `"\uffff"`, `"Ä"`,
	`"` + strings.Repeat("x", 1023) + `"`, `"` + strings.Repeat("x", 1024) + `"`, `"` + strings.Repeat("x", 1025) + `"`, `"` + strings.Repeat("x", 5000) + `y"`}

// composites are other values of documents.
var composites = []string{"[]", "{}", "[1]", `{"x":1}`}

// few draws one of the values, the same few more often.
func few(t *rapid.T, name string, all []string) string {
	if rapid.Bool().Draw(t, name+" of few") {
		return rapid.SampledFrom(all[3:7]).Draw(t, name)
	}
	return rapid.SampledFrom(all).Draw(t, name)
}

// anyValue draws the value of a member.
func anyValue(t *rapid.T, name string) string {
	if rapid.IntRange(0, 9).Draw(t, name+" kind") == 0 {
		return rapid.SampledFrom(composites).Draw(t, name)
	}
	return few(t, name, scalars)
}

// The manners of documents: each says what may stand in the place of an array.
const (
	wild  = iota // anything, and more elements than an index takes
	short        // anything
	tame         // an array
)

// body draws a document.
func body(t *rapid.T, manner int) string {
	var members []string
	for _, name := range []string{"a", "b", "s", "n"} {
		if rapid.IntRange(0, 4).Draw(t, name+" is there") > 0 {
			members = append(members, fmt.Sprintf("%q:%s", name, anyValue(t, name)))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "o is there") > 0 {
		members = append(members, fmt.Sprintf(`"o":{"x":%s}`, anyValue(t, "x")))
	}
	if rapid.IntRange(0, 4).Draw(t, "ref is there") > 0 {
		members = append(members, `"ref":`+rapid.SampledFrom([]string{`"t1"`, `"t2"`, `"5"`, "5", "5.0", "null"}).Draw(t, "ref"))
	}
	kind := rapid.IntRange(0, 20).Draw(t, "tags kind")
	kind = max(kind, manner)
	switch kind {
	case 0:
		members = append(members, `"tags":`+manyTags)
	case 2, 3:
	case 1:
		members = append(members, `"tags":`+anyValue(t, "no tags"))
	default:
		members = append(members, `"tags":[`+strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return few(t, "tag", scalars) }), 0, 4).Draw(t, "tags"), ",")+"]")
	}
	if rapid.Bool().Draw(t, "lines are there") {
		members = append(members, `"lines":[`+strings.Join(rapid.SliceOfN(rapid.Custom(line), 0, 3).Draw(t, "lines"), ",")+"]")
	}
	return "{" + strings.Join(members, ",") + "}"
}

// manyTags is an array with more elements than an index takes.
var manyTags = func() string {
	out := []byte("[")
	for i := range 1001 {
		out = fmt.Appendf(out, "%d,", i)
	}
	return string(out) + `"a"]`
}()

// line draws an element of lines.
func line(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "no line") == 0 {
		return few(t, "element", scalars)
	}
	var members []string
	for _, name := range []string{"k", "q"} {
		if rapid.IntRange(0, 5).Draw(t, name+" is there") > 0 {
			members = append(members, fmt.Sprintf("%q:%s", name, few(t, name, scalars)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// terms are what documents are sorted, grouped, filtered and indexed by, and how the oracle reads them.
var terms = map[string]term{
	"a": {path: []string{"a"}}, "b": {path: []string{"b"}}, "s": {path: []string{"s"}}, "n": {path: []string{"n"}}, "o.x": {path: []string{"o", "x"}},
	"ref": {path: []string{"ref"}}, "lower(doc.s)": {path: []string{"s"}, lower: true},
}

// indexTerms are those that indexes have besides.
// bySecond is a term that no index has.
const bySecond = "meta.updatedAt.getSeconds()"

var indexTerms = []string{"_meta.createdAt", "_meta.updatedAt", "tags[]", "lines[].k", "lines[].q", "id"}

// indexes draws the indexes of a model, as YAML in one line.
func indexes(t *rapid.T) string {
	all := slices.Concat(slices.Sorted(maps.Keys(terms)), indexTerms)
	var out []string
	for i := range rapid.IntRange(0, 5).Draw(t, "indexes") {
		array, seen, parts := "", map[string]bool{}, []string(nil)
		for range rapid.IntRange(1, 4).Draw(t, "components") {
			name := rapid.SampledFrom(all).Draw(t, "component")
			if root, _, is := strings.Cut(name, "[]"); is {
				if array != "" && array != root {
					continue
				}
				array = root
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			if rapid.Bool().Draw(t, "descending") {
				name = "-" + name
			}
			parts = append(parts, fmt.Sprintf("%q", name))
		}
		out = append(out, fmt.Sprintf("i%d: [%s]", i, strings.Join(parts, ", ")))
	}
	return "{ " + strings.Join(out, ", ") + " }"
}

var operators = []string{"==", "==", "==", "!=", "<", "<=", ">", ">="}

// filter draws a filter.
func filter(t *rapid.T, depth int) node {
	kind := rapid.IntRange(0, 14).Draw(t, "filter")
	if depth == 0 {
		kind = min(kind, 9)
	}
	drawn := func() term { return terms[rapid.SampledFrom(slices.Sorted(maps.Keys(terms))).Draw(t, "term")] }
	switch kind {
	case 0, 1, 2:
		of := drawn()
		op, constant := compared(t, constantsFor(of))
		return compare{term: of, op: op, constant: constant, reversed: rapid.Bool().Draw(t, "reversed")}
	case 3:
		return has{drawn().path[:1]}
	case 4:
		return text{drawn(), rapid.SampledFrom([]string{"startsWith", "startsWith", "endsWith", "contains"}).Draw(t, "function"),
			rapid.SampledFrom([]string{"", "a", "A", "ab", "a\x00", strings.Repeat("x", 1023), strings.Repeat("x", 1100)}).Draw(t, "part")}
	case 5:
		of := drawn()
		return oneOf{of, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return few(t, "in", constantsFor(of)) }), 0, 4).Draw(t, "list")}
	case 6:
		return holds{"tags", few(t, "held", scalars)}
	case 7:
		op, constant := compared(t, scalars)
		return exists{"tags", []element{{"", op, constant}}}
	case 8:
		e := exists{array: "lines"}
		for _, member := range []string{"k", "q"} {
			if rapid.Bool().Draw(t, member) || member == "q" && len(e.list) == 0 {
				op, constant := compared(t, scalars)
				e.list = append(e.list, element{member, op, constant})
			}
		}
		return e
	case 9:
		if rapid.Bool().Draw(t, "by id") {
			return compare{term: term{path: []string{"id"}}, op: rapid.SampledFrom(operators).Draw(t, "op"), constant: fmt.Sprintf("%q", fmt.Sprintf("d%02d", rapid.IntRange(0, 40).Draw(t, "id")))}
		}
		return since{rapid.Bool().Draw(t, "updated"), rapid.Bool().Draw(t, "before"), timeOf(uint64(rapid.IntRange(0, 60).Draw(t, "at")))}
	case 10, 11, 12:
		return and{[]node{filter(t, depth-1), filter(t, depth-1)}}
	case 13:
		return or{[]node{filter(t, depth-1), filter(t, depth-1)}}
	}
	return not{filter(t, depth-1)}
}

// compared draws an operator and a constant.
func compared(t *rapid.T, constants []string) (op, constant string) {
	return comparedBy(t, rapid.SampledFrom(operators).Draw(t, "op"), constants)
}

// comparedBy draws a constant for an operator. Nothing is more or less than null, which is refused: == takes its place.
func comparedBy(t *rapid.T, by string, constants []string) (op, constant string) {
	constant = few(t, "constant", constants)
	if constant == "null" && by != "!=" {
		by = "=="
	}
	return by, constant
}

// ordered returns what a term may be more or less than.
func ordered(of term) []string {
	all := slices.Clone(constantsFor(of))
	if i := slices.Index(all, "null"); i >= 0 {
		all[i] = all[len(all)-1]
	}
	return all
}

// constantsFor returns what a term may be compared with: CEL refuses to compare a text with anything else.
func constantsFor(of term) []string {
	if of.lower {
		return slices.DeleteFunc(slices.Clone(scalars), func(s string) bool { return s[0] != '"' })
	}
	if of.path[0] == "ref" {
		return []string{`"t2"`, `""`, "null", `"t1"`, `"5"`, "5", `"t1"`}
	}
	return scalars
}

// sorts draws a sort.
func sorts(t *rapid.T) (out []string) {
	for range rapid.IntRange(0, 3).Draw(t, "sorts") {
		name := rapid.SampledFrom(append(slices.Sorted(maps.Keys(terms)), "_meta.createdAt", "_meta.updatedAt", bySecond)).Draw(t, "sort")
		if rapid.Bool().Draw(t, "descending") {
			name = "-" + name
		}
		out = append(out, name)
	}
	return out
}

// termValue returns the value of a term of a sort or a group.
func termValue(d *thing, name string) value {
	switch name {
	case bySecond:
		return parse(fmt.Sprint(d.updated.UTC().Second()))
	case "_meta.createdAt":
		return parse(fmt.Sprint(d.created.UnixNano()))
	case "_meta.updatedAt":
		return parse(fmt.Sprint(d.updated.UnixNano()))
	}
	v, _ := terms[name].value(d)
	return v
}

// aimed draws a filter and a sort that an index could serve: points for its first components, a range, and the order of the others.
func (s *shelf) aimed(t *rapid.T) (f node, sort []string) {
	list := s.model.Collection("things").Indexes
	if len(list) == 0 {
		return nil, sorts(t)
	}
	components := rapid.SampledFrom(list).Draw(t, "aim").Components
	var all []node
	pinned := rapid.IntRange(0, len(components)).Draw(t, "pinned")
	for i, c := range components[:pinned] {
		of, known := terms[c.Term()]
		root, member, is := strings.Cut(c.Term(), "[]")
		op := "=="
		if i == pinned-1 {
			op = rapid.SampledFrom(operators).Draw(t, "op")
		}
		switch {
		case known && rapid.Bool().Draw(t, "several"):
			all = append(all, oneOf{of, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return few(t, "in", constantsFor(of)) }), 1, 3).Draw(t, "list")})
		case known && i == pinned-1 && rapid.Bool().Draw(t, "two ranges"):
			all = append(all, or{[]node{compare{term: of, op: rapid.SampledFrom([]string{"<", "<="}).Draw(t, "less"), constant: few(t, "constant", ordered(of))},
				compare{term: of, op: rapid.SampledFrom([]string{">", ">="}).Draw(t, "greater"), constant: few(t, "constant", ordered(of))}}})
		case known && i == pinned-1 && rapid.Bool().Draw(t, "between"):
			all = append(all, compare{term: of, op: rapid.SampledFrom([]string{">", ">="}).Draw(t, "greater"), constant: few(t, "constant", ordered(of))},
				compare{term: of, op: rapid.SampledFrom([]string{"<", "<="}).Draw(t, "less"), constant: few(t, "constant", ordered(of))})
		case known:
			op, constant := comparedBy(t, op, constantsFor(of))
			all = append(all, compare{term: of, op: op, constant: constant})
		case is && member == "" && rapid.Bool().Draw(t, "several"):
			all = append(all, or{[]node{holds{root, few(t, "held", scalars)}, holds{root, few(t, "held", scalars)}}})
		case is && member == "":
			op, constant := comparedBy(t, op, scalars)
			all = append(all, exists{root, []element{{"", op, constant}}})
		case is:
			op, constant := comparedBy(t, op, scalars)
			all = append(all, exists{root, []element{{member[1:], op, constant}}})
		}
	}
	flip := rapid.Bool().Draw(t, "backward")
	for _, c := range components[min(pinned, rapid.IntRange(0, len(components)).Draw(t, "sorted from")):] {
		if c.Descending = c.Descending != flip; (&model.Index{Components: []model.Component{c}}).Array() == nil && c.Term() != "id" {
			sort = append(sort, c.String())
		}
	}
	if len(all) == 0 {
		return nil, sort
	}
	return and{all}, sort
}

// compareThings orders documents by a sort.
func compareThings(a, b *thing, sort []string) int {
	for _, s := range sort {
		name, down := strings.CutPrefix(s, "-")
		c := order(termValue(a, name), termValue(b, name))
		if down {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	c := cmp.Compare(a.number, b.number)
	if strings.HasPrefix(sort[len(sort)-1], "-") {
		return -c
	}
	return c
}

// shelf is a world with what the oracle knows of it.
type shelf struct {
	*world
	manner int // of the documents
	things map[string]*thing
}

// write puts a document, or removes it where the body is "".
func (s *shelf) write(t fataler, id, body string) {
	t.Helper()
	old := s.things[id]
	if body == "" {
		if old != nil {
			s.apply(t, remove("things", id))
			delete(s.things, id)
		}
		return
	}
	body = fmt.Sprintf(`{"id":%q,`, id) + strings.TrimPrefix(body, "{")
	body = strings.Replace(body, ",}", "}", 1)
	s.apply(t, put("things", id, body))
	d := &thing{id: id, number: int64(s.seq), body: parse(body).(map[string]any), created: timeOf(s.seq), updated: timeOf(s.seq)}
	if old != nil {
		d.number, d.created = old.number, old.created
	}
	s.things[id] = d
}

// newShelf draws a world.
func newShelf(t *rapid.T, most int, manner int) *shelf {
	s := &shelf{world: newWorld(t), manner: manner, things: map[string]*thing{}}
	source := "collections:\n  targets: {}\n  things:\n    relations: { ref: { path: ref, to: targets }, tag: { path: \"tags[]\", to: targets }, line: { path: \"lines[].k\", to: targets } }\n    indexes: " + indexes(t) + "\n"
	first := rapid.Bool().Draw(t, "the model comes first")
	if first {
		s.setModel(t, source)
	}
	for i := range rapid.IntRange(0, most).Draw(t, "documents") {
		s.write(t, fmt.Sprintf("d%02d", i), body(t, s.manner))
	}
	for range rapid.IntRange(0, 5).Draw(t, "writes") {
		s.rewrite(t, most)
	}
	if !first {
		s.setModel(t, source)
	}
	return s
}

// rewrite changes or removes a document.
func (s *shelf) rewrite(t *rapid.T, most int) {
	id := fmt.Sprintf("d%02d", rapid.IntRange(0, most).Draw(t, "which"))
	if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
		s.write(t, id, "")
	} else {
		s.write(t, id, body(t, s.manner))
	}
}

// matching returns the documents for which a filter is true, nil for all.
func (s *shelf) matching(f node) (out []*thing) {
	for _, id := range slices.Sorted(maps.Keys(s.things)) {
		if d := s.things[id]; f == nil || f.eval(d) == 1 {
			out = append(out, d)
		}
	}
	return out
}

// pages asks for all pages, and returns the documents' ids in order.
func (s *shelf) pages(t *rapid.T, r query.Request, matches int) (ids []string, plan *query.Plan) {
	for page := 0; ; page++ {
		if page > len(s.things)+2 {
			t.Fatalf("%s: the pages have no end", describe(r))
		}
		a := s.mustAsk(t, r)
		if r.Count && a.Count != int64(matches) {
			t.Fatalf("%s: page %d counts %d, want %d (%s)", describe(r), page, a.Count, matches, explain(a.Plan))
		}
		ids = append(ids, a.ids...)
		if len(a.ids) > r.Limit || a.Next != "" && len(a.ids) != r.Limit {
			t.Fatalf("%s: page %d has %d documents", describe(r), page, len(a.ids))
		}
		if r.Cursor = a.Next; a.Next == "" {
			return ids, a.Plan
		}
	}
}

func explain(p *query.Plan) string {
	text, _ := json.Marshal(p)
	return string(text)
}

// within draws a document that others refer to, nil for none.
func within(t *rapid.T) *query.Within {
	if rapid.IntRange(0, 4).Draw(t, "within") > 0 {
		return nil
	}
	return &query.Within{Relation: "things." + rapid.SampledFrom([]string{"ref", "tag", "line"}).Draw(t, "relation"), Target: rapid.SampledFrom([]string{"t1", "t2", "a", "ab"}).Draw(t, "target")}
}

// referring returns the documents that refer to one, all for nil.
func referring(list []*thing, w *query.Within) (out []*thing) {
	for _, d := range list {
		if w == nil || slices.Contains(idsOf(d, w.Relation), any(w.Target)) {
			out = append(out, d)
		}
	}
	return out
}

// idsOf returns the values by which a document refers to others.
func idsOf(d *thing, relation string) (ids []any) {
	switch relation {
	case "things.ref":
		return []any{at(d.body, "ref")}
	case "things.tag":
		ids, _ = at(d.body, "tags").([]any)
		return slices.DeleteFunc(slices.Clone(ids), func(v any) bool { return class(v) == 2 })
	}
	lines, _ := at(d.body, "lines").([]any)
	for _, line := range lines {
		if id, ok := at(line, "k").(string); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestRandomQueries compares pages, orders and counts with an oracle.
func TestRandomQueries(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf(rt, 30, wild)
		for range 14 {
			var f node
			r := query.Request{Params: params, Limit: rapid.IntRange(1, 12).Draw(rt, "limit"), Sort: sorts(rt), Count: rapid.Bool().Draw(rt, "count")}
			if rapid.IntRange(0, 5).Draw(rt, "no filter") > 0 {
				f = filter(rt, 2)
				r.Filter = f.cel()
			}
			if rapid.Bool().Draw(rt, "aimed") {
				if f, r.Sort = s.aimed(rt); f != nil {
					r.Filter = f.cel()
				} else {
					r.Filter = ""
				}
			}
			r.Within = within(rt)
			want := referring(s.matching(f), r.Within)
			if len(r.Sort) > 0 {
				slices.SortFunc(want, func(a, b *thing) int { return compareThings(a, b, r.Sort) })
			}
			ids, plan := s.pages(rt, r, len(want))
			var wanted []string
			for _, d := range want {
				wanted = append(wanted, d.id)
			}
			if len(r.Sort) == 0 {
				slices.Sort(ids)
			}
			if !slices.Equal(ids, wanted) {
				rt.Fatalf("%s\nis  %v\nwant %v\n%s", describe(r), ids, wanted, explain(plan))
			}
			index := "scan"
			if plan.Index != nil {
				if index, _, _ = strings.Cut(*plan.Index, ":"); index[0] == 'i' && index != "id" {
					index = "index"
				}
			}
			seen[index+" "+plan.Order]++
		}
	})
	t.Log(seen)
	for _, kind := range []string{"index index", "index sorted", "index plan", "scan plan", "scan sorted", "relation sorted"} {
		if seen[kind] == 0 && !t.Failed() {
			t.Errorf("no query was answered by %s", kind)
		}
	}
}
