// Package client talks to a Fanfold server: typed documents, transactions, models, imports and exports, and a change feed
// that goes on by itself. It imports nothing but the standard library.
//
// A Client is made once and used from many goroutines. Every call takes a context. It blocks until the server has
// answered, the context has ended, or it was tried again for Options.RetryFor.
//
// # Writes are safe to send again
//
// A connection that breaks before the answer comes leaves open whether the write was stored. So each write of documents
// carries an Idempotency-Key, which is random for each call unless you give one. It is sent again under the same key: the
// server stores it once, and answers the second request as the first. The server keeps keys for 24 hours, far longer than
// any call is tried. A write that a condition refuses is never sent again, because its answer is a verdict.
//
// # Errors
//
// A refusal of the server is an *Error with the problem's code, which errors.Is knows:
//
//	if errors.Is(err, client.Stale) { ... } // somebody else was faster: read again
//
// Once a context has ended, its error is in the chain of the error that is returned.
//
// # Positions
//
// A position, such as Written.Position and Change.Seq, names a place in the order of all changes. It is kept and given
// back as it is; its parts are the server's.
//
// A Client keeps the newest position of the answers to its writes and reads. Its reads show at least that, whichever node
// answers: a session. Options.NoSession turns it off, Eventual for one read. Give Client.Position to another client's See,
// and that one sees the same.
package client
