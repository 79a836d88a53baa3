package writer

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// claim holds the net effect of the writes on one unique value.
type claim struct {
	claimKey

	unique    *model.Unique
	index     int    // of the write that takes the value or gives it up; -1 for none
	holder    string // the id of the document that has it after the writes; "" for none
	oldHolder string // the id of the document that has it in the snapshot; "" for none
	seq       uint64 // the last event about the value
}

// claimKey names a value of what is unique under a name.
type claimKey struct{ collection, name, value string }

// recordValue records what a write does to a unique value. The error is Conflict where another of the
// writes takes the same value, and Unprocessable for a value that cannot be compared.
func (g *guardSet) recordValue(i int, u *model.Unique, before, after *guardedParts) error {
	key := g.writes[i].Event.Key
	was, _ := before.value(u) // what could not be compared was never claimed
	is, err := after.value(u)
	if err != nil {
		return err
	}
	if why := after.unlike(u); why != nil && before.unlike(u) == nil {
		return why
	}
	if is != "" {
		c, err := g.claim(key.Collection, u, is)
		if err != nil {
			return err
		}
		if c.holder != "" && c.holder != key.ID && c.index >= 0 {
			return about(fanfold.Errorf(fanfold.Conflict, "%s and %s/%s would both have %s, which is unique", key, key.Collection, c.holder, u.Has(is)), key)
		}
		if !g.together && c.index < 0 && c.oldHolder != "" && c.oldHolder != key.ID {
			return g.hasValue(c)
		}
		g.setClaim(c, key.ID, i)
	}
	if was != "" && was != is {
		c, err := g.claim(key.Collection, u, was)
		if err != nil {
			return err
		}
		if c.index < 0 && c.oldHolder == key.ID {
			g.setClaim(c, "", i)
		}
	}
	return nil
}

// claimState holds what a claim was.
type claimState struct {
	claim  *claim
	holder string
	index  int
}

// setClaim records who has a value after a write, and what was recorded before.
func (g *guardSet) setClaim(c *claim, holder string, write int) {
	g.undo = append(g.undo, claimState{c, c.holder, c.index})
	c.holder, c.index = holder, write
}

// claim returns the effect on a value that was recorded, or a new one without effect.
func (g *guardSet) claim(collection string, u *model.Unique, value string) (*claim, error) {
	key := claimKey{collection, u.Name(), value}
	if c := g.claimOf[key]; c != nil {
		return c, nil
	}
	holder, seq, err := g.snap.Claim(collection, key.name, value)
	if err != nil {
		return nil, err
	}
	c := &claim{claimKey: key, unique: u, index: -1, oldHolder: holder, holder: holder, seq: seq}
	g.claimOf[key], g.claims = c, append(g.claims, c)
	return c, nil
}

// guardValues adds the claim events of all values that change hands. It notes a write as refused, with a Conflict, where
// another document has the value and the writes do not make it give the value up.
func (g *guardSet) guardValues() error {
	for _, c := range g.claims {
		if c.index < 0 || c.holder == c.oldHolder {
			continue
		}
		if c.holder != "" && c.oldHolder != "" {
			if err := g.checkGivenUp(c); err != nil {
				if err := g.refuse(c.index, err); err != nil {
					return err
				}
				continue
			}
		}
		ev := &fanfold.Event{Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: c.collection, ID: c.holder}, Path: c.name, Value: c.value, Held: c.holder != "", Actor: g.writes[c.index].Event.Actor}
		if c.holder == "" {
			ev.Key.ID = c.oldHolder
		}
		g.guards = append(g.guards, fanfold.Write{Event: ev, Expect: fanfold.Exactly(fanfold.Revision(c.seq))})
	}
	return nil
}

// checkGivenUp returns a Conflict unless the writes make the document that has the value give it up.
func (g *guardSet) checkGivenUp(c *claim) error {
	holder := fanfold.Key{Collection: c.collection, ID: c.oldHolder}
	left, written := g.after[holder]
	if written && left == nil {
		return nil
	}
	if written {
		if value, _ := left.value(c.unique); value != c.value {
			return nil
		}
	}
	return g.hasValue(c)
}

// hasValue returns the Conflict of a value that a stored document has.
func (g *guardSet) hasValue(c *claim) error {
	holder := fanfold.Key{Collection: c.collection, ID: c.oldHolder}
	return about(fanfold.Errorf(fanfold.Conflict, "%s has %s, which is unique", holder, c.unique.Has(c.value)), holder)
}

// heldValues says who has unique values; "" for nobody.
type heldValues map[claimKey]string

// guardValue notes who has a unique value after a write. The error is Conflict where another document has it.
func (s *session) guardValue(p *planned, u *model.Unique, before, after *guardedParts) error {
	was, _ := before.value(u)
	is, err := after.value(u)
	if err != nil {
		return err
	}
	if is != "" && is != was {
		key := claimKey{p.key.Collection, u.Name(), is}
		holder, err := s.holder(key)
		if err != nil {
			return err
		}
		if holder != "" && holder != p.key.ID {
			other := fanfold.Key{Collection: p.key.Collection, ID: holder}
			if _, err := s.document(other); err != nil { // the function may catch the error and go by it
				return err
			}
			return about(fanfold.Errorf(fanfold.Conflict, "%s has %s, which is unique", other, u.Has(is)), other)
		}
		s.claim(key, p.key.ID)
	}
	if was != "" && was != is {
		s.claim(claimKey{p.key.Collection, u.Name(), was}, "")
	}
	return nil
}

// claim notes who has a unique value after a write, "" for nobody.
func (s *session) claim(key claimKey, id string) {
	was, known := s.values[key]
	s.undo = append(s.undo, func() {
		if s.values[key] = was; !known {
			delete(s.values, key)
		}
	})
	s.values[key] = id
}

// holder returns the id of the document that has a unique value, "" for none.
func (s *session) holder(key claimKey) (id string, err error) {
	if id, known := s.values[key]; known {
		return id, nil
	}
	err = s.look(func(snap Sighting) error {
		id, _, err = snap.Claim(key.collection, key.name, key.value)
		return err
	})
	return id, err
}
