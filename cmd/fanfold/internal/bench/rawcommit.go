package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// rawRound publishes messages of the size of our own, as plainly as NATS allows, and returns what closedLoop does.
func rawRound(ctx context.Context, nc *nats.Conn, prefix string, conns int) (rate float64, lats []float64, err error) {
	commit := &rawCommit{nc: nc, ctx: ctx}
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
			return commit.publish(m)
		}, func() error { return nil }, nil
	})
}

// acked returns an error unless a publish was acknowledged.
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

// rawCommit publishes all messages that wait as one atomic batch, over and over.
type rawCommit struct {
	nc  *nats.Conn
	ctx context.Context

	mu      sync.Mutex
	busy    bool
	waiting []*nats.Msg
	results []chan error // of the waiting messages
}

// publish waits until a message is stored.
func (r *rawCommit) publish(m *nats.Msg) error {
	done := make(chan error, 1)
	r.mu.Lock()
	r.waiting, r.results = append(r.waiting, m), append(r.results, done)
	if !r.busy {
		r.busy = true
		go r.run()
	}
	r.mu.Unlock()
	return <-done
}

// run publishes batches until no message waits.
func (r *rawCommit) run() {
	for {
		r.mu.Lock()
		msgs, results := r.waiting, r.results
		r.waiting, r.results = nil, nil
		r.busy = len(msgs) > 0
		r.mu.Unlock()
		if len(msgs) == 0 {
			return
		}
		err := r.batch(msgs)
		for _, c := range results {
			c <- err
		}
	}
}

// batch publishes messages as one atomic batch and waits until it is stored.
func (r *rawCommit) batch(msgs []*nats.Msg) error {
	id := nuid.Next()
	for i, m := range msgs {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i == len(msgs)-1 {
			m.Header.Set("Nats-Batch-Commit", "1")
			return acked(r.nc.RequestMsgWithContext(r.ctx, m))
		}
		if err := r.nc.PublishMsg(m); err != nil {
			return err
		}
	}
	return nil
}
