package events

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// batchCondition is one of a batch's message at an index. It is met where the last message on the subject has the sequence, or, with an id,
// where the server does not have that id.
type batchCondition struct {
	at     int
	expect fanfold.Expect // that the write came with; of one about a subject
	question
}

// question is what the server is asked of a condition.
type question struct {
	subject string
	rev     fanfold.Revision
	id      string
}

// touched returns by what it is known that a message touches a condition: the subject, or something that no subject is.
func (q question) touched() string {
	if q.id != "" {
		return " " + q.id
	}
	return q.subject
}

// askAll asks the server about the conditions of batches. A question comes after everything that was sent before. It sets what
// stands in the way of each.
func (o *orderedBatches) askAll(round []*orderedBatch) {
	ctx, cancel := context.WithTimeout(context.Background(), o.log.opt.Attempt)
	defer cancel()
	asked := map[question]*askedQuestion{}
	for _, b := range round {
		for _, c := range b.conditions {
			if asked[c.question] == nil {
				asked[c.question] = o.ask(c.question)
			}
		}
	}
	for _, b := range round {
		for i, c := range b.conditions {
			met, err := asked[c.question].wait(ctx)
			if err != nil {
				b.failed = err
				break
			}
			if !met {
				b.unmet = &b.conditions[i]
				break
			}
		}
	}
}

// askedQuestion is a question that was sent to the server.
type askedQuestion struct {
	answer  *servers.Answer // nil where it is known
	met     bool
	failure error
}

// neverLast is an id that no message has, so that none that requires it of the last one is stored.
const neverLast = "-"

// codeWrongLastID is the server's refusal of a message that requires another id of the last one. It looks at that last.
const codeWrongLastID = 10070

// ask sends a message that the server never stores, and that tells by its refusal whether a condition is met.
func (o *orderedBatches) ask(q question) *askedQuestion {
	msg := nats.NewMsg(o.log.sub.fence())
	msg.Header[jetstream.ExpectedLastMsgIDHeader] = []string{neverLast}
	switch {
	case q.id != "":
		msg.Header[jetstream.MsgIDHeader] = []string{q.id}
	case q.subject != "":
		msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(uint64(q.rev), 10)}
		msg.Header[expectSubject] = []string{q.subject}
	}
	answer, err := o.answers.Send(msg)
	return &askedQuestion{answer: answer, failure: err}
}

// wait blocks until it is known whether the condition is met, or ctx has ended.
func (a *askedQuestion) wait(ctx context.Context) (met bool, err error) {
	if a.failure != nil || a.answer == nil {
		return a.met, a.failure
	}
	ack, err := a.answer.Wait(ctx)
	a.answer = nil
	switch api := servers.Refusal(err); {
	case err == nil && ack.Duplicate:
	case err == nil:
		a.failure = errors.New("the server has stored a question")
	case api != nil && api.ErrorCode == codeWrongLastID:
		a.met = true
	case api != nil && api.ErrorCode == servers.CodeWrongLastSequence:
	default:
		a.failure = err
	}
	return a.met, a.failure
}
