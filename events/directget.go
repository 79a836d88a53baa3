package events

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// lastOfEach asks any replica of a stream for the last message on each of some subjects, which may have wildcards, in one answer
// (NATS ADR-31). upTo is the sequence up to which the replica has what is stored; it is 0 where there are no such messages, for
// then no replica says. It blocks until ctx ends where the replica that the server chose is silent.
func (l *Log) lastOfEach(ctx context.Context, stream string, subjects ...string) (msgs []*storedMsg, upTo uint64, err error) {
	request, err := json.Marshal(map[string][]string{"multi_last": subjects})
	if err != nil {
		return nil, 0, err
	}
	sub, err := l.takeInbox()
	if err != nil {
		return nil, 0, err
	}
	if err = l.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, sub.Subject, request); err == nil {
		msgs, upTo, err = readLastOfEach(ctx, sub)
	}
	if err != nil { // more of the answer may come
		_ = sub.Unsubscribe()
		return nil, 0, err
	}
	l.returnInbox(sub)
	return msgs, upTo, nil
}

// takeInbox returns a subscription for the messages of one answer: one that had all of another, for a new one is announced to every
// server of the cluster.
func (l *Log) takeInbox() (*nats.Subscription, error) {
	for {
		select {
		case sub := <-l.inboxes:
			if sub.IsValid() {
				return sub, nil
			}
		default:
			return l.nc.SubscribeSync(l.nc.NewInbox())
		}
	}
}

// returnInbox keeps a subscription for another answer.
func (l *Log) returnInbox(sub *nats.Subscription) {
	select {
	case l.inboxes <- sub:
	default:
		_ = sub.Unsubscribe() // there are enough
	}
}

// maxInboxes bounds the subscriptions that are kept.
const maxInboxes = 16

// readLastOfEach reads the answer to lastOfEach.
func readLastOfEach(ctx context.Context, sub *nats.Subscription) (msgs []*storedMsg, upTo uint64, err error) {
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
			msgs = append(msgs, &storedMsg{Subject: msg.Header.Get("Nats-Subject"), Seq: seq, Data: msg.Data, header: msg.Header})
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

// currentBySubject returns the last message on a subject without wildcards, or nil, as it is at some moment of the call. One
// leader can tell where the stream has one replica. Where it has more, a leader that was replaced answers, too, until it hears
// of that. So a fence is published, which only the leader can store, and replicas are asked until one answers that has it: the
// next soon where one is silent. It blocks for a round trip, with several replicas for two and until ctx ends where none
// answers; the error is Unavailable.
func (l *Log) currentBySubject(ctx context.Context, subject string) (*storedMsg, error) {
	if !l.replicated.Load() {
		return l.lastBySubject(ctx, subject)
	}
	const patience = 50 // times the pause behind it
	fence, err := l.Fence(ctx)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		ask, cancel := context.WithTimeout(ctx, patience*wait)
		msgs, upTo, err := l.lastOfEach(ask, l.opt.Database, subject, l.sub.fence())
		cancel()
		if err == nil && upTo >= fence {
			for _, m := range msgs {
				if m.Subject == subject {
					return m, nil
				}
			}
			return nil, nil
		}
		select { // a replica that lags has answered, or none
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fanfold.Wrap(errors.Join(err, ctx.Err()), fanfold.Unavailable, "the log cannot be asked")
		}
	}
}

// undecided reports whether a message may be stored although its publish returned err. With several replicas that is so after
// a refusal, too: it may be that of a leader that was replaced, while the message has reached the one that is.
func (l *Log) undecided(err error) bool {
	return maybeStored(err) || l.replicated.Load() && isRefusal(err)
}
