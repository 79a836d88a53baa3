// Package model describes what a store derives. A Model declares collections, relations between their documents, and rules:
// which copies, counts, lists and pages exist. It also says which values are unique and which paths belong to the store.
// Compare says how two models differ, for everybody who asks (DESIGN.md). internal/modelfile reads models; this package
// neither reads files nor evaluates expressions.
package model
