package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/node"
)

// backupModel has one author for each book.
const backupModel = `{"collections":{"authors":{},"books":{"relations":{"author":{"path":"author","to":"authors"}}}}}`

// wordyBook returns the text of a book whose summary compresses as prose does, not as zeros do.
func wordyBook(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":"%d","author":"%d","year":%d,"price":%d.%02d,"summary":"`, i, i*7919%1000, 1800+i%220, i%90, i%100)
	state := uint32(i)*2654435761 + 1
	for range 40 {
		state = state*1664525 + 1013904223
		word := state >> 8 % 4000 // rare words are as likely as frequent ones
		for n := word%6 + 2; n > 0; n-- {
			b.WriteByte("etaoinshrdlucmfwypvbgk"[word%22])
			word = word*31 + 7
		}
		b.WriteByte(' ')
	}
	b.WriteString(`"}`)
	return b.String()
}

// benchBackup measures backups of a running node beside copies of the log's files.
func benchBackup(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	s := benchStore{model: backupModel, authors: 1000, books: documents, text: wordyBook}
	err = s.run(ctx, filepath.Join(dir, "store"), func(ctx context.Context, n *node.Node, c *client.Client) error {
		b := backupBench{n: n, c: c, dir: dir}
		for _, part := range []func(ctx context.Context) error{b.whole, b.restore, func(ctx context.Context) error { return b.more(ctx, documents) }, b.beside} {
			if err := part(ctx); err != nil {
				return err
			}
		}
		results = b.results
		return nil
	})
	return results, err
}

// backupBench is a node whose backups are measured.
type backupBench struct {
	n       *node.Node
	c       *client.Client
	dir     string
	first   int64 // bytes of the first backup
	results []bench.Result
}

// backup makes or continues a backup, and returns its manifest, how many bytes came, and how long that took. If the store has erased something since,
// all of it is written anew.
func (b *backupBench) backup(ctx context.Context, dir string) (m *backup.Manifest, bytes int64, took time.Duration, err error) {
	began := time.Now()
	w, err := backup.OpenWriter(dir)
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	m, bytes, err = receive(ctx, b.c, w)
	if errors.Is(err, backup.ErrErased) {
		var more int64
		m, more, err = receive(ctx, b.c, w)
		bytes += more
	}
	return m, bytes, time.Since(began), err
}

// receive reads a stream of what a writer wants.
func receive(ctx context.Context, c *client.Client, w *backup.Writer) (m *backup.Manifest, bytes int64, err error) {
	after := ""
	if at := w.After().Seq; at > 0 {
		after = strconv.FormatUint(at, 10)
	}
	in, err := c.Backup(ctx, after)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	counted := &counter{r: in}
	m, err = w.Receive(ctx, counted, nil)
	return m, counted.n, err
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// copyLog copies the log's files, and returns their size and how long that took. The files and their names are durable, as a backup's are.
func (b *backupBench) copyLog(to string) (bytes int64, took time.Duration, err error) {
	began := time.Now()
	made := []string{filepath.Dir(to)}
	from := filepath.Join(b.dir, "store", "nats")
	err = filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || d.IsDir() {
			made = append(made, filepath.Join(to, rel))
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rel), 0o700))
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.Create(filepath.Join(to, rel))
		if err != nil {
			return err
		}
		n, err := io.Copy(out, in)
		bytes += n
		return errors.Join(err, out.Sync(), out.Close())
	})
	for _, dir := range made {
		err = errors.Join(err, datadir.SyncDir(dir, (*os.File).Sync))
	}
	return bytes, time.Since(began), err
}

// whole measures backups of everything.
func (b *backupBench) whole(ctx context.Context) error {
	var ours, copied int64
	var events uint64
	r, err := bench.Pair{Name: "backup of everything", Unit: "events/s", Limit: "a copy of the log's files, synced",
		Ours: func(int) (rate float64, err error) {
			dir := filepath.Join(b.dir, "backup")
			if err := os.RemoveAll(dir); err != nil {
				return 0, err
			}
			m, bytes, took, err := b.backup(ctx, dir)
			if err != nil {
				return 0, err
			}
			ours, events = bytes, m.Position
			return float64(events) / took.Seconds(), nil
		}, Plain: func(int) (rate float64, err error) {
			dir := filepath.Join(b.dir, "copy")
			bytes, took, err := b.copyLog(dir)
			copied = bytes
			last, lastErr := b.n.Log.LastSeq(ctx)
			return float64(last) / took.Seconds(), errors.Join(err, lastErr, os.RemoveAll(dir))
		}}.Run()
	b.first = ours
	b.results = append(b.results, r, bench.One(fmt.Sprintf("bytes of a backup of %d events", events), "bytes", float64(ours), float64(copied), "limit: the log's files"))
	return err
}

// restore measures restores of the backup beside replays of the log. Each reads the backup twice and the restored log once, and syncs it.
func (b *backupBench) restore(ctx context.Context) error {
	r, err := bench.Pair{Name: "restore", Unit: "events/s", Limit: "a replay", Ours: func(int) (rate float64, err error) {
		from, err := backup.Open(filepath.Join(b.dir, "backup"))
		if err != nil {
			return 0, err
		}
		dir, began := filepath.Join(b.dir, "restored"), time.Now()
		restored, err := transfer.Restore(ctx, from, transfer.RestoreConfig{Data: dir})
		if err != nil {
			return 0, err
		}
		return float64(restored.Events) / time.Since(began).Seconds(), os.RemoveAll(dir)
	}, Plain: func(int) (rate float64, err error) {
		last, err := b.n.Log.LastSeq(ctx)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		err = b.n.Projector.ReplayTo(ctx, last)
		return float64(last) / time.Since(began).Seconds(), err
	}}.Run()
	b.results = append(b.results, r)
	return err
}

// more measures a backup after 1% more events.
func (b *backupBench) more(ctx context.Context, documents int) error {
	var lines strings.Builder
	for i := range max(documents/100, 1) {
		lines.WriteString(wordyBook(documents+i) + "\n")
	}
	if _, err := b.c.Import(ctx, strings.NewReader(lines.String()), client.ImportOptions{Collection: "books"}); err != nil {
		return err
	}
	_, bytes, took, err := b.backup(ctx, filepath.Join(b.dir, "backup"))
	b.results = append(b.results, bench.One("bytes of another one after 1% more events", "bytes", float64(bytes), float64(b.first),
		"limit: the first backup", fmt.Sprintf("it took %.2f s", took.Seconds())))
	return err
}

// beside measures PUTs while backups are made, one after the other.
func (b *backupBench) beside(ctx context.Context) error {
	r, err := bench.Beside(ctx, "p99 of PUT beside backups", b.n.Addr(), bench.Puts, "one backup after the other, into a new directory each", func(ctx context.Context) error {
		dir := filepath.Join(b.dir, "beside")
		for {
			_, _, _, err := b.backup(ctx, dir)
			if err = errors.Join(err, os.RemoveAll(dir)); ctx.Err() != nil || err != nil && fanfold.CodeOf(err) != fanfold.Unavailable {
				return err
			}
		}
	})
	b.results = append(b.results, r)
	return err
}
