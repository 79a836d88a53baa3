package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// awkward are values on which an index and an expression could differ.
var awkward = func() []string {
	all := []string{"null", "true", "false", "0", "-0", "-0.0", "1", "1.0", "10e-1", "2", "-1", "1.5", "9007199254740992", "9007199254740993", "9007199254740992.0", "-9007199254740993",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616", "18446744073709551617",
		"1e300", "1e-300", "-1e300", "10e299", "1e308", "1e309", "1e1000", "1e1001", "-1e1001", "1e-1000", "1e-1001", "0.1", "0.10000000000000000001", "0.100", "1" + strings.Repeat("0", 30),
		strings.Repeat("7", 1000), strings.Repeat("7", 1001), `""`, `"a"`, `"b"`, `"A"`, `"ab"`, `"x"`, `"\u0000"`, `"a\u0000"`, `"a\u0000b"`, `"\u0061"`, `"a\uffff"`, `"a\ud83d\ude00"`, `"1"`, `"true"`, `"k"`, `"c"`,
		"[]", "{}", `[1]`, `["a"]`, `["a",1,null,[1],{"k":1}]`, `[1e1001,5]`, `{"k":1}`, `{"c":1}`, `{"c":{"k":2}}`, `{"a":"a"}`, `[[1]]`, `[0.10000000000000000001]`, `"2024-05-06T07:08:09.123456789Z"`}
	for _, n := range []int{1022, 1023, 1024, 1025, 5000} {
		all = append(all, `"`+strings.Repeat("x", n)+`"`, `"`+strings.Repeat("x", n)+`y"`)
	}
	return append(all, `"`+strings.Repeat("é", 512)+`"`, `"`+strings.Repeat("é", 511)+`a"`, `"`+strings.Repeat("é", 511)+`\u0000\u0000"`)
}()

// drawer draws documents and conditions.
type drawer struct {
	*rapid.T
	params []string
	near   []string
}

func (d *drawer) of(all ...string) string { return rapid.SampledFrom(all).Draw(d.T, "of") }

func (d *drawer) upTo(n int) int { return rapid.IntRange(0, n).Draw(d.T, "n") }

// value draws a value, which is likely to be equal or near to another one.
func (d *drawer) value() string {
	if len(d.near) < 4 {
		d.near = append(d.near, d.of(awkward...))
	}
	if d.upTo(5) == 0 {
		return d.of(awkward...)
	}
	return d.of(d.near...)
}

// array draws what stands at the place of an array: mostly one.
func (d *drawer) array(element func() string) string {
	if d.upTo(4) == 0 {
		return d.value()
	}
	var all []string
	for range d.upTo(3) {
		all = append(all, element())
	}
	return "[" + strings.Join(all, ",") + "]"
}

