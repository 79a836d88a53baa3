package node

import (
	"cmp"

	"github.com/fanfold/fanfold/internal/memory"
	"github.com/fanfold/fanfold/internal/sending"
)

// Parts of the memory that there is. From 2 GiB on the bounds are as without a limit.
const (
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
