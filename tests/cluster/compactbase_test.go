package cluster_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestDamagedBaseKeepsTheLog: nobody purges what a base stands for that cannot be read.
func TestDamagedBaseKeepsTheLog(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	lines := &harness.LockedBuffer{}
	opt := harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Hour }}
	s := harness.Open(t, opt)
	writeBooks(s, "x", 30)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	s.Close()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "OBJ_fanfold_fanfold_base")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("$O.fanfold_fanfold_base.C.>"))
	if err != nil || len(info.State.Subjects) != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	for subject := range info.State.Subjects {
		if _, err := js.Publish(t.Context(), subject, []byte("one piece too many")); err != nil {
			t.Fatal(err)
		}
	}
	opt.Configure = func(cfg *node.Config) {
		cfg.PurgeWait, cfg.Logger = time.Millisecond, slog.New(slog.NewTextHandler(lines, nil))
	}
	s = harness.Open(t, opt)
	defer s.Close()
	harness.Await(t, "a purge that is refused", time.Minute, func() bool { return strings.Contains(lines.String(), "the log could not be purged") })
	if state, err := s.Node.Log.State(t.Context()); err != nil || state.First != 1 || !strings.Contains(lines.String(), "is damaged") {
		t.Errorf("the log begins with event %d, %v: %s", state.First, err, lines)
	}
}

// TestBaseIsGone: a node that has no need of the base goes on without it, and says that it is missing. Nobody purges what it stood for, and no
// replay takes the place of the read model.
func TestBaseIsGone(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	lines := &harness.LockedBuffer{}
	opt := harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Hour }}
	s := harness.Open(t, opt)
	writeBooks(s, "x", 30)
	s.CatchUp()
	horizon := s.Node.Store.Applied.Seq()
	s.Compact(horizon)
	s.Close()
	removeStream(t, url, "OBJ_fanfold_fanfold_base")

	opt.Configure = func(cfg *node.Config) {
		cfg.PurgeWait, cfg.Logger = time.Millisecond, slog.New(slog.NewTextHandler(lines, nil))
	}
	s = harness.Open(t, opt)
	defer func() { s.Close() }()
	harness.AwaitReady(t, s, http.StatusOK)
	writeBooks(s, "x", 30)
	writeBooks(s, "y", 30)
	s.CatchUp()
	s.Verify()
	report, err := s.Node.VerifyLog(t.Context(), nil)
	if err != nil || report.Base == nil || !strings.Contains(report.Base.Error, "is missing") {
		t.Errorf("the log: %+v, %v", report, err)
	}
	if run, err := s.Node.Projector.Begin(rebuild.Replay()); err != nil {
		t.Error(err)
	} else if err := run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not in the object store") {
		t.Errorf("the replay: %v", err)
	}
	harness.Await(t, "a purge that is refused", time.Minute, func() bool { return strings.Contains(lines.String(), "the log could not be purged") })
	if state, err := s.Node.Log.State(t.Context()); err != nil || state.First != 1 {
		t.Errorf("the log begins with event %d, %v", state.First, err)
	}
	writeBooks(s, "z", 5)
	s.CatchUp()
	s.Verify()
}

// removeStream removes a stream, whatever is in it.
func removeStream(t *testing.T, url, name string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
}
