package modelfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// entries returns n members; format makes each of its number.
func entries(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, strings.ReplaceAll(format, "#", "%[1]d"), i)
	}
	return b.String()
}

// TestModelSizes: a model that has too many of something is refused with the figure, soon, whatever else it has.
func TestModelSizes(t *testing.T) {
	for _, c := range []struct{ name, model, want string }{
		{"collections", `{"collections":{` + entries(1001, `"c#":{}`) + `}}`, "more than 1000 collections"},
		{"relations", `{"collections":{"a":{"relations":{` + entries(501, `"r#":{"path":"p#","to":"a"}`) + `}}}}`, "more than 500 relations"},
		{"rules", `{"collections":{"a":{"relations":{"r":{"path":"p","to":"a"}},"derive":{` + entries(1001, `"d#":{"count":"a.r"}`) + `}}}}`, "more than 1000 derived fields"},
		{"rules over elements", `{"collections":{"a":{"derive":{` + entries(33, `"d#":{"count":"l[]"}`) + `}}}}`, "a has more than 32 derived fields that go through elements of arrays"},
		{"unique", `{"collections":{"a":{"unique":[` + entries(201, `"u#"`) + `]}}}`, "more than 200 unique members"},
		{"release", `{"collections":{"a":{"release":[` + entries(2001, `"u#"`) + `]}}}`, "more than 2000 released paths"},
		{"fields", `{"collections":{"a":{"relations":{"r":{"path":"p","to":"a"}},"derive":{"d":{"recent":"a.r","max":1,"fields":[` + entries(101, `"f#"`) + `]}}}}}`, "more than 100 members"},
		{"a relation's name", `{"collections":{"a":{"relations":{"` + strings.Repeat("r", 256) + `":{"path":"p","to":"a"}}}}}`, "255 bytes"},
		{"unique together", `{"collections":{"a":{"unique":[[` + entries(9, `"u#"`) + `]]}}}`, "more than 8 entries"},
		{"a unique name", `{"collections":{"a":{"unique":[[` + entries(8, `"`+strings.Repeat("u", 300)+`#"`) + `]]}}}`, "at most 2000 are taken"},
		{"a path", `{"collections":{"a":{"unique":["` + strings.Repeat("u", 2001) + `"]}}}`, "at most 2000"},
		{"a schema", `{"collections":{"a":{"schema":{"title":"` + strings.Repeat("t", 65536) + `"}}}}`, "65536"},
		{"schemas", `{"collections":{` + entries(3, `"c#":{"schema":{"title":"`+strings.Repeat("t", 60000)+`"}}`) + `}}`, "more than 131072 bytes"},
		{"mistakes", `{"collections":{"a":{"relations":{` + entries(500, `"r#":{"path":"p","to":"nowhere"}`) + `},"derive":{` + entries(900, `"d#":{"count":"nothing"}`) + `}}}}`, "the first 100 of"},
		{"rules that overlap", `{"collections":{"a":{"relations":{"r":{"path":"p","to":"a"}},"derive":{` + entries(999, `"d.e#":{"count":"a.r"}`) + `,"d":{"count":"a.r"}}}}}`, "the first 100 of"},
		{"a long word", `{"collections":{"a":{"` + strings.Repeat("w", 900_000) + `":1}}}`, "unknown member"},
	} {
		began := time.Now()
		_, err := Parse([]byte(c.model))
		took := time.Since(began)
		var e *fanfold.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || took > 10*time.Second {
			t.Errorf("%s: %.300v, in %v; want %q", c.name, err, took, c.want)
			continue
		}
		if size := len(fmt.Sprint(e.Problems)); size > 250_000 || len(e.Problems) > maxProblems {
			t.Errorf("%s: %d problems of %d bytes", c.name, len(e.Problems), size)
		}
	}
}

// TestLevels: a chain of rules has an end, also where each is computed of the one before on one document.
func TestLevels(t *testing.T) {
	chain := func(n int) []byte {
		model := `{"collections":{"a":{"derive":{"m0":{"value":"doc.x"}`
		for i := range n - 1 {
			model += fmt.Sprintf(`,"m%d":{"value":"doc.m%d"}`, i+1, i)
		}
		return []byte(model + "}}}}")
	}
	if _, err := Parse(chain(maxLevels)); err != nil {
		t.Error(err)
	}
	var e *fanfold.Error
	if _, err := Parse(chain(maxLevels + 1)); !errors.As(err, &e) || !strings.Contains(fmt.Sprintf("%+v", e.Problems), "chain of 65 rules") {
		t.Errorf("a chain that is too long: %v", err)
	}
	if _, err := ParseAccepted(chain(maxLevels + 1)); err != nil {
		t.Error(err)
	}
}

// TestLargestModels: models at the bounds are read within time that is bounded, again as well when they were accepted
// before, which every node does while its writes wait.
func TestLargestModels(t *testing.T) {
	for _, c := range []struct{ name, model string }{
		{"copies", copies(repeated("doc.firstName + ' ' + doc.last", 1000)...)},
		{"relations", `{"collections":{"a":{"relations":{` + entries(500, `"r#":{"path":"p#","to":"a"}`) + `},"unique":[` + entries(200, `"u#"`) + `],"derive":{` + entries(500, `"d#":{"count":"a.r#"}`) + `}}}}`},
		{"collections", `{"collections":{` + entries(500, `"c#":{"relations":{"r":{"path":"p","to":"c0"}}}`) + `}}`},
		{"functions", `{"collections":{"a":{"trigger":"f0"}},"functions":{` + entries(100, `"f#":{"args":{"type":"object"},"reads":["a"],"source":"`+strings.Repeat(`x\n`, 5200)+`"}`) + `}}`},
		{"functions in YAML", "collections: {a: {trigger: f0}}\nfunctions:\n" + strings.ReplaceAll(entries(16, "  f#:\n    source: |\n"+strings.Repeat("      "+strings.Repeat("x", 63)+"\n", 1023)), ",", "")},
		{"chains", `{"collections":{"a":{"relations":{"r":{"path":"p","to":"a"}},"derive":{"d0":{"count":"a.r"},` + entries(999, `"d1#":{"copy":"r","value":"doc.d0"}`) + `}}}}`},
	} {
		began := time.Now()
		m, err := Parse([]byte(c.model))
		took := time.Since(began)
		if err != nil {
			t.Errorf("%s: %.300v", c.name, err)
			continue
		}
		began = time.Now()
		_, err = ParseAccepted(m.Source)
		again := time.Since(began)
		t.Logf("%s, %d bytes: %v, and again %v", c.name, len(c.model), took, again)
		if err != nil || took > 10*time.Second || again > 10*time.Second {
			t.Errorf("%s: %v, and again %v, %v", c.name, took, again, err)
		}
	}
}
