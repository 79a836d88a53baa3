package cluster_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// snapshotModel has copies, counts and lists, so that a write changes several documents.
const snapshotModel = `
collections:
  authors:
    derive:
      books: {count: books.author}
      newest: {recent: books.author, max: 2, fields: [id]}
  books:
    relations: {author: {path: author, to: authors}}
    derive: {authorName: {copy: author, value: doc.name}}
`

// startedFrom returns the event of the snapshot with which a node began, 0 for none.
func startedFrom(t *testing.T, s *harness.Store) uint64 {
	t.Helper()
	var status struct {
		Snapshot struct{ StartedFrom struct{ Seq uint64 } }
	}
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status); err != nil {
		t.Fatal(err)
	}
	return status.Snapshot.StartedFrom.Seq
}

// writeBooks writes books of a few authors, and renames these.
func writeBooks(s *harness.Store, prefix string, n int) {
	for i := range n {
		author := fmt.Sprint("a", i%5)
		s.Put("books", fmt.Sprint(prefix, i), fmt.Sprintf(`{"author":%q,"n":%d}`, author, i))
		if i%7 == 0 {
			s.Put("authors", author, fmt.Sprintf(`{"name":"%s %d"}`, prefix, i))
		}
	}
}

// TestNewNodeFromSnapshot: a node with an empty directory begins with the newest snapshot, which was taken while writes went on. It comes
// to the same rows as the node that folded everything, and so does a replay there.
func TestNewNodeFromSnapshot(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	url := strings.Join(cluster.URLs(), ",")
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Replicas: 3})
	defer a.Close()
	harness.AwaitReady(t, a, http.StatusOK)
	a.Model(snapshotModel)
	writeBooks(a, "x", 50)
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() { writeBooks(a, fmt.Sprint("w", w, "-"), 60) })
	}
	var taken struct {
		Seq   uint64
		Bytes int64
	}
	for range 3 { // while writes go on
		if err := json.Unmarshal(a.Want(http.StatusOK, "POST", "/v1/_snapshot", "").Body, &taken); err != nil || taken.Seq < 50 || taken.Bytes < 50_000 {
			t.Fatalf("the snapshot is %+v, %v", taken, err)
		}
	}
	writers.Wait()
	writeBooks(a, "y", 10)
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Replicas: 3})
	defer func() { b.Close() }()
	if from := startedFrom(t, b); from != taken.Seq {
		t.Errorf("the new node began with event %d; the newest snapshot has %d", from, taken.Seq)
	}
	b.WantSameDigest(a)
	b.Verify()
	b.Replay()
	b.WantSameDigest(a)
	b.Put("books", "z", `{"author":"a1"}`)
	if n := replicasOf(t, url)["OBJ_fanfold_fanfold_base"]; n != 3 {
		t.Errorf("the snapshots have %d replicas", n)
	}
	b = b.Reopen()
	if from := startedFrom(t, b); from != 0 {
		t.Errorf("a node with a read model began with a snapshot, of event %d", from)
	}
}

