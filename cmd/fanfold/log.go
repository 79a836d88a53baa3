package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/node/logcheck"
)

// verifyLog compares the log with what was folded from it, on a running server, or in the directory of one that is not,
// and prints the result. The error is errWrong where something differs.
func verifyLog(cmd *cobra.Command, server *remote, data string, asJSON bool) error {
	report := new(logcheck.Report)
	err := server.verifyLog(cmd.Context(), data, report)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(cmd, report)
	} else {
		printLogReport(cmd.OutOrStdout(), report)
	}
	if err == nil && report.Err() != nil {
		err = errWrong
	}
	return err
}

// verifyLog fills in the report of the running server's log, or of the one in a directory where that is not "".
func (r *remote) verifyLog(ctx context.Context, data string, out *logcheck.Report) error {
	if data == "" {
		c, err := r.connect()
		if err != nil {
			return err
		}
		defer r.close()
		text, err := c.VerifyLog(ctx, showWork)
		clearWork()
		return report(text, err, out)
	}
	return withRemains(ctx, data, func(r *node.Remains) error {
		*out = *r.Log
		return nil
	})
}

// withRemains calls fn with what is in a data directory, whatever state it is in. The error is fn's, or Invalid where it is
// no data directory.
func withRemains(ctx context.Context, data string, fn func(r *node.Remains) error) error {
	if _, err := os.Stat(filepath.Join(data, "nats")); err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "%s is not the data directory of a server with an embedded log: %v", data, err)
	}
	logger := slog.New(slog.NewTextHandler(standardError(), &slog.HandlerOptions{Level: slog.LevelError}))
	r, err := node.OpenRemains(ctx, node.Config{Data: data, Logger: logger})
	if err != nil {
		return err
	}
	return errors.Join(fn(r), r.Close())
}

// printLogReport prints what is wrong with a log, and a line that says how much of it was looked at.
func printLogReport(out io.Writer, r *logcheck.Report) {
	for _, m := range r.Missing {
		fmt.Fprintf(out, "missing or unreadable: %s\n", events.Range(m))
	}
	if r.More > 0 {
		fmt.Fprintf(out, "and in %d more places\n", r.More)
	}
	if r.Differs != nil {
		fmt.Fprintf(out, "not what was folded: one or more of %s\n", events.Range(*r.Differs))
	}
	if r.Base == nil {
		fmt.Fprintf(out, "%d of %d events read, compared up to %d\n", r.Read, r.Last, r.Compared)
	} else {
		fmt.Fprintf(out, "of the %d events after %d, where the log begins, %d read, compared up to %d\n", r.Last-min(r.Last, r.Base.Seq), r.Base.Seq, r.Read, r.Compared)
	}
	if r.Digest != "" {
		fmt.Fprintf(out, "digest %s\n", r.Digest)
	}
	if err := r.Err(); err != nil {
		fmt.Fprintln(out, fanfold.MessageOf(err))
	}
}

func logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "Look after the event log",
		Example: "  fanfold log rescue --data ./fanfold-data --out rescued.ndjson",
	}
	cmd.AddCommand(rescueCommand())
	return cmd
}

func rescueCommand() *cobra.Command {
	var data, out string
	cmd := &cobra.Command{
		Use:   "rescue",
		Short: "Write what is left of a store whose log is damaged, as import reads it",
		Long: `Write the model and every document of a store whose log has lost events, where no server runs
on it, and say what is not in it. The documents are those of the read model, which has what the
log has lost, and of the events behind it up to the first that is missing. A read model that has
what was erased since is not used: the documents are then those of the log up to the first event
that is missing. What a rescue does not take is the history: earlier revisions, the change feed,
Idempotency-Keys.

Nothing in the directory changes: it is copied beside the file that is written, and removed
again, so that as much space is needed there. To go on, start a server with a new, empty
directory, and load the file with fanfold import.`,
		Example: "  fanfold log rescue --data ./fanfold-data --out rescued.ndjson",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.Flags().StringVar(&out, "out", "", "file to write")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if data == "" || out == "" {
			return fanfold.Errorf(fanfold.Invalid, "a rescue needs --data, the directory, and --out, the file to write")
		}
		return rescue(cmd, data, out)
	}
	return cmd
}

// rescue writes the documents of a damaged directory into a file.
func rescue(cmd *cobra.Command, data, out string) (err error) {
	if _, err := os.Stat(filepath.Join(data, "nats")); err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "%s is not the data directory of a server with an embedded log: %v", data, err)
	}
	if err := forget.CheckErasedFirst(data); err != nil {
		return err
	}
	lock, err := datadir.Lock(data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	work, err := os.MkdirTemp(filepath.Dir(out), ".fanfold-rescue-")
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "cannot write beside %s: %v", out, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := os.CopyFS(work, os.DirFS(data)); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot copy %s: %v", data, err)
	}
	if err := embedded.CutBlocks(cmd.Context(), filepath.Join(work, "nats")); err != nil {
		return err
	}
	return withRemains(cmd.Context(), work, func(r *node.Remains) error {
		printLogReport(cmd.OutOrStdout(), r.Log)
		return r.Documents(cmd.Context(), func(url string, key access.Key, last uint64) error {
			if err := (&exporting{server: &remote{server: url, rescueKey: key.Text()}, file: out, to: cmd.OutOrStdout()}).run(cmd, nil); err != nil {
				return err
			}
			printRescued(cmd.OutOrStdout(), r, last, out)
			return nil
		})
	})
}

// printRescued says what a rescue has taken, and what it has not.
func printRescued(out io.Writer, r *node.Remains, last uint64, file string) {
	if r.Forgot() {
		fmt.Fprintln(out, "the read model has what was erased since: it was not used, and the documents are those of the log")
	}
	fmt.Fprintf(out, "%s has every document as of event %d\n", file, last)
	if lost := r.Log.Last - min(last, r.Log.Last); lost > 0 {
		fmt.Fprintf(out, "dropped: what events %d to %d said\n", last+1, r.Log.Last)
	}
	fmt.Fprintln(out, "dropped: the history before, earlier revisions, the change feed and Idempotency-Keys")
	if r.Uncertain() {
		fmt.Fprintln(out, "the read model's file is not known to be as it was left: compare the documents with what you know of them")
	}
}
