// Package fold computes what an event does to the read model. It reads rows through a transaction and writes
// documents, links and changes, so that every derived value is right after each event. projector/DESIGN.md says why it
// is as it is.
//
// The fold is a function of the events and of the rows it reads. The same events give the same rows and the same
// change positions, however they are batched and on whatever machine. To keep this true, the package depends on
// little else: the vocabulary, the internal packages about JSON, expressions, numbers and models, the schema's
// fingerprint, and the transaction's type. It starts no goroutine, takes no lock, reads no clock, opens no file and
// knows no log; time is the log's, as events carry it. If it walks a map, the order does not reach what it writes.
// TestFoldIsPure holds the first part of this, the random histories the second.
package fold
