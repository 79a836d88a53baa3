package sequence_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sequence"
)

// TestFormats: a format gives the texts that it says, and finds the numbers again in them and in no other text.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format, per string
		n           uint64
		want        string
		other       []string // texts without a number of this sequence
	}{
		{"", "a", 7, `7`, []string{`"7"`, `0`, `-7`, `7.5`, `9007199254740992`, `null`}},
		{"{per}-{n:6}", "INV", 1000, `"INV-001000"`, []string{`"INV-1000"`, `"INX-001000"`, `"INV-0001000"`, `"INV-00100x"`, `1000`, `"INV-000000"`}},
		{"{n}", "", 12, `"12"`, []string{`"012"`, `"+12"`, `12`}},
		{"A{n:3}/{per}/{per}", "\"x\"", 12345, `"A12345/\"x\"/\"x\""`, []string{`"A12345/x/x"`}},
		{"{n:2}", "", 7, `"07"`, []string{`"7"`, `"007"`}},
	} {
		var f *sequence.Format
		if c.format != "" {
			var err error
			if f, err = sequence.Parse(c.format); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(f.Value(c.n, c.per)); got != c.want {
			t.Errorf("%q of %d: %s, want %s", c.format, c.n, got, c.want)
		}
		if n, ok := f.Number(jsondoc.MustParse([]byte(c.want)), jsondoc.Root, c.per); n != c.n || !ok {
			t.Errorf("%q finds %d, %t in %s", c.format, n, ok, c.want)
		}
		for _, other := range c.other {
			if n, ok := f.Number(jsondoc.MustParse([]byte(other)), jsondoc.Root, c.per); ok {
				t.Errorf("%q finds %d in %s", c.format, n, other)
			}
		}
	}
}

// TestNoFormats: a text that is no format is refused.
func TestNoFormats(t *testing.T) {
	for _, text := range []string{"x", "{per}", "{n}{n}", "{n:0}", "{n:19}", "{n:x}", "{n:01}", "{m}", "{n", "n}", "{}", "{n}" + strings.Repeat("x", sequence.MaxFormat)} {
		if _, err := sequence.Parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestPer: texts and numbers count as values of per, equal ones alike.
func TestPer(t *testing.T) {
	for value, want := range map[string]string{`"a"`: "a", `2026`: "2026", `2026.0`: "2026", `"2026"`: "2026", `""`: "", `null`: "-", `true`: "-", `[1]`: "-", `{}`: "-", `"` + strings.Repeat("x", 256) + `"`: "-"} {
		text, ok := sequence.Per([]byte(value))
		if !ok {
			text = "-"
		}
		if text != want {
			t.Errorf("%s: %q, want %q", value, text, want)
		}
	}
	if sequence.Key("n", "a") == sequence.Key("n", "b") || sequence.Key("n", "a") == sequence.Key("m", "a") {
		t.Error("two counters have one key")
	}
}
