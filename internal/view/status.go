package view

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/wire"
)

// Status returns what a node tells of itself, with what of it and of the consumer groups needs attention. It lacks documents,
// indexes and queries of what may not be read. The results of work are for the role admin.
func (v View) Status(s wire.Status, stopped error, groups []wire.Need) wire.Status {
	if v.rights == nil {
		return wire.Status{}
	}
	groups = slices.DeleteFunc(slices.Clone(groups), func(n wire.Need) bool { return !v.rights.Has(n.Role) })
	s = v.readable(s)
	s.Needs = wire.NeedsOf(&s, stopped, groups)
	return s
}

// readable returns a status without what may not be read.
func (v View) readable(s wire.Status) wire.Status {
	if !v.rights.Admin() {
		s.Work = slices.Clone(s.Work)
		for i := range s.Work {
			s.Work[i].Headers, s.Work[i].Summary, s.Work[i].Result = nil, nil, nil
		}
	}
	if v.rights.ReadsAll() {
		return s
	}
	s.Indexes = slices.DeleteFunc(slices.Clone(s.Indexes), func(x wire.Index) bool { return !v.rights.Reads(x.Collection) })
	s.Queries = slices.DeleteFunc(slices.Clone(s.Queries), func(q wire.QueryShape) bool { return !v.rights.Reads(q.Collection) })
	s.Refusals = slices.DeleteFunc(slices.Clone(s.Refusals), func(r wire.RuleRefusals) bool { return !v.rights.Reads(r.Collection) })
	s.RuleErrors = slices.Clone(s.RuleErrors)
	for i := range s.RuleErrors {
		if e := &s.RuleErrors[i]; !v.readsText(e.Document) {
			e.Document, e.Error = unnamed, ""
		}
	}
	if r := s.Replay; r != nil && r.Check != nil && r.Check.First != nil {
		replay, check, first := *r, *r.Check, *r.Check.First
		first.Key = ""
		s.Replay, replay.Check, check.First = &replay, &check, &first
	}
	return s
}

// readsText tells whether a document may be read whose key a report has, such as books/b1.
func (v View) readsText(key string) bool {
	collection, _, _ := strings.Cut(key, "/")
	return v.rights.Reads(collection)
}
