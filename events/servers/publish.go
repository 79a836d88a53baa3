package servers

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Refusal returns the server's refusal that err is, or has as its cause; nil where it is another error.
func Refusal(err error) *jetstream.APIError {
	var api *jetstream.APIError
	errors.As(err, &api)
	return api
}

// Request sends a message and returns the stream's answer. It returns the server's refusal, as a *jetstream.APIError, and
// the connection's errors, after which the message may be stored.
func (c *Client) Request(ctx context.Context, msg *nats.Msg) (Ack, error) {
	resp, err := c.NC.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return Ack{}, err
	}
	return readAck(resp.Data)
}

// Ack is the stream's answer to a message that is stored.
type Ack struct {
	Seq       uint64
	Duplicate bool
	Batch     string // the id of an atomic batch whose last message it was
	Count     int    // of messages in that batch
}

// ackTrees has what answers are read with.
var ackTrees = sync.Pool{New: func() any { return new(jsondoc.Tree) }}

// readAck reads an answer of the stream. The server's refusal is a *jetstream.APIError.
func readAck(data []byte) (ack Ack, err error) {
	t := ackTrees.Get().(*jsondoc.Tree)
	defer ackTrees.Put(t)
	if err := t.Parse(data); err != nil || t.Kind(jsondoc.Root) != jsondoc.Object {
		return ack, errors.New("the log's answer is not a JSON object")
	}
	member := func(name string) string { return t.Text(t.Member(jsondoc.Root, name)) }
	if n := t.Member(jsondoc.Root, "error"); n != jsondoc.None {
		api := new(jetstream.APIError)
		if err := json.Unmarshal(t.Raw(n), api); err != nil {
			return ack, err
		}
		return ack, api
	}
	if ack.Seq, err = strconv.ParseUint(member("seq"), 10, 64); err != nil || ack.Seq == 0 {
		return ack, errors.New("the log's answer has no sequence")
	}
	if n := t.Member(jsondoc.Root, "batch"); n != jsondoc.None {
		ack.Batch = t.Text(n)
		ack.Count, err = strconv.Atoi(member("count"))
	}
	if n := t.Member(jsondoc.Root, "duplicate"); n != jsondoc.None {
		ack.Duplicate = string(t.Raw(n)) == "true"
	}
	return ack, err
}

// The server's error codes that say that a condition failed, and that another proposal for the subject is in flight.
const (
	CodeWrongLastSequence = 10071
	CodeInFlight          = 10164
)

// MaybeStored reports whether a message may be stored although its publish returned err.
func MaybeStored(err error) bool {
	return err != nil && Refusal(err) == nil && !errors.Is(err, nats.ErrNoResponders) &&
		!errors.Is(err, nats.ErrReconnectBufExceeded) // while the connection is down the client refuses to send
}
