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
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
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
func benchBackup(ctx context.Context, b *bench) error {
	s := benchStore{model: backupModel, authors: 1000, books: b.documents, text: wordyBook}
	return s.run(ctx, filepath.Join(b.dir, "store"), func(ctx context.Context, n *node.Node, c *client.Client) error {
		m := backupBench{bench: b, n: n, c: c}
		for _, part := range []func(ctx context.Context) error{m.whole, m.restore, m.more, m.beside} {
			if err := part(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// backupBench is a node whose backups are measured.
type backupBench struct {
	*bench
	n     *node.Node
	c     *client.Client
	first int64 // bytes of the first backup
}

// backup makes or continues a backup, and returns how many bytes came.
func (b *backupBench) backup(ctx context.Context, dir string) (bytes int64, err error) {
	w, err := backup.OpenWriter(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	after := ""
	if at := w.After().Seq; at > 0 {
		after = strconv.FormatUint(at, 10)
	}
	in, err := b.c.Backup(ctx, after)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	counted := &counter{r: in}
	_, err = w.Receive(ctx, counted, nil)
	return counted.n, err
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

// copyLog copies the log's files, and returns their size. The files and their names are durable, as a backup's are.
func (b *backupBench) copyLog(to string) (bytes int64, err error) {
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
	return bytes, err
}

// whole measures backups of everything.
func (b *backupBench) whole(ctx context.Context) error {
	last, err := b.n.Log.LastSeq(ctx)
	if err != nil {
		return err
	}
	var copied int64
	ours, plain := filepath.Join(b.dir, "backup"), filepath.Join(b.dir, "copy")
	err = b.pair(pair{name: "backup of everything", unit: "events/s", limit: "a copy of the log's files, synced",
		ours:  anew(ours, perSecond(int(last), func(int) (err error) { b.first, err = b.backup(ctx, ours); return err })),
		plain: anew(plain, perSecond(int(last), func(int) (err error) { copied, err = b.copyLog(plain); return err }))})
	b.one(fmt.Sprintf("bytes of a backup of %d events", last), "bytes", float64(b.first), float64(copied), "limit: the log's files")
	return err
}

// anew removes a directory before each round.
func anew(dir string, round func(int) (float64, error)) func(int) (float64, error) {
	return func(i int) (float64, error) {
		if err := os.RemoveAll(dir); err != nil {
			return 0, err
		}
		return round(i)
	}
}

// restore measures restores of the backup beside replays of the log. Each reads the backup twice and the restored log once, and syncs it.
func (b *backupBench) restore(ctx context.Context) error {
	last, err := b.n.Log.LastSeq(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "restored")
	return b.pair(pair{name: "restore", unit: "events/s", limit: "a replay", ours: anew(dir, perSecond(int(last), func(int) error {
		from, err := backup.Open(filepath.Join(b.dir, "backup"))
		if err == nil {
			_, err = transfer.Restore(ctx, from, transfer.RestoreConfig{Data: dir})
		}
		return err
	})), plain: perSecond(int(last), func(int) error { return b.n.Projector.Rebuild(ctx, rebuild.ReplayTo(last)) })})
}

// more measures a backup after 1% more events.
func (b *backupBench) more(ctx context.Context) error {
	err := importBooks(ctx, b.c, max(b.documents/100, 1), func(i int) string { return wordyBook(b.documents + i) })
	if err != nil {
		return err
	}
	began := time.Now()
	bytes, err := b.backup(ctx, filepath.Join(b.dir, "backup"))
	b.one("bytes of another one after 1% more events", "bytes", float64(bytes), float64(b.first), "limit: the first backup", fmt.Sprintf("it took %.2f s", time.Since(began).Seconds()))
	return err
}

// beside measures PUTs while backups are made, one after the other.
func (b *backupBench) beside(ctx context.Context) error {
	note := func() string { return "one backup after the other, into a new directory each" }
	return b.bench.beside(ctx, "p99 of PUT beside backups", b.n.Addr(), puts, note, func(ctx context.Context) error {
		dir := filepath.Join(b.dir, "beside")
		for {
			_, err := b.backup(ctx, dir)
			if err = errors.Join(err, os.RemoveAll(dir)); ctx.Err() != nil || err != nil && fanfold.CodeOf(err) != fanfold.Unavailable {
				return err
			}
		}
	})
}
