package history_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
)

// foldedStore is a read model that a projector folds from a list of events, without a node.
type foldedStore struct {
	t       harness.TB
	dir     string
	log     *eventList
	store   *sqlite.Store
	p       *projector.Projector
	feeds   *changefeed.Feed
	judge   *access.Judge
	sets    int // of projector.Options.SetOrientedFrom
	stop    context.CancelFunc
	stopped chan error
}

// openFolded returns a store over a log without events.
func openFolded(t harness.TB, dir string, sets int) *foldedStore {
	s := &foldedStore{t: t, dir: dir, log: newEventList(), sets: sets}
	s.open()
	return s
}

// open opens the read model and begins to fold.
func (s *foldedStore) open() {
	s.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	var err error
	if s.store, err = sqlite.OpenStore(s.dir, sqlite.Options{Fingerprint: fold.Fingerprint(), Logger: quiet}); err == nil {
		opt := projector.Options{SetOrientedFrom: s.sets, Logger: quiet}
		if s.sets < 0 { // workers compute few views, too
			opt.WorkersFrom = 1
		}
		s.p, err = projector.New(s.log, s.store, opt)
	}
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	s.feeds = changefeed.New(s, changefeed.Options{Issuer: fanfold.Issuer{Store: "aaaaaaaa"}})
	s.judge = access.NewJudge(access.Everybody{}, func() *model.Model { m, _, _ := s.p.Model(); return m })
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.stopped = make(chan error, 1)
	go func(p *projector.Projector) { s.stopped <- p.Run(ctx) }(s.p)
}

// close ends folding and closes the read model.
func (s *foldedStore) close() {
	s.stop()
	s.feeds.Close()
	if err := errors.Join(<-s.stopped, s.store.Close()); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// otherwise opens the store again, to be folded by set-oriented SQL where it was not.
func (s *foldedStore) otherwise() {
	s.close()
	s.sets = -s.sets
	s.open()
	s.catchUp()
}

// append stores events, and waits until they are folded.
func (s *foldedStore) append(events ...*fanfold.Event) (first uint64) {
	s.t.Helper()
	first = s.log.append(events...)
	s.catchUp()
	return first
}

// catchUp waits until all events are folded.
func (s *foldedStore) catchUp() {
	s.t.Helper()
	if err := s.store.Applied.Wait(context.Background(), s.log.last()); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// compact lets the store begin at an event or before it, and returns the oldest position. It does nothing where there is no such event.
func (s *foldedStore) compact(before uint64) (oldest fanfold.Position) {
	s.t.Helper()
	ctx := context.Background()
	h, _, err := s.p.Horizon()
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	if before <= h.Seq {
		return h.At()
	}
	seq, _, err := batch.SafeEnd(ctx, s.log, h.Seq, before)
	if fanfold.CodeOf(err) == fanfold.Conflict {
		return h.At()
	}
	var base *batch.Base
	var run func(context.Context) error
	if err == nil {
		run, err = s.p.Begin(rebuild.Compact(rebuild.Compacting{Horizon: seq, File: filepath.Join(s.dir, "base"),
			Store: func(_ context.Context, h fanfold.Horizon, _ fanfold.AsOf, file io.Reader) (fanfold.BaseFile, *batch.Base, error) {
				content, err := io.ReadAll(file)
				base = baseOf(h, s.p.AsOf(), content)
				return fanfold.BaseFile{Name: "base", Bytes: int64(len(content))}, base, err
			},
			Append: func(_ context.Context, c *fanfold.Compaction) (uint64, error) {
				return s.log.append(&fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{Base: c}}), nil
			}}))
	}
	if err == nil {
		err = run(ctx)
	}
	if err != nil {
		s.t.Fatalf("compact: %v", err)
	}
	s.log.beginWith(base)
	if h, _, err = s.p.Horizon(); err != nil || h.Seq != seq {
		s.t.Fatalf("the store begins at %+v, %v, want event %d", h, err, seq)
	}
	return h.At()
}

// replay wants a replay to make the same rows.
func (s *foldedStore) replay() {
	s.t.Helper()
	before := s.digest()
	if err := s.p.Rebuild(context.Background(), rebuild.Replay()); err != nil {
		s.t.Fatalf("replay: %v", err)
	}
	if s.digest() != before {
		s.t.Fatalf("the replay's rows differ")
	}
}

// path returns where the read model's file is.
func (s *foldedStore) path() (path string) {
	_ = s.store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil }) // it returns what the function does
	return path
}

