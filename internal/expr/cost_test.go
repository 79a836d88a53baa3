package expr

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// large returns a document of some 2 MB: a long text, a long list of numbers and one of texts, and many members.
func large() *jsondoc.Tree {
	var b strings.Builder
	b.WriteString(`{"s":"` + strings.Repeat("a", 1_000_000) + `","n":[1` + strings.Repeat(",1", 100_000) + `],"t":["x"` + strings.Repeat(`,"xyz"`, 50_000) + `],"m":{`)
	for i := range 20_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(jsonName(i) + ":1")
	}
	b.WriteString(`},"o":[{"k":"v"}` + strings.Repeat(`,{"k":"v"}`, 10_000) + `],"pattern":"` + strings.Repeat("(x+x+)+", 200) + `y","x":"` + strings.Repeat("x", 10_000) + `"}`)
	return jsondoc.MustParse([]byte(b.String()))
}

func jsonName(i int) string {
	return string(jsondoc.Quote("member-" + strings.Repeat("m", i%7) + time.Duration(i).String()))
}

// growing are expressions that take long, or build much, unless they are bounded.
var growing = []string{
	`doc.n.map(x, doc.n)`,
	`doc.n.map(x, doc)`,
	`doc.n.map(x, doc.s)`,
	`doc.n.map(x, doc.s + doc.s)`,
	`doc.n.map(x, doc.n.map(y, doc.n.map(z, x)))`,
	`doc.n.all(x, doc.n.all(y, true))`,
	`doc.n.all(x, doc.n.exists(y, y == 2) || true)`,
	`doc.n.all(x, doc.m.zzz == 1 || true)`,
	`doc.n.all(x, doc.n[100000] == 1)`,
	`doc.n.all(x, size(doc.s) > 0)`,
	`doc.n.all(x, size(doc.n) > 0)`,
	`doc.n.all(x, size(doc.m) > 0)`,
	`doc.n.all(x, doc.n == doc.n)`,
	`doc.n.all(x, doc.m == doc.m)`,
	`doc.n.all(x, doc.s == doc.s)`,
	`doc.n.all(x, 2 in doc.n || true)`,
	`doc.n.all(x, 'zz' in doc.m || true)`,
	`doc.n.all(x, doc.s < doc.s || true)`,
	`doc.n.all(x, doc.s.contains('b') || true)`,
	`doc.n.all(x, doc.s.charAt(999999) == 'a')`,
	`doc.n.all(x, doc.s.indexOf('ab') == -1)`,
	`doc.s.indexOf(doc.s.substring(0, 500000) + 'b')`,
	`doc.s.lastIndexOf('b' + doc.s.substring(0, 500000))`,
	`doc.s.replace('a', doc.s)`,
	`doc.s.replace('', doc.s)`,
	`doc.s.split('')`,
	`doc.s.split('a').map(x, doc.s)`,
	`doc.t.join(doc.s)`,
	`doc.t.map(x, doc.s).join('')`,
	`[doc.s].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a)`,
	`[doc.n].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a)`,
	`[1]` + strings.Repeat(`.map(a, [a, a])`, 20),
	`[1]` + strings.Repeat(`.map(a, {'a': a, 'b': a})`, 18),
	`[1]` + strings.Repeat(`.map(a, [a, a])`, 19) + ` == [1]` + strings.Repeat(`.map(a, [a, a])`, 19),
	`[1]` + strings.Repeat(`.map(a, [a, a])`, 19) + ` in [[1]` + strings.Repeat(`.map(a, [a, a])`, 19) + `]`,
	`'%s'.format([[1]` + strings.Repeat(`.map(a, [a, a])`, 18) + `])`,
	`('%.' + '1000000000f').format([1.5])`,
	`'` + strings.Repeat(`%s`, 60) + `'.format([doc.s` + strings.Repeat(`, doc.s`, 59) + `])`,
	`dyn({'a': 1})[[1]` + strings.Repeat(`.map(a, [a, a])`, 20) + `]`,
	`doc.m[[1]` + strings.Repeat(`.map(a, [a, a])`, 20) + `]`,
	`doc.s.matches('(x+x+)+y')`,
	`doc.x.matches(doc.pattern)`,
	`doc.n.all(x, 'a'.matches(doc.pattern) || true)`,
	`doc.n.all(x, 'a'.matches('a{1000}') || true)`,
	`doc.n.all(x, [` + strings.Repeat(`1,`, 380) + `1] == [2])`,
	`doc.n.map(x, {'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1,'h':1,'i':1,'j':1,'k':1,'l':1})`,
	`doc.n.all(x, false` + strings.Repeat(`||false`, 190) + `||true)`,
	`doc.n.all(x, int(doc.s) == 1 || true)`,
	`doc.n.all(x, bytes(doc.s) == bytes(doc.s))`,
	`doc.n.all(x, string(bytes(doc.s)) == '' || true)`,
	`doc.n.all(x, strings.quote(doc.s) == '' || true)`,
	`doc.n.all(x, doc.s.upperAscii().lowerAscii().trim() == '' || true)`,
	`doc.o.map(x, doc.o.filter(y, y.k == x.k))`,
	`doc.m.map(k, doc.m[k])`,
	`doc.m.exists_one(k, doc.m.exists_one(l, l == k))`,
}

