package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/client"
)

// backupFlags are the flags of a backup.
type backupFlags struct {
	out, data, check string
	rate             int64
	asJSON           bool
}

func backupCommand() *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Write every event into a directory, while the server runs, or continue the backup in it",
		Long: `Write every event of the log up to one position into a directory, with the consumer groups and
their checkpoints: everything that fanfold restore needs. The server goes on meanwhile. Into a
directory with a backup of the same store only what is new is written. Once the store was
compacted, the backup begins where the store does, and what it had before goes. To keep
that, copy the directory before. Once something was erased, the whole backup is written anew
without it. A backup that is cut short leaves the directory as it was. With --out - the backup is one stream, a tar of what
would be in the directory.

--check reads a backup through: every hash, every event, and the digest of all. The exit code
is 3 where it is damaged.`,
		Example: "  fanfold backup --out /backups/shop\n  fanfold backup --out - | ssh vault 'cat > shop.tar'\n  fanfold backup --check /backups/shop\n  fanfold backup --out /backups/shop --data ./fanfold-data   (where no server runs)",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "directory of the backup, which is made where there is none; - for a stream to standard output")
	flags.StringVar(&f.check, "check", "", "directory of a backup to read through")
	flags.StringVar(&f.data, "data", "", "directory of a server that is not running")
	flags.Int64Var(&f.rate, "rate", 0, "bytes of the backup to read in a second at most; 0 for as many as there are")
	flags.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case (f.out == "") == (f.check == ""):
			return fanfold.Errorf(fanfold.Invalid, "name the backup's directory, with --out to write it or with --check to read it through")
		case f.rate != 0 && f.rate < minRate:
			return fanfold.Errorf(fanfold.Invalid, "--rate is at least %d bytes a second, or 0", minRate)
		case f.check != "":
			return checkBackup(cmd, f)
		}
		return makeBackup(cmd, server, f)
	}
	return cmd
}

// checkedBackup is what --check prints as JSON.
type checkedBackup struct {
	Store    fanfold.StoreID `json:"store"`
	Begins   string          `json:"begins,omitempty"` // the oldest position that it has, where its first events are gone
	Position uint64          `json:"position"`
	Digest   fanfold.Digest  `json:"digest"`
	Time     time.Time       `json:"time"`
	Segments int             `json:"segments"`
	Bytes    int64           `json:"bytes"`
	Complete bool            `json:"complete"` // it needs no other backup
}

