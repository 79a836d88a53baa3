// Package query plans and runs queries over the documents of one collection. It finds out which index serves a request, and
// asks a snapshot of the read model for entries and documents. It does the rest itself: it filters, sorts, counts and groups.
//
// Compile checks a request and looks at no document. Run answers the request from a snapshot, which nothing else writes to.
package query
