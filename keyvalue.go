package fanfold

// Entry holds the value of a key in a store of small values in which every change is a compare-and-set on the key's
// revision.
type Entry struct {
	Key      string
	Value    []byte // nil where the key is not there
	Revision uint64 // of the key's last change, deletes included; 0 where there was none
}
