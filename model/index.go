package model

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// MaxIndexElements is how many entries one document has in an index. A document whose array has more different elements has one
// entry with the empty key.
const MaxIndexElements = 1000

// The members of _meta that documents are ordered by.
const (
	CreatedAt = "createdAt"
	UpdatedAt = "updatedAt"
)

// metaPrefix is what stands before one of these in a model.
const metaPrefix = "_meta."

// Component is one of the values that documents are ordered by: of an index, a sort or a group. It looks at the embedded view.
type Component struct {
	Path       Path   // of a value, through one array at most; nil for an expression or a time
	Expression string // a CEL expression over doc, in its canonical form; "" for a path or a time
	Time       string // CreatedAt or UpdatedAt; "" for a path or an expression
	Descending bool

	// Reads lists the top-level members that the expression looks at; nil for any.
	Reads []string
	// Named lists the paths of members that the expression names; nil where nobody asks.
	Named [][]string
	// Evaluate returns the JSON text of the expression's value; ok is false where there is none.
	Evaluate func(doc *jsondoc.Tree) (text []byte, ok bool)
	// Try does what Evaluate does. The error says why CEL cannot give a value; it is nil where a member is missing.
	Try func(doc *jsondoc.Tree) (text []byte, err error)
	// Timed does what Try does for an expression that also reads the document's times, which is no index's; nil for others.
	Timed func(f IndexFacts) (text []byte, err error)
}

// Term returns the component without its direction, as a model declares it.
func (c Component) Term() string {
	switch {
	case c.Time != "":
		return metaPrefix + c.Time
	case c.Expression != "":
		return c.Expression
	}
	return c.Path.String()
}

// String returns the component as a model declares it: with "-" before it where it descends.
func (c Component) String() string {
	if c.Descending {
		return "-" + c.Term()
	}
	return c.Term()
}

// array returns the part of the path that leads to an array's elements, nil for none.
func (c Component) array() Path {
	i := slices.IndexFunc(c.Path, Step.Each)
	return c.Path[:i+1]
}

// readsAny tells whether the component can look at one of the top-level members.
func (c Component) readsAny(members map[string]bool) bool {
	switch {
	case c.Time != "":
		return false
	case c.Expression == "":
		return members[c.Path[0].Name]
	case c.Reads == nil:
		return len(members) > 0
	}
	return slices.ContainsFunc(c.Reads, func(name string) bool { return members[name] })
}

// readsOnly tells whether the component looks at one of the top-level members or several, and at nothing else.
func (c Component) readsOnly(members map[string]bool) bool {
	switch {
	case c.Time != "":
		return false
	case c.Expression == "":
		return members[c.Path[0].Name]
	}
	return len(c.Reads) > 0 && !slices.ContainsFunc(c.Reads, func(name string) bool { return !members[name] })
}

// Index declares an order of a collection's documents by their embedded views. The fold keeps the entries.
type Index struct {
	Collection string
	Name       string
	Components []Component
}

// FullName returns "<collection>.<name>", which is unique in a model.
func (x *Index) FullName() string { return x.Collection + "." + x.Name }

// Declaration returns the components as a JSON array, as a model declares them. Indexes of one collection with the same
// declaration have the same entries.
func (x *Index) Declaration() string {
	return arrayOf(x.Components)
}

// Array returns the path of the array that the index goes through, with the step into its elements; nil for none.
func (x *Index) Array() Path {
	for _, c := range x.Components {
		if array := c.array(); len(array) > 0 {
			return array
		}
	}
	return nil
}

// Descends tells whether the last component does. Documents with the same values go by creation in its direction.
func (x *Index) Descends() bool { return x.Components[len(x.Components)-1].Descending }

// Tie returns what stands after the key of a document with this number.
func (x *Index) Tie(number int64) int64 {
	if x.Descends() {
		return ^number
	}
	return number
}

