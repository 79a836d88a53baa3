// Package modelguess proposes a model for documents, from a sample of them. It finds relations, copies, counts, lists of holders and unique
// members by their values. Each line of a proposal has its evidence beside it, and nobody applies it by itself.
package modelguess

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of a sample. Documents beyond it are counted, and not looked at.
const (
	maxDocuments   = 50_000    // of a collection
	maxBytes       = 256 << 20 // of all documents
	maxCollections = 500
	maxPaths       = 300       // members of a collection, nested ones included
	maxLevels      = 6         // in which members are looked at
	maxTold        = 2_000_000 // values that are told apart, of all members
)

// Sample holds documents. It is for one goroutine.
type Sample struct {
	Documents int // most documents of all collections; 0 for as many as there is room for
	Bytes     int // of their text; default 256 MiB

	collections []*collection
	documents   int
	bytes       int
	left        int  // documents of collections that are too many
	told        int  // values that are told apart
	over        over // of Model
}

// over tells that nobody waits any more.
type over func() bool

// Full tells whether no document of a collection has room any more, so that others need not be read.
func (s *Sample) Full(name string) bool {
	if s.Documents > 0 && s.documents >= s.Documents || s.bytes >= s.most() {
		return true
	}
	at, found := s.find(name)
	return found && len(s.collections[at].bodies) >= maxDocuments || !found && len(s.collections) >= maxCollections
}

// Leave counts documents of a collection that are not in the sample.
func (s *Sample) Leave(name string, documents int) {
	if c := s.collection(name); c != nil {
		c.left += documents
		return
	}
	s.left += documents
}

// most returns how many bytes the documents may have.
func (s *Sample) most() int { return cmp.Or(s.Bytes, maxBytes) }

// find returns the place of a collection in the sample, or where it would be.
func (s *Sample) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(s.collections, name, func(c *collection, name string) int { return strings.Compare(c.name, name) })
}

// collection returns a collection of the sample, nil where there is no room for one more.
func (s *Sample) collection(name string) *collection {
	at, found := s.find(name)
	if !found {
		if len(s.collections) >= maxCollections {
			return nil
		}
		s.collections = slices.Insert(s.collections, at, &collection{name: name, ids: map[string]int{}, byPath: map[string]*member{}, owned: map[string]bool{}})
	}
	return s.collections[at]
}

// collection holds the documents of one.
type collection struct {
	name   string
	bodies [][]byte
	ids    map[string]int // where the document with an id is among bodies
	left   int            // documents that are not in the sample
	paths  []*member
	byPath map[string]*member

	relations []*relation
	derived   []derived
	owned     map[string]bool // paths that are derived, or of relations
}

// member is what is known of the values at a path, such as authors[].id.
type member struct {
	path      string
	documents int            // that have it
	last      int            // the last document counted
	values    int            // strings and numbers
	others    int            // true, false and null
	hits      map[string]int // values that are ids of a collection
	distinct  map[string]struct{}
	repeated  bool // a value comes twice
	plain     bool // no value looks like text for people
}

// relation says that the values at a path are ids of documents of a collection.
type relation struct {
	from   *collection
	to     *collection
	member *member
	name   string
	hits   int
	lost   string // an id without a document
}

// derived is one rule that is proposed.
type derived struct {
	path, rule, evidence string
}

// Add adds a document of a collection to the sample, while there is room. body must be a JSON object.
func (s *Sample) Add(name string, body []byte) {
	c := s.collection(name)
	if c == nil {
		s.left++
		return
	}
	if s.Full(name) || s.bytes+len(body) > s.most() {
		c.left++
		return
	}
	s.bytes += len(body)
	s.documents++
	t := jsondoc.MustParse(body)
	if id := t.Text(t.Member(jsondoc.Root, "id")); id != "" {
		c.ids[id] = len(c.bodies)
	}
	c.bodies = append(c.bodies, bytes.Clone(body))
}

// measure looks at the values of all members.
func (s *Sample) measure() {
	owners := map[string][]*collection{} // of an id
	for _, c := range s.collections {
		for id := range c.ids {
			owners[id] = append(owners[id], c)
		}
	}
	var t jsondoc.Tree
	for _, c := range s.collections {
		for i, body := range c.bodies {
			if s.over() {
				return
			}
			t.Reset(body)
			own := t.Text(t.Member(jsondoc.Root, "id"))
			each(&t, jsondoc.Root, "", 0, func(path string, n jsondoc.Node) {
				s.note(c, path, i, &t, n, func(text string) (all []*collection) {
					if all = owners[text]; text == own { // a member that is as the id does not refer to its own document
						all = slices.DeleteFunc(slices.Clone(all), func(owner *collection) bool { return owner == c })
					}
					return all
				})
			})
		}
	}
}

// each calls fn for each value that is no object and no array, with its path.
func each(t *jsondoc.Tree, n jsondoc.Node, path string, level int, fn func(path string, n jsondoc.Node)) {
	kind := t.Kind(n)
	if kind < jsondoc.Array {
		fn(path, n)
		return
	}
	if level >= maxLevels {
		return
	}
	for e := t.First(n); e != jsondoc.None; e = t.Next(e) {
		if kind == jsondoc.Array {
			each(t, e, path+"[]", level+1, fn)
			continue
		}
		if name := t.Key(e); !strings.ContainsAny(name, ".[]") && name != "" {
			below := name
			if path != "" {
				below = path + "." + name
			}
			each(t, e, below, level+1, fn)
		}
	}
}

// maxDistinct bounds how many values of a member are told apart.
const maxDistinct = 50_000

// note counts one value of a collection.
func (s *Sample) note(c *collection, path string, document int, t *jsondoc.Tree, n jsondoc.Node, owners func(id string) []*collection) {
	m := c.byPath[path]
	if m == nil {
		if len(c.paths) >= maxPaths {
			return
		}
		m = &member{path: path, last: -1, hits: map[string]int{}, distinct: map[string]struct{}{}, plain: true}
		c.paths, c.byPath[path] = append(c.paths, m), m
	}
	if m.last != document {
		m.documents, m.last = m.documents+1, document
	}
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		m.others++
		return
	}
	m.values++
	text := t.Text(n)
	if _, twice := m.distinct[text]; twice {
		m.repeated = true
	} else if len(m.distinct) < maxDistinct && s.told < maxTold {
		m.distinct[text] = struct{}{}
		s.told++
	}
	m.plain = m.plain && len(text) <= 64 && !strings.ContainsAny(text, " \t\n") && text != ""
	for _, owner := range owners(text) {
		m.hits[owner.name]++
	}
}