// TestEvaluationIsBounded: each gives a bounded value or says what it passes, within time and memory that are bounded too,
// and the same each time.
func TestEvaluationIsBounded(t *testing.T) {
	const maxTime, maxAllocated = 10 * time.Second, 256 << 20
	doc := large()
	var slowest, most string
	var longest time.Duration
	var largest uint64
	for _, source := range growing {
		if _, err := Check(source); err != nil {
			t.Errorf("%.60s: %v", source, err)
			continue
		}
		p, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		text, err := p.Eval(doc)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if took > longest {
			longest, slowest = took, source
		}
		if allocated > largest {
			largest, most = allocated, source
		}
		if took > maxTime || allocated > maxAllocated || len(text) > MaxResult || err != nil && len(err.Error()) > 1000 {
			t.Errorf("%.60s took %v and %d MB for %d bytes, %.100v", source, took, allocated>>20, len(text), err)
		}
		again, err2 := p.Eval(doc)
		if string(again) != string(text) || (err == nil) != (err2 == nil) {
			t.Errorf("%.60s gives %d bytes, %v, and then %d bytes, %v", source, len(text), err, len(again), err2)
		}
	}
	t.Logf("the longest took %v: %.60s; the most allocated %d MB: %.60s", longest, slowest, largest>>20, most)
}

// TestCost: what an evaluation costs is counted, and does not depend on the machine.
func TestCost(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"s":"` + strings.Repeat("a", 320) + `","n":[1,2,3]}`))
	for source, want := range map[string]int{
		`doc.n`:                 1,
		`1 + 2`:                 3,
		`doc.s + doc.s`:         46,
		`doc.n.map(x, x + 1)`:   43,
		`doc.s.replace('a','')`: 29,
	} {
		p, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		e := newEvaluation(doc)
		if _, err := p.eval(e); err != nil {
			t.Fatal(err)
		}
		if got := costLimit - e.left; got != want {
			t.Errorf("%s costs %d, want %d", source, got, want)
		}
	}
}

// TestCostLimit: what costs too much, or is too long, has no value, which is not the same as a member that is missing.
func TestCostLimit(t *testing.T) {
	const steps, bytes = "costs more than 1000000", "longer than 16777216 bytes"
	for source, want := range map[string]string{`doc.o.map(x, doc.n)`: bytes, `doc.o.map(x, doc.s)`: bytes, `doc.n.all(x, doc.n.all(y, true))`: steps} {
		p, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Eval(large())
		if err == nil || errors.Is(err, ErrNoValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
	}
}
