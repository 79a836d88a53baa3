package wire

import (
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
	Number    uint64            `json:"number"` // the sequence of its first event
	Phase     string            `json:"phase"`
	Documents int64             `json:"documents"` // that were named
	Events    int64             `json:"events"`    // whose contents are erased
	Time      time.Time         `json:"time"`      // when it was asked for
	By        string            `json:"by,omitempty"`
	Position  *fanfold.Bookmark `json:"position,omitempty"` // from which on the store has nothing of it; absent before that
	Nodes     []string          `json:"nodes,omitempty"`    // that are waited for, or were away when it came into force
	Residue   []ErasureResidue  `json:"residue,omitempty"`  // what a server outside may still have on its disk
	Error     string            `json:"error,omitempty"`    // why the phase is tried again
}

// ErasureResidue says what may still be on a disk, and what to do about it.
type ErasureResidue struct {
	Where string `json:"where"`
	Do    string `json:"do"`
}

// ErasurePlan says what an erasure would take away, in the answer to a dry run.
type ErasurePlan struct {
	Documents int64            `json:"documents"` // that were named, and were there once
	Living    int64            `json:"living"`    // of them, which are deleted, or lose the members
	Versions  int64            `json:"versions"`  // of them that are kept
	Events    int64            `json:"events"`    // whose contents go: writes, claims, and imports that carry kept values
	Copies    map[string]int64 `json:"copies"`    // documents that show copies, by rule
	Frozen    map[string]int64 `json:"frozen"`    // of them, by rules with frozen copies
	Kept      map[string]int64 `json:"kept"`      // of them, where values stayed after a delete, by rule
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
	Versions   int    `json:"versions"`
	Deleted    bool   `json:"deleted,omitempty"`
}

// Erasures is the answer to GET /v1/_erasures.
type Erasures struct {
	Erasures []Erasure `json:"erasures"` // the newest first
	More     bool      `json:"more"`     // there are older ones
}

// FoundList is the answer to POST /v1/_find.
type FoundList struct {
	Found []Found `json:"found"`
	More  bool    `json:"more"` // there are more than are told
}
