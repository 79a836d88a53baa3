package fold

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// documentChange is a document whose referenced view an event changes. A view that is not there is an empty object.
type documentChange struct {
	key           fanfold.Key
	number        int64
	before, after *jsondoc.Tree // its referenced views
	// The revisions of these.
	revisionBefore, revision fanfold.Revision
}

// referenceChange is a document with the ids that it referred to by one relation, and refers to now.
type referenceChange struct {
	documentChange
	was, is []string
}

// idSet tells which ids are among some. A few are looked through, which costs no memory.
type idSet struct {
	few  []string
	many map[string]struct{}
}

// newIDSet returns the set of ids.
func newIDSet(ids []string) idSet {
	if len(ids) <= 16 {
		return idSet{few: ids}
	}
	s := idSet{many: make(map[string]struct{}, len(ids))}
	for _, id := range ids {
		s.many[id] = struct{}{}
	}
	return s
}

// has returns whether the id is among them.
func (s idSet) has(id string) bool {
	if s.many == nil {
		return slices.Contains(s.few, id)
	}
	_, ok := s.many[id]
	return ok
}

// relink brings the document's links and claims to its new referenced view, and marks the values of others that it
// enters or leaves.
func (f *Fold) relink(c *Collection, d documentChange) error {
	f.links = f.links[:0]
	for _, r := range c.Relations {
		if r.Derived() { // whose links are made later
			continue
		}
		refs := referenceChange{documentChange: d, was: r.Targets(d.before), is: r.Targets(d.after)}
		if err := f.relinkRelation(c, r, refs); err != nil {
			return err
		}
		if err := f.entries.moveCounters(c, r, refs); err != nil {
			return err
		}
	}
	if err := f.tx.Links.AddAll(f.links, d.number); err != nil {
		return err
	}
	if err := f.keeper.forgetRetired(c, d); err != nil {
		return err
	}
	return f.updateClaims(c, d)
}

// relinkRelation removes the links by one relation that went, and adds those that came: at once where they get places
// in pages, otherwise to f.links.
func (f *Fold) relinkRelation(c *Collection, r *model.Relation, refs referenceChange) error {
	name, was, is := r.FullName(), newIDSet(refs.was), newIDSet(refs.is)
	for _, id := range refs.was {
		if is.has(id) {
			continue
		}
		if err := f.tx.Links.Remove(name, id, refs.number); err != nil {
			return err
		}
		if err := f.keeper.forget(c, r, id, refs.number); err != nil {
			return err
		}
	}
	for _, id := range refs.is {
		switch {
		case was.has(id):
		case !f.plan.pages(r):
			f.links = append(f.links, sqlite.Link{Relation: name, Target: id})
		default:
			if err := f.tx.Links.Add(name, id, refs.number, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// updateClaims brings the unique values that a document claims to its new referenced view. The documents alone say
// which one has a value; claim events only say which claim was stored last.
func (f *Fold) updateClaims(c *Collection, d documentChange) error {
	for _, u := range c.unique {
		was, _ := u.Value(d.before) // what cannot be compared is not claimed
		is, _ := u.Value(d.after)
		switch {
		case was == is:
			continue
		case f.preparing.claims(d.key.Collection, u):
			if err := f.noteUniqueCandidate(d, u, was, is); err != nil {
				return err
			}
			continue
		}
		if was != "" {
			if err := f.tx.Uniques.Free(d.key.Collection, u.Name(), was, d.key.ID); err != nil {
				return err
			}
		}
		if is != "" {
			if err := f.tx.Uniques.Set(d.key.Collection, u.Name(), is, d.key.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteUniqueCandidate notes a document's value of what an announced model makes unique.
func (f *Fold) noteUniqueCandidate(d documentChange, u *model.Unique, was, is string) error {
	if was != "" {
		if err := f.tx.Uniques.RemoveCandidate(d.key.Collection, u.Name(), was, d.number); err != nil {
			return err
		}
	}
	if is == "" {
		return nil
	}
	return f.tx.Uniques.AddCandidate(d.key.Collection, u.Name(), is, d.number)
}

// counters are the last numbers of sequences.
type counters struct{ *folding }

// set takes over the last number of a counter from its event.
func (f counters) set(ev *fanfold.Event) error {
	given, err := ev.Given()
	if err != nil {
		return err
	}
	return f.tx.Sequences.Set(ev.Key.Collection, ev.Path, ev.Value, given.Last, ev.Seq)
}

// tell takes from a document that the event creates for which values of per its numbers are. The events of counters do not have the values:
// they go with the documents.
func (f counters) tell(c *Collection, t *jsondoc.Tree) error {
	if !f.creates || f.amending != nil {
		return nil
	}
	for _, s := range c.sequences {
		if s.Per == "" {
			continue
		}
		if per, ok := s.PerOf(t); ok {
			if err := f.tx.Sequences.Tell(c.Name, s.Path.String(), s.Key(per), per); err != nil {
				return err
			}
		}
	}
	return nil
}
