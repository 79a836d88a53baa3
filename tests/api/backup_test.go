package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// backupInto runs fanfold backup, and returns what it prints as JSON.
func backupInto(t *testing.T, args ...string) (made struct {
	Position, Segments uint64
	Digest             string
}) {
	t.Helper()
	out, err := harness.RunProgram(t, append([]string{"backup", "--json"}, args...)...)
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	harness.Decode(t, []byte(out), &made)
	return made
}

// requireBackup requires that a backup is whole, and has each event as the log's server has it.
func requireBackup(t *testing.T, stream jetstream.Stream, dir string) *backup.Backup {
	t.Helper()
	b, err := backup.Open(dir)
	if err == nil {
		err = b.Check(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(1)
	if err := b.Events(t.Context(), 0, func(ev *backup.Event) error {
		want, err := stream.GetMsg(t.Context(), ev.Seq)
		if err != nil {
			return err
		}
		if ev.Seq != next || ev.Subject != want.Subject || !ev.Time.Equal(want.Time) || !bytes.Equal(ev.Payload, want.Data) {
			t.Errorf("event %d is %+v", next, ev)
		}
		kept := 0
		for name := range want.Header {
			if backup.KeepsHeader(name) {
				kept++
			}
		}
		for _, h := range ev.Headers {
			if want.Header.Get(h.Name) != h.Value {
				t.Errorf("event %d has the header %v", ev.Seq, h)
			}
		}
		if len(ev.Headers) != kept {
			t.Errorf("event %d has %d headers, want %d", ev.Seq, len(ev.Headers), kept)
		}
		next++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if next != b.Position+1 {
		t.Errorf("the backup has events up to %d, and says %d", next-1, b.Position)
	}
	return b
}

// logStream returns the stream of the log on a server.
func logStream(t *testing.T, url string) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "fanfold")
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestBackup: backups that are made beside writes and transactions have every event up to a whole transaction, as the log has it, with the groups and
// their checkpoints. A directory is continued from run to run, by the server and without it.
func TestBackup(t *testing.T) {
	suite.Concurrent(t)
	url := natsserver.Start(t, 1)[0]
	for name, nats := range map[string]string{"embedded": "", "outside": url} {
		t.Run(name, func(t *testing.T) {
			opt := harness.Options{Dir: t.TempDir(), NATS: nats}
			s := harness.Open(t, opt)
			defer func() { s.Close() }()
			s.Model(harness.Bookshop)
			s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/mail", `{"partitions":4}`)
			s.Want(http.StatusCreated, http.MethodPut, "/v1/books/b0", `{"authors":[]}`, "Idempotency-Key", "k")
			writeBeside(t, s, func() {
				for range 5 {
					backupInto(t, "--server", s.URL, "--out", filepath.Join(opt.Dir, "backup"))
				}
			})
			dir := filepath.Join(opt.Dir, "backup")
			made := backupInto(t, "--server", s.URL, "--out", dir, "--rate", "100000000")
			cp, err := s.Node.Store.Checkpoint()
			if err != nil || made.Position != cp.Seq || made.Digest != cp.Digest.String() {
				t.Errorf("the backup is %+v, and the read model stands at %d with the digest %s, %v", made, cp.Seq, cp.Digest, err)
			}
			b, err := backup.Open(dir)
			if err == nil {
				err = b.Check(t.Context(), nil)
			}
			if err != nil || len(b.Groups) != 1 || b.Groups[0].Name != "mail" || !strings.Contains(string(b.Groups[0].Settings), `"partitions": 4`) {
				t.Errorf("the backup has the groups %+v, %v", b.Groups, err)
			}
			if nats != "" {
				requireBackup(t, logStream(t, nats), dir)
				return
			}
			if at := metric(t, s, "fanfold_backup_last_sequence"); at != float64(cp.Seq) {
				t.Errorf("the metrics say %v, want %d", at, cp.Seq)
			}
			s.Close()
			if again := backupInto(t, "--data", opt.Dir, "--out", dir); again.Position < made.Position {
				t.Errorf("without the server the backup ends with %d", again.Position)
			}
			if out, err := harness.RunProgram(t, "backup", "--check", dir); err != nil || !strings.HasPrefix(out, "whole: ") {
				t.Errorf("%v %s", err, out)
			}
			s = harness.Open(t, opt)
		})
	}
}

// metric returns the value of a metric without labels.
func metric(t *testing.T, s *harness.Store, name string) (v float64) {
	t.Helper()
	for _, line := range strings.Split(string(s.Want(http.StatusOK, http.MethodGet, "/metrics", "").Body), "\n") {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &v); err != nil {
				t.Error(err)
			}
		}
	}
	return v
}

// writeBeside runs fn while transactions of three documents are written, and requires in the end that these went on.
func writeBeside(t *testing.T, s *harness.Store, fn func()) {
	t.Helper()
	stop := make(chan struct{})
	written := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			transact(s.Client, http.StatusOK, fmt.Sprintf(`{"op":"put","collection":"books","id":"b%[1]d","body":{"n":%[2]d}},{"op":"put","collection":"books","id":"c%[1]d","body":{"n":%[2]d}},{"op":"put","collection":"authors","id":"a%[1]d","body":{"n":%[2]d}}`, n%50, n))
			written++
		}
	})
	fn()
	close(stop)
	wg.Wait()
	if written == 0 {
		t.Error("nothing was written beside")
	}
}

