package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
)

// randomPairs is how many pairs of random models each test looks at.
const randomPairs = 1000

// TestAnswersAgree checks that differences, guards, kept values and fold mean the same by a rule, a relation and a unique
// member that came, went or changed.
func TestAnswersAgree(t *testing.T) {
	seen := map[string]int{}
	eachRandomPair(t, randomPairs, func(t *testing.T, prev, next *model.Model) {
		c := model.Compare(prev, next)
		plan, err := fold.NewPlan(prev, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		change, err := plan.Follow(next, 2)
		if err != nil {
			t.Fatal(err)
		}
		told := differencesByPath(c)
		checkRulesAgree(t, c, change, told)
		checkGuardsAgree(t, c, change, told)
		checkKeptValuesAgree(t, c, change, told)
		checkIndexesAgree(t, c, change, told)
		checkFunctionsAgree(t, c, change, told)
		if len(told) == 0 && !change.LeavesDocuments() {
			t.Error("without a difference documents are concerned")
		}
		seen["rules"] += len(change.NewRules)
		seen["strict"] += len(change.Strict)
		seen["unique"] += len(change.Unique)
		seen["indexes"] += len(change.NewIndexes)
		if c.ChangesFunctions() {
			seen["functions"]++
		}
		if c.ChangesGates() {
			seen["gates"]++
		}
		for _, o := range change.KeptValues {
			seen[o.Outcome()]++
		}
	})
	for _, what := range []string{"rules", "strict", "unique", "indexes", "functions", "gates", model.Lost, model.Stored} {
		if seen[what] == 0 {
			t.Errorf("no pair has %s", what)
		}
	}
}

// checkIndexesAgree checks that the fold builds the indexes that are told to be added or changed, and that one which goes is told to
// remove something.
func checkIndexesAgree(t *testing.T, c *model.Comparison, change *fold.ModelChange, told map[string]model.Difference) {
	built := map[string]bool{}
	for _, x := range change.NewIndexes {
		built["collections."+x.Collection+".indexes."+x.Name] = true
	}
	for path, d := range told {
		if !strings.Contains(path, ".indexes.") {
			continue
		}
		if built[path] != (d.Change != "removed") || d.Removes != (d.Change == "removed") {
			t.Errorf("%+v is told, and built is %t", d, built[path])
		}
		delete(built, path)
	}
	if len(built) > 0 {
		t.Errorf("%v are built and not told", built)
	}
	for _, p := range c.Collections {
		for _, x := range p.Indexes {
			if x.Same() && c.Prev.Collection(p.Name).DeclaredIndex(x.Next.Name).Declaration() != x.Next.Declaration() {
				t.Errorf("%s is the same and declared otherwise", x.Next)
			}
		}
	}
}

// checkFunctionsAgree checks that functions and triggers that differ are told, that they concern no document, and that writes wait where other
// collections are gated.
func checkFunctionsAgree(t *testing.T, c *model.Comparison, change *fold.ModelChange, told map[string]model.Difference) {
	t.Helper()
	says, only := false, true
	for path, d := range told {
		of := strings.HasPrefix(path, "functions.")
		if !of && !strings.HasSuffix(path, ".trigger") {
			only = false
			continue
		}
		says = true
		whole := !of || strings.Count(path, ".") == 1 || strings.HasSuffix(path, ".call")
		if d.Change == "removed" && d.Removes != whole && !strings.HasSuffix(path, ".args") {
			t.Errorf("%+v is told, and takes a whole away: %t", d, whole)
		}
	}
	if only && !change.LeavesDocuments() {
		t.Error("functions alone concern documents")
	}
	if says != c.ChangesFunctions() {
		t.Errorf("functions or triggers are told: %t, and changed: %t", says, c.ChangesFunctions())
	}
	for _, m := range []*model.Model{c.Prev, c.Next} {
		must, may := gatesByHand(m)
		for _, c := range m.Collections {
			if got := m.Gated(c.Name); got && !slices.Contains(may, c.Name) || !got && slices.Contains(must, c.Name) {
				t.Errorf("%s is gated: %t, and must be %v, may be %v", c.Name, got, must, may)
			}
		}
	}
	if differ := !slices.Equal(gated(c.Prev), gated(c.Next)); differ != c.ChangesGates() || differ && !c.AddsGuards() {
		t.Errorf("the gates differ: %t, told: %t, and writes wait: %t", differ, c.ChangesGates(), c.AddsGuards())
	}
}

// gatesByHand returns the collections that must be gated, and those that may be: what functions read, with what that derives from by one rule,
// and by any number of them.
func gatesByHand(m *model.Model) (must, may []string) {
	for _, f := range m.Functions {
		may = append(may, f.Reads...)
	}
	read := len(may)
	must = slices.Clone(may)
	for i := 0; i < len(may); i++ {
		for _, r := range m.Collection(may[i]).Rules {
			if i < read {
				must = append(must, r.Source())
			}
			if !slices.Contains(may, r.Source()) {
				may = append(may, r.Source())
			}
		}
	}
	return must, may
}

// TestNothingChanges checks the comparison of a model with itself.
func TestNothingChanges(t *testing.T) {
	eachRandomPair(t, randomPairs/4, func(t *testing.T, _, m *model.Model) {
		c := model.Compare(m, m)
		if d := c.Differences(); len(d) > 0 || c.AddsGuards() || c.ChangesFunctions() || c.LosesUnreleased() || len(c.NoLongerUnique())+len(c.Retired(nil))+len(c.Reserved(nil)) > 0 {
			t.Errorf("a model differs from itself: %v", d)
		}
		for _, p := range c.Collections {
			if slices.ContainsFunc(p.Rules, func(r model.RulePair) bool { return !r.Same() }) || slices.ContainsFunc(p.Relations, func(r model.RelationPair) bool { return !r.Same() }) {
				t.Errorf("%s differs from itself", p.Name)
			}
		}
	})
}

// TestThereAndBack checks that values which a model leaves stored show again under the model before it, and that then nothing
// is reserved or retired.
func TestThereAndBack(t *testing.T) {
	eachRandomPair(t, randomPairs/2, func(t *testing.T, prev, next *model.Model) {
		there, back := model.Compare(prev, next), model.Compare(next, prev)
		retired := there.Retired(there.KeptValues(nil))
		for _, o := range back.KeptValues(retired) {
			if !o.HadRule && o.Outcome() != model.Restored {
				t.Errorf("retired values of %s come back as %+v", o.Name(), o)
			}
		}
		_, unique := there.NewGuards()
		if got, want := fmt.Sprint(back.NoLongerUnique()), fmt.Sprint(unique); got != want {
			t.Errorf("no longer unique are %s, newly unique were %s", got, want)
		}
		reserved := back.Reserved(there.Reserved(nil))
		for _, r := range prev.Rules {
			if slices.Contains(reserved[r.Collection], r.Path.String()) {
				t.Errorf("%s is a rule, and its path is reserved", r.Name())
			}
		}
	})
}

// differencesByPath returns the differences of a comparison.
func differencesByPath(c *model.Comparison) map[string]model.Difference {
	told := map[string]model.Difference{}
	for _, d := range c.Differences() {
		if strings.HasSuffix(d.Path, ".unique") {
			d.Path += " " + d.Detail
		}
		told[d.Path] = d
	}
	return told
}

// checkRulesAgree checks that differences and fold have the same new, changed and removed rules.
func checkRulesAgree(t *testing.T, c *model.Comparison, change *fold.ModelChange, told map[string]model.Difference) {
	t.Helper()
	for _, p := range c.Collections {
		for _, r := range p.Rules {
			rule := name(r.Prev, r.Next, (*model.Rule).Name)
			d := told["collections."+p.Name+".derive."+strings.TrimPrefix(rule, p.Name+".")]
			want := ""
			switch {
			case r.Prev == nil:
				want = "added"
			case r.Next == nil:
				want = "removed"
			case !r.Same() || r.Prev.TakeOver != r.Next.TakeOver:
				want = "changed"
			}
			if d.Change != want || change.NewRules[rule] != (r.Next != nil && !r.Same()) || change.AddedRules[rule] != (want == "added") {
				t.Errorf("rule %s is %q, told as %q; it is new to the fold: %t, added: %t", rule, want, d.Change, change.NewRules[rule], change.AddedRules[rule])
			}
		}
	}
}

// checkGuardsAgree checks that each new guard is told as a difference, and that the fold has the same guards.
func checkGuardsAgree(t *testing.T, c *model.Comparison, change *fold.ModelChange, told map[string]model.Difference) {
	t.Helper()
	strict, unique := c.NewGuards()
	if fmt.Sprint(names(change.Strict, (*model.Relation).FullName)) != fmt.Sprint(names(strict, (*model.Relation).FullName)) || !maps.EqualFunc(change.Unique, unique, slices.Equal) {
		t.Errorf("the fold guards %v and %v anew, the comparison %v and %v", change.Strict, change.Unique, strict, unique)
	}
	for _, r := range strict {
		at := "collections." + r.Collection + ".relations." + r.Name
		if told[at].Change == "" && told[at+".strict"].Change != "added" {
			t.Errorf("%s is newly strict, and no difference says so", r.FullName())
		}
	}
	for change, all := range map[string]map[string][]*model.Unique{"added": unique, "removed": c.NoLongerUnique()} {
		for name, list := range all {
			for _, u := range list {
				if d := told["collections."+name+".unique "+u.String()]; d.Change != change {
					t.Errorf("%s of %s is told as %q, want %q", u, name, d.Change, change)
				}
			}
		}
	}
}

// checkKeptValuesAgree checks two things about a rule whose kept values go, or are stored on. It is reported as one that takes something
// away, and the next plan retires a rule whose values are stored on.
func checkKeptValuesAgree(t *testing.T, c *model.Comparison, change *fold.ModelChange, told map[string]model.Difference) {
	t.Helper()
	lost := false
	var stored []string
	for _, o := range change.KeptValues {
		lost = lost || o.Unreleased()
		d := told["collections."+o.Collection+".derive."+o.Path]
		switch o.Outcome() {
		case model.Stored:
			stored = append(stored, o.Name())
			if d.Change != "removed" || !slices.Contains(change.Next.Reserved[o.Collection], o.Path) {
				t.Errorf("values of %s are stored on, and the rule is told as %+v", o.Name(), d)
			}
		case model.Lost:
			if change.NewRules[o.Name()] && !d.Removes {
				t.Errorf("values of %s are lost, and the rule is told as %+v", o.Name(), d)
			}
		}
	}
	if got := names(change.Next.Retired, model.KeepingRule.Name); !slices.Equal(got, stored) {
		t.Errorf("retired are %v, want %v", got, stored)
	}
	if c.LosesUnreleased() != lost {
		t.Errorf("values are lost: %t, and told to be: %t", lost, c.LosesUnreleased())
	}
}
