package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sequence"
)

// SequenceFold is the first fold under which a model may have sequences: earlier programs do not know their events.
const SequenceFold = 9

// Sequence declares a member that gets the next number when a document is created.
type Sequence struct {
	Path   Path
	Per    string           // an expression over the document as written; each of its values has numbers of its own; "" for one counter
	Start  uint64           // the first number
	Format *sequence.Format // of a text; nil for a JSON number
	Source []byte           // the declaration, as JSON
	// Evaluate returns the JSON of Per's value; ok is false where it has none. It is set where Per is.
	Evaluate func(t *jsondoc.Tree) (text []byte, ok bool)
}

// PerOf returns the value of Per for a document as written. ok is false where it has none that counts.
func (s *Sequence) PerOf(t *jsondoc.Tree) (per string, ok bool) {
	if s.Per == "" {
		return "", true
	}
	value, ok := s.Evaluate(t)
	if !ok {
		return "", false
	}
	return sequence.Per(value)
}

// Key returns the key of the counter for a value of Per.
func (s *Sequence) Key(per string) string { return sequence.Key(s.Path.String(), per) }

// NumberIn returns the number that stands in a document as written, and for which value of Per. ok is false where there is none.
func (s *Sequence) NumberIn(t *jsondoc.Tree) (n uint64, per string, ok bool) {
	at := s.Path.Lookup(t, jsondoc.Root)
	if at == jsondoc.None {
		return 0, "", false
	}
	if per, ok = s.PerOf(t); !ok {
		return 0, "", false
	}
	n, ok = s.Format.Number(t, at, per)
	return n, per, ok
}

// With returns a document that has a value at the path, and makes the objects around it. The error is Unprocessable where something else is
// in their place.
func (s *Sequence) With(t *jsondoc.Tree, document, value []byte) ([]byte, error) {
	n, patch := jsondoc.Root, []byte{}
	for _, step := range s.Path {
		if n != jsondoc.None && t.Kind(n) != jsondoc.Object {
			return nil, fanfold.Errorf(fanfold.Unprocessable, "there is no place for the number at %s: what is around it is no object", s.Path)
		}
		if n != jsondoc.None {
			n = t.Member(n, step.Name)
		}
		patch = append(jsondoc.AppendQuote(append(patch, '{'), step.Name), ':')
	}
	patch = append(append(patch, value...), strings.Repeat("}", len(s.Path))...)
	return jsondoc.Merge(document, patch), nil
}

// SequenceAt returns the collection's sequence at a path, nil for none. c may be nil.
func (c *Collection) SequenceAt(path string) *Sequence {
	if c == nil {
		return nil
	}
	if i := slices.IndexFunc(c.Sequences, func(s *Sequence) bool { return s.Path.String() == path }); i >= 0 {
		return c.Sequences[i]
	}
	return nil
}

// Numbers tells whether documents of the collection get numbers when they are created. c may be nil.
func (c *Collection) Numbers() bool { return c != nil && len(c.Sequences) > 0 }

// HasSequences tells whether a collection of the model has sequences.
func (m *Model) HasSequences() bool { return slices.ContainsFunc(m.Collections, (*Collection).Numbers) }

// SequencePath returns where a model declares a sequence.
func SequencePath(collection string, s *Sequence) string {
	return fmt.Sprintf("collections.%s.sequences[%q]", collection, s.Path.String())
}

// IsSequencePath tells whether a path in a model is in a sequence's declaration.
func IsSequencePath(path string) bool {
	rest, inCollection := strings.CutPrefix(path, "collections.")
	_, member, _ := strings.Cut(rest, ".") // a collection's name has no dots
	return inCollection && strings.HasPrefix(member, "sequences[")
}

// SequencePair holds the sequences of two models that have one collection and one path. One of the two may be nil.
type SequencePair struct{ Prev, Next *Sequence }

// Same tells whether both models have the sequence, with the same declaration.
func (p SequencePair) Same() bool {
	return p.Prev != nil && p.Next != nil && string(p.Prev.Source) == string(p.Next.Source)
}

// Gave tells whether Prev gave a number that stands in a document as written, from the counter that Next has for the document.
func (p SequencePair) Gave(t *jsondoc.Tree, number uint64, per string) bool {
	if p.Prev == nil || number < p.Prev.Start {
		return false
	}
	was, of, ok := p.Prev.NumberIn(t)
	return ok && was == number && of == per
}

// NewSequences returns the sequences that Prev does not have, or declares otherwise, by collection.
func (c *Comparison) NewSequences() map[string][]SequencePair {
	all := map[string][]SequencePair{}
	for _, p := range c.Collections {
		for _, s := range p.Sequences {
			if s.Next != nil && !s.Same() {
				all[p.Name] = append(all[p.Name], s)
			}
		}
	}
	return all
}
