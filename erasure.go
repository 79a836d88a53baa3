package fanfold

import "time"

// Erasure is what an event of kind erase says: from the event of kind erased that covers it on, the store is what it would be had each listed
// message been its substitute from the beginning.
type Erasure struct {
	Of        uint64              // the sequence of the erasure's first erase event; 0 in that event itself
	Documents []ErasedDocument    // whose messages are listed
	Keep      map[string][]string // the paths of each collection's ids at relations, of all models so far, as model.Path writes them
	Messages  []Substitute        // in order of their sequences, all before the erase event
}

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

// Erased is what an event of kind erased says: the erasures up to an event are in force.
type Erased struct {
	UpTo      uint64 // the last erase event that is covered
	Documents []Key  // besides the erased ones: those whose present views are others by it
	// Base, in the first event of a transaction, is the base that takes the place of the one at which the log begins; nil where that log has none.
	Base *Compaction
}
