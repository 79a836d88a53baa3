package events

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// Bounds of what a restore sends at once.
const (
	restoredBytes   = 8 << 20 // of the payloads, or one message
	restoredFlights = 4       // parts that an embedded server has not answered
)

// restoredPart are messages that are sent together.
type restoredPart struct {
	msgs []*nats.Msg
	size int
	last uint64
	head []byte // headers of an event, for its digest; used again
}

// add makes an event the next message. It has neither a condition, which was met when it was stored first, nor an id. The server would
// drop a message whose id comes again.
func (p *restoredPart) add(m *Message) {
	h := make(nats.Header, len(m.Headers)+1)
	maps.Copy(h, m.Headers)
	h[headerTime] = []string{formatTime(m.Time)}
	p.msgs = append(p.msgs, &nats.Msg{Subject: m.Subject, Header: h, Data: bytes.Clone(m.Data)})
	p.size += len(m.Data) + len(m.Subject)
	p.last = m.Seq
}

// full returns whether the part is to be sent, of most messages.
func (p *restoredPart) full(most int) bool { return len(p.msgs) >= most || p.size >= restoredBytes }

// storedPart is a part that was sent.
type storedPart struct {
	answer *servers.Answer
	last   uint64 // the sequence that its last message is to have
}

// sendEmbedded sends a part to a server to which nobody else publishes. Only its last message is answered. Its sequence shows whether all
// were stored.
func (r *Restoration) sendEmbedded(ctx context.Context, p *restoredPart) (err error) {
	if err := r.land(ctx, restoredFlights-1); err != nil {
		return err
	}
	last := len(p.msgs) - 1
	for _, m := range p.msgs[:last] {
		if err := r.log.nc.PublishMsg(m); err != nil {
			return r.notSent(err)
		}
	}
	answer, err := r.answers.Send(p.msgs[last])
	if err != nil {
		return r.notSent(err)
	}
	r.flying = append(r.flying, storedPart{answer, p.last})
	return nil
}

// notSent returns the error for a message that the connection does not take.
func (r *Restoration) notSent(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return fanfold.Wrap(err, fanfold.TooLarge, "an event is larger than the NATS server takes, which is %d bytes: set its max_payload to that of the server from which the backup comes", r.log.MaxPayload())
	}
	return fanfold.Wrap(err, fanfold.Unavailable, "the log takes no event: %v", err)
}

// land waits until at most so many parts are not answered.
func (r *Restoration) land(ctx context.Context, most int) error {
	for len(r.flying) > most {
		p := r.flying[0]
		r.flying = r.flying[1:]
		ack, err := r.await(ctx, p.answer)
		if err == nil && ack.Seq != p.last {
			err = errNotWhole
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log has not stored the events up to %d: %v", p.last, err)
		}
		r.log.run.Load().highest.Advance(p.last)
	}
	return nil
}

// await waits for an answer of an embedded server, which gives none where it has no space.
func (r *Restoration) await(ctx context.Context, answer *servers.Answer) (servers.Ack, error) {
	limited, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	for {
		select {
		case msg := <-answer.Received():
			return servers.Read(msg)
		case <-r.log.opt.Embedded.Trouble():
			if why := r.log.opt.Embedded.OutOfSpace(); why != "" {
				answer.Drop()
				return servers.Ack{}, errors.New(why)
			}
		case <-limited.Done():
			answer.Drop()
			return servers.Ack{}, limited.Err()
		}
	}
}

// storeBatch stores a part by an atomic batch of outside servers, and sends it again where nobody says what came of it.
func (r *Restoration) storeBatch(ctx context.Context, p *restoredPart) error {
	before := p.last - uint64(len(p.msgs))
	p.msgs[0].Header[jetstream.ExpectedLastSeqHeader] = []string{strconv.FormatUint(before, 10)}
	limit := time.Now().Add(r.patience)
	for {
		err := r.tryBatch(ctx, p)
		if err == nil {
			r.log.run.Load().highest.Advance(p.last)
		}
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if code := fanfold.CodeOf(err); code == fanfold.TooLarge {
			return err
		}
		last, asked := r.log.LastSeq(ctx)
		switch {
		case asked == nil && last == p.last: // only the answer was lost
			return nil
		case asked == nil && last != before && last != 0:
			return fanfold.Wrap(err, fanfold.LogDamaged, "the log has event %d while events %d to %d are restored: somebody else writes to it, or it lost some; begin anew", last, before+1, p.last)
		case time.Now().After(limit):
			return fanfold.Wrap(err, fanfold.Unavailable, "the log has not stored the events up to %d: %v", p.last, err)
		}
		select {
		case <-time.After(batchTime):
		case <-ctx.Done():
		}
	}
}

// tryBatch sends a part once.
func (r *Restoration) tryBatch(ctx context.Context, p *restoredPart) error {
	l := r.log
	batch := newServerBatch()
	for _, m := range p.msgs[:len(p.msgs)-1] {
		batch.number(m)
		if err := l.nc.PublishMsg(m); err != nil {
			return r.notSent(err)
		}
	}
	commit := p.msgs[len(p.msgs)-1]
	batch.number(commit)
	commit.Header[batchCommit] = []string{"1"}
	attempt, cancel := context.WithTimeout(ctx, l.opt.Attempt+batchTime*time.Duration(p.size>>20+len(p.msgs)/1000))
	defer cancel()
	ack, err := l.client.Request(attempt, commit)
	if errors.Is(err, nats.ErrMaxPayload) {
		return r.notSent(err)
	}
	if err == nil && ack.Seq != p.last {
		err = errNotWhole
	}
	return err
}

// ForgetBatch takes away what the first message of several says of how many there are, where not all of them are restored.
func ForgetBatch(h nats.Header) { delete(h, headerBatch) }
