package events

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// currentBySubject returns the last message on a subject without wildcards, or nil, as it is at some moment of the call. One
// leader can tell where the stream has one replica. If it has more, a leader that was replaced answers, too, until it hears of
// that. So a fence is published, which only the leader can store, and replicas are asked until one answers that has it: the
// next soon where one is silent. It blocks for a round trip, with several replicas for two and until ctx ends where none
// answers; the error is Unavailable.
func (l *Log) currentBySubject(ctx context.Context, subject string) (*servers.Message, error) {
	if !l.replicated.Load() {
		return l.lastBySubject(ctx, subject)
	}
	const patience = 50 // times the pause after it
	fence, err := l.Fence(ctx)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		ask, cancel := context.WithTimeout(ctx, patience*wait)
		msgs, upTo, err := l.client.LastOfEach(ask, l.opt.Database, subject, l.sub.fence())
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
// a refusal, too: a replaced leader may have refused the message, which has reached the new one.
func (l *Log) undecided(err error) bool {
	return maybeStored(err) || l.replicated.Load() && isRefusal(err)
}
