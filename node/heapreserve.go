package node

import (
	"cmp"
	"os"
	"runtime"

	"github.com/fanfold/fanfold/internal/memory"
	"github.com/fanfold/fanfold/internal/sending"
)

// heapReserve is how many bytes the garbage collector takes for live though nobody ever touches them. It lets garbage grow to
// as many bytes more between two collections: a node has little that lives, and would collect every few milliseconds while
// much is written. Unlike a larger GOGC it costs the same memory however much lives.
const heapReserve = 64 << 20

// Parts of the memory that there is. From 2 GiB on the bounds are as without a limit.
const (
	reservePart = 32
	bodiesPart  = 32 // a body of JSON takes some twenty times its length while it is written
	answersPart = 8
	leastBodies = 1 << 20
	leastSent   = 8 << 20
	mostBodies  = 64 << 20
)

// fitMemory gives the bounds of the API that are not set what fits into the memory that there is. The log says which.
func fitMemory(cfg *Config) {
	limit := memory.Find()
	if limit.Bytes == 0 {
		return
	}
	opt := &cfg.API
	opt.MaxInFlight = cmp.Or(opt.MaxInFlight, limit.Part(bodiesPart, leastBodies, mostBodies))
	opt.MaxSending = cmp.Or(opt.MaxSending, limit.Part(answersPart, leastSent, sending.DefaultBudget))
	cfg.Logger.Info("memory is bounded", "bytes", limit.Bytes, "by", limit.From, "bodies", opt.MaxInFlight, "answers", opt.MaxSending)
}

// ReserveHeap makes the reserve for a program that runs a node, unless GOGC says how the garbage collector is to work. It has the collector keep
// to the memory that there is. The caller calls release at the end.
func ReserveHeap() (release func()) {
	limit := memory.Find()
	limit.Apply()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	reserve := make([]byte, limit.Part(reservePart, 0, heapReserve)) // never written to, so that the system gives no memory for it
	return func() { runtime.KeepAlive(reserve) }
}
