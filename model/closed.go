package model

import (
	"fmt"

	"github.com/fanfold/fanfold"
)

// A model that says open: false closes the set of collections: only documents of those that it declares are written, so that
// a mistyped name makes no collection. Whoever decides about writes asks; the fold takes every event.

// Takes returns whether the model lets documents of a collection be written.
func (m *Model) Takes(collection string) bool { return !m.Closed || m.byName[collection] != nil }

// CheckTakes returns an UnknownCollection unless the model takes documents of the collection.
func (m *Model) CheckTakes(collection string) error {
	if m.Takes(collection) {
		return nil
	}
	return fanfold.Errorf(fanfold.UnknownCollection, "the model declares no collection %q, and is closed (open: false): declare it there, or see GET /v1 for those that there are", fanfold.Clip(collection))
}

// smallEmbeddedLimit is the limit of embedded views below which a model is hardly meant, in bytes.
const smallEmbeddedLimit = 1024

// Warnings lists what the model declares and hardly means, whatever documents there are.
func (m *Model) Warnings() []fanfold.Problem {
	if m.EmbeddedLimit >= smallEmbeddedLimit {
		return nil
	}
	return []fanfold.Problem{{Path: "embedded.limit", Detail: fmt.Sprintf("a document of more than %d bytes cannot be written, and derived values that make one longer are absent: the limit is in bytes, and hardly meant to be below %d (%d where it is not said)",
		m.EmbeddedLimit, smallEmbeddedLimit, DefaultEmbeddedLimit)}}
}
