package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/rebuild"
)

func replayCommand() *cobra.Command {
	var data string
	var check bool
	var past pastFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Build the read model anew from the log, and put it in place of the old one",
		Long: `Build a new read model from the log's first event on while the old one is served, and put it
in the old one's place once it has caught up. Reads never stop. Rows, positions and answers are
the same afterwards.

With --to and --out build a read model of an earlier position instead, in a directory of its own, which
fanfold serve --read-only serves. The read model in use stays. A directory that a cut run left is
refused there, and the same command begins anew.

With --check compare every row of the old one with the new one instead, and remove the new one. The exit code is 0 where
nothing differs and 3 where something does.`,
		Example: "  fanfold replay\n  fanfold replay --check\n  fanfold replay --to 2026-11-23T00:00:00Z --out ./monday\n  fanfold replay --data ./fanfold-data   (where no server runs)",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.Flags().BoolVar(&check, "check", false, "compare the old read model with the new one, and keep the old one")
	past.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := past.check(data, check); err != nil {
			return err
		}
		if past.to != "" {
			return past.run(cmd, server, data)
		}
		out := cmd.OutOrStdout()
		if data != "" {
			debug.SetGCPercent(40) // nobody waits for an answer meanwhile, so less memory is worth a little time
			return replayOffline(cmd.Context(), out, data, check)
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		begin := c.Replay
		if check {
			begin = c.CheckReplay
		}
		if err := begin(cmd.Context()); err != nil {
			return err
		}
		return followReplay(cmd.Context(), out, func() (*projector.Progress, error) {
			s, err := c.Status(cmd.Context())
			if err != nil {
				return nil, err
			}
			return s.Replay, nil
		})
	}
	return cmd
}

// replayOffline builds a read model from the whole log of a server that is not running. With check it is compared with the old one, as that was left.
func replayOffline(ctx context.Context, out io.Writer, data string, check bool) (err error) {
	n, err := openToLook(ctx, data, check)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	what := rebuild.Check()
	if !check {
		last, err := n.Log.LastSeq(ctx)
		if err != nil {
			return err
		}
		what = rebuild.ReplayTo(last)
	}
	run, err := n.Projector.Begin(what)
	if err != nil {
		return err
	}
	return showReplay(ctx, out, n.Projector, run)
}

// showReplay runs a replay in this process, and shows how far it is and what came of it. The error is errWrong where a check has found
// rows that differ.
func showReplay(ctx context.Context, out io.Writer, p *projector.Projector, run func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	shown := followReplay(context.WithoutCancel(ctx), out, func() (*projector.Progress, error) { return p.Status().Replay, nil })
	if err := <-ended; err != nil {
		return err
	}
	return shown
}

// openOffline returns a node over the files of a server that is not running; the caller closes it. The error
// is Invalid where there are no such files.
func openOffline(ctx context.Context, data string) (*node.Node, error) {
	return openToLook(ctx, data, false)
}

// openToLook does what openOffline does. With asIs it does not repair the read model.
func openToLook(ctx context.Context, data string, asIs bool) (*node.Node, error) {
	if _, err := os.Stat(filepath.Join(data, "nats")); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid,
			"%s is not the data directory of a server with an embedded log: %v", data, err)
	}
	if err := forget.CheckErasedFirst(data); err != nil {
		return nil, err
	}
	return openRestored(ctx, data, asIs)
}

// openRestored does what openToLook does, also for a restored store that must erase something before it serves.
func openRestored(ctx context.Context, data string, asIs bool) (*node.Node, error) {
	logger := warnings(standardError())
	return node.Open(ctx, node.Config{Data: data, Listen: "127.0.0.1:0", Durability: "always", AsIs: asIs, Logger: logger})
}

// followReplay waits until a replay has ended, which it asks for again and again, and shows how far it is on a terminal. The error is
// errWrong where a check has found rows that differ.
func followReplay(ctx context.Context, out io.Writer, ask func() (*projector.Progress, error)) error {
	for {
		p, err := ask()
		if err != nil {
			return err
		}
		if p != nil && !p.Running {
			return endReplay(out, p)
		} else if p != nil && onTerminal() {
			fmt.Fprint(standardError(), clearLine()+"replay "+replayLine(p))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// endReplay prints what came of a replay.
func endReplay(out io.Writer, p *projector.Progress) error {
	if onTerminal() {
		fmt.Fprint(standardError(), clearLine())
	}
	fmt.Fprintln(out, "replay "+replayLine(p))
	switch {
	case p.Error != "" && p.Check != nil:
		return errors.New("the read model could not be compared; it is as it was")
	case p.Error != "":
		return errors.New("the replay failed; the read model is the one before it")
	case p.Check == nil:
		return nil
	}
	return showCheck(out, p.Check)
}

// showCheck prints how many rows of each table differ, and the first of them.
func showCheck(out io.Writer, c *wire.Check) error {
	for _, table := range slices.Sorted(maps.Keys(c.Tables)) {
		fmt.Fprintf(out, "different: %d rows of %s\n", c.Tables[table], table)
	}
	if c.First != nil {
		fmt.Fprintf(out, "first: %s %s (%s)\n", c.First.Table, c.First.Key, c.First.Kind)
	}
	fmt.Fprintf(out, "%d rows compared at position %s: %d different\n", c.Rows, c.Position, c.Different)
	if c.Different > 0 {
		return errWrong
	}
	return nil
}

// replayLine returns how far a replay is.
func replayLine(p *projector.Progress) string {
	switch {
	case p.Error != "":
		return "failed: " + p.Error
	case p.Running && p.Phase == rebuild.Copying:
		return fmt.Sprintf("event %d, copying the read model", p.Seq)
	case p.Running && p.Phase == rebuild.Comparing:
		return fmt.Sprintf("row %d of %d, %.0f rows/s, %.0f s left", p.Check.Compared, p.Check.Rows, p.Rate, p.Left)
	case p.Running:
		return fmt.Sprintf("event %d of %d, %.0f events/s, %.0f s left", p.Seq, p.Target, p.Rate, p.Left)
	}
	return fmt.Sprintf("done: %d events in %.1f s (%.0f events/s)", p.Seq, p.Seconds, float64(p.Seq)/max(p.Seconds, 1e-9))
}
