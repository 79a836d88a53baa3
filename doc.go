// Package fanfold is the vocabulary of an event-sourced JSON document store that keeps declared
// copies right: documents and their revisions, events, changes, the model of relations and
// derived fields, and the errors every part of the store returns.
//
// What the store promises:
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