// ReadsAny tells whether the index can look at one of the top-level members.
func (x *Index) ReadsAny(members map[string]bool) bool {
	return slices.ContainsFunc(x.Components, func(c Component) bool { return c.readsAny(members) })
}

// Only returns which component can look at some top-level members. ok is false where several do, or it looks at something else, too.
// The keys of documents that have the same values there have the same bytes for that component.
func (x *Index) Only(members map[string]bool) (component int, ok bool) {
	reads := func(c Component) bool { return c.readsAny(members) }
	at := slices.IndexFunc(x.Components, reads)
	if at < 0 || slices.ContainsFunc(x.Components[at+1:], reads) {
		return 0, false
	}
	c := x.Components[at]
	return at, c.readsOnly(members) && !c.Path.Arrays()
}

// Separates tells whether each component looks either at none of some top-level members or at nothing else, so that IndexFacts may
// have these as Replaced.
func (x *Index) Separates(members map[string]bool) bool {
	return !slices.ContainsFunc(x.Components, func(c Component) bool { return c.readsAny(members) && (!c.readsOnly(members) || c.Path.Arrays()) })
}

// IndexFacts is what an index looks at in a document.
type IndexFacts struct {
	Doc              *jsondoc.Tree // the embedded view
	Created, Updated time.Time
	// Replaced is an object with members that take the place of those in Doc for the components that look at nothing else; nil for
	// none. Others do not look at them: see Index.Separates.
	Replaced *jsondoc.Tree
	// Failed is called where CEL cannot give a component's value, for another reason than a missing member; nil for nothing.
	Failed func(c *Component, err error)
}

// docOf returns the document that a component looks at.
func (f IndexFacts) docOf(c *Component) *jsondoc.Tree {
	if f.Replaced == nil {
		return f.Doc
	}
	switch {
	case c.Expression == "":
		return f.holding(c.Path[0].Name)
	case len(c.Reads) > 0:
		return f.holding(c.Reads[0])
	}
	return f.Doc
}

// holding returns the document that has a top-level member.
func (f IndexFacts) holding(name string) *jsondoc.Tree {
	if f.Replaced.Member(jsondoc.Root, name) == jsondoc.None {
		return f.Doc
	}
	return f.Replaced
}

// Keys appends the document's keys in the index to dst: different ones, in order. A document whose array is empty or missing has
// one key, whose element is absent. overflow tells that there is no list of keys, and keys is dst then. This is so where the array
// has more than MaxIndexElements different elements. It is so, too, for an object in place of the array: CEL takes its names for
// elements.
func (x *Index) Keys(dst [][]byte, f IndexFacts) (keys [][]byte, overflow bool) {
	array := x.Array()
	if array == nil {
		return append(dst, x.appendKey(nil, f, nil, jsondoc.None)), false
	}
	list := array[:len(array)-1].Lookup(f.Doc, jsondoc.Root)
	element := f.Doc.First(list)
	switch {
	case element == jsondoc.None:
		return append(dst, x.appendKey(nil, f, array, jsondoc.None)), false
	case f.Doc.Kind(list) == jsondoc.Object:
		return dst, true
	}
	return x.elementKeys(dst, f, array, element)
}

// MaxIndexBytes is how many bytes the entries of one document have in all indexes of its collection that go through an array. Derived
// values are not counted.
const MaxIndexBytes = 2 << 20

// mostComponentBytes is the most that a component's value takes in a key: a text has 1,024 bytes there, and each may be escaped.
const mostComponentBytes = 2100

// MostBytes returns at least as many bytes as the document's entries have. It makes no key.
func (x *Index) MostBytes(doc *jsondoc.Tree) int {
	array, elements := x.Array(), 0
	list := array[:len(array)-1].Lookup(doc, jsondoc.Root)
	for n := doc.First(list); n != jsondoc.None && elements < MaxIndexElements; n = doc.Next(n) {
		elements++
	}
	return max(1, elements) * len(x.Components) * mostComponentBytes
}

