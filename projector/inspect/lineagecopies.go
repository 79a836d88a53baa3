package inspect

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
)

// copies lists who carries something of the document: holders of copies, and the documents that it refers to, for
// rules about those who do.
func (l *lineage) copies() error {
	c := l.plan.Collection(l.row.Key.Collection)
	readers := append([]*fold.Rule(nil), c.Readers...)
	for _, r := range l.plan.Rules {
		if r.Frozen && r.Relation.To == c.Name {
			readers = append(readers, r)
		}
	}
	for _, r := range readers {
		docs, total, err := l.holders(r)
		if err != nil {
			return err
		}
		entry := Copies{Rule: r.FullName, Documents: total, First: []string{}}
		for _, doc := range docs {
			entry.First = append(entry.First, doc.Key.ID)
		}
		l.out.Copies = append(l.out.Copies, entry)
	}
	return l.counters(c.Counters)
}

// counters lists the documents that the document refers to and enters into one of some rules of. Conditions are evaluated first,
// for a while: they are about this document alone.
func (l *lineage) counters(rules []*fold.Rule) error {
	source := jsondoc.MustParse(l.row.ReferencedText())
	view := func(r *fold.Rule) *jsondoc.Tree {
		if r.EntersDerived {
			return l.t
		}
		return source
	}
	included, late := make([]bool, len(rules)), make([]bool, len(rules))
	for i, r := range rules {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if late[i] = r.Where != "" && isLate(&l.conditions); !late[i] {
			included[i] = l.includes(r, view(r))
		}
	}
	targets := map[string]Copies{}
	for i, r := range rules {
		entry := Copies{Rule: r.FullName, First: []string{}}
		switch {
		case late[i]:
			entry.Reason = "the expressions take too long to say whether the document takes part"
		case included[i]:
			known, ok := targets[r.RelationName]
			if !ok {
				var err error
				if known, err = l.targets(r, view(r)); err != nil {
					return err
				}
				targets[r.RelationName] = known
			}
			entry.Documents, entry.First, entry.More = known.Documents, known.First, known.More
		}
		l.out.Copies = append(l.out.Copies, entry)
	}
	return nil
}

// includes returns whether the document enters into a rule, given the view that Includes takes.
func (l *lineage) includes(r *fold.Rule, view *jsondoc.Tree) bool {
	if r.Where != "" {
		l.evaluated++
	}
	return r.Includes(view, l.row.Key, nil)
}

// targets returns the documents that the document refers to by a rule's relation.
func (l *lineage) targets(r *fold.Rule, view *jsondoc.Tree) (Copies, error) {
	found := Copies{First: []string{}}
	ids := r.Relation.Targets(view)
	for i, id := range ids {
		if l.referred == maxReferred {
			found.More = int64(len(ids) - i)
			break
		}
		l.referred++
		number, err := l.state.NumberOf(fanfold.Key{Collection: r.Collection, ID: id})
		if err != nil {
			return found, err
		}
		if number == 0 {
			continue
		}
		if found.Documents++; len(found.First) < maxSources {
			found.First = append(found.First, id)
		}
	}
	return found, nil
}
