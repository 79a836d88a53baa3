package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/wire"
)

// Bounds of batches.
const (
	maxRows  = 100      // changes from which on a batch ends
	maxBatch = 1 << 20  // bytes of a batch that has more than one change
	maxRow   = 16 << 20 // bytes of one change
	// pace is how long a partition without changes is not looked at again, however many are folded. It grows with the partitions and with the time
	// that a look takes: all looks of a node take lookShare of one core's time at most.
	pace      = 200 * time.Millisecond
	lookShare = 20 // percent
	// idle is when it is looked at without any: for a batch that is given again.
	idle = 5 * time.Second
	// again is when it is looked at while a batch fails.
	again = time.Second
	// passEvery is how often a checkpoint moves over changes that the group does not ask for.
	passEvery = 10 * time.Second
	// settling is how long an acknowledgement is tried.
	settling = 10 * time.Second
)

// Members is how a node has partitions of a group, as any member has.
type Members interface {
	// Lease returns the leases that a member has, after it has joined the group, or stayed in it.
	Lease(ctx context.Context, name, member string, most int) ([]wire.Lease, error)
	// Release ends a lease.
	Release(ctx context.Context, name string, number int, token string) error
	// Leave ends all leases of a member, which is no member any more.
	Leave(ctx context.Context, name, member string) error
}

// Batches is how a node reads and settles the batches of its leases, as any member does.
type Batches interface {
	// ServeChanges answers a member's request for the changes of a partition.
	ServeChanges(w http.ResponseWriter, r *http.Request, asked group.Reading) error
	// Ack records that everything of a batch was handled.
	Ack(ctx context.Context, name string, b group.Batch) error
	// Nack records that a batch could not be handled, and why.
	Nack(ctx context.Context, name string, b group.Batch, why string) error
}

// pushing is the node's membership in one group.
type pushing struct {
	*Pusher
	target  atomic.Pointer[group.Target] // as it was read last
	ctx     context.Context              // ends when nothing more is to be read
	stop    func()
	posting context.Context // ends when posts on their way are cut
	slots   chan struct{}   // has an element for each post of the group
	work    map[int]*work   // by partition
	wait    sync.WaitGroup
}

// newPushing returns the membership in a group, to be started with run once it has a target.
func (p *Pusher) newPushing(ctx, posting context.Context) *pushing {
	of := &pushing{Pusher: p, posting: posting, slots: make(chan struct{}, groupPosts), work: map[int]*work{}}
	of.ctx, of.stop = context.WithCancel(ctx)
	return of
}

// run asks for leases again and again, and starts and ends the work on them, until it is stopped. Then it leaves the group.
func (of *pushing) run() {
	for of.ctx.Err() == nil {
		t := of.target.Load()
		asked := time.Now()
		wait := min(t.Lease/4, lookEvery) // a member that is new gets its share soon
		leases, err := of.members.Lease(of.ctx, t.Name, of.opt.Member, 0)
		switch {
		case err == nil:
			of.update(leases, asked, t.Lease)
		case of.ctx.Err() == nil:
			of.opt.Logger.Debug("no leases to push by", "group", t.Name, "err", err)
			wait = lookEvery
		}
		sleep(of.ctx, wait)
	}
	of.wait.Wait()
	t := of.target.Load()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(of.ctx), leaving)
	defer cancel()
	if err := of.members.Leave(ctx, t.Name, of.opt.Member); err != nil && fanfold.CodeOf(err) != fanfold.NotFound {
		of.opt.Logger.Debug("the leases of a group end by themselves", "group", t.Name, "err", err)
	}
}

// update starts the work on leases that are new, and ends it on those that the node has no more.
func (of *pushing) update(leases []wire.Lease, asked time.Time, lasts time.Duration) {
	now := map[int]string{}
	for _, l := range leases {
		now[l.Partition] = l.Token
	}
	for n, w := range of.work {
		select {
		case <-w.done:
			delete(of.work, n)
			continue
		default:
		}
		switch token, has := now[n]; {
		case has && token == w.lease.Token:
			w.renew(asked, lasts)
		case has: // it was lost, and is ours again
			w.lose()
		default: // it is for another member, once the batch at hand is through
			w.stop()
		}
	}
	for _, l := range leases {
		if of.work[l.Partition] == nil {
			w := of.newWork(l)
			w.renew(asked, lasts)
			of.work[l.Partition] = w
			of.wait.Go(w.run)
		}
	}
}

