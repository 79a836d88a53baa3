package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/node/logcheck"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/projector/rebuild"
)

// restoreFlags are the flags of a restore.
type restoreFlags struct {
	transfer.RestoreConfig
	verify, asJSON bool
	erasures       string
}

func restoreCommand() *cobra.Command {
	var f restoreFlags
	var servers node.Config
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Make a store of a backup, in an empty directory or on NATS servers without one",
		Long: `Make a store of a backup: every event with its sequence and its time, the consumer groups and
their checkpoints. BACKUP is a directory that fanfold backup has made, or - for its stream on
standard input. The whole backup is read through before anything is written. The store has a new
id; positions and ETags of the old one are good up to the last event that was restored.

A restore that is ended leaves a store that no node opens. The same command begins anew.

With --erasures the store erases, when it is first started and before it serves, what a file lists
that fanfold erasures --export has written: what was erased after the backup was made. Erasures
that the backup has are passed over, and so are documents that it does not have.

With --to the store ends at a position or at a time. --verify without a place restores into a
temporary directory, folds everything, verifies it and the log, and removes it again. The exit
code is 3 where the backup is damaged, or something is wrong.`,
		Example: "  fanfold restore /backups/shop --data ./fanfold-data\n  fanfold restore - --data ./fanfold-data < shop.tar\n  fanfold restore /backups/shop --data ./before --to 2026-11-24T21:40:00Z\n  fanfold restore /backups/shop --verify",
		Args:    cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Data, "data", "", "directory that is empty or not there, for a log in the embedded server")
	flags.StringVar(&f.To, "to", "", "position or RFC 3339 time where the restored store ends, at a whole event or transaction")
	flags.StringVar(&f.erasures, "erasures", "", "file of documents, as fanfold erasures --export writes it, that the store erases before it first serves; with --data")
	flags.BoolVar(&f.verify, "verify", false, "fold and verify what was restored; without --data in a temporary directory, which is removed")
	flags.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	serverFlags(flags, &servers)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.NATS, f.Credentials, f.Replicas = servers.NATS, servers.Credentials, servers.Replicas
		return restore(cmd, &f, args[0])
	}
	return cmd
}

// restore restores the backup that an argument names.
func restore(cmd *cobra.Command, f *restoreFlags, from string) (err error) {
	switch {
	case f.Data != "" && f.NATS != "":
		return fanfold.Errorf(fanfold.Invalid, "a backup is restored either into a directory, --data, or onto NATS servers, --nats")
	case f.Data == "" && f.NATS == "" && !f.verify:
		return fanfold.Errorf(fanfold.Invalid, "say where the backup is to be restored: --data DIR, --nats URL, or --verify for a trial")
	case f.NATS != "" && f.verify:
		return fanfold.Errorf(fanfold.Invalid, "--verify looks at a directory: leave out --nats, and verify the servers' store by a node of it")
	}
	if err := f.readErasures(); err != nil {
		return err
	}
	if from == "-" {
		dir, err := os.MkdirTemp("", "fanfold-backup-")
		if err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the stream cannot be kept: %v", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if from = filepath.Join(dir, "backup"); err == nil {
			err = backup.Unpack(contextReader{cmd.Context(), cmd.InOrStdin()}, from)
		}
		if err != nil {
			return err
		}
	}
	if f.Data == "" && f.NATS == "" {
		dir, err := os.MkdirTemp("", "fanfold-restore-")
		if err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "there is no place for a trial: %v", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		f.Data = filepath.Join(dir, "data")
	}
	return restoreFrom(cmd, f, from)
}

// readErasures reads the file of --erasures. The error is Invalid.
func (f *restoreFlags) readErasures() error {
	if f.erasures == "" {
		return nil
	}
	if f.Data == "" {
		return fanfold.Errorf(fanfold.Invalid, "--erasures goes with --data, the directory of a store that is to be served")
	}
	file, err := os.Open(f.erasures)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "--erasures: %v", err)
	}
	f.Erasures, err = forget.ReadErasures(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "--erasures %s: %s", f.erasures, fanfold.MessageOf(err))
	}
	return nil
}

