package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// writeRounds is how many pairs of our and the limit's rounds are measured, after a warm-up.
const writeRounds = 2

// Put compares durable PUTs of new documents through the API at addr, each waiting for its fold,
// with raw group commit on the connection raw, at the same concurrency: waiting messages of the
// same size published as one atomic batch, or one message at a time where there is one writer.
// Subjects of the raw messages begin with prefix.
func Put(ctx context.Context, addr string, raw *nats.Conn, prefix string, conns int) (r Result, err error) {
	var ours, limit []float64
	var p50, p99, raw50, raw99 []float64
	for i := range writeRounds + 1 {
		l, lat, err := rawRound(ctx, raw, fmt.Sprintf("%s.%d-%d", prefix, conns, i), conns)
		if err != nil {
			return r, err
		}
		o, olat, err := putRound(ctx, addr, i, conns)
		if err != nil {
			return r, err
		}
		if i == 0 {
			continue // a warm-up
		}
		ours, limit = append(ours, o), append(limit, l)
		p50, p99 = append(p50, percentile(olat, 50)), append(p99, percentile(olat, 99))
		raw50, raw99 = append(raw50, percentile(lat, 50)), append(raw99, percentile(lat, 99))
	}
	name := fmt.Sprintf("durable PUT, %d connections", conns)
	what := "raw group commit"
	if conns == 1 {
		name, what = "durable PUT, 1 connection", "raw durable publishes, one at a time"
	}
	r = result(name, "writes/s", ours, limit)
	r.Notes = append(r.Notes, fmt.Sprintf("limit: %s", what),
		fmt.Sprintf("ours p50 %.2f ms, p99 %.2f ms; limit p50 %.2f ms, p99 %.2f ms", median(p50), median(p99), median(raw50), median(raw99)))
	return r, nil
}

func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)*p/100]
}

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