// work is the work on one lease: batch after batch, each posted once the one before has its answer.
type work struct {
	*pushing
	lease    wire.Lease
	reading  context.Context // ends when no more batches are to be read
	stop     func()          // ends reading
	posting  context.Context // ends when the lease is lost
	lose     func()          // ends both
	expiry   *time.Timer
	done     chan struct{}
	position string    // up to which everything was acknowledged
	failed   string    // the last position of the batch that failed last: it comes again as it was; "" for none
	passed   time.Time // when the checkpoint moved last without changes

	took time.Duration // to read last
}

// newWork returns the work on a lease, to be started with run.
func (of *pushing) newWork(l wire.Lease) *work {
	w := &work{pushing: of, lease: l, done: make(chan struct{}), position: l.Checkpoint}
	var endReading, endPosting func()
	w.reading, endReading = context.WithCancel(of.ctx)
	w.posting, endPosting = context.WithCancel(of.posting)
	w.stop, w.lose = endReading, func() { endReading(); endPosting() }
	w.expiry = time.AfterFunc(time.Hour, w.lose)
	of.all.Add(1)
	return w
}

// renew records that the lease lasts for some time from when it was asked for. It may have been written up to a quarter of that
// earlier.
func (w *work) renew(asked time.Time, lasts time.Duration) {
	w.expiry.Reset(time.Until(asked.Add(lasts * 3 / 4)))
}

// run posts batches until the lease is lost, or nothing more is to be read. Then it gives the lease back.
func (w *work) run() {
	defer close(w.done)
	defer w.all.Add(-1)
	defer w.lose()
	defer w.expiry.Stop()
	w.postAll()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.reading), leaving)
	defer cancel()
	_ = w.members.Release(ctx, w.target.Load().Name, w.lease.Partition, w.lease.Token) // else it ends by itself
}

// postAll posts batches until the lease is lost, or nothing more is to be read.
func (w *work) postAll() {
	for w.reading.Err() == nil {
		changed := w.opt.Changed()
		posted, err := w.next()
		wait := idle
		switch {
		case fanfold.CodeOf(err) == fanfold.LeaseLost:
			return
		case err != nil:
			if w.reading.Err() == nil {
				w.opt.Logger.Debug("a group's batch cannot be had or settled", "group", w.target.Load().Name, "partition", w.lease.Partition, "err", err)
			}
			wait, changed = again, nil
		case w.failed != "":
			wait, changed = again, nil // until its back-off is over there is nothing
		case posted:
			continue
		}
		rest := max(pace, time.Duration(w.all.Load())*w.took*100/lookShare)
		sleep(w.reading, rest)
		timer := time.NewTimer(max(0, wait-rest))
		select {
		case <-changed:
		case <-timer.C:
		case <-w.reading.Done():
		}
		timer.Stop()
	}
}

// next reads a batch, posts it, and tells the group what became of it. posted is false where there was none. It returns the errors of
// reading and of settling.
func (w *work) next() (posted bool, err error) {
	for _, slots := range []chan struct{}{w.slots, w.Pusher.slots} {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-w.reading.Done():
			return false, nil
		}
	}
	t := w.target.Load()
	began := time.Now()
	b, err := w.read(t)
	if w.took = time.Since(began); err != nil {
		return false, err
	}
	if b.last == "" {
		return false, w.pass(t, b.reached)
	}
	status, outcome := 0, TooLarge
	if !b.tooLarge {
		status, outcome = w.sender.send(w.posting, w.message(t, b))
	}
	if outcome != Delivered && w.posting.Err() != nil {
		return false, nil // it was cut, and nobody knows: it comes again, to whoever has the lease
	}
	w.posts[outcome].Add(1)
	if w.failed = ""; outcome != Delivered {
		w.failed = b.last
	}
	return true, w.settle(t, b.last, status, outcome)
}

// pass moves the checkpoint on over changes that the group does not ask for, now and then.
func (w *work) pass(t *group.Target, reached string) error {
	if reached == w.position || time.Since(w.passed) < passEvery {
		return nil
	}
	w.passed = time.Now()
	err := w.batches.Ack(w.reading, t.Name, group.Batch{Partition: w.lease.Partition, Token: w.lease.Token, Position: reached})
	if err == nil {
		w.position = reached
	}
	return err
}