// TestNewestOfBaseAndSnapshot: a new node begins with the base or the newest snapshot, whichever is later. One that a former program has put into an object
// store of its own counts, too.
func TestNewestOfBaseAndSnapshot(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
	defer a.Close()
	a.Model(snapshotModel)
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	var taken struct{ Seq uint64 }
	take := func() {
		t.Helper()
		if err := json.Unmarshal(a.Want(http.StatusOK, "POST", "/v1/_snapshot", "").Body, &taken); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(want uint64) {
		t.Helper()
		b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		defer b.Close()
		if from := startedFrom(t, b); from != want {
			t.Errorf("a new node began with event %d; want %d", from, want)
		}
		b.WantSameDigest(a)
		b.Verify()
	}
	writeBooks(a, "x", 20)
	take()
	writeBooks(a, "y", 5)
	a.CatchUp()
	horizon := a.Node.Store.Applied.Seq()
	a.Compact(horizon)
	harness.Await(t, "the purge", time.Minute, func() bool {
		state, err := a.Node.Log.State(t.Context())
		return err == nil && state.First > horizon
	})
	begin(0)
	writeBooks(a, "z", 20)
	take()
	begin(taken.Seq)
	moveToFormer(t, js)
	writeBooks(a, "w", 5)
	begin(taken.Seq)
}

// moveToFormer moves the snapshots into the object store that former programs had for them. The base stays.
func moveToFormer(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	from, err := js.ObjectStore(t.Context(), objectBucket)
	if err != nil {
		t.Fatal(err)
	}
	to, err := js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "fanfold_fanfold_snapshots"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := from.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("there are %v, %v", list, err)
	}
	for _, object := range list {
		if _, isCopy := object.Metadata["fanfold-fold"]; !isCopy {
			continue
		}
		body, err := from.GetBytes(t.Context(), object.Name)
		if err == nil {
			_, err = to.Put(t.Context(), jetstream.ObjectMeta{Name: object.Name, Metadata: object.Metadata}, bytes.NewReader(body))
		}
		if err == nil {
			err = from.Delete(t.Context(), object.Name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// objectBucket is the bucket of the base and of snapshots.
const objectBucket = "fanfold_fanfold_base"

// TestSnapshotsThatAreNotUsed: a snapshot that is damaged, of another store or fold, or not of this log is left, the log is
// folded from its beginning, and it is logged why.
func TestSnapshotsThatAreNotUsed(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer a.Close()
	a.Model(snapshotModel)
	writeBooks(a, "x", 20)
	a.Want(http.StatusOK, "POST", "/v1/_snapshot", "")
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "OBJ_"+objectBucket)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := js.ObjectStore(t.Context(), objectBucket)
	if err != nil {
		t.Fatal(err)
	}
	list, err := objects.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("there are %v, %v", list, err)
	}
	good := *list[0]
	describe := func(info jetstream.ObjectInfo) {
		t.Helper()
		body, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		msg := nats.NewMsg("$O." + objectBucket + ".M." + base64.URLEncoding.EncodeToString([]byte(info.Name)))
		msg.Data = body
		msg.Header.Set("Nats-Rollup", "sub")
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	with := func(key, value string) func() {
		return func() {
			info := good
			info.Metadata = map[string]string{}
			for k, v := range good.Metadata {
				info.Metadata[k] = v
			}
			info.Metadata[key] = value
			describe(info)
		}
	}
	other := strings.Repeat("ab", 32)
	for _, c := range []struct {
		name, want string
		spoil      func()
	}{
		{"store", "it is of store", with("fanfold-store", "aaaaaaaa")},
		{"fold", "it was made by", with("fanfold-fold", "fold 0")},
		{"seq behind the end", "it ends at event 1000000", with("fanfold-seq", "1000000")},
		{"another event's", "event 10 of the log is not the one", with("fanfold-seq", "10")},
		{"event", "is not the one", with("fanfold-event", other)},
		{"digest", "digest of all events", with("fanfold-digest", other)},
		{"no number", "what describes it cannot be read", with("fanfold-seq", "x")},
		{"no digest", "what describes it cannot be read", with("fanfold-digest", "xyz")},
		{"size", "the snapshot is damaged", func() { info := good; info.Size--; describe(info) }},
		{"sum", "the snapshot is damaged", func() {
			info := good
			info.Digest = "SHA-256=" + base64.URLEncoding.EncodeToString(make([]byte, 32))
			describe(info)
		}},
		{"a piece is missing", "the snapshot is damaged: of its", func() {
			describe(good)
			first, err := stream.GetMsg(t.Context(), 0, jetstream.WithGetMsgSubject("$O."+objectBucket+".C.>"))
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.DeleteMsg(t.Context(), first.Sequence); err != nil {
				t.Fatal(err)
			}
		}},
		{"no SQLite file", "not a database", func() {
			info, err := objects.Put(t.Context(), jetstream.ObjectMeta{Name: good.Name, Metadata: good.Metadata}, bytes.NewReader(bytes.Repeat([]byte("nonsense"), 1000)))
			if err != nil {
				t.Fatal(info, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spoil()
			var logged harness.LockedBuffer
			b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			defer b.Close()
			if !strings.Contains(logged.String(), c.want) || !strings.Contains(logged.String(), "folded from its beginning") {
				t.Errorf("the log says %s; want %q", &logged, c.want)
			}
			if from := startedFrom(t, b); from != 0 {
				t.Errorf("the node began with event %d", from)
			}
			b.WantSameDigest(a)
		})
	}
}

// TestUnreadableSnapshotIsSkipped: where what describes a snapshot cannot be read, a new node begins with the next one at once.
func TestUnreadableSnapshotIsSkipped(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer a.Close()
	a.Model(snapshotModel)
	writeBooks(a, "x", 20)
	var taken struct{ Seq uint64 }
	if err := json.Unmarshal(a.Want(http.StatusOK, "POST", "/v1/_snapshot", "").Body, &taken); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"1000-a": "junk", "1001-b": `{"name":"1001-b","nuid":"b","size":-5,"chunks":1}`} {
		if _, err := js.Publish(t.Context(), "$O."+objectBucket+".M."+base64.URLEncoding.EncodeToString([]byte(name)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer b.Close()
	if from := startedFrom(t, b); from != taken.Seq {
		t.Errorf("the new node began with event %d; the snapshot that can be read has %d", from, taken.Seq)
	}
	b.WantSameDigest(a)
}

// TestSnapshotsByThemselves: with --snapshot-every a node takes one by itself, and none where nothing was folded since.
func TestSnapshotsByThemselves(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.SnapshotEvery = time.Second }})
	defer a.Close()
	a.Put("books", "b", `{}`)
	taken := func() uint64 {
		list, err := buckets.NewSnapshots(a.Node.Log).List(t.Context())
		if err != nil || len(list) == 0 {
			return 0
		}
		return list[0].Seq
	}
	for _, want := range []uint64{1, 2} {
		limit := time.Now().Add(suite.Deadline(time.Minute))
		for taken() < want {
			if time.Now().After(limit) {
				t.Fatalf("no snapshot has event %d", want)
			}
			<-time.After(20 * time.Millisecond)
		}
		a.Put("books", fmt.Sprint("b", want), `{}`)
	}
	for _, every := range []time.Duration{-time.Second, time.Millisecond} {
		if _, err := harness.Start(t, harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.SnapshotEvery = every }}); err == nil || !strings.Contains(err.Error(), "--snapshot-every") {
			t.Errorf("every %v: %v", every, err)
		}
	}
}
