package fold_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// TestWorkOfModels checks that a model event works on as many documents as was told before.
func TestWorkOfModels(t *testing.T) {
	const before = "collections: {tops: {}, ups: {relations: {top: {path: top, to: tops}}}, docs: {relations: {up: {path: up, to: ups}}}}"
	for name, model := range map[string]string{
		"one rule": `
collections:
  tops: {}
  ups: {derive: {n: {sum: docs.up, of: n}}, relations: {top: {path: top, to: tops}}}
  docs: {relations: {up: {path: up, to: ups}}}
`,
		"late rules": `
collections:
  tops: {derive: {n: {sum: ups.top, of: n}, most: {max: ups.top, of: n}, many: {count: ups.top, where: doc.n > 3}}}
  ups: {derive: {n: {sum: docs.up, of: n}}, relations: {top: {path: top, to: tops}}}
  docs: {relations: {up: {path: up, to: ups}}}
`,
		"levels": `
collections:
  tops: {}
  ups: {derive: {n: {sum: docs.up, of: n}, twice: {value: doc.n * 2}, four: {value: doc.twice * 2}, also: {value: doc.twice * 3}}, relations: {top: {path: top, to: tops}}}
  docs: {relations: {up: {path: up, to: ups}}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			run := func(cmd, key, body string) { m.do(cmd, key, body) }
			run("model", "", before)
			for i := range 12 {
				run("put", fmt.Sprint("docs/", i), fmt.Sprintf(`{"id":"%d","n":%d,"up":"%d"}`, i, i, i%4))
			}
			for i := range 4 {
				run("put", fmt.Sprint("ups/", i), fmt.Sprintf(`{"id":"%d","top":"%d"}`, i, i%2))
			}
			for i := range 2 {
				run("put", fmt.Sprint("tops/", i), fmt.Sprintf(`{"id":"%d"}`, i))
			}
			told, worked := workOf(t, m, model), int64(0)
			m.fold.OnDocument(func() error { worked++; return nil })
			run("model", "", model)
			if told != worked {
				t.Errorf("%d documents were told, and %d worked on", told, worked)
			}
		})
	}
}

// do folds one event, and returns what run does.
func (m *machine) do(cmd, key, body string) string {
	d := datadriven.TestData{Cmd: cmd, Input: body}
	if key != "" {
		d.CmdArgs = []datadriven.CmdArg{{Key: key}}
	}
	return m.run(&d)
}

// TestNothingIsLeftToDo checks that an event leaves no work to the next one. Here a value of a later level stands in the member that a
// rule of an earlier level looks into.
func TestNothingIsLeftToDo(t *testing.T) {
	for name, rule := range map[string]string{
		"sum": "{sum: docs.up, of: cost.a}", "max": "{max: docs.up, of: cost.a}", "count": "{count: docs.up, where: doc.other.a > 0}",
		"recent": "{recent: docs.up, max: 3, fields: [id], orderBy: cost.a}",
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.do("model", "", `
collections:
  agents: {}
  ups: {derive: {n: `+rule+`, m: {sum: docs.up, of: cost.a}}}
  docs:
    relations: {agent: {path: agent, to: agents}, up: {path: up, to: ups}}
    derive: {cost.a: {copy: agent, value: doc.rate}, other.a: {copy: agent, value: doc.rate}, cost.b: {copy: up, value: doc.m}, later: {copy: up, value: doc.n}}
`)
			m.do("put", "agents/a", `{"id":"a","rate":1}`)
			m.do("put", "ups/u", `{"id":"u"}`)
			m.do("put", "docs/d", `{"id":"d","agent":"a","up":"u"}`)
			for _, rate := range []string{"2", "0", "3"} {
				if got := m.do("put", "agents/a", `{"id":"a","rate":`+rate+`}`); !strings.Contains(got, "docs.cost.b") {
					t.Fatalf("the later level changes nothing: %s", got)
				}
				worked := 0
				m.fold.SetEnded(func() error { worked++; return nil }) // which is asked at each document that a level works on
				m.do("put", "agents/b", `{"id":"b","rate":`+rate+`}`)
				m.fold.SetEnded(nil)
				if worked != 0 {
					t.Errorf("an event that leads to nothing works on %d documents", worked)
				}
			}
			if got := m.do("verify", "", ""); !strings.Contains(got, "4 documents are right") {
				t.Error(got)
			}
		})
	}
}

// workOf returns how many documents a model works on, as it tells before.
func workOf(t *testing.T, m *machine, model string) (work int64) {
	t.Helper()
	parsed, err := modelfile.Parse([]byte(model))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.store.Read(func(s *sqlite.Snapshot) error {
		prev, err := fold.PlanOf(s)
		if err != nil {
			return err
		}
		change, err := prev.Follow(parsed, 0)
		if err != nil {
			return err
		}
		work, err = change.Work(s)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return work
}
