package buckets_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// open opens a log on a server, which is to have so many replicas.
func open(t *testing.T, url string, replicas int) *events.Log {
	t.Helper()
	nc, err := servers.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	l, err := events.Open(t.Context(), nc, events.Options{Replicas: replicas, Attempt: 500 * time.Millisecond, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// streamNamed returns a stream.
func streamNamed(t *testing.T, nc *nats.Conn, name string) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// objects returns the stream of a server's snapshots, and how many messages with bytes it has.
func objects(t *testing.T, url string) (jetstream.Stream, int) {
	t.Helper()
	nc, err := servers.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	stream := streamNamed(t, nc, "OBJ_fanfold_fanfold_base")
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("$O.fanfold_fanfold_base.C.>"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, count := range info.State.Subjects {
		n += int(count)
	}
	return stream, n
}

// TestSnapshots: what is put comes back, the newest two stay, what fails or was abandoned leaves nothing, and what is
// damaged is said to be.
func TestSnapshots(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	nc, err := servers.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	l, err := events.Open(t.Context(), nc, events.Options{Abandoned: 1}) // whatever is older
	if err != nil {
		t.Fatal(err)
	}
	s := buckets.NewSnapshots(l)
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("before there is any: %v, %v", list, err)
	}
	data := make([]byte, 1<<20+12345)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	snap := buckets.Snapshot{Store: l.Store(), Fold: "f", Event: fanfold.Digest{1}, Digest: fanfold.Digest{2}}
	for seq := range uint64(4) {
		snap.Seq = seq + 1
		if _, err := s.Put(t.Context(), snap, bytes.NewReader(data[seq:])); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Seq != 4 || list[1].Seq != 3 || list[0].Fold != "f" || list[0].Event != snap.Event || list[0].Digest != snap.Digest || list[0].Store != l.Store() {
		t.Fatalf("there are %+v, %v", list, err)
	}
	var got bytes.Buffer
	if err := s.Get(t.Context(), list[0], &got); err != nil || !bytes.Equal(got.Bytes(), data[3:]) {
		t.Fatalf("%d bytes came back, %v", got.Len(), err)
	}
	stream, chunks := objects(t, url)
	if chunks != 12 { // five pieces each, after one without bytes
		t.Errorf("two snapshots have %d messages", chunks)
	}
	broken := errors.New("broken")
	if _, err := s.Put(t.Context(), snap, io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a reader that breaks: %v", err)
	}
	if _, n := objects(t, url); n != chunks {
		t.Errorf("a snapshot that failed left %d messages", n-chunks)
	}
	if err := nc.Publish("$O.fanfold_fanfold_base.C.abandoned", data[:1000]); err != nil {
		t.Fatal(err)
	}
	snap.Seq = 5
	if _, err := s.Put(t.Context(), snap, strings.NewReader("short")); err != nil {
		t.Fatal(err)
	}
	if _, n := objects(t, url); n != 2+6 {
		t.Errorf("two snapshots have %d messages, and one was abandoned", n)
	}
	list, err = s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), firstChunk(t, stream)); err != nil {
		t.Fatal(err)
	}
	if err := s.Get(t.Context(), list[1], io.Discard); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged snapshot: %v", err)
	}
}

// TestUnreadableSnapshots: files that describe no snapshot are listed at once as unusable, after the usable ones. The next Put removes
// them, and nothing of others.
func TestUnreadableSnapshots(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	s := buckets.NewSnapshots(l)
	good, err := s.Put(t.Context(), buckets.Snapshot{Store: l.Store(), Seq: 7}, strings.NewReader("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	const meta = "$O.fanfold_fanfold_base.M."
	_, id, _ := strings.Cut(good.Name, "-")
	junk := map[string]string{
		encoded("9-a"):   "junk",
		encoded("8-b"):   `{"name":"8-b","nuid":"b","size":-5,"chunks":1}`,
		encoded("z"):     `{"name":"z","nuid":">","size":5,"chunks":1}`,
		encoded("10-c"):  `{"name":"10-c","nuid":"` + id + `","size":5,"chunks":1}`,
		encoded("11-d"):  "",
		"not-of-base-64": "{}",
		encoded("12-e"):  `{"name":"` + good.Name + `"}`,
	}
	for subject, text := range junk {
		if _, err := js.Publish(t.Context(), meta+subject, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1+len(junk) || list[0].Name != good.Name || list[1].Store != "" || list[1].Seq != 0 {
		t.Fatalf("there are %+v, %v", list, err)
	}
	if _, err := s.Put(t.Context(), buckets.Snapshot{Store: l.Store(), Seq: 13}, strings.NewReader("more")); err != nil {
		t.Fatal(err)
	}
	if list, err = s.List(t.Context()); err != nil || len(list) != 2 || list[1].Name != good.Name {
		t.Fatalf("after the next one there are %+v, %v", list, err)
	}
	var got bytes.Buffer
	if err := s.Get(t.Context(), list[1], &got); err != nil || got.String() != "bytes" {
		t.Errorf("%q came back, %v", got.String(), err)
	}
}

// encoded returns a name as an object store has it in subjects.
func encoded(name string) string { return base64.URLEncoding.EncodeToString([]byte(name)) }

// firstChunk returns the sequence of the first message of the stream that has bytes of a snapshot.
func firstChunk(t *testing.T, stream jetstream.Stream) uint64 {
	t.Helper()
	msg, err := stream.GetMsg(t.Context(), 0, jetstream.WithGetMsgSubject("$O.fanfold_fanfold_base.C.>"))
	if err != nil {
		t.Fatal(err)
	}
	return msg.Sequence
}

// TestSnapshotsAtTheSameTime: several are put at once, on three servers; each that is listed is whole.
func TestSnapshotsAtTheSameTime(t *testing.T) {
	suite.Concurrent(t)
	l := open(t, natsserver.Start(t, 3)[0], 3)
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			_, err := buckets.NewSnapshots(l).Put(t.Context(), buckets.Snapshot{Store: l.Store(), Seq: uint64(i + 1)}, bytes.NewReader(data[i:]))
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for limit := time.Now().Add(suite.Deadline(time.Minute)); ; { // a replica that lags may list one that is gone
		wrong := wrongSnapshots(t, l, data)
		if wrong == "" {
			return
		}
		if time.Now().After(limit) {
			t.Fatal(wrong)
		}
	}
}

// wrongSnapshots returns what is wrong with the snapshots that are listed, "" where nothing is.
func wrongSnapshots(t *testing.T, l *events.Log, data []byte) string {
	t.Helper()
	list, err := buckets.NewSnapshots(l).List(t.Context())
	if err != nil || len(list) < 2 || list[0].Seq != 4 {
		return fmt.Sprintf("there are %+v, %v", list, err)
	}
	for _, snap := range list {
		var got bytes.Buffer
		if err := buckets.NewSnapshots(l).Get(t.Context(), snap, &got); err != nil || !bytes.Equal(got.Bytes(), data[snap.Seq-1:]) {
			return fmt.Sprintf("snapshot %d: %d bytes, %v", snap.Seq, got.Len(), err)
		}
	}
	return ""
}
