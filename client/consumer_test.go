package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// record is what the members of a group have handled.
type record struct {
	t  *testing.T
	mu sync.Mutex

	last    map[string]uint64 // revision by document
	twice   int
	running map[int]int // handlers by partition
	most    int         // handlers at a time
	total   int
	more    chan struct{} // gets something whenever a batch was handled
}

func newRecord(t *testing.T) *record {
	return &record{t: t, last: map[string]uint64{}, running: map[int]int{}, more: make(chan struct{}, 1)}
}

// handle records a batch. Within a partition handlers never run at the same time.
func (r *record) handle(_ context.Context, b *client.Batch) error {
	r.enter(b.Partition, 1)
	defer r.enter(b.Partition, -1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, change := range b.Changes {
		if last := r.last[change.ID]; change.Rev <= last {
			r.twice++
			continue
		}
		r.last[change.ID] = change.Rev
		r.total++
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
	return nil
}

func (r *record) enter(partition, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[partition] += n
	if r.running[partition] > 1 {
		r.t.Errorf("%d handlers of partition %d at the same time", r.running[partition], partition)
	}
	sum := 0
	for _, n := range r.running {
		sum += n
	}
	r.most = max(r.most, sum)
}

// await waits until so many changes were handled.
func (r *record) await(total int) {
	r.t.Helper()
	limit := time.After(suite.Deadline(time.Minute))
	for {
		r.mu.Lock()
		have := r.total
		r.mu.Unlock()
		if have >= total {
			return
		}
		select {
		case <-r.more:
		case <-limit:
			r.t.Fatalf("%d of %d changes were handled", have, total)
		}
	}
}

// member runs a member of a group until stop is called, which waits for its end and returns its error.
func member(t *testing.T, c *client.Client, opt client.ConsumerOptions) (stop func() error) {
	t.Helper()
	consumer := must(client.NewConsumer(c, opt))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- consumer.Run(ctx) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			err = <-done
		})
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// awaitGroup waits until a group is as fn wants it.
func awaitGroup(t *testing.T, c *client.Client, name string, fn func(g *client.Group) bool) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		g := must(c.Group(t.Context(), name))(t)
		if fn(g) {
			return
		}
		if time.Since(begun) > suite.Deadline(time.Minute) {
			t.Fatalf("the group stays as %s", g.Raw)
		}
	}
}

