package modelfile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// TestFunctions: a function is read as it is declared, its text to the byte, and again as the log has it.
func TestFunctions(t *testing.T) {
	src := `
collections:
  seats: {trigger: check}
  shows: {}
functions:
  reserve:
    args: { type: object, required: [seat] }
    call: [write, clerk]
    reads: [shows, seats]
    authority: model
    source: |
      export default (ctx, args) => {
        ctx.log("ü\t\"")
      }
  check:
    source: "export default () => {}"
`
	m, err := Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseAccepted(m.Source)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*model.Model{m, again} {
		if len(m.Functions) != 2 || m.Functions[0].Name != "check" || m.Collection("seats").Trigger != "check" || m.Collection("shows").Trigger != "" {
			t.Fatalf("%+v", m.Functions)
		}
		check, reserve := m.Functions[0], m.Functions[1]
		if check.Args != nil || !slices.Equal(check.Call, []string{"write"}) || check.Reads != nil || check.AsModel {
			t.Errorf("%+v", check)
		}
		if string(reserve.Args) != `{"type":"object","required":["seat"]}` || !slices.Equal(reserve.Call, []string{"clerk", "write"}) ||
			!slices.Equal(reserve.Reads, []string{"seats", "shows"}) || !reserve.AsModel {
			t.Errorf("%+v", reserve)
		}
		if want := "export default (ctx, args) => {\n  ctx.log(\"ü\\t\\\"\")\n}\n"; reserve.Source != want {
			t.Errorf("the source is %q, want %q", reserve.Source, want)
		}
		if !m.Gated("seats") || !m.Gated("shows") {
			t.Error("what the function reads is not gated")
		}
	}
}

// TestFunctionMistakes: what cannot be a function is said at its place, with what to do.
func TestFunctionMistakes(t *testing.T) {
	const source = `source: "export default () => 1"`
	for declaration, want := range map[string]string{
		`functions: {f: {` + source + `}}`:                                                      "",
		`functions: ~`:                                                                          "",
		`functions: {f: {` + source + `, call: []}}`:                                            "",
		`functions: {f: {` + source + `, args: true, call: [everyone]}}`:                        "",
		`functions: {f: {` + source + `, reads: [a]}}`:                                          "",
		`functions: []`:                                                                         "functions: must be a mapping",
		`functions: {f: 1}`:                                                                     "functions.f: must be a mapping with source",
		`functions: {f: {}}`:                                                                    "functions.f: source is missing: a module of JavaScript, whose default export is called with (ctx, args)",
		`functions: {f: {source: ""}}`:                                                          "functions.f.source: must be a string that is not empty",
		`functions: {f: {source: 1}}`:                                                           "functions.f.source: must be a string that is not empty",
		`functions: {f: {` + source + `, x: 1}}`:                                                "functions.f.x: unknown member; a function has args, call, reads, authority and source",
		`functions: {1f: {` + source + `}}`:                                                     "functions.1f: cannot name a function: use [a-zA-Z][a-zA-Z0-9_-]*, at most 64 bytes",
		`functions: {"": {` + source + `}}`:                                                     "cannot name a function",
		`functions: {a/b: {` + source + `}}`:                                                    "cannot name a function",
		`functions: {` + strings.Repeat("f", 64) + `: {` + source + `}}`:                        "",
		`functions: {` + strings.Repeat("f", 65) + `: {` + source + `}}`:                        "at most 64 bytes",
		`functions: {f: {` + source + `, args: {type: thing}}}`:                                 `functions.f.args: not a JSON Schema: at "/type"`,
		`functions: {f: {` + source + `, args: 1}}`:                                             "functions.f.args: ",
		`functions: {f: {` + source + `, call: write}}`:                                         "functions.f.call: must be a list of roles",
		`functions: {f: {` + source + `, call: [Write]}}`:                                       `functions.f.call: "Write" cannot name a role: use [a-z][a-z0-9_-]*, at most 64 bytes`,
		`functions: {f: {` + source + `, call: [a, a]}}`:                                        "functions.f.call: names a twice",
		`functions: {f: {` + source + `, call: [` + roles(32) + `]}}`:                           "",
		`functions: {f: {` + source + `, call: [` + roles(33) + `]}}`:                           "functions.f.call: has more than 32 roles",
		`functions: {f: {` + source + `, reads: a}}`:                                            "functions.f.reads: must be a list of collections",
		`functions: {f: {` + source + `, reads: [a, a]}}`:                                       "functions.f.reads: names a twice",
		`functions: {f: {` + source + `, reads: [b]}}`:                                          `functions.f.reads: unknown collection "b": declare it, if only as b: {}`,
		`functions: {f: {` + source + `, authority: model}}`:                                    "functions.f.authority: lets the function do everything: say who may call it, with call, a list of roles",
		`functions: {f: {` + source + `, authority: model, call: [admin]}}`:                     "",
		`functions: {f: {` + source + `, authority: caller, call: [admin]}}`:                    "functions.f.authority: must be model, with which the function may do everything; without authority it may do what its caller may",
		`functions: {f: {` + source + `}, g: {` + source + `}}, collections: {b: {trigger: h}}`: `collections.b.trigger: unknown function "h": the model has f, g`,
		`collections: {b: {trigger: h}}`:                                                        `collections.b.trigger: unknown function "h": the model has none`,
		`functions: {f: {` + source + `}}, collections: {b: {trigger: [f]}}`:                    "collections.b.trigger: must be a string that is not empty",
	} {
		if !strings.Contains(declaration, "collections:") {
			declaration += ", collections: {a: {}}"
		}
		_, err := Parse([]byte("{" + declaration + "}"))
		text, e := "", (*fanfold.Error)(nil)
		if errors.As(err, &e) {
			for _, p := range e.Problems {
				text += p.Path + ": " + p.Detail + "\n"
			}
		}
		if (want == "") != (err == nil) || !strings.Contains(text, want) {
			t.Errorf("%.120s: %v\n%swant %q", declaration, err, text, want)
		}
	}
}

// TestFunctionSizes: a model has up to 100 functions, each with up to 64 KiB of source. One that was accepted is read again, whatever its size.
func TestFunctionSizes(t *testing.T) {
	withFunctions := func(functions, size int) []byte {
		return []byte(`{"collections":{},"functions":{` + entries(functions, `"f#":{"source":"`+strings.Repeat("x", size)+`"}`) + `}}`)
	}
	for _, c := range []struct {
		functions, size int
		want            string
	}{
		{100, 10, ""},
		{101, 10, "functions.f100: the model has more than 100 functions"},
		{1, maxSource, ""},
		{16, maxSource, ""},
		{17, maxSource, "functions.f16.source: with this one the model's functions have more than 1048576 bytes of source"},
		{20, maxSource, "functions.f16.source: with this one the model's functions have more than 1048576 bytes of source"},
		{1, maxSource + 1, "functions.f0.source: has 65537 bytes; at most 65536 are taken"},
	} {
		src := withFunctions(c.functions, c.size)
		_, err := Parse(src)
		var e *fanfold.Error
		text := ""
		if errors.As(err, &e) {
			for _, p := range e.Problems {
				text += p.Path + ": " + p.Detail
			}
		}
		if text != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%d functions of %d bytes: %v, %.300s, want %q", c.functions, c.size, err, text, c.want)
		}
		if _, err := ParseAccepted(src); err != nil {
			t.Errorf("%d functions of %d bytes are not read again: %v", c.functions, c.size, err)
		}
	}
}