// settle tells the group what became of a batch.
func (w *work) settle(t *group.Target, at string, status int, outcome Outcome) (err error) {
	ctx, cancel := context.WithTimeout(w.pushing.posting, settling) // also where the lease is over: whether it is lost, the group knows
	defer cancel()
	b := group.Batch{Partition: w.lease.Partition, Token: w.lease.Token, Position: at,
		Answer: &wire.PushAnswer{Outcome: string(outcome), Status: status, Time: w.opt.Now().UTC()}}
	for ctx.Err() == nil {
		if outcome == Delivered {
			err = w.batches.Ack(ctx, t.Name, b)
		} else {
			err = w.batches.Nack(ctx, t.Name, b, outcome.explained(status))
		}
		switch fanfold.CodeOf(err) {
		case fanfold.Busy, fanfold.Unavailable, fanfold.Timeout:
			sleep(ctx, pace)
			continue
		}
		if err == nil && outcome == Delivered {
			w.position = at
		}
		return err
	}
	return err
}

// message returns a batch as it is posted. Its id is made of everything that is in it, so it is the same at each attempt. It is another
// one where the batch has other changes, or the group was reset.
func (w *work) message(t *group.Target, b *batch) *message {
	var body bytes.Buffer
	separator := `{"results":[`
	for _, row := range b.rows {
		body.WriteString(separator + "\n")
		body.Write(row)
		separator = ","
	}
	body.WriteString("\n],\"last_seq\":\"" + b.last + "\"}\n")
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d\n", t.ID, t.Again, w.lease.Partition)
	h.Write(body.Bytes())
	epoch, _, _ := strings.Cut(w.lease.Token, "-")
	return &message{url: t.URL, headers: t.Headers, body: body.Bytes(), secrets: t.Secrets, id: "msg_" + hex.EncodeToString(h.Sum(nil)[:16]),
		own: map[string]string{"Fanfold-Group": t.Name, "Fanfold-Partition": strconv.Itoa(w.lease.Partition), "Fanfold-Epoch": epoch}}
}

// read returns the next batch of the partition. A batch that failed comes as it was, whatever has followed it.
func (w *work) read(t *group.Target) (*batch, error) {
	for _, most := range []int{w.opt.Most, maxRow} {
		out := &answer{header: http.Header{}, most: most}
		if err := w.ask(t, out); err != nil {
			return nil, err
		}
		b, err := out.batch()
		if err != nil {
			return nil, err
		}
		if len(b.rows) == 0 && out.full {
			continue // the first row is larger
		}
		if most != w.opt.Most { // it is posted by itself
			b.rows = b.rows[:min(len(b.rows), 1)]
		}
		return w.cut(b)
	}
	out := &answer{header: http.Header{}, most: 1 << 10}
	if err := w.ask(t, out); err != nil {
		return nil, err
	}
	at := firstSeq.FindSubmatch(out.body.Bytes())
	if at == nil {
		return nil, fanfold.Errorf(fanfold.Internal, "a row of the feed has no position")
	}
	return &batch{last: string(at[1]), tooLarge: true}, nil
}

// firstSeq finds the position of the first row of an answer.
var firstSeq = regexp.MustCompile(`^\{"results":\[\s*\{"seq":"([^"]+)"`)

// cut leaves of a batch what failed, where it begins with that, and sets its position.
func (w *work) cut(b *batch) (*batch, error) {
	for i, row := range b.rows {
		var of struct{ Seq string }
		if err := json.Unmarshal(row, &of); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Internal, "a row of the feed cannot be read")
		}
		if b.last = of.Seq; b.last == w.failed {
			b.rows = b.rows[:i+1]
			break
		}
	}
	return b, nil
}

// ask asks for the changes of the partition, as a member does by HTTP.
func (w *work) ask(t *group.Target, out *answer) (err error) {
	r, err := http.NewRequestWithContext(w.reading, http.MethodGet, "/", http.NoBody)
	if err != nil {
		return err
	}
	defer func() {
		if cut := recover(); cut != nil {
			if failure, is := cut.(error); !is || !errors.Is(failure, http.ErrAbortHandler) {
				panic(cut)
			}
			if !out.full {
				err = fanfold.Errorf(fanfold.Unavailable, "the changes of group %s ended before their end", t.Name)
			}
		}
	}()
	return w.batches.ServeChanges(out, r, group.Reading{Group: t.Name, Partition: w.lease.Partition, Token: w.lease.Token,
		Query: changefeed.Query{Transport: changefeed.Normal, Limit: maxRows, Docs: true}})
}