// TestConsumers: the members of a group handle every change, and a document's changes in order, while members come and go.
func TestConsumers(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	settings := client.GroupSettings{Partitions: 8, Lease: 8 * time.Second}
	if !must(c.PutGroup(t.Context(), "g", settings))(t) {
		t.Error("the group was there")
	}
	r := newRecord(t)
	opt := client.ConsumerOptions{Group: "g", Handler: r.handle, BatchSize: 7, Concurrency: 2}
	first := member(t, c, opt)
	n := 0 // a write of equal bytes is none
	write := func(rounds int) {
		for range rounds {
			for i := range 40 {
				n++
				s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"n":%d}`, n))
			}
		}
	}
	write(2)
	r.await(80)
	second := member(t, c, opt)
	owners := func(want int) {
		t.Helper()
		awaitGroup(t, c, "g", func(g *client.Group) bool {
			names := map[string]bool{}
			for _, p := range g.Partitions {
				names[p.Owner] = true
			}
			return len(names) == want && !names[""]
		})
	}
	owners(2)
	write(2)
	r.await(160)
	if err := first(); err != nil {
		t.Errorf("the first member ended with %v", err)
	}
	for _, p := range must(c.Group(t.Context(), "g"))(t).Partitions {
		if p.Owner == "" && time.Until(p.Expires) > 0 {
			t.Errorf("partition %d was not given back", p.Partition)
		}
	}
	write(2)
	r.await(240)
	owners(1)
	awaitGroup(t, c, "g", func(g *client.Group) bool { return g.Lag.Changes != nil && *g.Lag.Changes == 0 })
	if err := second(); err != nil {
		t.Errorf("the second member ended with %v", err)
	}
	if r.most > 4 || r.twice > 0 {
		t.Errorf("%d handlers at a time, %d changes twice", r.most, r.twice)
	}
}

// TestConsumerOverRestarts: nothing is lost over cut connections and restarts of the server.
func TestConsumerOverRestarts(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{})
	must(c.PutGroup(t.Context(), "g", client.GroupSettings{Partitions: 4, Lease: 5 * time.Second}))(t)
	r := newRecord(t)
	opt := client.ConsumerOptions{Group: "g", Handler: r.handle, BatchSize: 5}
	stops := []func() error{member(t, c, opt), member(t, c, opt)}
	for i := range 300 {
		switch {
		case i%100 == 50:
			s = s.Reopen()
			p.lead(s)
		case i%30 == 10:
			p.cut()
		}
		s.Put("books", fmt.Sprint(i%50), fmt.Sprintf(`{"n":%d}`, i))
	}
	r.await(300)
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Errorf("a member ended with %v", err)
		}
	}
	t.Logf("%d changes were handled twice", r.twice)
}

// TestConsumerParks: a batch whose handler fails is tried again, parked with its error, listed, given again and dropped.
func TestConsumerParks(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	must(c.PutGroup(t.Context(), "g", client.GroupSettings{Partitions: 1, MaxAttempts: 2}))(t)
	r := newRecord(t)
	var broken atomic.Bool
	var failed atomic.Int64
	broken.Store(true)
	member(t, c, client.ConsumerOptions{Group: "g", BatchSize: 1, Handler: func(ctx context.Context, b *client.Batch) error {
		if b.Changes[0].ID == "poison" && broken.Load() {
			return errors.New("cannot be eaten")
		}
		return r.handle(ctx, b)
	}, Failed: func(error) { failed.Add(1) }})
	for _, id := range []string{"a", "poison", "b"} {
		s.Put("books", id, `{}`)
	}
	r.await(2)
	list := must(c.Parked(t.Context(), "g"))(t)
	if len(list.Parked) != 1 || list.Parked[0].Attempts != 2 || list.Parked[0].Error != "cannot be eaten" || failed.Load() != 2 {
		t.Fatalf("parked are %+v after %d failures", list.Parked, failed.Load())
	}
	broken.Store(false)
	if err := c.RetryParked(t.Context(), "g", list.Parked[0].ID); err != nil {
		t.Error(err)
	}
	s.Put("books", "c", `{}`) // the owner asks again
	r.await(4)
	awaitGroup(t, c, "g", func(g *client.Group) bool { return g.Partitions[0].Parked == 0 && *g.Lag.Changes == 0 })
	if err := c.DropParked(t.Context(), "g", list.Parked[0].ID); !errors.Is(err, client.NotFound) {
		t.Errorf("drop: %v", err)
	}
	if got := must(c.Groups(t.Context()))(t); fmt.Sprint(got.Names) != "[g]" {
		t.Errorf("the groups are %v", got.Names)
	}
}

// TestConsumerStops: a handler that runs may end its work, and that is acknowledged; one that takes too long is told to end.
func TestConsumerStops(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	must(c.PutGroup(t.Context(), "g", client.GroupSettings{Partitions: 1}))(t)
	s.Put("books", "a", `{}`)
	begun, finish := make(chan struct{}), make(chan struct{})
	stop := member(t, c, client.ConsumerOptions{Group: "g", Grace: time.Minute, Handler: func(ctx context.Context, _ *client.Batch) error {
		close(begun)
		<-finish
		return ctx.Err()
	}})
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	select {
	case err := <-ended:
		t.Errorf("the consumer did not wait for its handler: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(finish)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	g := must(c.Group(t.Context(), "g"))(t)
	if *g.Lag.Changes != 0 || g.Partitions[0].Owner != "" {
		t.Errorf("the group is %s", g.Raw)
	}
	s.Put("books", "b", `{}`)
	begun = make(chan struct{})
	stop = member(t, c, client.ConsumerOptions{Group: "g", Grace: 50 * time.Millisecond, Handler: func(ctx context.Context, _ *client.Batch) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	<-begun
	if err := stop(); err != nil {
		t.Error(err)
	}
	if g := must(c.Group(t.Context(), "g"))(t); *g.Lag.Changes != 1 || g.Partitions[0].Attempts != 0 {
		t.Errorf("the group is %s", g.Raw)
	}
}

// TestConsumerLosesItsLease: a handler's context ends when the lease is lost, and what it did is not acknowledged.
func TestConsumerLosesItsLease(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	p := newProxy(t, s)
	c, direct := connect(t, p.url(), client.Options{RetryFor: -1}), connect(t, s.URL, client.Options{})
	must(direct.PutGroup(t.Context(), "g", client.GroupSettings{Partitions: 1, Lease: time.Second}))(t)
	s.Put("books", "a", `{}`)
	var once sync.Once
	begun, lost := make(chan struct{}), make(chan error, 1)
	member(t, c, client.ConsumerOptions{Group: "g", Member: "frozen", Handler: func(ctx context.Context, _ *client.Batch) error {
		once.Do(func() {
			close(begun)
			<-ctx.Done()
			lost <- context.Cause(ctx)
		})
		return nil
	}})
	<-begun
	p.lead(nil)
	p.cut()
	if err := <-lost; !errors.Is(err, client.LeaseLost) {
		t.Errorf("the handler's context ended with %v", err)
	}
	r := newRecord(t)
	member(t, direct, client.ConsumerOptions{Group: "g", Member: "other", Handler: r.handle})
	r.await(1)
}

// TestConsumerEnds: what trying again does not help ends a consumer.
func TestConsumerEnds(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	handler := func(context.Context, *client.Batch) error { return nil }
	if err := must(client.NewConsumer(c, client.ConsumerOptions{Group: "none", Handler: handler}))(t).Run(t.Context()); !errors.Is(err, client.NotFound) {
		t.Errorf("a consumer of no group ends with %v", err)
	}
	if _, err := client.NewConsumer(c, client.ConsumerOptions{Group: "g"}); !errors.Is(err, client.Invalid) {
		t.Errorf("a consumer without a handler: %v", err)
	}
	must(c.PutGroup(t.Context(), "g", client.GroupSettings{Partitions: 2, Lease: 10 * time.Second}))(t)
	ended := make(chan error, 1)
	ready := make(chan struct{}, 10)
	consumer := must(client.NewConsumer(c, client.ConsumerOptions{Group: "g", Handler: func(context.Context, *client.Batch) error {
		ready <- struct{}{}
		return nil
	}}))(t)
	go func() { ended <- consumer.Run(t.Context()) }()
	s.Put("books", "a", `{}`)
	<-ready
	if err := c.ResetGroup(t.Context(), "g", "0", false); !errors.Is(err, client.Conflict) {
		t.Errorf("reset: %v", err)
	}
	if err := c.ResetGroup(t.Context(), "g", "0", true); err != nil {
		t.Errorf("reset: %v", err)
	}
	<-ready // it comes again
	if err := c.DeleteGroup(t.Context(), "g"); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, client.NotFound) {
		t.Errorf("the consumer of a deleted group ends with %v", err)
	}
}

// TestConsumerBatches: a batch ends after an event if that is not too large, and within it otherwise.
func TestConsumerBatches(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	const books = 10_500
	var lines strings.Builder
	for i := range books {
		fmt.Fprintf(&lines, `{"id":"%d","authors":[{"id":"a"}]}`+"\n", i)
	}
	must(c.Import(t.Context(), strings.NewReader(lines.String()), client.ImportOptions{Collection: "books"}))(t)
	must(c.PutGroup(t.Context(), "g", client.GroupSettings{Partitions: 1, Since: "now"}))(t)
	must(client.Collection[author](c, "authors").Put(t.Context(), "a", author{Name: "Ann"}, client.FoldWithin(time.Minute)))(t)
	var sizes []int
	seen := map[string]bool{}
	done := make(chan struct{})
	member(t, c, client.ConsumerOptions{Group: "g", Handler: func(_ context.Context, b *client.Batch) error {
		sizes = append(sizes, len(b.Changes))
		for _, change := range b.Changes {
			seen[change.Collection+change.ID] = true
		}
		if len(seen) == books+1 {
			close(done)
		}
		return nil
	}})
	select {
	case <-done:
	case <-time.After(suite.Deadline(time.Minute)):
		t.Fatal("the event was not handled to its end")
	}
	if fmt.Sprint(sizes) != "[10000 501]" {
		t.Errorf("the batches had %v changes", sizes)
	}
}
