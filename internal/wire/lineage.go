package wire

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
)

// Lineage says where a document's derived values come from, and where its own go.
type Lineage struct {
	Position fanfold.Bookmark `json:"position"` // of the prefix looked at
	Derived  []DerivedValue   `json:"derived"`
	More     int64            `json:"more,omitempty"` // derived values beyond those listed
	Copies   []Copies         `json:"copies"`
	// Omitted says how many values the embedded view has no room for, by rule, as a JSON object; absent for none.
	Omitted json.RawMessage `json:"omitted,omitempty"`
	// Unguarded lists what is unique in the collection, and does not tell this document apart from others.
	Unguarded []Unguarded `json:"unguarded,omitempty"`
}

// DerivedValue says where one derived value of the document comes from.
type DerivedValue struct {
	Path string `json:"path,omitempty"` // a JSON pointer; absent where the document has no place for the value
	Rule string `json:"rule"`
	// Kind says what the rule does, in the words of a model: copy, count, ids and so on. Whoever may not read the model is told too.
	Kind  string `json:"kind"`
	State string `json:"state,omitempty"` // frozen, kept after the target's delete, or no value
	// Reason says why there is no value, or, of a list, why there is none of one of the documents.
	Reason string `json:"reason,omitempty"`
	// Sources names the first 100 documents it is made of. For a copy they are its targets, in order, for a computed member this
	// document, and for the other rules the documents that refer to this one, by creation. Documents is how many there are.
	Sources   []ValueSource `json:"sources"`
	Documents int64         `json:"documents"`
	// Hidden says that sources, how many there are, and the reason are left out: the reader may not read their collection.
	Hidden bool `json:"hidden,omitempty"`
	// Event names the change of this document that gave it the value; absent where it is further back than is looked.
	Event *Origin `json:"event,omitempty"`
}

// ValueSource names a document that a value is made of. One that is gone has no revision.
type ValueSource struct {
	Collection string           `json:"collection"`
	ID         string           `json:"id"`
	Revision   fanfold.Revision `json:"rev,omitempty"`
	Position   fanfold.Bookmark `json:"position,omitzero"`
}

// Origin names a change and the document whose write caused it; none where a model did.
type Origin struct {
	Seq        fanfold.Bookmark `json:"seq,omitzero"`
	Time       time.Time        `json:"time,omitzero"`
	Op         fanfold.Op       `json:"op,omitempty"`
	Collection string           `json:"collection,omitempty"`
	ID         string           `json:"id,omitempty"`
	// Reason says why no change is named: it was before the history that is kept.
	Reason string `json:"reason,omitempty"`
}

// Copies names the documents that a rule makes carry something of this one.
type Copies struct {
	Rule      string   `json:"rule"`
	Documents int64    `json:"documents"`
	First     []string `json:"first"` // ids of the first 100, of the rule's collection
	// More is how many ids that this document refers to were not looked for: they are beyond the first 100,000.
	More int64 `json:"more,omitempty"`
	// Reason says that the rule's condition was not evaluated, so that no documents are listed.
	Reason string `json:"reason,omitempty"`
}

// Unguarded names a declaration of what is unique that does not tell the document apart from others, because one of its parts
// has no value.
type Unguarded struct {
	Unique string `json:"unique"`
	Part   string `json:"part"`
	Reason string `json:"reason"`
}
