// Package backup reads and writes backups: directories, or streams of the same files, that hold every event of a store's log up to one
// position. README.md describes the format. The package knows neither the log nor the read model: whoever makes a backup gives it events,
// and whoever restores one gets them.
package backup

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

// Event is an event as the log has it.
type Event struct {
	Seq     uint64
	Time    time.Time // the log's
	Subject string
	Headers []Header
	Payload []byte
}

// Header is a header of an event's message.
type Header struct{ Name, Value string }

// headerTime has the time of an event in a log that was restored. A backup has it in Event.Time.
const headerTime = "Fanfold-Time"

// KeepsHeader tells whether a backup keeps a header: all of Fanfold's own but the time, and the trace. The others say how a server is to
// store a message, and mean nothing to a reader.
func KeepsHeader(name string) bool {
	return strings.HasPrefix(name, "Fanfold-") && name != headerTime || name == "traceparent"
}

// header returns the value of a header, and whether the event has it.
func (ev *Event) header(name string) (string, bool) {
	for _, h := range ev.Headers {
		if h.Name == name {
			return h.Value, true
		}
	}
	return "", false
}

// Bounds of an event.
const (
	maxEvent   = 65 << 20 // bytes of a record: more than the largest message that any server takes
	maxHeaders = 16
	maxName    = 64 << 10 // bytes of a subject, of a header's name and of its value
)

// appendEvent appends an event's record to buf: its length, and then its parts, where times and sequences count from the event before.
func appendEvent(buf []byte, ev *Event, prev uint64, prevTime int64) []byte {
	size := recordSize(ev, prev, prevTime)
	buf = binary.AppendUvarint(buf, uint64(size))
	buf = binary.AppendUvarint(buf, ev.Seq-prev)
	buf = binary.AppendVarint(buf, ev.Time.UnixNano()-prevTime)
	buf = appendText(buf, ev.Subject)
	buf = binary.AppendUvarint(buf, uint64(len(ev.Headers)))
	for _, h := range ev.Headers {
		buf = appendText(appendText(buf, h.Name), h.Value)
	}
	return append(buf, ev.Payload...)
}

// recordSize returns the length of a record without the number that says it.
func recordSize(ev *Event, prev uint64, prevTime int64) int {
	var number [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(number[:], ev.Seq-prev) + binary.PutVarint(number[:], ev.Time.UnixNano()-prevTime) + textSize(ev.Subject)
	size += binary.PutUvarint(number[:], uint64(len(ev.Headers))) + len(ev.Payload)
	for _, h := range ev.Headers {
		size += textSize(h.Name) + textSize(h.Value)
	}
	return size
}

func appendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

func textSize(s string) int {
	var number [binary.MaxVarintLen64]byte
	return binary.PutUvarint(number[:], uint64(len(s))) + len(s)
}

// size returns the bytes of an event's texts and payload.
func (ev *Event) size() int {
	n := len(ev.Subject) + len(ev.Payload)
	for _, h := range ev.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// check returns Invalid for an event that a backup cannot hold.
func (ev *Event) check() error {
	bad := ev.Seq == 0 || ev.Subject == "" || len(ev.Subject) > maxName || len(ev.Headers) > maxHeaders
	for i, h := range ev.Headers {
		bad = bad || !KeepsHeader(h.Name) || len(h.Name) > maxName || len(h.Value) > maxName
		for _, other := range ev.Headers[:i] {
			bad = bad || other.Name == h.Name
		}
	}
	if bad || ev.size() > maxEvent-1024 {
		return fanfold.Errorf(fanfold.Invalid, "event %d cannot be kept in a backup: its subject, headers or payload are not those of an event", ev.Seq)
	}
	return nil
}

// recordReader reads the parts of a record. bad is set once one cannot be read, and stays so.
type recordReader struct {
	rest []byte
	bad  bool
}

// uvarint reads a number in its shortest form.
func (r *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// varint reads a signed number in its shortest form.
func (r *recordReader) varint() int64 {
	u := r.uvarint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

func (r *recordReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

func (r *recordReader) text() string {
	n := r.uvarint()
	if n > maxName {
		r.bad = true
		return ""
	}
	return string(r.bytes(n))
}

// read reads a record into ev, whose payload is a part of the record.
func (r *recordReader) read(ev *Event, prev uint64, prevTime int64) {
	step, nanos := r.uvarint(), r.varint()
	ev.Seq, ev.Time = prev+step, time.Unix(0, prevTime+nanos).UTC()
	ev.Subject = r.text()
	headers := r.uvarint()
	if step == 0 || ev.Seq < prev || headers > maxHeaders {
		r.bad = true
	}
	ev.Headers = ev.Headers[:0]
	for i := uint64(0); i < headers && !r.bad; i++ {
		ev.Headers = append(ev.Headers, Header{r.text(), r.text()})
	}
	ev.Payload = r.rest
	if !r.bad {
		r.bad = ev.check() != nil
	}
}
