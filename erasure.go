package fanfold

import (
	"slices"
	"strings"
	"time"
)

// The limits of a request for an erasure.
const (
	MaxErasedDocuments = 10_000
	MaxErasedMembers   = 100
	MaxErasedMember    = 1024 // of a member's JSON Pointer, in bytes
)

// EraseRequest says what is to be erased: documents as a whole, or members of them.
type EraseRequest struct {
	Documents []Key
	Members   []string // JSON Pointers; nil for everything but the ids, and the ids at relations
}

// Validate returns an Invalid error unless the request has at least one document, none twice, and members that can be erased together.
func (r *EraseRequest) Validate() error {
	switch n := len(r.Documents); {
	case n == 0:
		return Errorf(Invalid, "no document is named")
	case n > MaxErasedDocuments:
		return Errorf(Invalid, "%d documents are named: %d at most are erased by one request", n, MaxErasedDocuments)
	}
	seen := make(map[Key]bool, len(r.Documents))
	for _, key := range r.Documents {
		if err := key.Validate(); err != nil {
			return err
		}
		if seen[key] {
			return Errorf(Invalid, "%s is named twice", key)
		}
		seen[key] = true
	}
	return r.validateMembers()
}

// validateMembers returns an Invalid error unless the members can be erased together, and without the id.
func (r *EraseRequest) validateMembers() error {
	if n := len(r.Members); r.Members != nil && n == 0 {
		return Errorf(Invalid, "members has none: leave it out to erase whole documents")
	} else if n > MaxErasedMembers {
		return Errorf(Invalid, "%d members are named: %d at most are erased by one request", n, MaxErasedMembers)
	}
	for _, member := range r.Members {
		if err := checkMember(member); err != nil {
			return err
		}
	}
	ordered := slices.Clone(r.Members)
	slices.SortFunc(ordered, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	for i := 1; i < len(ordered); i++ {
		switch outer, inner := ordered[i-1], ordered[i]; {
		case outer == inner:
			return Errorf(Invalid, "member %s is named twice", Clip(inner))
		case strings.HasPrefix(inner, outer+"/"):
			return Errorf(Invalid, "member %s is inside %s: name one of the two", Clip(inner), Clip(outer))
		}
	}
	return nil
}

// checkMember returns an Invalid error unless a text is a JSON Pointer (RFC 6901) of a member that can be erased.
func checkMember(member string) error {
	switch {
	case len(member) > MaxErasedMember:
		return Errorf(Invalid, "member %s has %d bytes: %d at most are taken", Clip(member), len(member), MaxErasedMember)
	case !strings.HasPrefix(member, "/"):
		return Errorf(Invalid, "member %q is not a JSON Pointer: it must begin with /, as /email", Clip(member))
	case member == "/id" || strings.HasPrefix(member, "/id/"):
		return Errorf(Invalid, "a document's id cannot be erased")
	}
	if rest := strings.NewReplacer("~0", "", "~1", "").Replace(member); strings.Contains(rest, "~") {
		return Errorf(Invalid, "member %q has a ~ that is not ~0 or ~1", Clip(member))
	}
	return nil
}

// Erasure lists what is erased. From the event on that brings it into force, the store is what it would be with the substitutes in place of the
// listed messages.
type Erasure struct {
	Of        uint64              // the sequence of the erasure's first erase event; 0 in that event itself
	Documents []ErasedDocument    // whose messages are listed
	Keep      map[string][]string // the paths of each collection's ids at relations, of all models so far, as model.Path writes them
	Messages  []Substitute        // in order of their sequences, all before the erase event
	Taken     int                 // how many of them earlier erase events have listed before; such an event is one of them
	Left      int                 // how many messages a later erase event has taken over
}

// Events returns how many messages the event has erased by itself.
func (e *Erasure) Events() int { return len(e.Messages) - e.Taken + e.Left }

// ErasedDocument names a document whose past is erased.
type ErasedDocument struct {
	Key
	Members []string // JSON Pointers of what goes; nil for everything but the id and the ids at relations
}

// Substitute stands for a message of the log whose content is erased.
type Substitute struct {
	Seq     uint64
	Time    time.Time // as the log's readers tell it
	Subject string    // on which the message was stored
	Claim   bool      // the message was a claim: a fence stands for it
	Tx      TxPart
	KeyHash string // IdempotencyKey.Hash; the key's digest goes
	Actor   string
	Payload []byte // that stands for the message's; nil for a claim's
}
