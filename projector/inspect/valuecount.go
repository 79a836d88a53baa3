package inspect

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// ValueCounter counts again and again, beside the fold, in how many documents the rules of the model that applies find no
// value. Run does the work; the other methods may be called from many goroutines.
type ValueCounter struct {
	store     *sqlite.Store
	projector Projector
	issuer    fanfold.Issuer
	logger    *slog.Logger

	mu   sync.Mutex
	last *valueCount // nil before the first one has ended
}

// NewValueCounter returns a counter for a store that a projector folds into. Positions are given out by issuer.
func NewValueCounter(store *sqlite.Store, projector Projector, issuer fanfold.Issuer, logger *slog.Logger) *ValueCounter {
	return &ValueCounter{store: store, projector: projector, issuer: issuer, logger: logger}
}

// valueCount is one count, and what it was made of.
type valueCount struct {
	of    countedState
	at    fanfold.Position // every document was looked at as it was there, or later
	tally *tally
	took  time.Duration // without pauses
	ended time.Time
}

// countedState tells what a count is of.
type countedState struct {
	model   uint64     // the event that applied the model
	version int        // of the fold
	file    *sqlite.DB // of the read model
	seq     uint64     // the last event folded when it began
}

// Bounds of what counting takes.
const (
	checkEvery   = 500 * time.Millisecond // for whether there is something to count
	waitTimes    = 50                     // between counts, so many times what the next is likely to take: 2% of a processor
	maxGrowth    = 10                     // times what the one before took that it is taken to, where the log has grown
	pauseTimes   = 3                      // within a count, after each page, for so many times what that took
	maxPause     = 10 * time.Second
	valueRows    = 256 // documents of a page, which is read on one snapshot
	maxNoValues  = 100 // parts of rules that RuleValues lists
	maxWarned    = 100 // rules of one model that are logged
	retryCounted = time.Minute
)

// errOvertaken ends a count of a model that applies no more.
var errOvertaken = errors.New("another model applies")

// Run counts until ctx has ended, and then returns nil. It blocks until then. A count that fails is logged, and made again.
func (c *ValueCounter) Run(ctx context.Context) error {
	warned := map[string]bool{}
	for {
		if plan, state := c.state(); c.due(state) {
			n, err := c.count(ctx, plan, state)
			switch {
			case ctx.Err() != nil:
				return nil //nolint:nilerr // the end that was asked for
			case err == nil:
				c.warn(n, warned)
			case !errors.Is(err, errOvertaken):
				c.logger.Warn("what rules find cannot be counted", "err", err)
				wait(ctx, retryCounted)
			}
		}
		if !wait(ctx, checkEvery) {
			return nil
		}
	}
}

// wait waits for d, and returns whether ctx goes on.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// state returns the plan of the model that applies, and what a count of it that begins now is of.
func (c *ValueCounter) state() (*fold.Plan, countedState) {
	plan := c.projector.Plan()
	s := countedState{model: plan.Seq, version: plan.Version, seq: c.store.Applied.Seq()}
	_ = c.store.Use(func(db *sqlite.DB) error { s.file = db; return nil })
	return plan, s
}

// due tells whether a count is to be made: at once where there is none of this model and file, and otherwise where events
// were folded since and the pause after the last one is over.
func (c *ValueCounter) due(now countedState) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return true
	}
	was := c.last.of
	took := c.last.took * time.Duration(min(max(1, now.seq/max(1, was.seq)), maxGrowth))
	waited := was.seq != now.seq && time.Since(c.last.ended) >= waitTimes*took
	was.seq = now.seq
	return waited || was != now
}

// count counts once, page by page, and returns the count. The error is errOvertaken, ctx's or the read model's.
func (c *ValueCounter) count(ctx context.Context, plan *fold.Plan, state countedState) (*valueCount, error) {
	n := &valueCount{of: state, tally: newTally(plan, nil, nil)}
	if err := c.store.Read(func(s *sqlite.Snapshot) error { n.at = s.At(); return nil }); err != nil {
		return nil, err
	}
	collections := n.tally.collections()
	for after, more := int64(0), len(collections) > 0; more && after < int64(n.at.Seq()); { // a document's number is an event's
		if now := c.projector.Plan(); now.Seq != state.model || now.Version != state.version {
			return nil, errOvertaken
		}
		began := time.Now()
		p := &countedPage{tally: n.tally}
		err := c.store.Read(func(s *sqlite.Snapshot) (err error) { return p.read(s, collections, after) })
		if err != nil {
			return nil, err
		}
		if err := p.examine(ctx); err != nil {
			return nil, err
		}
		took := time.Since(began)
		n.took += took
		after, more = p.last, p.more
		if !wait(ctx, min(pauseTimes*took, maxPause)) {
			return nil, ctx.Err()
		}
	}
	n.ended = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = n
	return n, nil
}

