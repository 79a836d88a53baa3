package events

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// Last asks the log for a document's last event. It returns the document's revision, 0
// where nothing was ever written, and whether that event was a delete. It blocks for a round trip, and for a durable publish
// before where the stream is replicated; the error is Unavailable, or Invalid for an event that cannot be read.
func (l *Log) Last(ctx context.Context, key fanfold.Key) (rev fanfold.Revision, deleted bool, err error) {
	m, err := l.lastStanding(ctx, l.sub.document(key), l.currentBySubject)
	if err != nil || m == nil {
		return 0, false, err
	}
	var ev fanfold.Event
	if err := Decode(m.Data, &ev); err != nil {
		return 0, false, err
	}
	return fanfold.Revision(m.Seq), ev.Kind == fanfold.KindDelete, nil
}

// LastAbout asks the log's leader for the last event of a kind about a document, and returns its sequence, 0 where there is none. The kind is
// link, for strict references to the document, or gate. A key without an id asks for a collection's gate. It blocks for a round trip; the error is Unavailable.
func (l *Log) LastAbout(ctx context.Context, kind fanfold.Kind, about fanfold.Key) (uint64, error) {
	subject := l.sub.gate(about)
	if kind == fanfold.KindLink {
		subject = l.sub.link(about) + ".>"
	}
	m, err := l.lastStanding(ctx, subject, l.lastBySubject)
	return m.Sequence(), err
}

// Horizon returns an event up to which the log may have been purged, 0 for none. It is not before what Last and Progress were answered
// from, where it is called afterwards. It may block for a round trip, as Last does; the error is Unavailable.
func (l *Log) Horizon(ctx context.Context) (uint64, error) {
	err := l.prefix.confirmBase(ctx)
	return l.prefix.Base().Seq, err
}

// LastModel asks the log's leader for the last event about models, and returns its sequence. If there is none, it returns the event after
// which the log began as it was opened, as the base has the model; 0 for neither. It blocks for a round trip; the error is Unavailable.
func (l *Log) LastModel(ctx context.Context) (uint64, error) {
	m, err := l.lastStanding(ctx, l.sub.model(), l.lastBySubject)
	return max(m.Sequence(), l.prefix.Base().Seq), err
}

// EventAt asks the log's leader for the event at seq, as readers see it who know all that is erased. It blocks for a round trip; errors are
// PositionGone where the log begins after it, NotFound where there is none, Invalid for one that cannot be read, and Unavailable.
func (l *Log) EventAt(ctx context.Context, seq uint64) (*fanfold.Event, error) {
	m, err := l.getMsg(ctx, servers.LeaderQuery{Seq: seq})
	if err != nil {
		return nil, err
	}
	s, _ := l.prefix.losses.get().find(seq, ^fanfold.AsOf(0))
	switch {
	case s != nil:
		return NewDecoder(l.opt.Database).Decode(messageOf(s, l.sub, 0))
	case m != nil:
		return NewDecoder(l.opt.Database).Decode(Message{Subject: m.Subject, Headers: m.Header, Data: m.Data, Seq: m.Seq, Time: m.Time})
	case seq > 0 && seq <= l.prefix.Base().Seq:
		return nil, fanfold.Errorf(fanfold.PositionGone, "the log has event %d no more: it begins after event %d", seq, l.prefix.Base().Seq)
	}
	return nil, fanfold.Errorf(fanfold.NotFound, "the log has no event %d", seq)
}

// Progress asks the log for the last event of an import, and returns its body and its revision, 0 where
// there is none. It blocks as Last does; the error is Unavailable, or Invalid for an event that cannot be
// read.
func (l *Log) Progress(ctx context.Context, id string) (body []byte, rev fanfold.Revision, err error) {
	m, err := l.lastStanding(ctx, l.sub.importProgress(id), l.currentBySubject)
	if err != nil || m == nil {
		return nil, 0, err
	}
	var ev fanfold.Event
	if err := Decode(m.Data, &ev); err != nil {
		return nil, 0, err
	}
	return ev.Body, fanfold.Revision(m.Seq), nil
}

// lastStanding asks for the last message on a subject, which may have wildcards, as outlast asks. It returns it as standing does.
func (l *Log) lastStanding(ctx context.Context, subject string, ask func(ctx context.Context, subject string) (*servers.Message, error)) (m *servers.Message, err error) {
	err = l.Outlast(ctx, func(ctx context.Context) (err error) {
		m, err = ask(ctx, subject)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l.standing(m, subject), nil
}

// standing returns the last message on a subject as readers see it, where m is the last one that is there, nil for none. The substitute of an
// erased message may be the last.
func (l *Log) standing(m *servers.Message, subject string) *servers.Message {
	t := l.prefix.losses.get()
	seq := t.latestOn(subject)
	if seq <= m.Sequence() {
		return m
	}
	s, _ := t.find(seq, ^fanfold.AsOf(0))
	return &servers.Message{Subject: s.Subject, Seq: seq, Time: s.Time, Data: s.Payload}
}

// lastBySubject returns the last message on a subject, which may have wildcards, or nil. The error
// is Unavailable.
func (l *Log) lastBySubject(ctx context.Context, subject string) (*servers.Message, error) {
	return l.getMsg(ctx, servers.LeaderQuery{LastBySubject: subject})
}

// getMsg asks the leader for a message and returns it, or nil where there is none. It blocks for
// Options.Attempt at most, and then until the message is durable; the error is Unavailable.
func (l *Log) getMsg(ctx context.Context, req servers.LeaderQuery) (*servers.Message, error) {
	return l.run.Load().message(ctx, l, req)
}

// message does what Log.getMsg does in one run of the server. It may be about to begin: while the server is started again, it is not the log's yet.
func (r *serverRun) message(ctx context.Context, l *Log, req servers.LeaderQuery) (*servers.Message, error) {
	m, err := l.client.GetFromLeader(ctx, l.opt.Database, req)
	if err != nil || m == nil {
		return nil, err
	}
	return m, l.waitWhole(ctx, r, m.Seq) // nobody is told of what could be lost yet
}
