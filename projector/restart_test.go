package projector

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/suite"
)

// restartingLog is a log without events whose server is started again and again.
type restartingLog struct {
	batch.Log
	runs time.Duration // for how long the server runs between two starts; 0 for a server that never does
}

// errRestart is the error of what meets a planned restart.
var errRestart = fanfold.Wrap(fanfold.ErrRestarting, fanfold.Unavailable, "the reader was stopped")

// Base returns none.
func (restartingLog) Base(context.Context) (*batch.Base, error) { return nil, nil }

// Erasures returns none.
func (restartingLog) Erasures() (last, inForce fanfold.AsOf) { return 0, 0 }

// Events returns a reader that ends with the server's run.
func (l restartingLog) Events(context.Context, uint64, fanfold.AsOf) (batch.Reader, error) {
	if l.runs == 0 {
		return nil, errRestart
	}
	return restartingReader(l), nil
}

// restartingReader reads from one run of a server.
type restartingReader restartingLog

// Next blocks until the run has ended.
func (r restartingReader) Next(ctx context.Context) (*fanfold.Event, uint64, error) {
	select {
	case <-time.After(r.runs):
		return nil, 0, errRestart
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// Close does nothing.
func (restartingReader) Close() {}

// WaitSynced returns at once.
func (restartingReader) WaitSynced(context.Context, uint64) error { return nil }

// TestPlannedRestarts: planned restarts of the log's server are no stop of the folding, however many there are and however far apart. A
// server that does not come back is one.
func TestPlannedRestarts(t *testing.T) {
	suite.Concurrent(t)
	for _, c := range []struct {
		runs  time.Duration
		stops bool
	}{{20 * time.Millisecond, false}, {time.Minute, false}, {0, true}} {
		synctest.Test(t, func(t *testing.T) {
			store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var logged bytes.Buffer
			p, err := New(restartingLog{runs: c.runs}, store, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), suite.Deadline(5*time.Minute))
			defer cancel()
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
			if stopped := strings.Contains(logged.String(), "the projector has stopped"); stopped != c.stops {
				t.Errorf("a server that runs for %v: stopped is %v, want %v:\n%s", c.runs, stopped, c.stops, logged.String())
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
