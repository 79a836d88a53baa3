package wire

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
)

// Phases of an erasure, besides PhaseReplaying, PhaseSwitching and PhaseDone.
const (
	PhaseDeleting = "deleting" // messages go, and copies of the store from before
	PhaseResidue  = "residue"  // the store has done all that it can, and a server outside may have something yet: see Residue
)

// Erasure says how far an erasure is, in GET /v1/_erasures/<number>.
type Erasure struct {
	Number    uint64           `json:"number" doc:"The sequence of its first event."`
	Phase     string           `json:"phase" enum:"replaying|switching|deleting|residue|done" doc:"replaying: read models are built beside. switching: the nodes put them in place. deleting: messages and older copies go. residue: the store has done all that it can, and a NATS server may have something yet, as residue says."`
	Documents int64            `json:"documents" doc:"That were named."`
	Events    int64            `json:"events" doc:"Whose contents are erased."`
	Time      time.Time        `json:"time" doc:"When it was asked for."`
	By        string           `json:"by,omitempty" doc:"Who asked; absent where nobody knows."`
	Position  string           `json:"position,omitempty" ref:"Position" doc:"From which on the store has nothing of it; absent before that."`
	Nodes     []string         `json:"nodes,omitempty" maxItems:"1024" doc:"That are waited for, or were away when it came into force: they erase before they are ready."`
	Residue   []ErasureResidue `json:"residue,omitempty" doc:"What a NATS server may still have on its disk."`
	Error     string           `json:"error,omitempty" doc:"Why the phase is tried again."`
}

// Done reports whether nothing of it is left to do.
func (e *Erasure) Done() bool { return e.Phase == PhaseDone }

// Over reports whether the store has done all that it can. Unless it is Done, Residue says what is left, and who can take it away.
func (e *Erasure) Over() bool { return e.Done() || e.Phase == PhaseResidue }

// ErasureResidue says what may still be on a disk, and what to do about it.
type ErasureResidue struct {
	Where string `json:"where"`
	Do    string `json:"do" doc:"What takes it away."`
}

// ErasurePlan says what an erasure would take away, in the answer to a dry run.
type ErasurePlan struct {
	Documents int64            `json:"documents" doc:"That were named, and were there once."`
	Living    int64            `json:"living" doc:"Of them, which are deleted, or lose the members."`
	Versions  int64            `json:"versions" doc:"Of them that are kept."`
	Events    int64            `json:"events" doc:"Whose contents go: writes, claims, and imports that carry kept values."`
	Copies    map[string]int64 `json:"copies" doc:"Documents that show copies, by rule."`
	Frozen    map[string]int64 `json:"frozen" doc:"Of them, by rules with frozen copies."`
	Kept      map[string]int64 `json:"kept" doc:"Of them, where values stayed after a delete, by rule."`
}

// ErasedDocument is one line of fanfold erasures --export.
type ErasedDocument struct {
	Erasure    uint64   `json:"erasure"`
	Collection string   `json:"collection"`
	ID         string   `json:"id"`
	Members    []string `json:"members,omitempty"`
}

// Bounds of a search for a text.
const (
	MaxFound    = 1000 // documents that are found
	MaxFindText = 1000 // bytes of the text
)

// Found names a document with written versions that have a text, and how many were. A version to which a patch left the text does not count.
type Found struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
	Versions   int    `json:"versions" doc:"That have the text."`
	Deleted    bool   `json:"deleted,omitempty" doc:"The document is deleted; absent where it is not."`
}

// Erasures is the answer to GET /v1/_erasures.
type Erasures struct {
	Erasures []Erasure `json:"erasures" maxItems:"1000" doc:"The newest first."`
	More     bool      `json:"more" doc:"There are older ones."`
}

// FoundList is the answer to POST /v1/_find.
type FoundList struct {
	Found []Found `json:"found" maxItems:"1000"`
	More  bool    `json:"more" doc:"There are more than are told."`
}

// FindBody is the body of a search for a text.
type FindBody struct {
	Text string `json:"text" minLength:"1" maxLength:"1000" doc:"At most 1,000 bytes. Strings are looked at without their escapes, numbers as their texts."`
}

// EraseBody is the body of a request for an erasure of documents.
type EraseBody struct {
	Documents []ErasedKey `json:"documents" minItems:"1" maxItems:"10000" doc:"None is named twice."`
	Members   []string    `json:"members,omitempty" minItems:"1" maxItems:"100" schema:"{'items':{'type':'string','pattern':'^/','maxLength':1024}}" doc:"JSON Pointers of the members that go from every version; the documents live on. None is the id, at a relation's path, or inside another. Without it whole documents are erased: all but their ids and the ids at relations."`
}

// EraseOneBody is the body of a request for the erasure of one document.
type EraseOneBody struct {
	Members []string `json:"members,omitempty" minItems:"1" maxItems:"100" schema:"{'items':{'type':'string','pattern':'^/','maxLength':1024}}" doc:"JSON Pointers of the members that go from every version; the documents live on. None is the id, at a relation's path, or inside another. Without it whole documents are erased: all but their ids and the ids at relations."`
}

// ErasedKey names a document that is to be erased.
type ErasedKey struct {
	Collection string `json:"collection" minLength:"1" maxLength:"64"`
	ID         string `json:"id" minLength:"1" maxLength:"255"`
}

// UnmarshalJSON takes an object with the two members of a key, and no others. The error is Invalid.
func (k *ErasedKey) UnmarshalJSON(b []byte) error {
	var members map[string]*string
	err := json.Unmarshal(b, &members)
	if collection, id := members["collection"], members["id"]; err == nil && len(members) == 2 && collection != nil && id != nil {
		*k = ErasedKey{*collection, *id}
		return nil
	}
	return fanfold.Errorf(fanfold.Invalid, `a document is named as {"collection":"customers","id":"c1"}`)
}
