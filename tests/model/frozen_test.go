package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// frozenAndUnlinked is a model in which a document refers to another by two relations: one lets its reference go with the
// target, one feeds a frozen copy.
const frozenAndUnlinked = `
collections:
  people: {}
  tasks:
    relations:
      reviewer: { path: reviewer, to: people, onDelete: unlink }
      author:   { path: author, to: people }
    derive:
      authorName: { copy: author, value: doc.name, frozen: true }
`

// TestFrozenCopyOfATargetThatGoes deletes a target. The delete rewrites a holder, whose frozen copy of the target has no value
// yet: it takes none, because the target is gone once the holder is written. A value that it had stays.
func TestFrozenCopyOfATargetThatGoes(t *testing.T) {
	s := harness.OpenTemp(t, frozenAndUnlinked)
	s.Put("tasks", "early", `{"reviewer":"p","author":"p"}`)
	s.Put("people", "p", `{"name":"Ann"}`)
	s.Put("tasks", "late", `{"reviewer":"p","author":"p"}`)
	s.WantDoc("tasks", "early", `{"id":"early","reviewer":"p","author":"p"}`)
	s.Delete("people", "p")
	s.WantDoc("tasks", "early", `{"id":"early","author":"p"}`)
	s.WantDoc("tasks", "late", `{"id":"late","author":"p","authorName":"Ann"}`)
	s.Replay()
}

// TestFrozenCopyInSteps deletes a target in steps. A holder that is written in a step before the target goes takes the value,
// as at any other write; one that is written in the last step takes none.
func TestFrozenCopyInSteps(t *testing.T) {
	s := harness.OpenTemp(t, frozenAndUnlinked)
	const holders = 1200
	for from := 0; from < holders; from += 600 {
		var ops []string
		for i := from; i < from+600; i++ {
			ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"tasks","id":"%04d","body":{"reviewer":"q","author":"q"}}`, i))
		}
		s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	}
	s.Put("people", "q", `{"name":"Bob"}`)
	for done := false; !done; {
		var step struct{ Done bool }
		harness.Decode(t, s.Want(http.StatusOK, "DELETE", "/v1/people/q?steps=true", "").Body, &step)
		done = step.Done
	}
	s.WantDoc("tasks", "0000", `{"id":"0000","author":"q","authorName":"Bob"}`)
	s.WantDoc("tasks", "1199", `{"id":"1199","author":"q"}`)
	s.Replay()
}
