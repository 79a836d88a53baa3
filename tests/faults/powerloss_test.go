package faults_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// powerLossEnv names the data directory to a process that this test starts of itself.
const powerLossEnv = "FANFOLD_TEST_POWER_LOSS"

// syncNotes is the name of the file in which that process notes what it synced. A note is a file and the size that was certain, or a
// directory and its names then, with the files' inodes.
const syncNotes = "sync-notes"

// runNoting runs a node on a data directory, and notes every fsync of the log once it is done. It returns the exit code.
func runNoting(data string) int {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	notes, err := os.OpenFile(filepath.Join(data, syncNotes), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		logger.Error("notes", "err", err)
		return 1
	}
	if err := keepFiles(data); err != nil {
		logger.Error("keep", "err", err)
		return 1
	}
	n, err := node.Open(context.Background(), node.Config{Data: data, Listen: "127.0.0.1:0", Durability: "always", Logger: logger,
		PurgeWait: time.Millisecond, Steps: node.Steps{Compact: stepsOf(data), Erase: eraseStepsOf(data)}, Fsync: func(f *os.File) error { return syncAndNote(f, notes) }})
	if err != nil {
		logger.Error("open", "err", err)
		return 1
	}
	err = n.Run(context.Background(), func(context.Context) error {
		logger.Info("fanfold is ready", "url", n.URL())
		return nil
	})
	logger.Error("run", "err", err)
	return 1
}