// TestBackupEndsWithTransactions: a backup that is made at any moment ends with a whole transaction.
func TestBackupEndsWithTransactions(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.Bookshop)
	writeBeside(t, s, func() {
		for range suite.Amount(10, 30) {
			dir := t.TempDir()
			r := s.Want(http.StatusOK, http.MethodGet, "/v1/_backup", "")
			if err := backup.Unpack(bytes.NewReader(r.Body), dir); err != nil {
				t.Fatal(err)
			}
			b, err := backup.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			index, count := "0", "1"
			if err := b.Events(t.Context(), 0, func(ev *backup.Event) error {
				index, count = "0", "1"
				for _, h := range ev.Headers {
					switch h.Name {
					case fanfold.HeaderTxIndex:
						index = h.Value
					case fanfold.HeaderTxCount:
						count = h.Value
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if at := r.Header.Get("Fanfold-Position"); !strings.HasPrefix(at, fmt.Sprint(b.Position)+"-") {
				t.Errorf("the backup ends with %d, and its header says %s", b.Position, at)
			}
			if count != "1" && index != "2" {
				t.Errorf("the backup ends with event %s of the %s of a transaction", index, count)
			}
		}
	})
}

// TestBackupAfter: a backup of what follows an event, whichever it is, begins with the digest of all events up to there.
func TestBackupAfter(t *testing.T) {
	s := harness.OpenTemp(t, "")
	var lines strings.Builder
	for i := range 700 {
		fmt.Fprintf(&lines, `{"id":"%d"}`+"\n", i)
	}
	harness.ImportText(t, s.Client, "collection=books", lines.String())
	for _, after := range []uint64{1, 255, 256, 257, 511, 512, 600, 700} {
		dir := t.TempDir()
		if err := backup.Unpack(bytes.NewReader(s.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("/v1/_backup?after=%d", after), "").Body), dir); err != nil {
			t.Fatal(err)
		}
		b, err := backup.Open(dir)
		if err == nil {
			err = b.Check(t.Context(), nil)
		}
		if err != nil || b.After == nil || b.After.Seq != after || b.Complete() {
			t.Errorf("after %d: %+v %v", after, b, err)
		}
	}
}

// TestBackupRefused: what cannot be a backup is told before its first byte, and with HEAD alike.
func TestBackupRefused(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Timeout: 50 * time.Millisecond}})
	defer s.Close()
	s.Put("books", "b", `{}`)
	for _, c := range []struct {
		query  string
		status int
		names  string
	}{
		{"after=", http.StatusBadRequest, "after"}, {"after=x", http.StatusBadRequest, "after"}, {"after=-1", http.StatusBadRequest, "after"},
		{"after=1&after=2", http.StatusBadRequest, "after"}, {"before=1", http.StatusBadRequest, "before"}, {"after=" + strings.Repeat("1", 256), http.StatusBadRequest, "after"},
		{"after=2026-11-24T21:40:00Z", http.StatusBadRequest, "after"}, {"after=1-0-aaaaaaaa", http.StatusGone, "store"}, {"after=1000", http.StatusGatewayTimeout, "1000"},
	} {
		r := s.Want(c.status, http.MethodGet, "/v1/_backup?"+c.query, "")
		if !strings.Contains(string(r.Body), c.names) || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/problem+json") {
			t.Errorf("%s: %s", c.query, r.Body)
		}
	}
	r := s.Want(http.StatusOK, http.MethodHead, "/v1/_backup?after=1", "")
	if len(r.Body) > 0 || !strings.HasPrefix(r.Header.Get("Fanfold-Position"), "1-0-") {
		t.Errorf("HEAD is answered with %v %s", r.Header, r.Body)
	}
	if at := metric(t, s, "fanfold_backup_last_timestamp_seconds"); at != 0 {
		t.Errorf("a backup was made at %v", at)
	}
}

