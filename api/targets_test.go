package api

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// countingReader counts searches, and they wait for release where that is not nil. took is called in each.
type countingReader struct {
	*memory

	searches int
	entered  chan struct{}
	release  chan struct{}
	took     func()
}

func (r *countingReader) LargestTargets(ctx context.Context, relations []*model.Relation, most int) ([]wire.LargestTarget, fanfold.Position, error) {
	r.searches++
	if r.release != nil {
		r.entered <- struct{}{}
		select {
		case <-r.release:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	r.took()
	return []wire.LargestTarget{{Relation: relations[0].FullName(), Documents: int64(r.searches)}}, fanfold.At(uint64(most), 0), nil
}

// moving is a node whose events and model the test moves on.
type moving struct {
	still

	applied, seq uint64
}

func (n *moving) Applied() uint64 { return n.applied }
func (n *moving) Model() (*model.Model, uint64, model.Reserved) {
	return n.model, n.seq, model.Reserved{}
}

// searching returns targets over a reader, on a node and a clock that the test moves.
func searching(t *testing.T) (ts *targets, r *countingReader, node *moving, clock *time.Time) {
	t.Helper()
	s, m := serving(t)
	declared, _, _ := s.models.models.Model()
	now := time.Unix(1, 0)
	r = &countingReader{memory: m, took: func() {}}
	node = &moving{still{declared}, 1, 1}
	ts = newTargets(nil, node, node, positions{}, s.opt.Budget)
	ts.now = func() time.Time { return now }
	return ts, r, node, &now
}

// viewOfAll returns what everybody sees of an open store.
func viewOfAll(t *testing.T, r *countingReader, m *model.Model) view.View {
	t.Helper()
	rights, err := access.NewJudge(access.Everybody{}, func() *model.Model { return m }).Authenticate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return view.New(ViewDependencies{Reader: r}).Open(rights)
}

// TestTargetsAreSearchedRarely: what was found stays until events were folded and some time has gone by, the longer the longer it took. A new
// model is searched at once.
func TestTargetsAreSearchedRarely(t *testing.T) {
	ts, r, node, clock := searching(t)
	seen := viewOfAll(t, r, node.model)
	want := func(searches int) {
		t.Helper()
		found, err := ts.find(t.Context(), seen)
		if err != nil || r.searches != searches || found.list.Relations[0].Documents != int64(searches) || found.at != fanfold.At(maxTargetLinks, 0) {
			t.Fatalf("%d searches, want %d: %+v, %v", r.searches, searches, found, err)
		}
	}
	want(1)
	*clock = clock.Add(time.Hour)
	want(1) // nothing was folded
	node.applied++
	want(2)
	node.applied++
	*clock = clock.Add(targetsRest - 1)
	want(2)
	r.took = func() { *clock = clock.Add(time.Minute) }
	*clock = clock.Add(1)
	want(3)
	node.applied++
	*clock = clock.Add(targetsShare*time.Minute - 1)
	want(3)
	*clock = clock.Add(1)
	want(4)
	node.seq++
	want(5)
}

// TestTargetsAreSearchedOnce: while one request searches, others get what was found last. Without that they wait, as long as their clients do.
func TestTargetsAreSearchedOnce(t *testing.T) {
	ts, r, node, clock := searching(t)
	seen := viewOfAll(t, r, node.model)
	r.entered, r.release = make(chan struct{}), make(chan struct{})
	type answer struct {
		found *foundTargets
		err   error
	}
	answers := make(chan answer, 2)
	ask := func() {
		found, err := ts.find(t.Context(), seen)
		answers <- answer{found, err}
	}
	go ask()
	<-r.entered
	go ask()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ts.find(gone, seen); err == nil {
		t.Error("a request whose client has gone waits, or is answered")
	}
	r.release <- struct{}{}
	for range 2 {
		if a := <-answers; a.err != nil || a.found.list.Relations[0].Documents != 1 {
			t.Errorf("%+v, want the one search: %v", a.found, a.err)
		}
	}
	node.applied++
	*clock = clock.Add(targetsRest)
	go ask()
	<-r.entered
	if found, err := ts.find(t.Context(), seen); err != nil || found.list.Relations[0].Documents != 1 {
		t.Errorf("%+v, want the last: %v", found, err)
	}
	r.release <- struct{}{}
	if a := <-answers; a.err != nil || a.found.list.Relations[0].Documents != 2 {
		t.Errorf("%+v, want the second search: %v", a.found, a.err)
	}
}

// TestTargetsAreAnswered: the answer says as of when it was found, and under which model.
func TestTargetsAreAnswered(t *testing.T) {
	s, m := serving(t)
	w := request(s, http.MethodGet, "/v1/_model/_targets")
	if w.Code != http.StatusOK || w.Header().Get(headerRevision) != strconv.Itoa(1) || w.Header().Get(headerPosition) == "" || m.calls["LargestTargets"] != 1 {
		t.Errorf("%d %v %s, %v", w.Code, w.Header(), w.Body, m.calls)
	}
}
