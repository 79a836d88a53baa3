package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// The load of feedMany.
const (
	manyRate    = 200 // writes a second
	manyWriters = 4
	manyRounds  = 5 * time.Second
	lastRows    = time.Minute // in which a subscriber gets them
	silentEach  = 10          // every tenth subscriber reads nothing in the last round
)

// feedMany measures what subscribers at the head cost a server, a process of its own, at 200 writes a second. Then it measures
// the time from acknowledgements to rows beside 1,000/scale subscribers. Every tenth reads nothing.
func feedMany(ctx context.Context, b *bench) error {
	if err := (benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / b.scale}).run(ctx, b.dir, leave); err != nil {
		return err
	}
	return withServer(ctx, b.dir, func(s *server) error {
		nobody := senders{sender{addr: s.addr}, []sender{{addr: s.addr}}}
		if _, err := s.round(ctx, manyRound{}, nobody); err != nil { // a warm-up
			return err
		}
		const promised = 250
		most := 1000 / b.scale
		var notes []string
		for _, subscribers := range []int{0, 1, 10, 100, most} {
			m, err := s.round(ctx, manyRound{subscribers: subscribers}, nobody)
			if err != nil {
				return err
			}
			notes = append(notes, m.String())
		}
		m, err := s.round(ctx, manyRound{subscribers: most, silent: true}, nobody)
		if err != nil {
			return err
		}
		notes = append(notes, m.String()+", every tenth reading nothing", "limit: what is promised on two cores; less is faster")
		b.one(fmt.Sprintf("feed, %d subscribers, p99", most), "ms", m.p99, promised, notes...)
		return nil
	})
}

// manyRound is what subscribers do in a round.
type manyRound struct {
	subscribers int
	silent      bool // every tenth reads nothing
}

// senders are those who write and subscribe in a round. Subscribers take theirs in turn.
type senders struct {
	writer  sender
	readers []sender
}

// manyResult has the figures of one round of feedMany.
type manyResult struct {
	subscribers, rows int
	p50, p99          float64       // in ms
	cpu               time.Duration // of a change
	memory            int           // more than before, in KiB
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
func (s *server) round(ctx context.Context, r manyRound, by senders) (m manyResult, err error) {
	m.subscribers = r.subscribers
	memory := s.memory("VmRSS")
	var readers []*follower
	for i := range r.subscribers {
		f, err := follow(ctx, by.readers[i%len(by.readers)], "now")
		if err != nil {
			return m, err
		}
		if r.silent && i%silentEach == 0 {
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
	if err := paced(manyRate, manyWriters, manyRounds, func() (func() error, error) { return acked.writer(ctx, by.writer) }); err != nil {
		return m, err
	}
	for _, f := range readers { // the last rows are on their way
		for end := time.Now().Add(lastRows); int(f.rows.Load()) < len(acked.at) && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	m.cpu = (s.cpu() - before) / time.Duration(max(1, len(acked.at)))
	m.memory = s.memory("VmRSS") - memory
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

// The load of feedReads.
const (
	catchUpFeeds     = 200
	honestFeeds      = 60
	feedReadsRounds  = 3
	feedReadsPause   = 2 * time.Millisecond
	feedReadsAtOnce  = 4
	catchUpReadBytes = 4096
)

// feedReads measures GETs of a server, a process of its own, alone and beside feeds from 0 that do not read. The ratio compares
// the medians of one run.
func feedReads(ctx context.Context, b *bench) error {
	store := benchStore{model: benchModel, authors: benchAuthors, books: 100_000 / b.scale}
	if err := store.run(ctx, b.dir, leave); err != nil {
		return err
	}
	return withServer(ctx, b.dir, func(s *server) error {
		feeds := catchUpFeeds / b.scale
		var slowest []float64
		err := b.pair(pair{name: fmt.Sprintf("GET beside %d feeds that do not read, p50", feeds), unit: "ms", limit: "the same alone; less is faster", rounds: feedReadsRounds, cold: true,
			ours: func(int) (float64, error) {
				p50, p99, err := s.readsBeside(ctx, feeds, false, store.books)
				slowest = append(slowest, p99)
				return p50, err
			}, plain: func(int) (float64, error) {
				p50, _, err := s.reads(ctx, store.books)
				return p50, err
			}, note: func() string { return fmt.Sprintf("p99 %.1f ms", median(slowest)) }})
		if err != nil {
			return err
		}
		reading := honestFeeds / b.scale
		p50, p99, err := s.readsBeside(ctx, reading, true, store.books)
		last := &b.results[len(b.results)-1]
		last.Notes = append(last.Notes, fmt.Sprintf("beside %d feeds from 0 that read: p50 %.2f ms, p99 %.1f ms", reading, p50, p99))
		return err
	})
}

// reads sends GETs over a few connections, with pauses, and returns the median and the 99th percentile of their latencies in ms.
func (s *server) reads(ctx context.Context, count int) (p50, p99 float64, err error) {
	_, lats, err := sendPaused(ctx, s.addr, feedReadsAtOnce, feedReadsPause, books(count))
	return percentile(lats, 50), percentile(lats, 99), err
}

// readsBeside is reads beside feeds from 0, which read or do not.
func (s *server) readsBeside(ctx context.Context, feeds int, read bool, count int) (p50, p99 float64, err error) {
	for range feeds {
		conn, err := catchUp(ctx, s.addr)
		if err != nil {
			return 0, 0, err
		}
		defer conn.Close()
		if read {
			go func() { _, _ = io.Copy(io.Discard, conn) }() // until it is closed
		}
	}
	return s.reads(ctx, count)
}

// catchUp opens a feed of all documents from 0.
func catchUp(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	err = conn.(*net.TCPConn).SetReadBuffer(catchUpReadBytes)
	if err == nil {
		_, err = io.WriteString(conn, "GET /v1/_changes?feed=continuous&include_docs=true&since=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