// checkBackup reads a backup through and prints what it holds.
func checkBackup(cmd *cobra.Command, f backupFlags) error {
	b, err := backup.Open(f.check)
	if err == nil {
		began := time.Now()
		err = b.Check(cmd.Context(), func(phase string, done, total int64) { showBackup(phase, done, total, began) })
		clearWork()
	}
	var damage *backup.Damage
	if errors.As(err, &damage) && f.asJSON {
		return errors.Join(printJSON(cmd, map[string]*backup.Damage{"damage": damage}), errWrong)
	}
	if err != nil {
		return err
	}
	out := checkedBackup{b.Store, beginningOf(&b.Manifest), b.Position, b.Digest, b.Time, len(b.Segments), bytesOf(&b.Manifest), b.Complete()}
	if f.asJSON {
		return printJSON(cmd, out)
	}
	what := "whole"
	if !out.Complete {
		what = "whole, but only continues another backup"
	}
	from := ""
	if out.Begins != "" {
		from = " from position " + out.Begins
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: store %s%s up to event %d, %d segments, %d bytes, made %s\n", what, out.Store, from, out.Position, out.Segments, out.Bytes, out.Time.Format(time.RFC3339))
	return nil
}

// beginningOf returns the oldest position that a backup has, "" where it has the store's first event.
func beginningOf(m *backup.Manifest) string {
	if m.Base == nil {
		return ""
	}
	return fanfold.Bookmark{Position: m.Base.Horizon().At(), Store: m.Store}.String()
}

// bytesOf returns the size of a backup's segments, and of its base.
func bytesOf(m *backup.Manifest) (n int64) {
	if m.Base != nil {
		n = m.Base.Bytes
	}
	for _, s := range m.Segments {
		n += s.Bytes
	}
	return n
}

// showBackup shows how far a backup is, on a terminal.
func showBackup(phase string, done, total int64, began time.Time) {
	if onTerminal() {
		fmt.Fprint(standardError(), clearLine()+workLine("backup", phase, done, total, began))
	}
}

// backupSource gives streams of the events after one.
type backupSource struct {
	open  func(ctx context.Context, after, reached string, base uint64) (*client.Backup, error)
	close func() error
}

// makeBackup writes a backup into a directory, or as a stream.
func makeBackup(cmd *cobra.Command, server *remote, f backupFlags) (err error) {
	source, err := server.backupSource(cmd.Context(), f.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	if f.out == "-" {
		return streamBackup(cmd, source, f)
	}
	w, err := backup.OpenWriter(f.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return writeBackup(cmd, source, w, f)
}

// backupSource returns the running server as a source, or the directory of one that is not running.
func (r *remote) backupSource(ctx context.Context, data string) (s backupSource, err error) {
	if data != "" {
		return offlineBackups(ctx, data)
	}
	c, err := r.connect()
	if err != nil {
		return s, err
	}
	return backupSource{close: func() error { r.close(); return nil }, open: func(ctx context.Context, after, reached string, base uint64) (*client.Backup, error) {
		var opts []client.ReadOption
		if base > 0 {
			opts = append(opts, client.HasBase(base))
		}
		if reached != "" {
			opts = append(opts, client.AtLeast(reached))
		}
		return c.Backup(ctx, after, opts...)
	}}, nil
}

// offlineBackups returns a source of backups of a server that is not running. It folds what that has not folded.
func offlineBackups(ctx context.Context, data string) (s backupSource, err error) {
	n, err := openOffline(ctx, data)
	if err != nil {
		return s, err
	}
	if err := n.CatchUp(ctx); err != nil {
		return s, errors.Join(err, n.Close())
	}
	return backupSource{close: n.Close, open: func(ctx context.Context, after, _ string, base uint64) (*client.Backup, error) {
		b, err := fanfold.ParseBookmark(cmp.Or(after, "0"))
		if err == nil && b.Store != "" && b.Store != n.Log.Store() {
			err = fanfold.Errorf(fanfold.StoreChanged, "the directory holds a backup of store %s, and this is store %s: take another directory", b.Store, n.Log.Store())
		}
		if err != nil {
			return nil, err
		}
		out, in := io.Pipe()
		position, ended := make(chan fanfold.Position, 1), make(chan struct{})
		go func() {
			defer close(ended)
			err := n.Backups.Backup(ctx, b.Seq(), base, func(at fanfold.Position) io.Writer {
				position <- at
				return in
			})
			close(position)
			_ = in.CloseWithError(err) // never fails
		}()
		return &client.Backup{ReadCloser: offlineBackup{out, ended}, Position: (<-position).String()}, nil
	}}, nil
}

// offlineBackup is a backup that a goroutine writes.
type offlineBackup struct {
	*io.PipeReader
	ended chan struct{} // closed when the goroutine has ended
}

// Close ends the backup, and waits for that.
func (b offlineBackup) Close() error {
	err := b.PipeReader.Close()
	<-b.ended
	return err
}

// madeBackup is what a backup prints as JSON.
type madeBackup struct {
	Store    fanfold.StoreID `json:"store"`
	Begins   string          `json:"begins,omitempty"` // the oldest position that it has, where its first events are gone
	Position uint64          `json:"position"`
	Digest   fanfold.Digest  `json:"digest"`
	Segments int             `json:"segments"`
	Bytes    int64           `json:"bytes"`
	Written  int64           `json:"written"` // bytes of this run
	Seconds  float64         `json:"seconds"`
}

// writeBackup makes or continues the backup in a writer's directory. If the store has erased something since, it writes all of it anew.
func writeBackup(cmd *cobra.Command, source backupSource, w *backup.Writer, f backupFlags) error {
	began, had, old := time.Now(), w.HasBase(), w.Old()
	m, read, err := receiveBackup(cmd.Context(), source, w, f, began)
	erased := errors.Is(err, backup.ErrErased)
	if erased {
		var more int64
		m, more, err = receiveBackup(cmd.Context(), source, w, f, began)
		read += more
	}
	clearWork()
	if err != nil {
		return err
	}
	made := madeBackup{m.Store, beginningOf(m), m.Position, m.Digest, len(m.Segments), bytesOf(m), read, time.Since(began).Seconds()}
	if f.asJSON {
		return printJSON(cmd, made)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "backup of store %s up to event %d: %d segments, %d bytes; %d bytes read in %.1f s\n", made.Store, made.Position, made.Segments, made.Bytes, made.Written, made.Seconds)
	if w.HasBase() != had {
		fmt.Fprintf(cmd.OutOrStdout(), "the backup now begins at position %s, as the store does: it has nothing from before\n", made.Begins)
	}
	if old != nil && old.Erasure != m.Erasure {
		fmt.Fprintln(cmd.OutOrStdout(), "the backup was written anew, without what the store has erased since the one before")
	}
	return nil
}

// receiveBackup reads a stream of what a writer wants into its directory. It returns how many bytes it has read.
func receiveBackup(ctx context.Context, source backupSource, w *backup.Writer, f backupFlags, began time.Time) (m *backup.Manifest, read int64, err error) {
	after, reached := "", ""
	if old := w.Old(); old != nil {
		after = fanfold.Bookmark{Position: fanfold.At(w.After().Seq, 0), Store: old.Store}.String()
		reached = fanfold.Bookmark{Position: fanfold.At(old.Position, 0), Store: old.Store}.String()
	}
	in, err := source.open(ctx, after, reached, w.HasBase())
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	end, _ := fanfold.ParsePosition(in.Position)
	paced := &pacedReader{ctx: ctx, r: in, pace: newPace(f.rate)}
	m, err = w.Receive(ctx, paced, func(last uint64) { showBackup("events", int64(last), int64(end.Seq()), began) })
	return m, paced.n, err
}

// streamBackup writes a whole backup to standard output.
func streamBackup(cmd *cobra.Command, source backupSource, f backupFlags) error {
	out := cmd.OutOrStdout()
	if isTerminal(out) {
		return fanfold.Errorf(fanfold.Invalid, "a backup is not for a terminal: give --out a directory, or pipe it on")
	}
	began := time.Now()
	in, err := source.open(cmd.Context(), "", "", 0)
	if err != nil {
		return err
	}
	defer in.Close()
	n, err := io.Copy(out, &pacedReader{ctx: cmd.Context(), r: in, pace: newPace(f.rate)})
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the backup was cut short, and cannot be used: %v", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "backup up to position %s: %d bytes in %.1f s\n", in.Position, n, time.Since(began).Seconds())
	return nil
}
