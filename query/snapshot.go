package query

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// Entries reads the entries of declared indexes.
type Entries interface {
	// EachIndex calls fn with the indexes of a collection, by name, until fn returns an error.
	EachIndex(collection string, fn func(model.StoredIndex) error) error
	// CountIndex returns how many entries an index has.
	CountIndex(id int64) (int64, error)
	// CountEntries counts the entries of a walk, up to its limit where that is not 0. With distinct it counts documents.
	CountEntries(w model.Walk, distinct bool) (int64, error)
	// EachEntry calls fn with the entries of a walk in order, until fn returns false or an error. With documents it reads each
	// entry's document too, in the embedded view. fn may read, and keep the entry.
	EachEntry(w model.Walk, documents bool, fn func(e model.Entry) (bool, error)) error
	// EachKey calls fn with the different keys of a walk in order, until fn returns false or an error. entries is how many each
	// has, number the least one of their documents. fn may read, and keep the key.
	EachKey(w model.Walk, fn func(key []byte, entries, number int64) (bool, error)) error
}

// Documents reads documents.
type Documents interface {
	// ModelSeq returns the sequence of the event that applied the model in force, 0 for none.
	ModelSeq() (uint64, error)
	// ByNumber returns the document with a number, nil where there is none.
	ByNumber(number int64, view fanfold.View) (*fanfold.Document, error)
	// EachByID calls fn with a collection's documents in the embedded view, in order of id, until fn returns false or an error. fn
	// may read.
	EachByID(r model.IDRange, fn func(doc *fanfold.Document) (bool, error)) error
	// CountByID counts the documents that EachByID would call fn with, up to a limit.
	CountByID(r model.IDRange, limit int64) (int64, error)
	// CountDocuments returns how many documents a collection holds.
	CountDocuments(collection string) (int64, error)
}

// References reads who refers to whom, and who has a unique value.
type References interface {
	// EachReferring calls fn with up to limit documents that refer to target, in order of creation, later than the number
	// after, until fn returns false or an error. more tells whether others follow.
	EachReferring(relation, target string, after int64, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error)
	// CountReferring returns how many documents refer to target, up to a limit.
	CountReferring(relation, target string, limit int64) (int64, error)
	// Refers tells whether the document with a number refers to target.
	Refers(relation, target string, number int64) (bool, error)
	// Claim returns the id of the document that has a unique value, "" for none.
	Claim(collection, path, value string) (holder string, seq uint64, err error)
}

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	Entries
	Documents
	References
	// Own has the snapshot read for long, until ctx ends, and hold up no other reads.
	Own(ctx context.Context) error
}
