package events

import (
	"cmp"
	"fmt"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// defaultDatabase is the name of a log's database where Options say none.
const defaultDatabase = "fanfold"

// Decoder makes events of messages. It is for one goroutine.
type Decoder struct {
	sub  subjects
	tree jsondoc.Tree
	head []byte // headers of an event, for its digest; used again
}

// NewDecoder returns a decoder of messages as a log with a database's name has them, "" for the default.
func NewDecoder(database string) *Decoder {
	return &Decoder{sub: subjects{cmp.Or(database, defaultDatabase)}}
}

// Decode returns the event of a message, which keeps its data. The error is Invalid.
func (d *Decoder) Decode(msg Message) (*fanfold.Event, error) {
	d.setDigest(&msg)
	return d.decode(msg)
}

// setDigest gives a message its time and its digest.
func (d *Decoder) setDigest(m *Message) {
	m.Time, m.badTime = timeOf(m.Time, m.Headers)
	m.digest, d.head = digest(d.head, m.Seq, m.Time, m.Subject, m.Headers, m.Data)
}

// decode returns the event of a message that has its digest.
func (d *Decoder) decode(msg Message) (*fanfold.Event, error) {
	ev := &fanfold.Event{Seq: msg.Seq, Time: msg.Time, FromLog: fanfold.FromLog{Digest: msg.digest}}
	kind, key, err := d.sub.parse(msg.Subject)
	if err == nil {
		ev.Key = key
		err = decode(&d.tree, msg.Subject, msg.Data, ev)
	}
	if err == nil {
		err = cmp.Or(msg.badTime, readHeaders(msg.Headers, ev))
	}
	if err == nil && ev.Kind == fanfold.KindLoss && msg.Subject != d.sub.forEvent(ev, false) {
		err = fmt.Errorf("what is lost does not belong on subject %s", msg.Subject)
	}
	if err == nil && kind != "" && kind != ev.Kind && (kind != fanfold.KindModel || !sharesModelSubject(ev.Kind)) {
		err = fmt.Errorf("op %q does not belong on subject %s", ev.Kind, msg.Subject)
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "event %d cannot be read: %v", ev.Seq, err)
	}
	return ev, nil
}