// digest is a hash of all rows.
func (s *foldedStore) digest() string {
	s.t.Helper()
	sum, err := harness.DigestFile(s.path())
	if err != nil {
		s.t.Fatalf("digest: %v", err)
	}
	return sum
}

// verify wants every derived value and link to be right.
func (s *foldedStore) verify() {
	s.t.Helper()
	v, err := inspect.Verify(context.Background(), s.store, nil)
	if err != nil || len(v.Wrong) > 0 {
		s.t.Fatalf("verify: %v, %+v", err, v)
	}
}

func (s *foldedStore) indexOrder(collection, name string) []string {
	s.t.Helper()
	ids, err := harness.IndexOrderOf(s.path(), collection, name)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	return ids
}

func (s *foldedStore) read(fn func(*sqlite.Snapshot) error) error { return s.store.Read(fn) }

// mustRead calls fn with a snapshot.
func (s *foldedStore) mustRead(fn func(*sqlite.Snapshot) error) {
	s.t.Helper()
	if err := s.store.Read(fn); err != nil {
		s.t.Fatalf("%v", err)
	}
}

func (s *foldedStore) document(key okey, view, at string) (body string, there bool) {
	s.t.Helper()
	s.mustRead(func(snap *sqlite.Snapshot) error {
		name := fanfold.Key{Collection: key.collection, ID: key.id}
		doc, err := snap.Get(name, viewOf(view))
		if at != "" {
			when, resolveErr := resolve(snap, at)
			doc, _, err = snap.GetAt(when, name, viewOf(view), 8<<20)
			err = errors.Join(resolveErr, err)
		}
		if there = doc != nil && err == nil; there {
			body = string(doc.Body)
		}
		return err
	})
	return body, there
}

// viewOf returns a view by its name; "" names the embedded one.
func viewOf(name string) fanfold.View {
	if name == "referenced" {
		return fanfold.Referenced
	}
	return fanfold.Embedded
}

// resolve returns the position of a state.
func resolve(snap *sqlite.Snapshot, at string) (fanfold.Position, error) {
	position, err := fanfold.ParsePosition(at)
	if err != nil {
		return 0, err
	}
	return snap.Resolve(fanfold.Moment{Position: position})
}

func (s *foldedStore) feed(query string) []byte {
	s.t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	limit, _ := strconv.Atoi(values.Get("limit"))
	q := changefeed.Query{Rights: s.judge.Of(access.Open), Since: values.Get("since"), Limit: limit, Docs: values.Get("include_docs") == "true"}
	q.AllChanges, q.View = values.Get("mode") == "all", viewOf(values.Get("view"))
	var out bytes.Buffer
	recorder := httptest.NewRecorder()
	recorder.Body = &out
	if err := s.feeds.Serve(recorder, httptest.NewRequest(http.MethodGet, "/", nil), q); err != nil {
		s.t.Fatalf("feed %s: %v", query, err)
	}
	return out.Bytes()
}

// Changes implements changefeed.Store.
func (s *foldedStore) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	err = s.store.Read(func(snap *sqlite.Snapshot) error {
		page, err = snap.Changes(q)
		return err
	})
	return page, err
}

// Bounds implements changefeed.Store.
func (s *foldedStore) Bounds() (oldest, head fanfold.Position, err error) {
	err = s.store.Read(func(snap *sqlite.Snapshot) error {
		head = snap.At()
		oldest, err = snap.Oldest()
		return err
	})
	return oldest, head, err
}

// Before implements changefeed.Store.
func (s *foldedStore) Before(t time.Time) (at fanfold.Position, err error) {
	err = s.store.Read(func(snap *sqlite.Snapshot) error {
		at, err = snap.Before(t)
		return err
	})
	return at, err
}

// Changed implements changefeed.Store.
func (s *foldedStore) Changed(seq uint64) <-chan struct{} { return s.store.Applied.Changed(seq) }

// Wait implements changefeed.Store.
func (s *foldedStore) Wait(ctx context.Context, seq uint64) error {
	return s.store.Applied.Wait(ctx, seq)
}
