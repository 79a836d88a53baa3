package restore_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestRestoreTo restores up to every event, and up to the time of each. The store ends with a whole event or transaction, and has what the
// store before had then.
func TestRestoreTo(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	s.Want(http.StatusOK, "POST", "/v1/_import", `{"collection":"authors","id":"i1"}
{"collection":"books","id":"i2","authors":[{"id":"i1"}],"isbn":"9"}
{"collection":"authors","id":"i3"}
`, "Content-Type", "application/x-ndjson")
	dir := harness.BackUp(t, s)
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ends, times := make([]uint64, b.Position+1), make([]time.Time, b.Position+1) // of each event: where it ends with what belongs to it
	var open []uint64
	err = b.Events(t.Context(), 0, func(ev *backup.Event) error {
		times[ev.Seq] = ev.Time
		open = append(open, ev.Seq)
		var index, count int
		for _, h := range ev.Headers {
			switch h.Name {
			case fanfold.HeaderTxIndex:
				_, err = fmt.Sscan(h.Value, &index)
			case fanfold.HeaderTxCount:
				_, err = fmt.Sscan(h.Value, &count)
			}
		}
		if index+1 >= count && !guards(ev) {
			for _, seq := range open {
				ends[seq] = ev.Seq
			}
			open = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inside := 0
	for seq := uint64(0); seq <= b.Position; seq++ {
		data, r := restore(t, dir, fmt.Sprintf("%d-0", seq))
		if r.Last != ends[seq] {
			t.Fatalf("restored up to %d, which is %d, want %d", seq, r.Last, ends[seq])
		}
		if ends[seq] != seq {
			inside++
		}
		if seq%4 == 0 || seq == 17 || seq > b.Position-6 {
			requireState(t, s, data, r.Last)
		}
		if seq > 0 {
			last := seq // the times of a test rise
			for last < b.Position && !times[last+1].After(times[seq]) {
				last++
			}
			if _, r := restore(t, dir, times[seq].Format(time.RFC3339Nano)); r.Last != ends[last] || !r.Time.Equal(times[ends[last]]) {
				t.Fatalf("restored up to %s, which is event %d, want %d", times[seq], r.Last, ends[last])
			}
		}
	}
	if inside == 0 {
		t.Fatal("there is no transaction")
	}
}

// guards tells whether an event is a link or a claim, which comes before the document that it guards.
func guards(ev *backup.Event) bool {
	return strings.Contains(ev.Subject, ".link.") || strings.Contains(ev.Subject, ".claim.")
}

// requireState opens a restored store, and compares its documents with those that another one had as of its last event.
func requireState(t *testing.T, before *harness.Store, data string, last uint64) {
	t.Helper()
	s := harness.Open(t, harness.Options{Dir: data})
	defer s.Close()
	s.CatchUp()
	if seq, err := s.Node.Log.LastSeq(t.Context()); err != nil || seq != last {
		t.Fatalf("the log ends with %d, want %d: %v", seq, last, err)
	}
	s.Verify()
	s.Replay()
	for _, collection := range []string{"authors", "books", "series"} {
		is, err := s.Do("GET", "/v1/"+collection+"?limit=1000", nil)
		if err != nil {
			t.Fatal(err)
		}
		was, err := before.Do("GET", fmt.Sprintf("/v1/%s?limit=1000&at=%d-0", collection, last), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(is.Body), string(s.Node.Log.Store()), string(before.Node.Log.Store())); is.Status == http.StatusOK && got != string(was.Body) {
			t.Fatalf("%s as of event %d:\n%s\nwant\n%s", collection, last, got, was.Body)
		}
	}
	s.Put("authors", "later", `{"name":"L"}`)
}

// TestRestoreToNothing restores the empty store, which begins anew.
func TestRestoreToNothing(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	data, r := restore(t, harness.BackUp(t, s), "0")
	if r.Last != 0 || r.Events != 0 {
		t.Fatalf("restored %+v", r)
	}
	again := open(t, harness.Options{Dir: data})
	again.Put("authors", "a", `{}`)
	if rows, _ := again.Changes("since=0"); len(rows) != 1 {
		t.Fatalf("the feed has %+v", rows)
	}
}

// TestRestoreCommand restores by the command, from a directory and from a stream, and tries a restore.
func TestRestoreCommand(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	dir, rows := harness.BackUp(t, s), s.Digest()
	data := filepath.Join(t.TempDir(), "data")
	out, err := harness.RunProgram(t, "restore", dir, "--data", data, "--json")
	if err != nil || !strings.Contains(out, `"digest"`) {
		t.Fatalf("%v %s", err, out)
	}
	harness.RequireRows(t, harness.Options{Dir: data}, rows)
	if out, err = harness.RunProgram(t, "restore", dir, "--data", data); harness.ExitCode(err) != 1 || !strings.Contains(out, "not empty") {
		t.Fatalf("%v %s", err, out)
	}
	if out, err = harness.RunProgram(t, "restore", dir, "--verify"); err != nil || !strings.Contains(out, "0 wrong") {
		t.Fatalf("%v %s", err, out)
	}
	if out, err = harness.RunProgram(t, "restore", dir); harness.ExitCode(err) != 2 {
		t.Fatalf("%v %s", err, out)
	}
	if out, err = harness.RunProgram(t, "restore", t.TempDir(), "--verify"); err == nil {
		t.Fatalf("%v %s", err, out)
	}
}

// TestReadlogOfRestored reads both logs by the program that knows nothing of Fanfold: the same lines, with the same times.
func TestReadlogOfRestored(t *testing.T) {
	reader := filepath.Join(t.TempDir(), "readlog")
	if out, err := exec.Command("go", "build", "-o", reader, "../../examples/readlog").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	addresses := []string{harness.FreeAddress(t), harness.FreeAddress(t)}
	listening := func(i int, dir string) harness.Options {
		return harness.Options{Dir: dir, Configure: func(cfg *node.Config) { cfg.NATSListen = addresses[i] }}
	}
	data, _ := restore(t, harness.BackUp(t, scripted(t, listening(0, t.TempDir()))), "")
	open(t, listening(1, data)).CatchUp()
	lines := make([]string, 2)
	for i, addr := range addresses {
		out, err := exec.Command(reader, "--server", "nats://"+addr, "--once", "--times").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines[i] = string(out)
	}
	if lines[0] != lines[1] || !strings.Contains(lines[0], "T") {
		t.Fatalf("the restored log reads\n%s\nwant\n%s", lines[1], lines[0])
	}
}
