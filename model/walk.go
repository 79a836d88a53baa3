package model

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// StoredIndex is an index that the model in force declares, as the read model keeps it.
type StoredIndex struct {
	ID         int64
	Collection string
	Name       string
	Components string // as JSON: see Index.Declaration
}

// Walk asks for entries of an index, in order of key and tie.
type Walk struct {
	Index     int64  // its ID in the read model
	Low, High []byte // keys from Low on that are less than High; nil is no bound
	After     *Entry // the entries after this one, in the order of the walk; nil for all
	Backward  bool   // from the greatest on
	Inverted  bool   // ties are complements of numbers
	Limit     int    // 0 for all
}

// Entry is one entry of an index.
type Entry struct {
	Key      []byte
	Tie      int64
	Document *fanfold.Document // nil unless it was asked for
}

// Number returns the number of the entry's document.
func (w *Walk) Number(tie int64) int64 {
	if w.Inverted {
		return ^tie
	}
	return tie
}

// IDRange asks for documents of a collection, in order of id.
type IDRange struct {
	Collection string
	Low, High  string // ids from Low on that are less than High; "" is no bound
	After      string // the ids after this one; "" for all
}

// GroupKeys returns the different keys of a document, in order, of elements of an array that is of any length. Another value has
// no element. ok is false where there are more keys than most.
func (x *Index) GroupKeys(f IndexFacts, most int) (keys [][]byte, ok bool) {
	array := x.Array()
	if array == nil {
		return [][]byte{x.appendKey(nil, f, nil, jsondoc.None)}, true
	}
	list := array[:len(array)-1].Lookup(f.Doc, jsondoc.Root)
	if f.Doc.Kind(list) != jsondoc.Array || f.Doc.First(list) == jsondoc.None {
		return [][]byte{x.appendKey(nil, f, array, jsondoc.None)}, true
	}
	seen, key := map[string]struct{}{}, []byte(nil)
	for e := f.Doc.First(list); e != jsondoc.None; e = f.Doc.Next(e) {
		key = x.appendKey(key[:0], f, array, e)
		if _, known := seen[string(key)]; known {
			continue
		}
		if len(seen) == most {
			return nil, false
		}
		seen[string(key)] = struct{}{}
		keys = append(keys, bytes.Clone(key))
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys, true
}

// Find calls fn with the values of a path or an expression in a document, until fn returns false.
func (c *Component) Find(f IndexFacts, fn func(t *jsondoc.Tree, n jsondoc.Node) bool) {
	doc := f.Doc
	if c.Expression != "" {
		if text, err := c.try(f); text != nil && err == nil {
			fn(jsondoc.MustParse(text), jsondoc.Root)
		}
		return
	}
	array := c.array()
	if len(array) == 0 {
		fn(doc, c.Path.Lookup(doc, jsondoc.Root))
		return
	}
	list := array[:len(array)-1].Lookup(doc, jsondoc.Root)
	for e := doc.First(list); e != jsondoc.None; e = doc.Next(e) {
		if !fn(doc, c.Path[len(array):].Lookup(doc, e)) {
			return
		}
	}
}
