package writer

import (
	"context"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// purgedLeader is a log that has lost every event up to one.
type purgedLeader struct {
	Leader
	horizon  uint64
	progress fanfold.Revision // that it still has
}

// Progress implements Leader.
func (l purgedLeader) Progress(context.Context, string) ([]byte, fanfold.Revision, error) {
	return []byte("of the log"), l.progress, nil
}

// Horizon implements Leader.
func (l purgedLeader) Horizon(context.Context) (uint64, error) { return l.horizon, nil }

// progressModel is a read model that has folded an import's event once it was waited for.
type progressModel struct {
	ReadModel
	applied uint64
}

// Applied implements ReadModel.
func (p *progressModel) Applied() uint64 { return p.applied }

// Wait implements ReadModel.
func (p *progressModel) Wait(_ context.Context, seq uint64) error {
	p.applied = max(p.applied, seq)
	return nil
}

// Read implements ReadModel.
func (p *progressModel) Read(fn func(Snapshot) error) error {
	return fn(progressRow{applied: p.applied})
}

// progressRow is a snapshot with an import's last event 70.
type progressRow struct {
	Snapshot
	applied uint64
}

// ImportProgress implements Snapshot.
func (p progressRow) ImportProgress(string) ([]byte, fanfold.Revision, error) {
	if p.applied < 70 {
		return nil, 0, nil
	}
	return []byte("folded"), 70, nil
}

// TestProgressBehindTheHorizon: an import's last event is read from the log, and from what this node has folded where the log may have lost
// it, which is the horizon at least. The condition says how far that was.
func TestProgressBehindTheHorizon(t *testing.T) {
	for what, c := range map[string]struct {
		leader  purgedLeader
		applied uint64
		body    string
		want    fanfold.Expect
	}{
		"the log has it":             {purgedLeader{horizon: 90, progress: 95}, 40, "of the log", fanfold.Expect{Set: true, Rev: 95, Folded: 40}},
		"the log has lost nothing":   {purgedLeader{}, 80, "", fanfold.Expect{Set: true, Folded: 80}},
		"this node is behind":        {purgedLeader{horizon: 90}, 40, "folded", fanfold.Expect{Set: true, Rev: 70, Folded: 90}},
		"this node is further":       {purgedLeader{horizon: 90}, 99, "folded", fanfold.Expect{Set: true, Rev: 70, Folded: 99}},
		"there was none at the time": {purgedLeader{horizon: 60}, 40, "", fanfold.Expect{Set: true, Folded: 60}},
	} {
		w := &Writer{Dependencies: Dependencies{Leader: c.leader, ReadModel: &progressModel{applied: c.applied}}, opt: Options{Timeout: time.Minute}}
		body, got, err := w.lastProgress(t.Context(), "job")
		if err != nil || got != c.want || c.want.Rev != 0 && string(body) != c.body {
			t.Errorf("%s: %q, %+v, %v; want %q, %+v", what, body, got, err, c.body, c.want)
		}
	}
}
