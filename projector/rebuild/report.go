package rebuild

import (
	"slices"
	"strings"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// Report collects rule errors, by rule. It is no part of the read model.
type Report struct {
	mu     sync.Mutex
	errors map[string]*wire.RuleError
}

// RuleFailed counts an error. It implements fold.Reporter.
func (r *Report) RuleFailed(rule string, key fanfold.Key, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors == nil {
		r.errors = map[string]*wire.RuleError{}
	}
	e := r.errors[rule]
	if e == nil {
		e = &wire.RuleError{Rule: rule}
		r.errors[rule] = e
	}
	e.Count++
	e.Document, e.Error = key.String(), err.Error()
}

// adopt takes over what another report has of some rules, by name.
func (r *Report) adopt(from *Report, rules map[string]bool) {
	for _, e := range from.List() {
		if !rules[e.Rule] {
			continue
		}
		r.mu.Lock()
		if r.errors == nil {
			r.errors = map[string]*wire.RuleError{}
		}
		r.errors[e.Rule] = &e
		r.mu.Unlock()
	}
}

// List returns the errors, by rule.
func (r *Report) List() []wire.RuleError {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]wire.RuleError, 0, len(r.errors))
	for _, e := range r.errors {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b wire.RuleError) int { return strings.Compare(a.Rule, b.Rule) })
	return out
}