// elementKeys appends the keys of an array's elements, from one on.
func (x *Index) elementKeys(dst [][]byte, f IndexFacts, array Path, element jsondoc.Node) (keys [][]byte, overflow bool) {
	begin, seen := len(dst), map[string]struct{}{}
	outside := x.outside(f, array)
	var key []byte
	for ; element != jsondoc.None; element = f.Doc.Next(element) {
		key = key[:0]
		for i, c := range x.Components {
			if outside[i] != nil {
				key = append(key, outside[i]...)
				continue
			}
			key = c.appendElement(key, f.Doc, array, element)
		}
		if _, known := seen[string(key)]; known {
			continue
		}
		if len(seen) == MaxIndexElements {
			return dst[:begin], true
		}
		seen[string(key)] = struct{}{}
		dst = append(dst, bytes.Clone(key))
	}
	slices.SortFunc(dst[begin:], bytes.Compare)
	return dst, false
}

// outside returns the parts of the key that are not of an element, nil for those that are.
func (x *Index) outside(f IndexFacts, array Path) [][]byte {
	parts := make([][]byte, len(x.Components))
	for i := range x.Components {
		if c := &x.Components[i]; !c.Path.hasPrefix(array) {
			parts[i] = c.appendValue(nil, f)
		}
	}
	return parts
}

// appendKey appends the key of a document, or of one element of an array of it.
func (x *Index) appendKey(key []byte, f IndexFacts, array Path, element jsondoc.Node) []byte {
	for i := range x.Components {
		c := &x.Components[i]
		if array != nil && c.Path.hasPrefix(array) {
			key = c.appendElement(key, f.Doc, array, element)
			continue
		}
		key = c.appendValue(key, f)
	}
	return key
}

// appendElement appends the key of what the component finds in an element; it is jsondoc.None for none.
func (c Component) appendElement(key []byte, doc *jsondoc.Tree, array Path, element jsondoc.Node) []byte {
	return c.appendNode(key, doc, c.Path[len(array):].Lookup(doc, element))
}

// appendValue appends the key of the component's value.
func (c *Component) appendValue(key []byte, f IndexFacts) []byte {
	switch {
	case c.Time != "":
		return c.appendTime(key, f)
	case c.Expression == "":
		doc := f.docOf(c)
		return c.appendNode(key, doc, c.Path.Lookup(doc, jsondoc.Root))
	}
	text, err := c.try(f)
	if err != nil && f.Failed != nil {
		f.Failed(c, err)
	}
	if text == nil || err != nil {
		return c.appendNode(key, f.Doc, jsondoc.None)
	}
	return c.appendNode(key, jsondoc.MustParse(text), jsondoc.Root)
}

// try returns the value of an expression.
func (c *Component) try(f IndexFacts) (text []byte, err error) {
	if c.Timed != nil {
		return c.Timed(f)
	}
	return c.Try(f.docOf(c))
}

// appendTime appends the key of a time.
func (c *Component) appendTime(key []byte, f IndexFacts) []byte {
	start, at := len(key), f.Created
	if c.Time == UpdatedAt {
		at = f.Updated
	}
	key = sortkey.AppendInt(key, at.UnixNano())
	if c.Descending {
		sortkey.Descend(key[start:])
	}
	return key
}

// appendNode appends the key of a value, jsondoc.None for an absent one.
func (c *Component) appendNode(key []byte, t *jsondoc.Tree, n jsondoc.Node) []byte {
	if c.Descending {
		return sortkey.AppendDescending(key, t, n)
	}
	return sortkey.Append(key, t, n)
}

// String returns the index for people, such as tickets.byCustomer [customerId, -openedAt].
func (x *Index) String() string {
	parts := make([]string, len(x.Components))
	for i, c := range x.Components {
		parts[i] = c.String()
	}
	return x.FullName() + " [" + strings.Join(parts, ", ") + "]"
}
