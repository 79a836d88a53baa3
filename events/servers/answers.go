package servers

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// Answers receives the answers to messages that are sent without waiting for them. Its methods may be called from many goroutines.
type Answers struct {
	nc     *nats.Conn
	prefix string

	mu      sync.Mutex
	number  uint64
	waiting map[string]chan *nats.Msg // by the last token of where the answer is sent
}

// NewAnswers returns answers that come over a connection, until it is closed. The error is the connection's.
func NewAnswers(nc *nats.Conn) (*Answers, error) {
	a := &Answers{nc: nc, prefix: nc.NewInbox() + ".", waiting: map[string]chan *nats.Msg{}}
	sub, err := nc.Subscribe(a.prefix+"*", a.receive)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1) // each is waited for
	}
	return a, err
}

// receive hands an answer to who waits for it.
func (a *Answers) receive(msg *nats.Msg) {
	if c := a.remove(strings.TrimPrefix(msg.Subject, a.prefix)); c != nil {
		c <- msg
	}
}

// remove takes an answer from those that are waited for, and returns where it is awaited; nil where it is not.
func (a *Answers) remove(token string) chan *nats.Msg {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.waiting[token]
	delete(a.waiting, token)
	return c
}

// Answer is one that is to come.
type Answer struct {
	of       *Answers
	token    string
	received chan *nats.Msg
}

// Send sends a message, and returns its answer that is to come. A caller that does not wait for it drops it. The error is the
// connection's. It does not block but where the connection takes no more.
func (a *Answers) Send(msg *nats.Msg) (*Answer, error) {
	answer := &Answer{of: a, received: make(chan *nats.Msg, 1)}
	a.mu.Lock()
	a.number++
	answer.token = strconv.FormatUint(a.number, 36)
	a.waiting[answer.token] = answer.received
	a.mu.Unlock()
	msg.Reply = a.prefix + answer.token
	err := a.nc.PublishMsg(msg)
	if err != nil {
		answer.Drop()
	}
	return answer, err
}

// Received has the answer once it is there, which is what Read reads.
func (w *Answer) Received() <-chan *nats.Msg { return w.received }

// Drop says that nobody waits for the answer any more.
func (w *Answer) Drop() { w.of.remove(w.token) }

// Wait blocks until the answer is there or ctx has ended, and returns what Read does, or ctx's error.
func (w *Answer) Wait(ctx context.Context) (Ack, error) {
	select {
	case msg := <-w.received:
		return Read(msg)
	case <-ctx.Done():
		w.Drop()
		return Ack{}, ctx.Err()
	}
}

// Read reads the stream's answer to a message. Errors are the server's refusal, as a *jetstream.APIError, and
// nats.ErrNoResponders where no stream has taken the message.
func Read(msg *nats.Msg) (Ack, error) {
	if len(msg.Data) == 0 && msg.Header.Get("Status") == noResponders {
		return Ack{}, nats.ErrNoResponders
	}
	return readAck(msg.Data)
}

// noResponders is the status of the server's answer to a message that nobody takes.
const noResponders = "503"