// object draws an object of some of the members.
func (d *drawer) object(members map[string]func() string) string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	var all []string
	for _, name := range names {
		if d.upTo(5) > 0 {
			all = append(all, fmt.Sprintf("%q:%s", name, members[name]()))
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

func (d *drawer) document() string {
	line := func() string { return d.object(map[string]func() string{"sku": d.value, "qty": d.value}) }
	return d.object(map[string]func() string{"a": d.value, "b": func() string { return d.object(map[string]func() string{"c": d.value}) }, "s": d.value, "p-q": d.value, "x.y": d.value,
		"tags": func() string { return d.array(d.value) }, "lines": func() string { return d.array(line) },
		"deep": func() string { return `{"tags":` + d.array(d.value) + `}` }})
}

// constant draws an expression without doc.
func (d *drawer) constant() string {
	switch d.upTo(11) {
	case 0:
		return d.of(`1`, `1.0`, `-1`, `0.1`, `0.10000000000000000001`, `9007199254740993`, `9007199254740993.0`, `1e300`, `5u`, `null`, `true`, `false`, `"a"`, `'a\x00'`, `""`, `"k"`)
	case 1:
		return d.of(`[1, "a"]`, `[0.10000000000000000001]`, `{"k": 1}`, `{1: 2}`, `[]`, `{}`, `1 + 1`, `"a" + "b"`, `1.0 / 0.0`, `1e308 * 10.0`, `-(0.1)`)
	case 2:
		return d.of(`int("x")`, `duration("1h")`, `b"a"`, `int`, `params.o.none`, `has(params.none)`, `size(params.list)`, `params`, `params.list`, `params.o`, `lower("A")`)
	case 3:
		return d.of(`timestamp("2024-05-06T07:08:09.123456789Z")`, `timestamp("2024-05-06T00:00:00Z") + duration("1h")`, `timestamp("9999-01-01T00:00:00Z")`, `timestamp("0001-01-01T00:00:00Z")`, `timestamp("2024-05-07T07:08:09.123456789Z")`)
	}
	d.params = append(d.params, d.value())
	return fmt.Sprintf("params.p%d", len(d.params)-1)
}

// constants draws a list.
func (d *drawer) constants() string {
	if d.upTo(5) == 0 {
		return d.constant()
	}
	all := []string{}
	for range d.upTo(12) {
		all = append(all, d.constant())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func (d *drawer) term() string {
	return d.of(`doc.a`, `doc.a`, `doc.s`, `doc["a"]`, `doc.b.c`, `doc.a.c`, `doc["p-q"]`, `doc.none`, `doc.tags`, `doc.b`, `lower(doc.s)`, `size(doc.tags)`, `doc.a + doc.s`, `doc.lines[0].sku`, `(doc.a == doc.s)`,
		`doc.tags[0]`, `(doc.a > 0 ? doc.a : doc.s)`, `meta.createdAt`, `meta.updatedAt`, `doc.b["c"]`, `doc["x.y"]`, `doc.tags.map(x, x)[0]`, `dyn(timestamp(doc.s))`, `string(doc.a)`, `doc.none.c`)
}

// test draws a test of a term.
func (d *drawer) test(term func() string) string {
	op := d.of("==", "==", "!=", "<", "<=", ">", ">=")
	switch d.upTo(11) {
	case 0:
		return "has(" + d.of("doc.a", "doc.b.c", "doc.a.c", "doc.none.c", "doc.tags.c", `doc.none`) + ")"
	case 1:
		return term()
	case 2:
		return term() + d.of(".startsWith(", ".startsWith(", ".endsWith(", ".contains(") + d.constant() + ")"
	case 3, 4:
		return term() + " in " + d.constants()
	case 5:
		return d.constant() + " " + op + " " + term()
	case 6:
		return term() + " == null"
	}
	return term() + " " + op + " " + d.constant()
}

// ofElement draws a test of an element.
func (d *drawer) ofElement(element func() string) string {
	if d.upTo(9) == 0 {
		return d.of(`l.sku == doc.a`, `doc.a == 1`, `has(l.sku)`, `l.sku.contains("a")`, `!has(l.qty)`, `lower(l.sku) == "a"`, `l.sku != 1`, `lower(doc.s) == "a"`, `l.sku in l.qty`)
	}
	return d.test(element)
}

func (d *drawer) joined(one func() string) string {
	all := []string{one()}
	for range d.upTo(2) {
		all = append(all, one())
	}
	return strings.Join(all, d.of(" && ", " || "))
}

// conjunct draws a condition.
func (d *drawer) conjunct(depth int) string {
	tags := d.of("doc.tags", "doc.tags", "doc.deep.tags", "doc.a", "doc.b")
	switch d.upTo(11) {
	case 0:
		return "!(" + d.test(d.term) + ")"
	case 1, 2:
		return d.constant() + " in " + tags
	case 3, 4:
		return tags + ".exists(l, " + d.joined(func() string { return d.ofElement(func() string { return "l" }) }) + ")"
	case 5, 6:
		return "doc.lines.exists(l, " + d.joined(func() string { return d.ofElement(func() string { return d.of("l.sku", "l.qty", "l.sku", "l.qty.c") }) }) + ")"
	case 7:
		if depth > 0 {
			return "(" + d.joined(func() string { return d.conjunct(depth - 1) }) + ")"
		}
	case 8:
		term := d.term()
		return "(" + d.joined(func() string { return d.test(func() string { return term }) }) + ")"
	case 10:
		return "(" + d.joined(func() string { return d.joined(func() string { return d.constant() + " in doc.tags" }) }) + ")"
	case 9:
		return tags + ".all(l, " + d.test(func() string { return "l" }) + ")"
	}
	return d.test(d.term)
}

func (d *drawer) allParams() string {
	all := []string{`"o":{"k":1}`, `"list":[1,"a",null,0.10000000000000000001,true,"b","ab",5,7,1e300]`}
	for i, v := range d.params {
		all = append(all, fmt.Sprintf(`"p%d":%s`, i, v))
	}
	return "{" + strings.Join(all, ",") + "}"
}

// keysOf returns the keys of a test's term over a document, one for each element where it goes through an array.
func keysOf(t rapid.TB, term, array string, f Facts) (keys [][]byte) {
	switch term {
	case "_meta.createdAt":
		return [][]byte{sortkey.AppendInt(nil, f.Created.UnixNano())}
	case "_meta.updatedAt":
		return [][]byte{sortkey.AppendInt(nil, f.Updated.UnixNano())}
	}
	lookup := func(n jsondoc.Node, path string) jsondoc.Node {
		for name := range strings.SplitSeq(path, ".") {
			if path != "" {
				n = f.Doc.Member(n, name)
			}
		}
		return n
	}
	if array != "" {
		rest := strings.TrimPrefix(strings.TrimPrefix(term, array+"[]"), ".")
		at := lookup(jsondoc.Root, array)
		if f.Doc.Kind(at) != jsondoc.Array {
			return [][]byte{sortkey.AppendAbsent(nil)}
		}
		for n := f.Doc.First(at); n != jsondoc.None; n = f.Doc.Next(n) {
			keys = append(keys, sortkey.Append(nil, f.Doc, lookup(n, rest)))
		}
		return keys
	}
	if !strings.Contains(term, "doc") {
		return [][]byte{sortkey.Append(nil, f.Doc, lookup(jsondoc.Root, term))}
	}
	compiled, err := CompileTerm(term)
	if err != nil || compiled.String() != term || compiled.Path() != "" {
		t.Fatalf("the term %s is %v, %v", term, compiled, err)
	}
	text, err := compiled.Value(f.Doc)
	if err != nil {
		return [][]byte{sortkey.AppendAbsent(nil)}
	}
	return [][]byte{sortkey.Append(nil, jsondoc.MustParse(text), jsondoc.Root)}
}

// inRanges tells whether the keys of a document, or of one element where the tests are of elements, lie in the ranges of all tests. An
// object in the array's place is looked at, as its names are.
func inRanges(t rapid.TB, c Conjunct, f Facts) (within, decides bool) {
	var all [][][]byte
	for _, test := range c.Tests {
		all = append(all, keysOf(t, test.Term, c.Array, f))
	}
	if c.Array != "" {
		n := jsondoc.Root
		for name := range strings.SplitSeq(c.Array, ".") {
			n = f.Doc.Member(n, name)
		}
		if f.Doc.Kind(n) == jsondoc.Object {
			return true, false
		}
	}
	for element := range all[0] {
		hit := true
		for i, test := range c.Tests {
			hit = hit && slices.ContainsFunc(test.Ranges, func(r sortkey.Range) bool { return r.Holds(all[i][element]) })
		}
		within = within || hit
	}
	return within, true
}

// TestIndexAndExpressionAgree: a conjunct is true only if the keys of its tests lie in their ranges. An exact one is true whenever they do.
// It is the same whether or not cel-go evaluates it.
func TestIndexAndExpressionAgree(t *testing.T) {
	verdicts, exact, narrowed := map[Verdict]int{}, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t}
		var sources []string
		for range 1 + d.upTo(2) {
			sources = append(sources, d.conjunct(1))
		}
		source, params := strings.Join(sources, " && "), d.allParams()
		condition, err := CompileCondition(source)
		if err != nil {
			return // types that do not fit
		}
		bound, err := condition.bind(jsondoc.MustParse([]byte(params)))
		if err != nil {
			t.Fatal(err)
		}
		slow, err := condition.bind(jsondoc.MustParse([]byte(params)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range slow.conjuncts {
			c.direct = false
		}
		refused := bound.checkConstants()
		for range 4 {
			text := d.document()
			f := Facts{Doc: jsondoc.MustParse([]byte(text)), Created: created, Updated: created.Add(time.Duration(d.upTo(1)) * 24 * time.Hour)}
			decided, rest := true, []int{}
			for i, c := range bound.Conjuncts() {
				got, err := bound.Only([]int{i}).Judge(f)
				want, err2 := slow.Only([]int{i}).Judge(f)
				same := got == want
				if bound.conjuncts[i].term != nil { // one whose value is no finite number has none, though CEL may go on without comparing it
					same = (got == True) == (want == True)
				}
				if err != nil || err2 != nil || !same {
					t.Fatalf("%s with %s over %s is %d, and %d by cel-go (%v, %v)", c.Source, params, text, got, want, err, err2)
				}
				verdicts[got]++
				if len(c.Tests) == 0 {
					rest = append(rest, i)
					continue
				}
				within, decides := inRanges(t, c, f)
				if got == True && !within || c.Exact && decides && within != (got == True) {
					t.Fatalf("%s with %s over %s is %d, and within the ranges of %+v: %v", c.Source, params, text, got, c, within)
				}
				if c.Exact && decides {
					exact++
					decided = decided && within
				} else {
					narrowed++
					rest = append(rest, i)
				}
			}
			again(t, condition, params, f)
			whole, err := bound.Judge(f)
			if err != nil {
				t.Fatal(err)
			}
			if refused != nil && whole == True {
				t.Fatalf("%s with %s over %s is true, and it is refused: %v", source, params, text, refused)
			}
			if left, err := bound.Only(rest).Judge(f); err != nil || (decided && left == True) != (whole == True) {
				t.Fatalf("%s with %s over %s is %d, and %d of what an index does not decide, which is %v (%v)", source, params, text, whole, left, decided, err)
			}
		}
	})
	t.Logf("%v; an index decides %d and narrows %d", verdicts, exact, narrowed)
	if verdicts[True] == 0 || verdicts[False] == 0 || verdicts[NoValue] == 0 || exact == 0 || narrowed == 0 {
		t.Error("some kind of conjunct was not drawn")
	}
}

// again checks that a condition whose text is written anew is the same.
func again(t rapid.TB, condition *Condition, params string, f Facts) {
	t.Helper()
	text := condition.q.text(condition.q.ast.Expr())
	other, err := CompileCondition(text)
	if err != nil {
		t.Fatalf("%s was written as %s: %v", condition.source, text, err)
	}
	if again := other.q.text(other.q.ast.Expr()); again != text {
		t.Fatalf("%s was written as %s, and then as %s", condition.source, text, again)
	}
	var verdicts [2]Verdict
	for i, c := range []*Condition{condition, other} {
		b, err := c.bind(jsondoc.MustParse([]byte(params)))
		if err != nil {
			t.Fatal(err)
		}
		if verdicts[i], err = b.Judge(f); err != nil {
			t.Fatal(err)
		}
	}
	if verdicts[0] != verdicts[1] || condition.shape != other.shape {
		t.Fatalf("%s with %s over %s is %d, and %d when it is written as %s", condition.source, params, f.Doc.Raw(jsondoc.Root), verdicts[0], verdicts[1], text)
	}
}