// contextReader reads until a context ends.
type contextReader struct {
	ctx context.Context
	in  io.Reader
}

func (r contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(b)
}

// restoreFrom restores the backup in a directory, and prints what came of it.
func restoreFrom(cmd *cobra.Command, f *restoreFlags, dir string) error {
	b, err := backup.Open(dir)
	if err != nil {
		return err
	}
	began := time.Now()
	f.Logger = warnings(standardError())
	f.Progress = func(phase string, done, total int64) {
		if onTerminal() {
			fmt.Fprint(standardError(), clearLine()+workLine("restore", phase, done, total, began))
		}
	}
	restored, err := transfer.Restore(cmd.Context(), b, f.RestoreConfig)
	clearWork()
	if err != nil {
		return err
	}
	out := restoreResult{Restored: restored, Seconds: time.Since(began).Seconds()}
	if f.verify {
		out.Verified, err = verifyRestored(cmd.Context(), f, restored)
		clearWork()
		if err != nil {
			return err
		}
	}
	if f.asJSON {
		err = printJSON(cmd, out)
	} else {
		printRestored(cmd.OutOrStdout(), f, out)
	}
	if err == nil && out.Verified != nil && !out.Verified.right() {
		err = errWrong
	}
	return err
}

// restoreResult is what a restore prints as JSON.
type restoreResult struct {
	*transfer.Restored
	Seconds  float64          `json:"seconds"`
	Verified *restoreVerified `json:"verified,omitempty"`
}

// restoreVerified says whether what was restored is right.
type restoreVerified struct {
	Documents int64             `json:"documents"`
	Read      *inspect.Verified `json:"readModel"`
	Log       *logcheck.Report  `json:"log"`
	Digest    bool              `json:"digest"` // it is the backup's
}

// right returns whether nothing is wrong.
func (v *restoreVerified) right() bool {
	return len(v.Read.Wrong) == 0 && v.Log.Err() == nil && v.Digest
}

// verifyRestored folds all events of a directory, and verifies what comes of it, and the log.
func verifyRestored(ctx context.Context, f *restoreFlags, restored *transfer.Restored) (out *restoreVerified, err error) {
	n, err := openRestored(ctx, f.Data, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := n.Projector.Rebuild(ctx, rebuild.ReplayTo(restored.Last)); err != nil {
		return nil, err
	}
	out = new(restoreVerified)
	if out.Read, err = inspect.Verify(ctx, n.Store, f.Progress); err != nil {
		return nil, err
	}
	if out.Log, err = n.VerifyLog(ctx, f.Progress); err != nil {
		return nil, err
	}
	out.Documents = out.Read.Documents
	out.Digest = out.Log.Last == restored.Last && (restored.Events == 0 || out.Log.Digest == restored.Digest.String())
	return out, nil
}

// printRestored says what was restored.
func printRestored(out io.Writer, f *restoreFlags, r restoreResult) {
	fmt.Fprintf(out, "%d events of store %s restored up to event %d, with %d groups, in %.1f s\n", r.Events, r.From, r.Last, r.Groups, r.Seconds)
	if r.Base > 0 {
		fmt.Fprintf(out, "the store begins with its state after event %d, as the backup does\n", r.Base)
	}
	if v := r.Verified; v != nil {
		printVerified(out, v.Read)
		printLogReport(out, v.Log)
		if !v.Digest {
			fmt.Fprintln(out, "wrong: the log's digest is not that of the backup")
		}
		return
	}
	fmt.Fprintf(out, "the store is new, %s; the keys that let people in are to be made anew, for no backup has any\n", r.Store)
	if len(f.Erasures) > 0 {
		fmt.Fprintf(out, "%d documents are listed: those whose erasure the backup does not have are erased when it is first started, before it serves\n", len(f.Erasures))
	}
	if f.Data != "" {
		fmt.Fprintf(out, "start it with: fanfold serve --data %s\n", f.Data)
	}
}
