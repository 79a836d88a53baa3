// Package model describes what a store derives: collections, the relations between their documents, and the rules that say
// which copies, counts, lists and pages exist. It also says which values are unique, which paths belong to the store, and how
// two models differ. A model is read by internal/modelfile; this package neither reads files nor evaluates expressions.
package model
