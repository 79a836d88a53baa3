package fanfold

import "hash/fnv"

// Partition returns which of n partitions the document is in, from 0 on. Consumers that share a feed take whole partitions, so
// that the changes of a document stay in order. It is the same for ever and on every node: the 64-bit FNV-1a hash of the
// collection, a zero byte and the id, modulo n. It panics for an n below 1.
func (k Key) Partition(n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.Collection)) // a hash does not fail
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(k.ID))
	return int(h.Sum64() % uint64(n))
}