// closedLoop runs conns workers, each of which calls work over and over for writeTime, and
// returns calls a second and their latencies in ms, sorted.
func closedLoop(conns int, work func(worker int) (call func(n int) error, done func() error, err error)) (rate float64, lats []float64, err error) {
	var wg sync.WaitGroup
	var total atomic.Int64
	errs, all := make([]error, conns), make([][]float64, conns)
	began := time.Now()
	end := began.Add(writeTime)
	for i := range conns {
		wg.Go(func() {
			call, done, err := work(i)
			if err != nil {
				errs[i] = err
				return
			}
			defer func() { errs[i] = errors.Join(errs[i], done()) }()
			for n := 0; ; n++ {
				start := time.Now()
				if start.After(end) {
					return
				}
				if errs[i] = call(n); errs[i] != nil {
					return
				}
				total.Add(1)
				all[i] = append(all[i], float64(time.Since(start).Microseconds())/1000)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	lats = slices.Concat(all...)
	slices.Sort(lats)
	return float64(total.Load()) / took.Seconds(), lats, errors.Join(errs...)
}

// putRound sends PUTs over raw connections.
func putRound(ctx context.Context, addr string, round, conns int) (rate float64, lats []float64, err error) {
	return closedLoop(conns, func(worker int) (func(int) error, func() error, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		r := bufio.NewReaderSize(conn, 4<<10)
		var body, req []byte
		return func(n int) error {
			id := fmt.Sprintf("p%d-%d-%d-%d", conns, round, worker, n)
			body = appendBook(body[:0], id)
			req = append(req[:0], "PUT /v1/books/"+id+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "...)
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

// rawRound publishes messages of the same size with as few means as it takes.
func rawRound(ctx context.Context, nc *nats.Conn, prefix string, conns int) (rate float64, lats []float64, err error) {
	g := &rawCommit{nc: nc, ctx: ctx}
	return closedLoop(conns, func(worker int) (func(int) error, func() error, error) {
		var body []byte
		return func(n int) error {
			id := fmt.Sprintf("r%d-%d", worker, n)
			m := nats.NewMsg(prefix + "-" + id)
			m.Header.Set("Nats-Msg-Id", nuid.Next())
			body = appendBook(body[:0], id)
			m.Data = append([]byte(`{"v":1,"op":"put","body":`), append(body, '}')...)
			if conns == 1 {
				return acked(nc.RequestMsgWithContext(ctx, m))
			}
			return g.publish(m)
		}, func() error { return nil }, nil
	})
}

func acked(resp *nats.Msg, err error) error {
	if err != nil {
		return err
	}
	var ack struct {
		Error json.RawMessage `json:"error"`
		Seq   uint64          `json:"seq"`
	}
	if err := json.Unmarshal(resp.Data, &ack); err != nil {
		return err
	}
	if len(ack.Error) > 0 || ack.Seq == 0 {
		return fmt.Errorf("the log answered %s", resp.Data)
	}
	return nil
}

// rawCommit publishes everything that waits as one atomic batch, over and over.
type rawCommit struct {
	nc  *nats.Conn
	ctx context.Context

	mu      sync.Mutex
	busy    bool
	waiting []*nats.Msg
	told    []chan error
}

func (g *rawCommit) publish(m *nats.Msg) error {
	done := make(chan error, 1)
	g.mu.Lock()
	g.waiting, g.told = append(g.waiting, m), append(g.told, done)
	if !g.busy {
		g.busy = true
		go g.run()
	}
	g.mu.Unlock()
	return <-done
}

func (g *rawCommit) run() {
	for {
		g.mu.Lock()
		msgs, told := g.waiting, g.told
		g.waiting, g.told = nil, nil
		g.busy = len(msgs) > 0
		g.mu.Unlock()
		if len(msgs) == 0 {
			return
		}
		err := g.batch(msgs)
		for _, c := range told {
			c <- err
		}
	}
}

func (g *rawCommit) batch(msgs []*nats.Msg) error {
	id := nuid.Next()
	for i, m := range msgs {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i == len(msgs)-1 {
			m.Header.Set("Nats-Batch-Commit", "1")
			return acked(g.nc.RequestMsgWithContext(g.ctx, m))
		}
		if err := g.nc.PublishMsg(m); err != nil {
			return err
		}
	}
	return nil
}

// Import compares POST /v1/_import of NDJSON with a hand-written SQLite loop that writes the rows
// it wrote. load imports count documents and returns when they are folded.
func Import(ctx context.Context, dir func(round int) string, count int, load func(ctx context.Context, dir string, body []byte) (time.Duration, error)) (r Result, err error) {
	var text strings.Builder
	var line []byte
	for i := range count {
		line = append(appendBook(line[:0], strconv.Itoa(i)), '\n')
		text.Write(line)
	}
	const rounds = 3
	var ours, limit []float64
	for i := range rounds {
		took, err := load(ctx, dir(i), []byte(text.String()))
		if err != nil {
			return r, err
		}
		l, err := handWritten(dir(i))
		if err != nil {
			return r, err
		}
		ours, limit = append(ours, float64(count)/took.Seconds()), append(limit, float64(count)/l.Seconds())
	}
	r = result(fmt.Sprintf("import of %d documents", count), "documents/s", ours, limit)
	r.Notes = append(r.Notes, "limit: a hand-written SQLite loop writing the same rows; ours includes the log, synced, and the fold")
	return r, nil
}

// Comments compares the last thousand of count comments on one post with the first thousand, each
// written by itself and waited for: write stores one, fill many. The figure is of the median write.
func Comments(count int, write func(id int) error, fill func(from, to int) error) (r Result, err error) {
	const some = 1000
	measure := func(from int) (rate float64, err error) {
		lats := make([]float64, 0, some)
		for id := from; id < from+some; id++ {
			began := time.Now()
			if err := write(id); err != nil {
				return 0, err
			}
			lats = append(lats, time.Since(began).Seconds())
		}
		slices.Sort(lats)
		return 1 / percentile(lats, 50), nil
	}
	if _, err := measure(0); err != nil { // a warm-up
		return r, err
	}
	first, err := measure(some)
	if err == nil {
		err = fill(2*some, count-some)
	}
	if err != nil {
		return r, err
	}
	last, err := measure(count - some)
	if err != nil {
		return r, err
	}
	r = result(fmt.Sprintf("comment no. %d on one post", count), "writes/s", []float64{last}, []float64{first})
	r.Notes = append(r.Notes, "limit: the same for comment no. 2000; the post has the newest three, a count, a mean and pages")
	return r, nil
}
