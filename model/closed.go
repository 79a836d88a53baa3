package model

import (
	"fmt"

	"github.com/fanfold/fanfold"
)

// A model with open: false closes the set of collections. A mistyped name makes no collection then. Writers ask before they
// decide about a write; the fold takes every event.

// Writable tells whether documents of a collection can be written: the model declares the collection, or is not closed.
func (m *Model) Writable(collection string) bool { return !m.Closed || m.byName[collection] != nil }

// CheckWritable returns an UnknownCollection unless documents of the collection can be written.
func (m *Model) CheckWritable(collection string) error {
	if m.Writable(collection) {
		return m.checkName(collection)
	}
	return fanfold.Errorf(fanfold.UnknownCollection, "the model declares no collection %q, and is closed (open: false): declare it there, or see GET /v1 for those that there are", fanfold.Clip(collection))
}

// smallEmbeddedLimit is the limit of embedded views, in bytes, below which a declared one is most likely a mistake.
const smallEmbeddedLimit = 1024

// Warnings lists declarations that are most likely a mistake, whatever documents there are.
func (m *Model) Warnings() []fanfold.Problem {
	if m.EmbeddedLimit >= smallEmbeddedLimit {
		return nil
	}
	return []fanfold.Problem{{Path: "embedded.limit", Detail: fmt.Sprintf("a document of more than %d bytes cannot be written, and derived values that make one longer are absent: the limit is in bytes, and hardly meant to be below %d (%d where it is not said)",
		m.EmbeddedLimit, smallEmbeddedLimit, DefaultEmbeddedLimit)}}
}
