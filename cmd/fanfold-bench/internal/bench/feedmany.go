package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// The load of FeedMany.
const (
	manyRate    = 200 // writes a second
	manyWriters = 4
	manyRounds  = 5 * time.Second
	silentEach  = 10 // every tenth subscriber reads nothing in the last round
)

// FeedMany measures what subscribers at the head cost a server over dir, a process of its own, at 200 writes a second, and
// the time from acknowledgements to rows. There are 1,000/scale, and every tenth reads nothing.
func FeedMany(ctx context.Context, dir string, scale int) (r Result, err error) {
	s, err := startServer(ctx, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if _, err := s.round(ctx, 0, false); err != nil { // a warm-up
		return r, err
	}
	r = Result{Name: fmt.Sprintf("feed, %d subscribers, p99", 1000/scale), Unit: "ms", Limit: 250}
	for _, subscribers := range []int{0, 1, 10, 100, 1000 / scale} {
		m, err := s.round(ctx, subscribers, false)
		if err != nil {
			return r, err
		}
		r.Notes = append(r.Notes, m.String())
	}
	m, err := s.round(ctx, 1000/scale, true)
	if err != nil {
		return r, err
	}
	r.Ours, r.Ratio = m.p99, m.p99/r.Limit
	r.Notes = append(r.Notes, m.String()+", every tenth reading nothing", "limit: what is promised on two cores; less is faster")
	return r, nil
}

// manyResult has the figures of one round of FeedMany.
type manyResult struct {
	subscribers, rows int
	p50, p99          float64       // in ms
	cpu               time.Duration // of a change
	memory            int           // beside the one before, in KiB
}

// String returns the figures on a line.
func (m manyResult) String() string {
	out := fmt.Sprintf("%d subscribers at %d writes/s: %.2f ms of CPU a change", m.subscribers, manyRate, m.cpu.Seconds()*1000)
	if m.subscribers == 0 {
		return out
	}
	return out + fmt.Sprintf(", %d KiB each, p50 %.1f ms, p99 %.1f ms, %d rows", max(0, m.memory)/m.subscribers, m.p50, m.p99, m.rows)
}

// round writes for a while beside a number of subscribers.
func (s *server) round(ctx context.Context, subscribers int, silent bool) (m manyResult, err error) {
	m.subscribers = subscribers
	memory := s.memory()
	var readers []*follower
	for i := range subscribers {
		f, err := follow(ctx, s.addr, "now")
		if err != nil {
			return m, err
		}
		if silent && i%silentEach == 0 {
			defer f.conn.Close()
			if err := f.conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
				return m, err
			}
			continue
		}
		f.keeps = true
		readers = append(readers, f)
	}
	for _, f := range readers {
		if err := f.begin(); err != nil {
			return m, err
		}
		defer f.end()
	}
	before := s.cpu()
	acked := acks{at: map[uint64]time.Time{}}
	if err := paced(manyRate, manyWriters, manyRounds, func() (func() error, error) { return acked.writer(ctx, s.addr) }); err != nil {
		return m, err
	}
	time.Sleep(500 * time.Millisecond) // the last rows are on their way
	m.cpu = (s.cpu() - before) / time.Duration(max(1, len(acked.at)))
	m.memory = s.memory() - memory
	var lats []float64
	for _, f := range readers {
		f.end()
		of, err := acked.latencies(f.got)
		if err != nil {
			return m, err
		}
		lats = append(lats, of...)
	}
	slices.Sort(lats)
	m.rows, m.p50, m.p99 = len(lats), percentile(lats, 50), percentile(lats, 99)
	return m, nil
}
