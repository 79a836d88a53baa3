package fanfold

// EraseRequest says what is to be erased: documents as a whole, or members of them.
type EraseRequest struct {
	Documents []Key
	Members   []string // JSON Pointers; nil for everything but the ids, and the ids at relations
}
