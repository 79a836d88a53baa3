package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// writeRounds is how many pairs of rounds, ours and the limit's, are measured after a warm-up.
const writeRounds = 4

// Put compares durable PUTs of new documents through the API at addr, each waiting for its fold,
// with plain durable publishes to raw at the same concurrency, of messages of the same size.
func Put(ctx context.Context, addr string, raw RawLog, conns int) (r Result, err error) {
	var ours, limit loopResults
	for i := range writeRounds + 1 {
		rawRate, rawLatencies, err := rawRound(ctx, raw, fmt.Sprintf("%d-%d", conns, i), conns)
		if err != nil {
			return r, err
		}
		rate, latencies, err := putRound(ctx, Target{Addr: addr}, i, conns)
		if err != nil {
			return r, err
		}
		if i > 0 { // the first pair is a warm-up
			ours.add(rate, latencies)
			limit.add(rawRate, rawLatencies)
		}
	}
	name := fmt.Sprintf("durable PUT, %d connections", conns)
	if conns == 1 {
		name = "durable PUT, 1 connection"
	}
	r = result(name, "writes/s", ours.rates, limit.rates)
	r.Notes = append(r.Notes, "limit: a message a write with its condition, one fsync for all that wait",
		fmt.Sprintf("ours p50 %.2f ms, p99 %.2f ms, longest %.0f ms; limit p50 %.2f ms, p99 %.2f ms",
			median(ours.p50), median(ours.p99), slices.Max(ours.longest), median(limit.p50), median(limit.p99)))
	return r, nil
}

// loopResults has the figures of several rounds: calls a second, and latencies in ms.
type loopResults struct{ rates, p50, p99, longest []float64 }

func (l *loopResults) add(rate float64, sorted []float64) {
	l.rates = append(l.rates, rate)
	l.p50 = append(l.p50, percentile(sorted, 50))
	l.p99 = append(l.p99, percentile(sorted, 99))
	l.longest = append(l.longest, percentile(sorted, 100))
}

// writeTime is how long one round of writes lasts.
const writeTime = 2 * time.Second

// appendBook appends a document of 500 bytes that refers to two authors.
func appendBook(dst []byte, id string) []byte {
	start := len(dst)
	dst = append(dst, `{"id":"`+id+`","title":"A book","year":1984,"authors":[{"id":"17"},{"id":"23"}],"summary":"`...)
	for len(dst)-start < 498 {
		dst = append(dst, 'x')
	}
	return append(dst, `"}`...)
}

// starter prepares a worker, and returns what it calls over and over, with 0, 1, 2 and so on, and what it calls at the
// end.
type starter func(worker int) (call func(n int) error, done func() error, err error)

// closedLoop runs conns workers for writeTime, each of which waits for one call before the next. It returns calls a
// second and their latencies in ms, sorted; the errors are those of the calls, of which one ends its worker.
func closedLoop(conns int, start starter) (rate float64, lats []float64, err error) {
	var wg sync.WaitGroup
	var total atomic.Int64
	errs, all := make([]error, conns), make([][]float64, conns)
	began := time.Now()
	end := began.Add(writeTime)
	for i := range conns {
		wg.Go(func() {
			call, done, err := start(i)
			if err != nil {
				errs[i] = err
				return
			}
			defer func() { errs[i] = errors.Join(errs[i], done()) }()
			for n := 0; ; n++ {
				before := time.Now()
				if before.After(end) {
					return
				}
				if errs[i] = call(n); errs[i] != nil {
					return
				}
				total.Add(1)
				all[i] = append(all[i], float64(time.Since(before).Microseconds())/1000)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	lats = slices.Concat(all...)
	slices.Sort(lats)
	return float64(total.Load()) / took.Seconds(), lats, errors.Join(errs...)
}

// putRound sends PUTs over conns connections, and returns what closedLoop does.
func putRound(ctx context.Context, to Target, round, conns int) (rate float64, lats []float64, err error) {
	return closedLoop(conns, func(worker int) (func(int) error, func() error, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", to.Addr)
		if err != nil {
			return nil, nil, err
		}
		r := bufio.NewReaderSize(conn, 4<<10)
		var body, req []byte
		return func(n int) error {
			id := fmt.Sprintf("p%d-%d-%d-%d", conns, round, worker, n)
			body = appendBook(body[:0], id)
			req = append(req[:0], "PUT /v1/books/"+id+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"...)
			req = append(append(req, to.Header...), "Content-Length: "...)
			req = append(strconv.AppendInt(req, int64(len(body)), 10), "\r\n\r\n"...)
			if _, err := conn.Write(append(req, body...)); err != nil {
				return err
			}
			return readCreated(r)
		}, conn.Close, nil
	})
}

// readCreated reads a 201 without a body.
func readCreated(r *bufio.Reader) error {
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(line, []byte(" 201 ")) {
			return fmt.Errorf("answered %s", bytes.TrimSpace(line))
		}
		if len(line) == 2 {
			return nil
		}
	}
}

// PutsBeside compares the 99th percentile of PUTs over conns connections alone with theirs beside others, as Beside does.
func PutsBeside(ctx context.Context, name, addr string, conns int, others string, begin func(ctx context.Context) (wait func() error)) (Result, error) {
	round := 0
	p99 := func() (float64, error) {
		round++
		_, lats, err := putRound(ctx, Target{Addr: addr}, round, conns)
		return 1000 / percentile(lats, 99), err
	}
	return beside(ctx, name, p99, others, begin)
}
