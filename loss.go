package fanfold

// AsOf says which lists of the log something knows, as a read model, a base or a reader. It has what stands for the messages in them. A greater one knows
// more, and the zero value none.
type AsOf uint64

// Loss is what an event of kind loss says of all that the log may lose. It is of one of three forms. A base without a list is a compaction. A list
// without UpTo is an erasure that a later event brings into force. A list with UpTo is in that later event.
type Loss struct {
	UpTo AsOf // lists up to this one are in force; 0 for none
	// Base is what the log begins with from here on; nil where that stays. With a list it takes the place of another one of the same horizon.
	Base *Compaction
	// List has documents and their messages. With UpTo it has no messages: it names documents, besides the erased ones, whose present views are
	// others by it.
	List *Erasure
}

// Lists tells whether the event lists what a later one erases.
func (l *Loss) Lists() bool { return l != nil && l.List != nil && l.UpTo == 0 }

// Erases tells whether lists come into force by the event.
func (l *Loss) Erases() bool { return l != nil && l.List != nil && l.UpTo != 0 }
