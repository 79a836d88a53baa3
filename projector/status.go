package projector

// Status says how far the fold is.
type Status struct {
	Applied    uint64      `json:"applied"` // last event folded
	Lag        uint64      `json:"lag"`     // events that the log had beyond it, when last heard
	Stopped    *Stopped    `json:"stopped,omitempty"`
	RuleErrors []RuleError `json:"ruleErrors,omitempty"`
	Replay     *Progress   `json:"replay,omitempty"`
	// Preparing says how far this node is with an announced model, Activated how the last one came to apply.
	Preparing *Preparation `json:"preparing,omitempty"`
	Activated *Activation  `json:"activated,omitempty"`
	Withdrawn *Withdrawn   `json:"withdrawn,omitempty"`
	Folded    uint64       `json:"-"` // events folded by this process
}

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
