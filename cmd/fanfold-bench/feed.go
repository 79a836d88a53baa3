package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// arrival says when the row of an event came.
type arrival struct {
	seq uint64
	at  time.Time
}

// follower reads an event stream.
type follower struct {
	conn  net.Conn
	keeps bool             // every arrival
	first chan arrival     // receives each, where there is room
	got   []arrival        // to be read after end
	rows  atomic.Int64     // how many came
	until func(n int) bool // is called after each row; nil for never
	done  chan struct{}
}

// sender is whose requests go to a node.
type sender struct {
	addr string
	auth string // the line of a header, with its end; "" where nobody needs a key
}

// by returns the sender of requests with a key.
func by(addr, key string) sender { return sender{addr, "Authorization: Bearer " + key + "\r\n"} }

// follow opens an event stream of every change after a position.
func follow(ctx context.Context, from sender, since string) (*follower, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", from.addr)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET /v1/_changes?feed=eventsource&mode=all&heartbeat=1000&since=%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", since, from.auth)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &follower{conn: conn, first: make(chan arrival, 1), done: make(chan struct{})}, nil
}

// begin waits for the first heartbeat, and reads on in a goroutine of its own.
func (f *follower) begin() error {
	resp, err := http.ReadResponse(bufio.NewReader(f.conn), nil) //nolint:bodyclose // closing would read to the end, and there is none
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(resp.Body, 16<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("event: heartbeat")) {
			break
		}
	}
	go func() {
		defer close(f.done)
		f.read(in)
	}()
	return nil
}

// read reads rows until the connection is closed.
func (f *follower) read(in *bufio.Reader) {
	var last arrival
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // a row may be longer than the buffer
			return
		}
		switch {
		case bytes.HasPrefix(line, []byte("id: ")):
			digits, _, _ := bytes.Cut(line[len("id: "):], []byte("-"))
			last.seq, _ = strconv.ParseUint(string(digits), 10, 64) // the server writes positions
		case bytes.HasPrefix(line, []byte("event: change")):
			last.at = time.Now()
			n := f.rows.Add(1)
			if f.keeps {
				f.got = append(f.got, last)
			}
			select {
			case f.first <- last:
			default:
			}
			if f.until != nil && f.until(int(n)) {
				return
			}
		}
	}
}

// end closes the stream, and waits for its reader.
func (f *follower) end() {
	_ = f.conn.Close()
	<-f.done
}

// putter sends durable PUTs over a connection, which are answered before they are folded.
type putter struct {
	conn net.Conn
	auth string
	in   *bufio.Reader
	body []byte
}

func newPutter(ctx context.Context, from sender) (*putter, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", from.addr)
	if err != nil {
		return nil, err
	}
	return &putter{conn: conn, auth: from.auth, in: bufio.NewReader(conn)}, nil
}

// put writes a new document, and returns the event's sequence and when it was acknowledged.
func (p *putter) put() (arrival, error) {
	id := nuid.Next()
	p.body = appendBook(p.body[:0], id)
	if _, err := fmt.Fprintf(p.conn, "PUT /v1/books/%s HTTP/1.1\r\nHost: localhost\r\n%sPrefer: respond-async\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", id, p.auth, len(p.body), p.body); err != nil {
		return arrival{}, err
	}
	resp, err := http.ReadResponse(p.in, nil)
	if err != nil {
		return arrival{}, err
	}
	at := time.Now()
	_, err = io.Copy(io.Discard, resp.Body)
	seq, parsing := strconv.ParseUint(resp.Header.Get("Fanfold-Revision"), 10, 64)
	if err = errors.Join(err, parsing, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusAccepted {
		return arrival{}, fmt.Errorf("answered %s: %w", resp.Status, err)
	}
	return arrival{seq, at}, nil
}

// feedLatency measures the time from a write's acknowledgement to its row at a subscriber. Writes come one by one if rate is 0, else so many
// a second. The limit is the time from the publish of a message to its arrival at a consumer of JetStream, without any sync, in the same process.
func feedLatency(rate int) func(ctx context.Context, b *bench) error {
	name := "feed latency, idle: acknowledged to row, p50"
	if rate > 0 {
		name = fmt.Sprintf("feed latency, %d writes/s, p50", rate)
	}
	return func(ctx context.Context, b *bench) error {
		s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / b.scale}
		return s.runBesideRaw(ctx, b.dir, func(ctx context.Context, n *node.Node, raw rawLog) error {
			var ours, limit latencies
			return b.pair(pair{name: name, unit: "µs", limit: "publish to consumer of plain JetStream, in process and without sync; less is faster", rounds: 3, cold: true,
				ours: func(int) (float64, error) {
					lats, err := feedLatencies(ctx, n.Addr(), rate)
					ours.add(lats)
					return 1000 * percentile(lats, 50), err
				}, plain: func(int) (float64, error) {
					lats, err := rawLatencies(ctx, raw, rate)
					limit.add(lats)
					return 1000 * percentile(lats, 50), err
				}, note: func() string {
					return fmt.Sprintf("p99 %.2f ms; limit p99 %.2f ms", median(ours.p99), median(limit.p99))
				}})
		})
	}
}

// The length of a round of feedLatency, and how many connections write at a rate.
const (
	idleWrites     = 300
	pacedTime      = 3 * time.Second
	latencyWriters = 16
)