// TestBackupOfLogThatLacksEvents: a log that lacks an event gives no backup.
func TestBackupOfLogThatLacksEvents(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer s.Close()
	for i := range 20 {
		s.Want(http.StatusCreated, http.MethodPut, fmt.Sprintf("/v1/books/b%d", i), `{}`)
	}
	if err := logStream(t, url).DeleteMsg(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	r := s.Want(http.StatusServiceUnavailable, http.MethodGet, "/v1/_backup", "")
	if r.Problem() != "urn:fanfold:problem:log-damaged" {
		t.Errorf("%s", r.Body)
	}
	dir := t.TempDir()
	if out, err := harness.RunProgram(t, "backup", "--server", s.URL, "--out", dir); harness.ExitCode(err) != 1 {
		t.Errorf("%v %s", err, out)
	}
	if _, err := backup.Open(dir); fanfold.CodeOf(err) != fanfold.NotFound {
		t.Errorf("a backup was made: %v", err)
	}
}

// startBackup begins a backup of events that do not fit into what connections hold, and does not read it.
func startBackup(t *testing.T, ctx context.Context, s *harness.Store) (io.ReadCloser, int) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/_backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Body, resp.StatusCode
}

// largeStore returns a store whose backup has some 24 MiB that cannot be compressed, in two segments at least.
func largeStore(t *testing.T) *harness.Store {
	t.Helper()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Admission: 10 * time.Millisecond}})
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, 600<<10)
	for i := range 40 {
		if _, err := random.Read(text); err != nil {
			t.Fatal(err)
		}
		s.Want(http.StatusCreated, http.MethodPut, fmt.Sprintf("/v1/books/b%d", i), `{"x":"`+base64.StdEncoding.EncodeToString(text)+`"}`)
	}
	return s
}

// TestFewBackups: four backups and exports run at a time, and the next is told to come again. One whose client has gone makes room.
func TestFewBackups(t *testing.T) {
	s := largeStore(t)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 4 {
		body, status := startBackup(t, ctx, s)
		defer body.Close()
		if status != http.StatusOK {
			t.Fatalf("a backup is answered with %d", status)
		}
	}
	for _, path := range []string{"/v1/_backup", "/v1/_diff?from=0", "/v1/_export"} {
		if r := s.Want(http.StatusTooManyRequests, http.MethodGet, path, ""); r.Problem() != "urn:fanfold:problem:busy" {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	cancel()
	harness.Await(t, "room for another backup", time.Minute, func() bool {
		r, err := s.Do(http.MethodGet, "/v1/_backup", nil)
		return err == nil && r.Status == http.StatusOK
	})
}

// TestBackupsEndWithTheirClients: a backup whose client has gone ends, and one whose server has gone is no backup.
func TestBackupsEndWithTheirClients(t *testing.T) {
	s := largeStore(t)
	open := true
	defer func() {
		if open {
			s.Close()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	body, _ := startBackup(t, ctx, s)
	cancel()
	_ = body.Close()
	harness.Await(t, "the end of the backup", time.Minute, func() bool { return s.Node.API().Running() == 0 })
	if at := metric(t, s, "fanfold_backup_last_sequence"); at != 0 {
		t.Errorf("a backup that was not read counts, up to %v", at)
	}
	body, _ = startBackup(t, t.Context(), s)
	defer body.Close()
	s.Close()
	open = false
	dir := t.TempDir()
	if err := backup.Unpack(body, dir); err == nil {
		t.Error("a backup that was cut is taken for one")
	}
}
