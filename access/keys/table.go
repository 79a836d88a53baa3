package keys

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// The bucket has an entry for each key, below prefix, one that orders their changes, and one with the store's secret. Elsewhere it has
// when keys were last used: see usedPrefix.
const (
	prefix   = "keys"
	stateKey = prefix + "._state"
)

// state is the entry that orders the changes of keys. Every change replaces it first, by its revision, and names what it is
// about to write: the change is made by then, for readers put it over the entries. So no two nodes decide at the same time, and
// a node that is killed between the two writes leaves nothing undecided.
type state struct {
	Closed bool    `json:"closed"` // a key was made once
	Change *change `json:"change,omitempty"`
}

// change is one change of an entry.
type change struct {
	ID    string `json:"id"`
	Entry *Entry `json:"entry,omitempty"` // nil where the key is forgotten
}

// table is what the bucket had at one moment. It does not change.
type table struct {
	state     state
	revision  uint64 // of the state
	secret    []byte // of the store; nil before it is made
	entries   map[string]*Entry
	revisions map[string]uint64
	secrets   map[string][]*access.Principal // by the key's id
	ends      []time.Time                    // of secrets, sorted
	number    uint64                         // counts the tables of this process
}

// newTable reads the entries of the bucket, and puts the change that the state names over them. The error is Internal.
func newTable(all []fanfold.Entry) (*table, error) {
	t := &table{entries: map[string]*Entry{}, revisions: map[string]uint64{}}
	for _, one := range all {
		switch one.Key {
		case secretKey:
			var err error
			if t.secret, err = readSecret(one.Value); err != nil {
				return nil, err
			}
			continue
		case stateKey:
			if err := json.Unmarshal(one.Value, &t.state); err != nil {
				return nil, fanfold.Wrap(err, fanfold.Internal, "the entry %s of the keys cannot be read", one.Key)
			}
			t.revision = one.Revision
			continue
		}
		e := &Entry{}
		if err := json.Unmarshal(one.Value, e); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Internal, "the entry %s of the keys cannot be read", one.Key)
		}
		if id := strings.TrimPrefix(one.Key, prefix+"."); id == e.ID {
			t.entries[id], t.revisions[id] = e, one.Revision
		}
	}
	t.putOver()
	return t, nil
}

// with returns a table as it is after a change of the state.
func (t *table) with(to state, revision uint64) *table {
	out := &table{state: to, revision: revision, secret: t.secret, entries: maps.Clone(t.entries), revisions: t.revisions}
	out.putOver()
	return out
}

// putOver puts the change that the state names over the entries, whether it is written there yet or not, and makes the lookups.
func (t *table) putOver() {
	if c := t.state.Change; c != nil {
		delete(t.entries, c.ID)
		if c.Entry != nil {
			t.entries[c.ID] = c.Entry
		}
	}
	t.index()
}

// index makes the lookups of a table whose entries are in place.
func (t *table) index() {
	t.secrets = map[string][]*access.Principal{}
	for id, e := range t.entries {
		t.secrets[id] = e.principals()
		for _, p := range t.secrets[id] {
			if !p.Ends.IsZero() {
				t.ends = append(t.ends, p.Ends)
			}
		}
	}
	slices.SortFunc(t.ends, time.Time.Compare)
}

// written tells whether the entry is there that a change writes.
func (t *table) written(c *change) bool {
	return c.Entry != nil && t.revisions[c.ID] > t.revision || c.Entry == nil && t.revisions[c.ID] == 0
}

// closed tells whether a key was made once.
func (t *table) closed() bool { return t.state.Closed || len(t.entries) > 0 }

// version is another one in every table, and after each end of a secret.
func (t *table) version(now time.Time) uint64 {
	ended := sort.Search(len(t.ends), func(i int) bool { return t.ends[i].After(now) })
	return t.number<<16 + uint64(ended)
}

// sorted returns the entries by the time of their making.
func (t *table) sorted() []*Entry {
	out := make([]*Entry, 0, len(t.entries))
	for _, e := range t.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *Entry) int {
		if by := a.Created.Compare(b.Created); by != 0 {
			return by
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}
