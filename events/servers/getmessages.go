package servers

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// LastOfEach asks any replica of a stream for the last message on each of some subjects, which may have wildcards, in one answer
// (NATS ADR-31). upTo is the sequence up to which the replica has what is stored; it is 0 where there are no such messages, for
// then no replica says. It blocks until ctx ends where the replica that the server chose is silent.
func (c *Client) LastOfEach(ctx context.Context, stream string, subjects ...string) (msgs []*Message, upTo uint64, err error) {
	request, err := json.Marshal(map[string][]string{"multi_last": subjects})
	if err != nil {
		return nil, 0, err
	}
	sub, err := c.takeInbox()
	if err != nil {
		return nil, 0, err
	}
	if err = c.NC.PublishRequest("$JS.API.DIRECT.GET."+stream, sub.Subject, request); err == nil {
		msgs, upTo, err = readLastOfEach(ctx, sub)
	}
	if err != nil { // more of the answer may come
		_ = sub.Unsubscribe()
		return nil, 0, err
	}
	c.returnInbox(sub)
	return msgs, upTo, nil
}

// takeInbox returns a subscription for the messages of one answer: one that had all of another, for a new one is announced to every
// server of the cluster.
func (c *Client) takeInbox() (*nats.Subscription, error) {
	for {
		select {
		case sub := <-c.inboxes:
			if sub.IsValid() {
				return sub, nil
			}
		default:
			return c.NC.SubscribeSync(c.NC.NewInbox())
		}
	}
}

// returnInbox keeps a subscription for another answer.
func (c *Client) returnInbox(sub *nats.Subscription) {
	select {
	case c.inboxes <- sub:
	default:
		_ = sub.Unsubscribe() // there are enough
	}
}

// maxInboxes bounds the subscriptions that are kept.
const maxInboxes = 16

// readLastOfEach reads the answer to LastOfEach.
func readLastOfEach(ctx context.Context, sub *nats.Subscription) (msgs []*Message, upTo uint64, err error) {
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, 0, err
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			seq, err := strconv.ParseUint(msg.Header.Get("Nats-Sequence"), 10, 64)
			if err != nil {
				return nil, 0, err
			}
			msgs = append(msgs, &Message{Subject: msg.Header.Get("Nats-Subject"), Seq: seq, Data: msg.Data, Header: msg.Header})
		case "404":
			return nil, 0, nil
		case "204":
			if left := msg.Header.Get("Nats-Num-Pending"); left != "0" && left != "" {
				return nil, 0, errors.New("the server did not send " + left + " messages")
			}
			upTo, err := strconv.ParseUint(msg.Header.Get("Nats-UpTo-Sequence"), 10, 64)
			return msgs, upTo, err
		default:
			return nil, 0, errors.New("the server answered " + status + " " + msg.Header.Get("Description"))
		}
	}
}

// LeaderQuery is a request to $JS.API.STREAM.MSG.GET, which the stream's leader answers. A direct
// get may be answered by a replica that lags (NATS ADR-31), so it cannot settle an outcome.
type LeaderQuery struct {
	Seq           uint64 `json:"seq,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
}

// Message is a message as the leader returns it. A nil one stands for no message.
type Message struct {
	Subject string      `json:"subject"`
	Seq     uint64      `json:"seq"`
	Time    time.Time   `json:"time"`
	Headers []byte      `json:"hdrs"`
	Data    []byte      `json:"data"`
	Header  nats.Header `json:"-"`
}

// Sequence returns the message's sequence, 0 where there is no message.
func (m *Message) Sequence() uint64 {
	if m == nil {
		return 0
	}
	return m.Seq
}

// GetFromLeader asks the leader of a stream for a message and returns it, or nil where there is none. It may not be durable
// yet. It blocks for Client.Attempt at most; the error is Unavailable.
func (c *Client) GetFromLeader(ctx context.Context, stream string, req LeaderQuery) (*Message, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	attempt, cancel := context.WithTimeout(ctx, c.Attempt)
	defer cancel()
	resp, err := c.NC.RequestWithContext(attempt, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	var out struct {
		Error   *jetstream.APIError `json:"error"`
		Message *Message            `json:"message"`
	}
	if err := json.Unmarshal(resp.Data, &out); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
	}
	if out.Error != nil {
		if out.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return nil, nil
		}
		return nil, fanfold.Wrap(out.Error, fanfold.Unavailable, "the log cannot be asked: %s", out.Error.Description)
	}
	if out.Message != nil && len(out.Message.Headers) > 0 {
		if out.Message.Header, err = nats.DecodeHeadersMsg(out.Message.Headers); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
		}
	}
	return out.Message, nil
}