// paced calls the functions that start returns for so many writers at a rate together, for so long.
func paced(rate, writers int, length time.Duration, start func() (func() error, error)) error {
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range errs {
		call, err := start()
		if err != nil {
			return err
		}
		wg.Go(func() {
			tick := time.NewTicker(time.Second * time.Duration(writers) / time.Duration(rate))
			defer tick.Stop()
			for end := time.Now().Add(length); errs[i] == nil && time.Now().Before(end); <-tick.C {
				errs[i] = call()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// pacedOrIdle is paced at a rate; where that is 0, one writer calls again and again, and settle after each call.
func pacedOrIdle(rate int, start func() (func() error, error), settle func()) error {
	if rate > 0 {
		return paced(rate, latencyWriters, pacedTime, start)
	}
	call, err := start()
	for range idleWrites {
		if err != nil {
			return err
		}
		err = call()
		settle()
		time.Sleep(2 * time.Millisecond) // until all is idle
	}
	return err
}

// acks says when the events of writes were acknowledged.
type acks struct {
	mu sync.Mutex
	at map[uint64]time.Time
}

// writer starts a writer over a connection of its own.
func (a *acks) writer(ctx context.Context, from sender) (func() error, error) {
	p, err := newPutter(ctx, from)
	return func() error {
		got, err := p.put()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.at[got.seq] = got.at
		return err
	}, err
}

// latencies returns the times from acknowledgements to rows that came, in ms. The error says that rows are missing.
func (a *acks) latencies(rows []arrival) (lats []float64, err error) {
	for _, row := range rows {
		if at, ok := a.at[row.seq]; ok {
			lats = append(lats, row.at.Sub(at).Seconds()*1000)
		}
	}
	if len(lats) != len(a.at) {
		err = fmt.Errorf("%d rows came of %d", len(lats), len(a.at))
	}
	return lats, err
}

// feedLatencies returns the times from acknowledgements to rows, in ms, sorted.
func feedLatencies(ctx context.Context, addr string, rate int) ([]float64, error) {
	f, err := follow(ctx, sender{addr: addr}, "now")
	if err != nil {
		return nil, err
	}
	f.keeps = true
	if err := f.begin(); err != nil {
		return nil, err
	}
	acked := acks{at: map[uint64]time.Time{}}
	err = pacedOrIdle(rate, func() (func() error, error) { return acked.writer(ctx, sender{addr: addr}) }, func() { <-f.first })
	time.Sleep(200 * time.Millisecond) // the last rows are on their way
	f.end()
	lats, missing := acked.latencies(f.got)
	slices.Sort(lats)
	return lats, errors.Join(err, missing)
}

// rawLatencies returns the times from publishes to arrivals at a consumer, in ms, sorted.
func rawLatencies(ctx context.Context, raw rawLog, rate int) ([]float64, error) {
	js, err := jetstream.New(raw.conn)
	if err != nil {
		return nil, err
	}
	stream, err := js.StreamNameBySubject(ctx, raw.subject+".x")
	if err != nil {
		return nil, err
	}
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	sent, lats := map[string]time.Time{}, []float64(nil)
	came := make(chan struct{}, 1)
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		at := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if begun, ok := sent[m.Subject()]; ok {
			lats = append(lats, at.Sub(begun).Seconds()*1000)
		}
		select {
		case came <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	body := appendBook(nil, "raw")
	err = pacedOrIdle(rate, func() (func() error, error) {
		return func() error {
			subject := raw.subject + "." + nuid.Next()
			mu.Lock()
			sent[subject] = time.Now()
			mu.Unlock()
			_, err := js.Publish(ctx, subject, body)
			return err
		}, nil
	}, func() { <-came })
	time.Sleep(200 * time.Millisecond)
	consuming.Stop()
	<-consuming.Closed()
	slices.Sort(lats)
	if len(lats) != len(sent) {
		err = errors.Join(err, fmt.Errorf("%d messages came of %d", len(lats), len(sent)))
	}
	return lats, err
}

// feedCopies is how many copies the largest rename on the feed has, unless --documents asks for more.
const feedCopies = 100_000

// feedMore measures the rename that --documents asks for, where it is larger than the others.
func feedMore(ctx context.Context, b *bench) error {
	if copies := b.documents * b.scale; copies > feedCopies {
		return feedRename(copies)(ctx, b)
	}
	return nil
}

// feedRename measures how long it takes from a publisher's rename until a subscriber has the row of every copy, beside the time until every
// copy is right for readers.
func feedRename(copies int) func(ctx context.Context, b *bench) error {
	return func(ctx context.Context, b *bench) error {
		s := renamedStore(max(copies/b.scale, 1))
		return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
			publishers := client.Collection[json.RawMessage](c, "publishers")
			var right time.Duration
			return b.pair(pair{name: fmt.Sprintf("rename of %d copies, to the last row", s.books), unit: "ms", rounds: 3, oursFirst: true,
				limit: "until every copy is right for readers, and the write is answered; less is faster",
				ours: func(round int) (float64, error) {
					f, err := follow(ctx, sender{addr: n.Addr()}, "now")
					if err != nil {
						return 0, err
					}
					f.until = func(n int) bool { return n == s.books+1 }
					if err := f.begin(); err != nil {
						return 0, err
					}
					began := time.Now()
					if _, err := publishers.Patch(ctx, "0", json.RawMessage(fmt.Sprintf(`{"name":"Press%d"}`, round)), patient); err != nil {
						return 0, err
					}
					right = time.Since(began)
					<-f.done
					all := time.Since(began)
					f.end()
					if n := int(f.rows.Load()); n != s.books+1 {
						err = fmt.Errorf("%d rows came of %d", n, s.books+1)
					}
					return all.Seconds() * 1000, err
				}, plain: func(int) (float64, error) { return right.Seconds() * 1000, nil }})
		})
	}
}