// countedPage is some documents that rules look at. They are read on one snapshot, and looked at when that has ended.
type countedPage struct {
	tally *tally
	rows  []*sqlite.Row
	held  [][]bool // for each row, whether others refer to it, by the copies that look at its collection
	last  int64    // the number of the last document
	more  bool     // there may be documents behind it
}

// read reads documents of some collections behind a number.
func (p *countedPage) read(s *sqlite.Snapshot, collections []string, after int64) (err error) {
	if p.rows, p.last, p.more, err = s.ScanOf(collections, after, valueRows); err != nil {
		return err
	}
	for _, row := range p.rows {
		copies := p.tally.copies[row.Key.Collection]
		held := make([]bool, len(copies))
		for i, r := range copies {
			n, err := s.CountHolders(r.RelationName, row.Key.ID, 1)
			if err != nil {
				return err
			}
			held[i] = n > 0
		}
		p.held = append(p.held, held)
	}
	return nil
}

// examine has the rules look at the documents. The error is ctx's.
func (p *countedPage) examine(ctx context.Context) error {
	for i, row := range p.rows {
		d := &examined{key: row.Key, body: row.Body, source: row.ReferencedText}
		for j, r := range p.tally.copies[row.Key.Collection] {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if p.held[i][j] {
				p.tally.examine(r, d)
			}
		}
		if err := errors.Join(p.tally.examineUnique(ctx, d), p.tally.examineGathering(ctx, d)); err != nil {
			return err
		}
	}
	return nil
}

// warn logs the rules that found a value in no document, each once as long as that stays so. warned holds those that were.
func (c *ValueCounter) warn(n *valueCount, warned map[string]bool) {
	now := map[string]bool{}
	n.tally.each(func(rule string, parts []model.Evaluation) {
		for _, e := range parts {
			if !e.FindsNothing() {
				continue
			}
			name := rule + " " + e.Part
			if now[name] = true; !warned[name] && len(warned) < maxWarned {
				warned[name] = true
				c.logger.Warn("a rule finds no value", "rule", rule, "part", e.Part, "documents", e.Evaluated, "document", e.Document, "reason", e.Reason)
			}
		}
	})
	for name := range warned {
		if !now[name] {
			delete(warned, name)
		}
	}
}

// counted returns the last count of the model that applies, nil where there is none.
func (c *ValueCounter) counted() *valueCount {
	plan := c.projector.Plan()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.last.of.model != plan.Seq || c.last.of.version != plan.Version {
		return nil
	}
	return c.last
}

// Values returns what the last count found; nil where the model has no rules with expressions or paths, and nothing unique.
func (c *ValueCounter) Values() *RuleValues {
	plan := c.projector.Plan()
	if !slices.ContainsFunc(plan.Rules, func(r *fold.Rule) bool { return len(r.Parts()) > 0 }) &&
		!slices.ContainsFunc(plan.Model.Collections, func(c *model.Collection) bool { return len(c.Unique) > 0 }) {
		return nil
	}
	out := &RuleValues{Rules: []RuleEvaluation{}}
	n := c.counted()
	if n == nil {
		return out
	}
	out.Position = c.issuer.Mark(n.at)
	var some []RuleEvaluation
	n.tally.each(func(rule string, parts []model.Evaluation) {
		for _, e := range parts {
			switch {
			case e.FindsNothing():
				out.Rules = append(out.Rules, RuleEvaluation{Rule: rule, Evaluation: e})
			case e.NoValue > 0:
				some = append(some, RuleEvaluation{Rule: rule, Evaluation: e})
			}
		}
	})
	out.Rules = append(out.Rules, some...)
	if out.More = len(out.Rules) - maxNoValues; out.More > 0 {
		out.Rules = out.Rules[:maxNoValues]
	}
	out.More = max(out.More, 0)
	return out
}

// EachRule calls fn for each rule of the model with expressions or paths, and all that is unique, with in how many documents it found no value in
// the last count, and whether there was a part of it that found one in none. It does nothing before there is a count.
func (c *ValueCounter) EachRule(fn func(rule string, noValue int64, nothing bool)) {
	n := c.counted()
	if n == nil {
		return
	}
	n.tally.each(func(rule string, parts []model.Evaluation) {
		noValue, nothing := int64(0), false
		for _, e := range parts {
			noValue, nothing = noValue+e.NoValue, nothing || e.FindsNothing()
		}
		fn(rule, noValue, nothing)
	})
}
