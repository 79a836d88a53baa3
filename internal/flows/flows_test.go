package flows_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/flows"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// parse returns a model. The text is YAML.
func parse(t testing.TB, text string) *model.Model {
	t.Helper()
	m, err := modelfile.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

// refused returns the details of the problems that a model has.
func refused(t testing.TB, m *model.Model) (details []string) {
	t.Helper()
	err := flows.Check(m)
	var e *fanfold.Error
	if err != nil && (!errors.As(err, &e) || e.Code != fanfold.Unprocessable || len(e.Problems) == 0) {
		t.Fatal(err)
	}
	if e != nil {
		for _, p := range e.Problems {
			details = append(details, p.Detail)
		}
	}
	return details
}

const tasksTell = "tasks.members tells readers of tasks about projects"

// TestNeeded: a copy needs publish unless whoever reads its collection has the right to every document of its source.
func TestNeeded(t *testing.T) {
	const where = "{ where: 'auth.sub in doc.members' }"
	for _, c := range []struct {
		projects, tasks string // their access
		needed          bool
	}{
		{"", "", false},
		{"{}", "{}", false},
		{"{}", "", true},
		{"", "{}", false},
		{"{ read: [a] }", "{ read: [a] }", false},
		{"{ read: [a, b] }", "{ read: [a] }", false},
		{"{ read: [a] }", "{ read: [a, b] }", true},
		{"{ read: [a] }", "{ read: [admin] }", false},
		{"{ read: [a] }", "{ read: [a, admin] }", false},
		{"{ read: [a] }", "{ read: [a], create: [b] }", false},
		{"{ read: [a] }", "{ read: [a], update: [b] }", true},
		{"{ read: [a] }", "{ read: [a], delete: [b] }", true},
		{"{ read: [a], update: [b] }", "{ read: [b] }", false},
		{"{ read: [a], create: [b] }", "{ read: [b] }", true},
		{"{ read: [a] }", "{ read: [everyone] }", true},
		{"{ read: [everyone] }", "{ read: [a] }", false},
		{"{ read: [everyone] }", "{ read: [everyone] }", false},
		{"{ read: " + where + " }", "{ read: [a] }", true},
		{"{ read: " + where + " }", "{ read: " + where + " }", true},
		{"{ read: { roles: [a], where: doc.open } }", "{ read: [a] }", false},
		{"{ read: [a] }", "{ read: { roles: [a], where: doc.open } }", true},
		{"", "{ read: " + where + " }", true},
		{"{ read: [everyone] }", "{ read: " + where + " }", false},
		{"{ read: " + where + " }", "{ update: " + where + " }", false}, // nobody reads tasks
	} {
		access := func(text string) string {
			if text == "" {
				return ""
			}
			return "access: " + text + ", "
		}
		text := "collections: { projects: { " + access(c.projects) + "}, tasks: { " + access(c.tasks) +
			"relations: { project: { path: projectId, to: projects } }, derive: { members: { copy: project, value: doc.members } } } }"
		want := []string{tasksTell}
		if !c.needed {
			want = nil
		}
		m := parse(t, text)
		if got := refused(t, m); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if got := refused(t, parse(t, strings.Replace(text, "doc.members }", "doc.members, publish: true }", 1))); got != nil {
			t.Errorf("%s with publish: %q", text, got)
		}
		if m, err := modelfile.ParseAccepted(m.Source); err != nil || len(flows.Of(m)) != 1 {
			t.Errorf("%s cannot be read from a log: %v", text, err)
		}
	}
}

// TestKinds: every kind of rule tells about the collections whose documents it looks at, and about those that the rules tell about which it
// looks at.
func TestKinds(t *testing.T) {
	const model = `
collections:
  a: { access: {}, derive: { n: { count: b.a }, sum: { sum: b.a, of: x }, all: { ids: b.a }, last: { recent: b.a, max: 2, fields: [x] } } }
  b: { access: {}, relations: { a: { path: aId, to: a }, self: { path: up, to: b } }, derive: { upper: { copy: self, value: doc.x } } }
  c:
    relations: { b: { path: bId, to: b }, a: { path: aId, to: a }, d: { path: dId, to: d } }
    derive:
      plain: { value: doc.x + 1 }
      chained: { copy: a, value: doc.n }
      unchained: { copy: a, value: doc.name }
      own: { value: doc.chained + doc.x }
      "lines[].name": { value: element.n + doc.x }
      dId: { copy: b, value: doc.d }
      by: { copy: d, value: doc.name }
  d:
    access: { read: [everyone] }
    derive:
      total: { max: c.d, of: own }
      many: { count: c.d, where: doc.unchained != "" }
      few: { count: c.d, where: doc.x }
`
	m := parse(t, model)
	var got []string
	for _, f := range flows.Of(m) {
		got = append(got, f.Rule+"<"+f.From)
	}
	want := "a.all<b a.last<b a.n<b a.sum<b b.upper<b c.by<b c.by<d c.chained<a c.chained<b c.dId<b c.own<a c.own<b c.unchained<a " +
		"d.few<b d.few<c d.many<a d.many<b d.many<c d.total<a d.total<b d.total<c"
	if strings.Join(got, " ") != want {
		t.Errorf("the flows are\n%s\nwant\n%s", strings.Join(got, " "), want)
	}
	var told []string
	for _, detail := range refused(t, m) {
		rule, rest, _ := strings.Cut(detail, " tells readers of ")
		told = append(told, rule+"<"+rest[strings.LastIndex(rest, " ")+1:])
	}
	want = "c.by<b c.chained<a c.chained<b c.dId<b c.own<a c.own<b c.unchained<a d.few<b d.few<c d.many<a d.many<b d.many<c d.total<a d.total<b d.total<c"
	if strings.Join(told, " ") != want {
		t.Errorf("told are\n%s\nwant\n%s", strings.Join(told, " "), want)
	}
}

// TestNew: a difference of two models is each flow that came, by a rule, by a reader or by the tightening of a source, and no other.
func TestNew(t *testing.T) {
	const rule = ", derive: { members: { copy: project, value: doc.members, publish: true } }"
	of := func(projects, tasks, rules string) *model.Model {
		return parse(t, "collections: { projects: { access: "+projects+" }, tasks: { access: "+tasks+", relations: { project: { path: projectId, to: projects } }"+rules+" } }")
	}
	for _, c := range []struct {
		before, after *model.Model
		isNew         bool
	}{
		{of("{}", "{ read: [a] }", ""), of("{}", "{ read: [a] }", rule), true},
		{of("{ read: [a] }", "{ read: [a] }", rule), of("{}", "{ read: [a] }", rule), true},
		{of("{ read: [a] }", "{ read: [a] }", rule), of("{ read: [a] }", "{ read: [b] }", rule), true},
		{of("{ read: [a] }", "{ read: [a] }", ""), of("{ read: [a] }", "{ read: [a] }", rule), false},
		{of("{}", "{ read: [a] }", rule), of("{}", "{ read: [b] }", rule), false},
		{of("{}", "{ read: [a] }", rule), of("{}", "{ read: [a] }", ""), false},
		{model.Empty(), of("{}", "{ read: [a] }", rule), true},
	} {
		var want []model.Difference
		if c.isNew {
			want = append(want, model.Difference{Path: "collections.tasks.derive.members.publish", Change: "added", Detail: tasksTell})
		}
		if got := flows.New(model.Compare(c.before, c.after)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s, then %s: %v, want %v", c.before.Source, c.after.Source, got, want)
		}
	}
}

// TestProblemsAreBounded: a refusal lists 100 flows, and says how many there are.
func TestProblemsAreBounded(t *testing.T) {
	var rules []string
	for i := range 140 {
		rules = append(rules, fmt.Sprintf("r%03d: { copy: a, value: doc.x }", i))
	}
	err := flows.Check(parse(t, "collections: { a: { access: {} }, b: { relations: { a: { path: a, to: a } }, derive: { "+strings.Join(rules, ", ")+" } } }"))
	var e *fanfold.Error
	if !errors.As(err, &e) || len(e.Problems) != 100 || !strings.Contains(e.Message, "the first 100 of 140") || e.Problems[99].Path != `collections.b.derive["r099"]` {
		t.Errorf("%v, %d problems", err, len(e.Problems))
	}
}

// TestFlowsAreBounded: a new model has at most 10,000 flows; one that was accepted may have more.
func TestFlowsAreBounded(t *testing.T) {
	text := func(copies int) string {
		var sources, relations, rules, copied []string
		for i := range 101 {
			sources = append(sources, fmt.Sprintf(`"s%d":{}`, i))
			relations = append(relations, fmt.Sprintf(`"r%d":{"path":"p%d","to":"s%d"}`, i, i, i))
			rules = append(rules, fmt.Sprintf(`"c%d":{"copy":"r%d","value":"doc"}`, i, i))
		}
		for i := range copies { // each tells about 101 sources and a
			copied = append(copied, fmt.Sprintf(`"c%d":{"copy":"a","value":"size(doc)"}`, i))
		}
		return `{"collections":{` + strings.Join(sources, ",") + `,"a":{"relations":{` + strings.Join(relations, ",") + `},"derive":{` + strings.Join(rules, ",") +
			`}},"b":{"relations":{"a":{"path":"a","to":"a"}},"derive":{` + strings.Join(copied, ",") + `}}}}`
	}
	parse(t, text(97))                                                                                                                                   // 101 + 97*102 = 9,995
	if _, err := modelfile.Parse([]byte(text(98))); err == nil || !strings.Contains(fmt.Sprint(err.(*fanfold.Error).Problems), "more than 10000 ways") { //nolint:errorlint // it is one
		t.Errorf("a model with 10,097 flows: %v", err)
	}
	if m, err := modelfile.ParseAccepted([]byte(text(98))); err != nil || len(flows.Of(m)) != 10_097 {
		t.Errorf("from a log: %v", err)
	}
}
