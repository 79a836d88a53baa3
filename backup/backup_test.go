package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

const testStore = fanfold.StoreID("abcdefgh")

// made is when test backups are made.
var made = time.Date(2026, 11, 24, 21, 40, 0, 0, time.UTC)

// event returns event seq of a log.
func event(seq uint64) *Event {
	ev := &Event{Seq: seq, Time: time.Unix(1_700_000_000, int64(seq)*1_000_003).UTC(), Subject: fmt.Sprintf("fanfold.fanfold.doc.books.b%d", seq%100),
		Payload: fmt.Appendf(nil, `{"v":1,"op":"put","body":{"title":"Book %d","pages":%d}}`, seq, seq*7919%1000)}
	if seq%5 == 0 {
		ev.Headers = []Header{{Name: "Fanfold-Actor", Value: "ada"}, {Name: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	}
	return ev
}

// testSegment is how many events a segment has in tests, unless these are many.
const testSegment = 100

// digests are the digests of the events of the test's log.
var digests = []fanfold.Digest{{}}

// digestUpTo returns the digest of the events up to a sequence.
func digestUpTo(last uint64) (d fanfold.Digest) {
	for seq := uint64(len(digests)); seq <= last; seq++ {
		ev := event(seq)
		one, _ := fanfold.EventDigest(nil, seq, ev.Time, ev.Subject, func(name string) (string, bool) {
			for _, h := range ev.Headers {
				if h.Name == name {
					return h.Value, true
				}
			}
			return "", false
		}, ev.Payload)
		digests = append(digests, digests[seq-1].Followed(one))
	}
	return digests[last]
}

// pointAt returns a point of the test's log.
func pointAt(seq uint64) Point { return Point{Seq: seq, Digest: digestUpTo(seq)} }

// stream returns a backup of the events after a sequence up to another, as a stream.
func stream(t testing.TB, after, last uint64, at time.Time) []byte {
	t.Helper()
	return streamOf(t, after, last, at, nil, nil)
}

// streamOf returns a stream of a log that begins with a base, whose file comes with it unless that is nil.
func streamOf(t testing.TB, after, last uint64, at time.Time, base *Base, file []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	begin := pointAt(after)
	s, err := NewStream(&out, begin, at)
	if last < segmentEvents {
		s.b.most = testSegment
	}
	m := Manifest{Store: testStore, Fold: 8}
	if file != nil {
		err = errors.Join(err, s.WriteBase(base, writes(file)))
	} else if base != nil {
		m.Base = &Base{Point: base.Point}
	}
	for seq := after + 1; err == nil && seq <= last; seq++ {
		err = s.Add(event(seq))
	}
	if after > 0 && (base == nil || base.Seq != after) {
		m.After = &begin
	}
	if err == nil {
		err = s.Finish(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unpack(t testing.TB, in io.Reader) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := Unpack(in, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// requireEvents requires that a backup holds the events after a sequence up to another, and that Check passes.
func requireEvents(t testing.TB, dir string, after, last uint64) {
	t.Helper()
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.Position != last || b.Store != testStore {
		t.Fatalf("position %d of store %s, want %d", b.Position, b.Store, last)
	}
	next := after + 1
	if err := b.Events(context.Background(), after, func(ev *Event) error {
		want := event(next)
		next++
		if len(ev.Headers) == 0 {
			ev.Headers = nil
		}
		if !reflect.DeepEqual(ev, want) {
			t.Errorf("event %+v, want %+v", ev, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if next != last+1 {
		t.Errorf("the events end before %d, want %d", next, last+1)
	}
	if err := b.Check(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

// TestStream: what a stream has, a directory has once it is unpacked.
func TestStream(t *testing.T) {
	for _, last := range []uint64{0, 1, 1000, 65536, 65537, 131_073} {
		requireEvents(t, unpack(t, bytes.NewReader(stream(t, 0, last, made))), 0, last)
	}
	requireEvents(t, unpack(t, bytes.NewReader(stream(t, 300, 1000, made))), 300, 1000)
}
