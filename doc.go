// Package fanfold is the vocabulary of an event-sourced JSON document store that keeps declared copies right. Every other
// package speaks it, and it imports the standard library alone.
//
// A client writes a Document under a Key. The write becomes an Event in the log. The event's sequence in the log is the
// document's new Revision. The next write says which revision it is made on (Expect). TxPart says which events are one
// transaction.
//
// The model (package model) declares which members of documents the store derives from others. So an event changes the
// document that it names, directly, and any number of others, derived. Each of these is a Change. A document has two
// Views: Referenced is as it was written, Embedded has the derived members as well.
//
// All changes stand in one order: each has a Position, and every read says at which position it was made. A client that keeps
// one to go on from has it as a Bookmark, which names its store too. ChangeQuery asks for the changes after a position,
// and ChangePage answers. Consumers that share this work go by the Partition of a key. A Digest of all events up to one shows
// whether two nodes have read the same log.
//
// All packages return an Error, whose Code says what a caller can do about it.
//
// The store promises:
//
//   - An acknowledged write is in the log, durable, for ever; one that breaks a condition never
//     enters it. Folding never rejects an event.
//   - The read model is a function of the log's prefix: the same events give the same bytes and
//     the same change positions on every node and after every replay.
//   - One event and everything that it causes become visible together, with the change rows.
//   - Every read shows a consistent prefix of the log, and says at which position it ends.
//   - A derived change alters a document's view, never its revision.
//   - The change feed has every change of every document, in one order.
//   - An event that cannot be folded stops the projector, which says so; nothing is skipped.
package fanfold
