package events

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// Last asks the log for a document's last event. It returns the document's revision, 0
// where nothing was ever written, and whether that event was a delete. It blocks for a round trip, and for a durable publish
// before where the stream is replicated; the error is Unavailable, or Invalid for an event that cannot be read.
func (l *Log) Last(ctx context.Context, key fanfold.Key) (rev fanfold.Revision, deleted bool, err error) {
	m, err := l.currentBySubject(ctx, l.sub.document(key))
	if err != nil || m == nil {
		return 0, false, err
	}
	var ev fanfold.Event
	if err := Decode(m.Data, &ev); err != nil {
		return 0, false, err
	}
	return fanfold.Revision(m.Seq), ev.Kind == fanfold.KindDelete, nil
}

// LastLink asks the log's leader for the last event about strict references to a document, and
// returns its sequence, 0 where there is none. It blocks for a round trip; the error is
// Unavailable.
func (l *Log) LastLink(ctx context.Context, target fanfold.Key) (uint64, error) {
	m, err := l.lastBySubject(ctx, l.sub.link(target)+".>")
	return m.seq(), err
}

// KeyAt asks the log's leader which document the event at seq is about. It blocks for a round trip;
// errors are NotFound where there is no such event, and Unavailable.
func (l *Log) KeyAt(ctx context.Context, seq uint64) (fanfold.Key, error) {
	m, err := l.getMsg(ctx, msgGetRequest{Seq: seq})
	if err != nil {
		return fanfold.Key{}, err
	}
	if m == nil {
		return fanfold.Key{}, fanfold.Errorf(fanfold.NotFound, "the log has no event %d", seq)
	}
	_, key, err := l.sub.parse(m.Subject)
	return key, err
}

// Progress asks the log for the last event of an import, and returns its body and its revision, 0 where
// there is none. It blocks as Last does; the error is Unavailable, or Invalid for an event that cannot be
// read.
func (l *Log) Progress(ctx context.Context, id string) (body []byte, rev fanfold.Revision, err error) {
	m, err := l.currentBySubject(ctx, l.sub.importProgress(id))
	if err != nil || m == nil {
		return nil, 0, err
	}
	var ev fanfold.Event
	if err := Decode(m.Data, &ev); err != nil {
		return nil, 0, err
	}
	return ev.Body, fanfold.Revision(m.Seq), nil
}

// msgGetRequest is a request to $JS.API.STREAM.MSG.GET, which the stream's leader answers. A direct
// get may be answered by a replica that lags (NATS ADR-31), so it cannot settle an outcome.
type msgGetRequest struct {
	Seq           uint64 `json:"seq,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
}

// storedMsg is a message as the leader returns it. A nil one stands for no message.
type storedMsg struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Headers []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	header  nats.Header
}

// seq returns the message's sequence, 0 where there is no message.
func (m *storedMsg) seq() uint64 {
	if m == nil {
		return 0
	}
	return m.Seq
}

// lastBySubject returns the last message on a subject, which may have wildcards, or nil. The error
// is Unavailable.
func (l *Log) lastBySubject(ctx context.Context, subject string) (*storedMsg, error) {
	return l.getMsg(ctx, msgGetRequest{LastBySubject: subject})
}

// getMsg asks the leader for a message and returns it, or nil where there is none. It blocks for
// Options.Attempt at most, and then until the message is durable; the error is Unavailable.
func (l *Log) getMsg(ctx context.Context, req msgGetRequest) (*storedMsg, error) {
	run := l.run.Load()
	m, err := l.askLeader(ctx, l.opt.Database, req)
	if err != nil || m == nil {
		return nil, err
	}
	return m, run.wait(ctx, m.Seq) // nobody is told of what could be lost yet
}

// askLeader asks the leader of a stream for a message and returns it, or nil where there is none. It may not be durable
// yet. It blocks for Options.Attempt at most; the error is Unavailable.
func (l *Log) askLeader(ctx context.Context, stream string, req msgGetRequest) (*storedMsg, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	attempt, cancel := context.WithTimeout(ctx, l.opt.Attempt)
	defer cancel()
	resp, err := l.nc.RequestWithContext(attempt, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	var out struct {
		Error   *jetstream.APIError `json:"error"`
		Message *storedMsg          `json:"message"`
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
		if out.Message.header, err = nats.DecodeHeadersMsg(out.Message.Headers); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
		}
	}
	return out.Message, nil
}
