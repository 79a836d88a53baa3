package memory

import (
	"os"
	"runtime"
)

// heapReserve is how many bytes the garbage collector takes for live though nobody ever touches them. It lets garbage grow to
// as many bytes more between two collections: a node has little that lives, and would collect every few milliseconds while
// much is written. Unlike a larger GOGC it costs the same memory however much lives.
const (
	heapReserve = 64 << 20
	reservePart = 32 // of the memory that there is, where that is less
)

// Reserve makes the reserve for a program that runs a node, unless GOGC says how the garbage collector is to work. It has the collector keep
// to the memory that there is. The caller calls release at the end.
func Reserve() (release func()) {
	limit := Find()
	limit.Apply()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	reserve := make([]byte, limit.Part(reservePart, 0, heapReserve)) // never written to, so that the system gives no memory for it
	return func() { runtime.KeepAlive(reserve) }
}
