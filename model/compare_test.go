package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// TestCompare checks what comparisons answer by testdata/compare, where two models are separated by a line of dashes. The
// arguments reserved and retired say what was removed before, as <collection>.<path>.
func TestCompare(t *testing.T) {
	datadriven.RunTest(t, "testdata/compare", func(t *testing.T, d *datadriven.TestData) string {
		before, after, found := strings.Cut(d.Input, "\n---\n")
		if !found {
			t.Fatalf("%s: one model", d.Pos)
		}
		c := model.Compare(parse(t, before), parse(t, after))
		var retired model.Retired
		reserved := model.Reserved{}
		for _, arg := range d.CmdArgs {
			for _, name := range arg.Vals {
				collection, path, _ := strings.Cut(name, ".")
				reserved[collection] = append(reserved[collection], path)
				if arg.Key == "retired" {
					retired = append(retired, model.KeepingRule{Collection: collection, Path: path, Refers: "by", To: "people"})
				}
			}
		}
		return describe(c, reserved, retired)
	})
}

func parse(t *testing.T, text string) *model.Model {
	t.Helper()
	m, err := modelfile.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

// describe returns the answers of a comparison, a line each.
func describe(c *model.Comparison, reserved model.Reserved, retired model.Retired) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	for _, p := range c.Collections {
		for _, r := range p.Relations {
			line("relation %s: same ids %t, same documents %t", name(r.Prev, r.Next, (*model.Relation).FullName), r.SameIDs(), r.Same())
		}
		for _, r := range p.Rules {
			line("rule %s: same %t", name(r.Prev, r.Next, (*model.Rule).Name), r.Same())
		}
	}
	for _, d := range c.Differences() {
		line("difference %s: %s, removes %t", d.Path, d.Change, d.Removes)
	}
	if before, after := gated(c.Prev), gated(c.Next); !slices.Equal(before, after) {
		line("gates: %v, were %v", after, before)
	}
	strict, unique := c.NewGuards()
	for _, r := range strict {
		line("newly strict: %s", r.FullName())
	}
	everyUnique := func(what string, all map[string][]*model.Unique) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			line("%s unique: %s %v", what, name, all[name])
		}
	}
	everyUnique("newly", unique)
	everyUnique("no longer", c.NoLongerUnique())
	for _, o := range c.KeptValues(retired) {
		line("%s values of %s: stay %t, released %t, outcome %q", o.Kind(), o.Name(), o.Stays, o.Released, o.Outcome())
	}
	for _, k := range c.Retired(c.KeptValues(retired)) {
		line("retired: %s", k.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Reserved(reserved))) {
		line("reserved: %s %v", name, c.Reserved(reserved)[name])
	}
	if c.ChangesFunctions() {
		line("changes functions")
	}
	if c.AddsGuards() || c.LosesUnreleased() {
		line("adds guards %t, loses unreleased values %t", c.AddsGuards(), c.LosesUnreleased())
	}
	return out.String()
}

// gated returns the names of the declared collections that are gated.
func gated(m *model.Model) []string {
	return names(m.Collections, func(c *model.Collection) string {
		if m.Gated(c.Name) {
			return c.Name
		}
		return ""
	})
}

// name returns the name of the one of two declarations that there is.
func name[T any](prev, next *T, of func(*T) string) string {
	if next == nil {
		return of(prev)
	}
	return of(next)
}
