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
	out := Status{Applied: applied, Lag: max(p.logEnd.Load(), applied) - applied, Stopped: p.stopped.Load(),
		RuleErrors: p.report.list(), Replay: p.LastReplay(), Folded: p.folded.Load()}
	p.proposals.mu.Lock()
	defer p.proposals.mu.Unlock()
	if s := p.proposals.progress; s != nil {
		out.Preparing = new(*s)
	}
	out.Activated, out.Withdrawn = p.proposals.activation, p.proposals.withdrawn
	return out
}
