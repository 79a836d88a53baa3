package projector

import (
	"slices"
	"strings"
	"sync"

	"github.com/fanfold/fanfold"
)

// report collects rule errors, by rule. It is no part of the read model.
type report struct {
	mu     sync.Mutex
	errors map[string]*RuleError
}

// RuleFailed counts an error. It implements fold.Reporter.
func (r *report) RuleFailed(rule string, key fanfold.Key, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors == nil {
		r.errors = map[string]*RuleError{}
	}
	e := r.errors[rule]
	if e == nil {
		e = &RuleError{Rule: rule}
		r.errors[rule] = e
	}
	e.Count++
	e.Document, e.Error = key.String(), err.Error()
}

// adopt takes over what another report has of some rules, by name.
func (r *report) adopt(from *report, rules map[string]bool) {
	for _, e := range from.list() {
		if !rules[e.Rule] {
			continue
		}
		r.mu.Lock()
		if r.errors == nil {
			r.errors = map[string]*RuleError{}
		}
		r.errors[e.Rule] = &e
		r.mu.Unlock()
	}
}

// list returns the errors, by rule.
func (r *report) list() []RuleError {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]RuleError, 0, len(r.errors))
	for _, e := range r.errors {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b RuleError) int { return strings.Compare(a.Rule, b.Rule) })
	return out
}
