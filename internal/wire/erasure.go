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
	Number    uint64            `json:"number" doc:"The sequence of its first event."`
	Phase     string            `json:"phase" enum:"replaying|switching|deleting|residue|done" doc:"replaying: read models are built beside. switching: the nodes put them in place. deleting: messages and older copies go. residue: the store has done all that it can, and a NATS server may have something yet, as residue says."`
	Documents int64             `json:"documents" doc:"That were named."`
	Events    int64             `json:"events" doc:"Whose contents are erased."`
	Time      time.Time         `json:"time" doc:"When it was asked for."`
	By        string            `json:"by,omitempty" doc:"Who asked; absent where nobody knows."`
	Position  *fanfold.Bookmark `json:"position,omitempty" doc:"From which on the store has nothing of it; absent before that."`
	Nodes     []string          `json:"nodes,omitempty" maxItems:"1024" doc:"That are waited for, or were away when it came into force: they erase before they are ready."`
	Residue   []ErasureResidue  `json:"residue,omitempty" doc:"What a NATS server may still have on its disk."`
	Error     string            `json:"error,omitempty" doc:"Why the phase is tried again."`
}

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
