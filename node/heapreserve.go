package node

import (
	"os"
	"runtime"
)

// heapReserve is how many bytes the garbage collector takes for live though nobody ever touches them. It lets garbage grow to
// as many bytes more between two collections: a node has little that lives, and would collect every few milliseconds while
// much is written. Unlike a larger GOGC it costs the same memory however much lives.
const heapReserve = 64 << 20

// ReserveHeap makes the reserve for a program that runs a node, unless GOGC says how the garbage collector is to work. The
// caller calls release at the end.
func ReserveHeap() (release func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	reserve := make([]byte, heapReserve) // never written to, so that the system gives no memory for it
	return func() { runtime.KeepAlive(reserve) }
}
