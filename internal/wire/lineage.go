package wire

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
)

// Lineage says where a document's derived values come from, and where its own go.
type Lineage struct {
	Position  fanfold.Bookmark `json:"position"` // of the prefix looked at
	Derived   []DerivedValue   `json:"derived" doc:"The document's derived values; behind those that are there, those that are not."`
	More      int64            `json:"more,omitempty" minimum:"1" doc:"Derived values beyond the 1,000 that are listed."`
	Copies    []Copies         `json:"copies" doc:"For each rule that makes other documents carry something of this one, which they are."`
	Omitted   json.RawMessage  `json:"omitted,omitempty" schema:"{'type':'object','additionalProperties':{'type':'integer','minimum':1}}" doc:"Where the embedded document has no room for derived values: how many of them, by rule."`
	OmittedBy *Origin          `json:"omittedBy,omitempty" doc:"With at, where omitted cannot be told exactly: the version's last change, which omitted is told by. What has no room may have changed since, without a change of the document. With a reason alone that change is no longer kept, and omitted is not told."`
	Unguarded []Unguarded      `json:"unguarded,omitempty" maxItems:"200" doc:"What is unique in the collection and does not tell this document apart from others, because a part of it has no value."`
}

// DerivedValue says where one derived value of the document comes from.
type DerivedValue struct {
	Path      string        `json:"path,omitempty" doc:"A JSON pointer. Absent where the document has no place for the value."`
	Rule      string        `json:"rule"`
	From      string        `json:"-"` // the collection from whose documents the rule makes values
	Kind      string        `json:"kind" enum:"copy|count|sum|min|max|avg|ids|recent|value" doc:"What the rule does, in the words of a model. value: an expression over the document itself, or over an element of it."`
	Element   string        `json:"element,omitempty" doc:"Of a value beside each element of an array: a JSON pointer of the element."`
	Index     *int          `json:"index,omitempty" minimum:"0" doc:"Its place in the array, from 0 on."`
	Elements  *int64        `json:"elements,omitempty" minimum:"0" doc:"Of a total over an array of the document: how many elements take part. Absent where that takes too long to count."`
	State     string        `json:"state,omitempty" enum:"frozen|kept|no value" doc:"A copy that does not follow its target: frozen, or kept after its target's delete; or a value that is not there."`
	Reason    string        `json:"reason,omitempty" doc:"Why there is no value or, of a list, none of one of the documents."`
	Sources   []ValueSource `json:"sources" doc:"The first 100 documents that it is made of: a copy's targets, this document for what is made of itself, else the documents that refer to this one. One that is gone has no rev."`
	Member    string        `json:"sourcePath,omitempty" doc:"Of a copy whose expression is a place of doc: that place in each of the sources, a JSON pointer."`
	Documents int64         `json:"documents" doc:"How many there are."`
	Hidden    bool          `json:"hidden,omitempty" doc:"True where the sources that you may not read, their number and the reason are left out."`
	Event     *Origin       `json:"event,omitempty" doc:"The change of this document that gave it the value, and the document whose write caused it. Absent where it is further back than 1000 changes. It has a reason alone where the change is no longer kept."`
}

// ValueSource names a document that a value is made of. One that is gone has no revision.
type ValueSource struct {
	Collection string           `json:"collection" ref:"CollectionName"`
	ID         string           `json:"id"`
	Revision   fanfold.Revision `json:"rev,omitempty"`
	Position   fanfold.Bookmark `json:"position,omitzero"`
}

// Origin names a change and the document whose write caused it; none where a model did.
type Origin struct {
	Seq        fanfold.Bookmark `json:"seq,omitzero"`
	Time       time.Time        `json:"time,omitzero" doc:"The log's time of the change."`
	Op         fanfold.Op       `json:"op,omitempty" enum:"create|replace|patch|delete|derive|erase"`
	Collection string           `json:"collection,omitempty"`
	ID         string           `json:"id,omitempty"`
	// Reason says why no change is named: it was before the history that is kept.
	Reason string `json:"reason,omitempty" const:"before the history that is kept"`
}

// Copies names the documents that a rule makes carry something of this one.
type Copies struct {
	Rule      string   `json:"rule"`
	Documents int64    `json:"documents"`
	First     []string `json:"first" doc:"Ids of the first 100, of the rule's collection."`
	Hidden    bool     `json:"hidden,omitempty" doc:"True where those are left out that you may not read, and their number."`
	More      int64    `json:"more,omitempty" minimum:"1" doc:"Ids that the document refers to and that were not looked for: those beyond the first 100,000."`
	Reason    string   `json:"reason,omitempty" doc:"Why no documents are listed: the rule's condition was not evaluated. Otherwise absent."`
}

// Unguarded names a declaration of what is unique that does not tell the document apart from others, because one of its parts
// has no value.
type Unguarded struct {
	Unique string `json:"unique"`
	Part   string `json:"part"`
	Reason string `json:"reason"`
}
