package fold

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// documentChange is a document whose referenced view an event changes. A view that is not there is an empty object.
type documentChange struct {
	key           fanfold.Key
	number        int64
	before, after *jsondoc.Tree // its referenced views
}

// referenceChange is a document with the ids that it referred to by one relation, and refers to now.
type referenceChange struct {
	documentChange
	was, is []string
}

// relink brings the document's links and claims to its new referenced view, and marks the values of others that it
// enters or leaves.
func (f *Fold) relink(c *Collection, d documentChange) error {
	f.links = f.links[:0]
	for _, r := range c.Relations {
		refs := referenceChange{documentChange: d, was: r.Targets(d.before), is: r.Targets(d.after)}
		if err := f.relinkRelation(c, r, refs); err != nil {
			return err
		}
		if err := f.markCounters(c, r, refs); err != nil {
			return err
		}
	}
	if err := f.tx.AddLinks(f.links, d.number); err != nil {
		return err
	}
	return f.updateClaims(c, d)
}

// relinkRelation removes the links by one relation that went, and adds those that came: at once where they get places
// in pages, otherwise to f.links.
func (f *Fold) relinkRelation(c *Collection, r *fanfold.Relation, refs referenceChange) error {
	name := r.FullName()
	for _, id := range refs.was {
		if slices.Contains(refs.is, id) {
			continue
		}
		if err := f.tx.RemoveLink(name, id, refs.number); err != nil {
			return err
		}
		if err := f.forgetKept(c, r, id, refs.number); err != nil {
			return err
		}
	}
	for _, id := range refs.is {
		switch {
		case slices.Contains(refs.was, id):
		case !f.plan.pages(r):
			f.links = append(f.links, sqlite.Link{Relation: name, Target: id})
		default:
			if err := f.tx.AddLink(name, id, refs.number, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// updateClaims brings the unique values that a document claims to its new referenced view. Who has a value is known
// from the documents alone; claim events only say which of them was stored last.
func (f *Fold) updateClaims(c *Collection, d documentChange) error {
	for _, path := range c.unique {
		was, _ := fanfold.UniqueValue(d.before, path) // what cannot be compared is not claimed
		is, _ := fanfold.UniqueValue(d.after, path)
		switch {
		case was == is:
			continue
		case f.preparing.claims(d.key.Collection, path):
			if err := f.noteUniqueCandidate(d, path, was, is); err != nil {
				return err
			}
			continue
		}
		if was != "" {
			if err := f.tx.FreeClaim(d.key.Collection, path.String(), was, d.key.ID); err != nil {
				return err
			}
		}
		if is != "" {
			if err := f.tx.SetClaim(d.key.Collection, path.String(), is, d.key.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteUniqueCandidate notes a document's value of a member that an announced model makes unique.
func (f *Fold) noteUniqueCandidate(d documentChange, path fanfold.Path, was, is string) error {
	if was != "" {
		if err := f.tx.RemoveUniqueCandidate(d.key.Collection, path.String(), was, d.number); err != nil {
			return err
		}
	}
	if is == "" {
		return nil
	}
	return f.tx.AddUniqueCandidate(d.key.Collection, path.String(), is, d.number)
}
