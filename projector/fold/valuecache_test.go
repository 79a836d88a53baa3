package fold_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
)

// failures counts evaluations that failed.
type failures int

// RuleFailed counts one more.
func (f *failures) RuleFailed(string, fanfold.Key, error) { *f++ }

// TestNoValueIsCached checks that a target that gives no value is evaluated once for all its holders, and again once it
// changes.
func TestNoValueIsCached(t *testing.T) {
	m := newMachine(t)
	var failed failures
	m.fold = fold.New(m.fold.Plan(), fold.Options{Reporter: &failed})
	run := func(cmd, key, input string) {
		t.Helper()
		d := &datadriven.TestData{Cmd: cmd, Input: input}
		if key != "" {
			d.CmdArgs = []datadriven.CmdArg{{Key: key}}
		}
		m.run(d)
	}
	run("model", "", `collections: {as: {}, bs: {relations: {a: {path: a, to: as}}, derive: {n: {copy: a, value: "doc.n * 2"}}}}`)
	run("put", "as/1", `{"id":"1","n":"x"}`)
	for i := range 5 {
		run("put", fmt.Sprintf("bs/%d", i), fmt.Sprintf(`{"id":"%d","a":"1"}`, i))
	}
	if failed != 1 {
		t.Errorf("the target was evaluated %d times for 5 holders", failed)
	}
	run("put", "as/1", `{"id":"1","n":4}`)
	if got := m.run(&datadriven.TestData{Cmd: "get", CmdArgs: []datadriven.CmdArg{{Key: "bs/4"}}}); !strings.Contains(got, `"n":8`) {
		t.Errorf("the holder has %s", got)
	}
	if v := m.run(&datadriven.TestData{Cmd: "verify"}); v != "6 documents are right\n" {
		t.Error(v)
	}
}

// TestLongValuesWithoutRoom checks that long values for which a view has no room are not computed again at each place. Memory does not hold
// them all, but their lengths.
func TestLongValuesWithoutRoom(t *testing.T) {
	const targets, places = 20, 200
	m := newMachine(t)
	m.do("model", "", `collections: {as: {}, bs: {relations: {r: {path: "r[].id", to: as}}, derive: {"r[].w": {copy: r, value: doc.bio}}}}`)
	for i := range targets {
		m.do("put", fmt.Sprint("as/", i), fmt.Sprintf(`{"id":"%d","bio":"%s"}`, i, strings.Repeat("b", 2_000_000)))
	}
	ids := make([]string, places)
	for i := range ids {
		ids[i] = fmt.Sprintf(`{"id":"%d"}`, i%targets)
	}
	read := 0
	m.fold.SetEnded(func() error { read++; return nil }) // which is asked before each target is read
	m.do("put", "bs/b", `{"id":"b","r":[`+strings.Join(ids, ",")+`]}`)
	m.fold.SetEnded(nil)
	if read > 3*targets {
		t.Errorf("targets were read %d times, want %d and those that have room", read, targets)
	}
	if got := m.do("verify", "", ""); !strings.Contains(got, fmt.Sprint(targets+1, " documents are right")) {
		t.Error(got)
	}
}
