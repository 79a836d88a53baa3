package projector

import "github.com/fanfold/fanfold/internal/reports"

type (
	// Status says how far the fold is.
	Status = reports.Projection
	// Stopped says why nothing is folded.
	Stopped = reports.Stopped
	// RuleError names a rule whose expression failed.
	RuleError = reports.RuleError
	// Progress says how far a replay is.
	Progress = reports.Replay
	// Preparation says how far an announced model is prepared.
	Preparation = reports.Preparation
	// Activation says how the last prepared model came to apply.
	Activation = reports.Activation
	// Withdrawn says why an announced model does not apply.
	Withdrawn = reports.Withdrawn
)

// Status returns how far the fold is now.
func (p *Projector) Status() Status {
	applied := p.store.Applied.Seq()
	out := Status{Applied: applied, Lag: max(p.logEnd.Load(), applied) - applied, Stopped: p.stopped.Load(),
		RuleErrors: p.report.list(), Replay: p.replay.progress(), Folded: p.folded.Load()}
	p.proposals.mu.Lock()
	defer p.proposals.mu.Unlock()
	if s := p.proposals.progress; s != nil {
		out.Preparing = new(*s)
	}
	out.Activated, out.Withdrawn = p.proposals.activation, p.proposals.withdrawn
	return out
}
