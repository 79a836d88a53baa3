package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// rawLog is the log to which the limit's messages go: an embedded server that does not sync them.
type rawLog struct {
	conn    *nats.Conn
	dir     string // of the server's files
	subject string // begins the subjects of messages
}

// rawGroup publishes messages of all workers, each with a condition of its own, and syncs them together. Waiting
// messages are published one after the other. Once all are acknowledged, one fsync of the stream's newest block file
// makes them durable.
type rawGroup struct {
	js      jetstream.JetStream
	msgs    string // the directory of the block files
	waiting chan rawWrite
	open    map[string]*os.File
}

// rawWrite is a message, and where its writer waits.
type rawWrite struct {
	msg  *nats.Msg
	done chan error
}

// maxRawRound bounds how many messages are published before the next fsync.
const maxRawRound = 1000

// rawRound publishes messages of the size of our own, as plainly as can be, and returns what closedLoop does.
func rawRound(ctx context.Context, log rawLog, round string, conns int) (rate float64, lats []float64, err error) {
	js, err := jetstream.New(log.conn, jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		return 0, nil, err
	}
	dirs, err := filepath.Glob(filepath.Join(log.dir, "jetstream", "*", "streams", "*", "msgs"))
	if err != nil || len(dirs) != 1 {
		return 0, nil, errors.Join(err, errors.New("the raw log is not where it is expected"))
	}
	g := &rawGroup{js: js, msgs: dirs[0], waiting: make(chan rawWrite, 4096), open: map[string]*os.File{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.run()
	}()
	rate, lats, err = closedLoop(conns, 0, func(_ int) (func(int) error, func() error, error) {
		w := rawWrite{done: make(chan error, 1)}
		var body []byte
		return func(_ int) error {
			id := round + "-" + nuid.Next()
			w.msg = nats.NewMsg(log.subject + "." + id)
			w.msg.Header.Set(jetstream.MsgIDHeader, id)
			w.msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
			body = appendBook(body[:0], id)
			w.msg.Data = append([]byte(`{"v":1,"op":"put","body":`), append(body, '}')...)
			g.waiting <- w
			return <-w.done
		}, func() error { return nil }, nil
	})
	close(g.waiting)
	<-ended
	return rate, lats, errors.Join(err, ctx.Err())
}

// run publishes and syncs one round after the other until no writer is left.
func (g *rawGroup) run() {
	for first := range g.waiting {
		round := []rawWrite{first}
		for more := true; more && len(round) < maxRawRound; {
			select {
			case w, ok := <-g.waiting:
				if more = ok; ok {
					round = append(round, w)
				}
			default:
				more = false
			}
		}
		err := g.publish(round)
		for _, w := range round {
			w.done <- err
		}
	}
	for _, f := range g.open {
		_ = f.Close() // it was only read
	}
}

// publish publishes a round, and returns once it is durable.
func (g *rawGroup) publish(round []rawWrite) error {
	acks := make([]jetstream.PubAckFuture, len(round))
	for i, w := range round {
		var err error
		if acks[i], err = g.js.PublishMsgAsync(w.msg); err != nil {
			return err
		}
	}
	for _, a := range acks {
		select {
		case <-a.Ok():
		case err := <-a.Err():
			return err
		}
	}
	return g.sync()
}

// sync syncs the newest block, and the one before it, which may have become full since.
func (g *rawGroup) sync() error {
	blocks, err := filepath.Glob(filepath.Join(g.msgs, "*.blk"))
	if err != nil {
		return err
	}
	slices.SortFunc(blocks, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for _, path := range blocks[max(0, len(blocks)-2):] {
		f := g.open[path]
		if f == nil {
			if f, err = os.Open(path); err != nil {
				return err
			}
			g.open[path] = f
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return nil
}