// syncAndNote syncs a file or a directory, and notes what that made certain.
func syncAndNote(f, notes *os.File) error {
	before, err := f.Stat()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("file %d %d %s\n", before.Size(), inode(before), f.Name())
	if before.IsDir() {
		text = fmt.Sprintf("dir 0 0 %s\n", f.Name())
		entries, err := os.ReadDir(f.Name())
		if err != nil {
			return err
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil { // it may have gone
				text += fmt.Sprintf("name 0 %d %s\n", inode(info), filepath.Join(f.Name(), e.Name()))
			}
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	_, err = notes.WriteString(text)
	return err
}

// inode returns the number of a file, which its names share.
func inode(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// certain is what a loss of power cannot take.
type certain struct {
	sizes map[uint64]int64  // of files, by their inodes
	names map[string]uint64 // the inodes that names had when their directories were synced last
}

// size returns how many bytes of a file are certain.
func (c certain) size(t *testing.T, path string) int64 { return c.sizes[inodeAt(t, path)] }

// inodeAt returns the inode of a path, 0 for none.
func inodeAt(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return inode(info)
}

// readSyncNotes returns what was synced.
func readSyncNotes(t *testing.T, data string) certain {
	t.Helper()
	f, err := os.Open(filepath.Join(data, syncNotes))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := certain{map[uint64]int64{}, map[string]uint64{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), " ", 4)
		if len(fields) < 4 {
			break // the process was killed as it wrote this
		}
		size, err := strconv.ParseInt(fields[1], 10, 64)
		number, err2 := strconv.ParseUint(fields[2], 10, 64)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		switch path := fields[3]; fields[0] {
		case "file":
			c.sizes[number] = size
		case "dir":
			maps.DeleteFunc(c.names, func(name string, _ uint64) bool { return filepath.Dir(name) == path })
		case "name":
			c.names[path] = number
		}
	}
	return c
}

// losePower does to the streams of a killed process what a loss of power may do: of what was not synced any part stays, is
// zero or is anything. Files that came, went or were replaced may be as before. It returns how many bytes it took or changed, and which files
// came back.
func losePower(t *testing.T, data string, r *rand.Rand) (lost int64, back []string) {
	t.Helper()
	c := readSyncNotes(t, data)
	back = loseNames(t, data, c, r)
	dirs := map[string]bool{}
	for _, path := range logBlocks(t, data) {
		dirs[filepath.Dir(path)] = true
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := c.size(t, path)
		if from > int64(len(b)) {
			t.Fatalf("%s has %d bytes, and %d were synced", path, len(b), from)
		}
		if rest := int64(len(b)) - from; rest > 0 && r.IntN(3) > 0 {
			from += r.Int64N(rest + 1)
		}
		lost += int64(len(b)) - from
		switch tail := b[from:]; r.IntN(4) {
		case 0:
			clear(tail)
		case 1:
			for j := range tail {
				tail[j] = byte(r.Uint32())
			}
		case 2: // a page in between did not come to the disk
			if len(tail) > 0 {
				page := tail[r.IntN(len(tail)):]
				clear(page[:min(len(page), 4096)])
			}
		default:
			b = b[:from]
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		loseIndex(t, data, dir, r)
	}
	return lost, back
}

// loseIndex leaves the server's index as it is, removes it, or puts one of an earlier time in its place.
func loseIndex(t *testing.T, data, msgs string, r *rand.Rand) {
	t.Helper()
	index, old := filepath.Join(msgs, "index.db"), filepath.Join(data, "old-index-"+filepath.Base(filepath.Dir(msgs)))
	now, err := os.ReadFile(index)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	earlier, _ := os.ReadFile(old)
	switch r.IntN(4) {
	case 0:
		err = os.Remove(index)
	case 1:
		if len(earlier) > 0 {
			err = os.WriteFile(index, earlier, 0o644)
		}
	case 2:
		err = os.WriteFile(old, now, 0o644)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// startNoting starts this test's own program as a node that notes what it syncs.
func startNoting(t *testing.T, dir string) *harness.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), powerLossEnv+"="+dir)
	return harness.StartCommand(t, cmd)
}

// transactionSize returns how many documents a writer's transaction of a number has.
func transactionSize(n int64) int {
	switch {
	case n%97 == 11:
		return 1000
	case n%7 == 3:
		return 30
	}
	return 2
}

// transactionOf returns the body of a writer's transaction of a number.
func transactionOf(writer int, n int64) []byte {
	var body strings.Builder
	body.WriteString(`{"operations":[`)
	for j := range transactionSize(n) {
		if j > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"op":"put","collection":"series","id":"%d-%d","body":{"n":%d}}`, writer, j, n)
	}
	return []byte(body.String() + "]}")
}

// checkTransactions fails the test where documents that a writer's last transaction wrote differ.
func checkTransactions(t *testing.T, p *harness.Process) {
	t.Helper()
	number := func(i, j int) (doc struct{ N int64 }) { // 0 where there is none
		r, err := p.Do("GET", harness.Path("series", fmt.Sprintf("%d-%d", i, j)), nil)
		if err == nil && r.Status == http.StatusOK {
			err = json.Unmarshal(r.Body, &doc)
		}
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	for i := range killWriters {
		first := number(i, 0).N
		if first == 0 {
			continue
		}
		size := transactionSize(first)
		for _, j := range []int{1, size / 2, size - 1} {
			if n := number(i, j).N; n != first {
				t.Fatalf("a part of a transaction of %d is there: %d and %d", size, first, n)
			}
		}
		if n := number(i, size).N; n > first {
			t.Fatalf("transaction %d is there after %d, and not whole", n, first)
		}
	}
}

// writeUntilDead writes with all clients, now and then a transaction, and kills the process after so many rounds, if nothing else does. Work
// beside them ends with the process.
func (l *lives) writeUntilDead(p *harness.Process, beside func(l *lives, p *harness.Process)) {
	l.Helper()
	padding := ""
	if l.power && l.rand.IntN(6) == 0 { // so that the log's blocks become full, and a base large
		random := make([]byte, 150_000)
		for i := range random {
			random[i] = byte(l.rand.Uint32())
		}
		padding = base64.StdEncoding.EncodeToString(random)
	}
	var written atomic.Int64
	var all sync.WaitGroup
	for i := range l.acked {
		all.Go(func() {
			for l.write(p, i, padding) {
				if written.Add(1) == l.limit {
					_ = p.Cmd.Process.Kill()
				}
			}
		})
	}
	if beside != nil {
		all.Go(func() { beside(l, p) })
	}
	all.Wait()
	p.Signal(syscall.SIGKILL)
}

// write counts up one author, one book and the documents of a transaction of a writer. It tells whether the process answers.
func (l *lives) write(p *harness.Process, i int, padding string) bool {
	n := l.sent[i].Add(1)
	body := fmt.Sprintf(`{"name":"Author %d.%d","n":%d,"bio":%q}`, i, n, n, padding)
	prefer := []string{"return=minimal", "respond-async"}[n%2] // once it is folded, or once it is stored
	r, err := p.Do("PUT", harness.Path("authors", fmt.Sprint(i)), []byte(body), "Prefer", prefer)
	if err != nil {
		return false
	}
	if !slices.Contains([]int{http.StatusCreated, http.StatusNoContent, http.StatusAccepted}, r.Status) {
		l.Errorf("writer %d: %d %s", i, r.Status, r.Body)
		return false
	}
	l.acked[i].Store(n)
	if _, err := p.Do("POST", "/v1/_transactions", transactionOf(i, n), "Content-Type", "application/json"); err != nil {
		return false
	}
	book := fmt.Sprintf(`{"authors":[{"id":"%d"},{"id":%d}],"isbn":"%d-%d"}`, i, (i+int(n))%len(l.acked), i, n%45) // with a strict reference and a unique member
	_, err = p.Do("PUT", harness.Path("books", fmt.Sprintf("%d-%d", i, n%50)), []byte(book))
	return err == nil
}

func mustSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
