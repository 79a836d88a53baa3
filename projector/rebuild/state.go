package rebuild

import (
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

// use says whose progress a State is.
type use int

const (
	silent      use = iota // nobody asks for it
	replays                // and checks
	compactions            // both read models of one
	erasures               // read models as of a later erasure
	models                 // read models for a coming model; others run beside them
	uses
)

// The phases of a replay. A compaction has more.
const (
	Replaying = wire.PhaseReplaying
	Copying   = "copying"
	Comparing = wire.PhaseComparing
)

// State says how far a rebuild is that runs, or ran last.
type State struct {
	use         use
	Running     bool
	Phase       string
	Done, Total int64   // events, rows or bytes of the phase
	Seq, Target uint64  // last event replayed, and to replay
	Rate, Left  float64 // of the phase: done in a second, and seconds
	Started     time.Time
	Seconds     float64 // it has taken
	Err         error

	Check      *wire.Check     // what came of a comparison; nil where none is asked for
	Compaction wire.Compaction // what was asked for
	Model      uint64          // the event that announces what is coming; 0 for other uses
	Changes    int64           // documents that it changes, as far as known

	since time.Time // when the phase began
}

// errBuilding is the error of a rebuild while another one runs.
var errBuilding = fanfold.Errorf(fanfold.Conflict, "a replay, a compaction or an erasure is running already: see /v1/_status")

// states say how far each use is. Their methods may be called from many goroutines.
type states struct {
	mu sync.Mutex
	of [uses]State
}

// begin shows a rebuild from now on. It returns false where another one runs.
func (b *states) begin(s State) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, other := range b.of {
		if other.Running {
			return false
		}
	}
	s.Running, s.Phase, s.Started = true, Replaying, time.Now().UTC()
	if s.use == erasures {
		s.Err = b.of[erasures].Err // until another one has ended
	}
	b.of[s.use] = s
	return true
}

// show shows a state as it is.
func (b *states) show(s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of[s.use] = s
}

// update changes what is shown of a rebuild, unless another model is coming by now.
func (b *states) update(shown State, change func(s *State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := &b.of[shown.use]; s.Model == shown.Model {
		change(s)
	}
}

// tell notes how far a phase is.
func (m *build) tell(phase string, done, total int64) { m.b.states.tell(m.shown, phase, done, total) }

// tell notes how far a phase of a rebuild is. One for a coming model has its own phases while it replays.
func (b *states) tell(shown State, phase string, done, total int64) {
	now := time.Now().UTC()
	b.update(shown, func(s *State) {
		if phase == Replaying {
			s.Seq, s.Target = uint64(done), uint64(total)
		}
		switch {
		case s.use == models && phase == Replaying:
			phase = s.Phase
		case s.use == models && phase != s.Phase:
			s.since, s.Err = now, nil
		case phase == Replaying:
			s.since = s.Started
		case phase != s.Phase:
			s.since = now
		}
		s.Phase, s.Done, s.Total, s.Seconds, s.Left = phase, done, total, now.Sub(s.Started).Seconds(), 0
		if total > 0 {
			s.Rate = float64(done) / max(now.Sub(s.since).Seconds(), 1e-9)
			s.Left = float64(total-min(done, total)) / max(s.Rate, 1e-9)
		}
	})
}

// end notes how a rebuild ended.
func (b *states) end(shown State, err error) {
	b.update(shown, func(s *State) {
		s.Running, s.Phase, s.Left, s.Err = false, wire.PhaseDone, 0, err
		s.Seconds = time.Since(s.Started).Seconds()
	})
}

// found notes what came of a comparison.
func (m *build) found(at fanfold.Position, d *sqlite.Differences) {
	c := &wire.Check{Position: at.String(), Compared: d.Rows, Rows: d.Rows}
	for _, t := range d.Tables {
		if c.Tables == nil {
			c.Tables = map[string]int64{}
		}
		c.Tables[t.Table] = t.Rows
		c.Different += t.Rows
	}
	if d.First != nil {
		c.First = new(wire.RowDifference(*d.First))
	}
	m.b.states.update(m.shown, func(s *State) { s.Check, s.Done, s.Total = c, d.Rows, d.Rows })
}

// get returns how far a use is; ok is false where there was none.
func (b *states) get(u use) (s State, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[u], !b.of[u].Started.IsZero()
}

// LastReplay returns how far the replay or check is that runs, or ran last; nil for none.
func (b *Builder) LastReplay() *wire.Replay {
	s, ok := b.states.get(replays)
	if !ok {
		return nil
	}
	out := &wire.Replay{Running: s.Running, Phase: s.Phase, Seq: s.Seq, Target: s.Target, Rate: s.Rate, Left: s.Left, Started: s.Started, Seconds: s.Seconds}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	if s.Check != nil {
		if out.Check = new(*s.Check); s.Phase == Comparing {
			out.Check.Compared, out.Check.Rows = s.Done, s.Total
		}
	}
	return out
}

// Compaction returns how far the compaction is that runs, or ran last; nil for none.
func (b *Builder) Compaction() *wire.Compaction {
	s, ok := b.states.get(compactions)
	if !ok {
		return nil
	}
	out := s.Compaction
	out.Running, out.Phase, out.Done, out.Total, out.Started, out.Seconds = s.Running, s.Phase, s.Done, s.Total, s.Started, s.Seconds
	if s.Err != nil {
		out.Error = Reason(s.Err)
	}
	return &out
}
