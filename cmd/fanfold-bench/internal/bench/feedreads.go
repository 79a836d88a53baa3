package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The load of FeedReads.
const (
	catchUpFeeds     = 200
	honestFeeds      = 60
	feedReadsRounds  = 3
	feedReadsPause   = 2 * time.Millisecond
	feedReadsAtOnce  = 4
	catchUpReadBytes = 4096
)

// FeedReads measures GETs of a server over dir, a process of its own, alone and beside feeds from 0 that do not read. The ratio compares
// the medians of one run. books is how many documents there are.
func FeedReads(ctx context.Context, dir string, scale, books int) (r Result, err error) {
	s, err := startServer(ctx, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	feeds := catchUpFeeds / scale
	var slowest []float64
	r, err = Pair{Name: fmt.Sprintf("GET beside %d feeds that do not read, p50", feeds), Unit: "ms", Limit: "the same alone", Rounds: feedReadsRounds, Cold: true,
		Ours: func(int) (float64, error) {
			p50, p99, err := s.readsBeside(ctx, feeds, false, books)
			slowest = append(slowest, p99)
			return p50, err
		}, Plain: func(int) (float64, error) {
			p50, _, err := s.reads(ctx, books)
			return p50, err
		}}.Run()
	if err != nil {
		return r, err
	}
	honest, p99, err := s.readsBeside(ctx, honestFeeds/scale, true, books)
	if err != nil {
		return r, err
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%.2f ms beside %.2f ms alone; p99 %.1f ms; less is faster", r.Ours, r.Limit, median(slowest)),
		fmt.Sprintf("beside %d feeds from 0 that read: p50 %.2f ms, p99 %.1f ms", honestFeeds/scale, honest, p99))
	return r, nil
}

// reads sends GETs over a few connections, with pauses, and returns the median and the 99th percentile of their latencies in ms.
func (s *server) reads(ctx context.Context, books int) (p50, p99 float64, err error) {
	_, lats, err := sendPaused(ctx, s.addr, feedReadsAtOnce, feedReadsPause, Books(books))
	return percentile(lats, 50), percentile(lats, 99), err
}

// readsBeside is reads beside feeds from 0, which read or do not.
func (s *server) readsBeside(ctx context.Context, feeds int, read bool, books int) (p50, p99 float64, err error) {
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
	return s.reads(ctx, books)
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
