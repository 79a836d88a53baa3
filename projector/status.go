package projector

import "github.com/fanfold/fanfold/internal/wire"

type (
	// Status says how far the fold is.
	Status = wire.Projection
	// Stopped says why nothing is folded.
	Stopped = wire.Stopped
	// RuleError names a rule whose expression failed.
	RuleError = wire.RuleError
	// Progress says how far a replay is.
	Progress = wire.Replay
	// Preparation says how far an announced model is prepared.
	Preparation = wire.Preparation
	// Activation says how the last prepared model came to apply.
	Activation = wire.Activation
	// Withdrawn says why an announced model does not apply.
	Withdrawn = wire.Withdrawn
)

// Status returns how far the fold is now.
func (p *Projector) Status() Status {
	applied := p.store.Applied.Seq()
	out := Status{Applied: applied, Lag: max(p.served.LogEnd.Load(), applied) - applied, Stopped: p.stopped.Load(),
		RuleErrors: p.served.Report.List(), Replay: p.LastReplay(), Folded: p.folded.Load()}
	out.Preparing, out.Activated, out.Withdrawn = p.Preparations()
	return out
}
