package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector"
)

func replayCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Build the read model anew from the log, and put it in place of the old one",
		Long: `Build a new read model from the log's first event on while the old one is served, and put it
in the old one's place once it has caught up. Reads never stop. Rows, positions and answers are
the same afterwards.`,
		Example: "  fanfold replay\n  fanfold replay --data ./fanfold-data   (where no server runs)",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		if data != "" {
			debug.SetGCPercent(40) // nobody waits for an answer meanwhile, so less memory is worth a little time
			return replayOffline(cmd.Context(), out, data)
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if err := c.Replay(cmd.Context()); err != nil {
			return err
		}
		return followReplay(cmd.Context(), c, out)
	}
	return cmd
}

// replayOffline builds a new read model from the whole log of a server that is not running. The old one may be damaged.
func replayOffline(ctx context.Context, out io.Writer, data string) error {
	n, err := openOffline(ctx, data)
	if err != nil {
		return err
	}
	last, err := n.Log.LastSeq(ctx)
	if err == nil {
		err = n.Projector.ReplayTo(ctx, last)
		fmt.Fprintln(out, "replay "+replayLine(n.Projector.Status().Replay))
	}
	return errors.Join(err, n.Close())
}

// openOffline returns a node over the files of a server that is not running; the caller closes it. The error
// is Invalid where there are no such files.
func openOffline(ctx context.Context, data string) (*node.Node, error) {
	if _, err := os.Stat(filepath.Join(data, "nats")); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid,
			"%s is not the data directory of a server with an embedded log: %v", data, err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return node.Open(ctx, node.Config{Data: data, Listen: "127.0.0.1:0", Durability: "always", Logger: logger})
}

// followReplay waits until the server's replay has ended, and shows how far it is on a terminal.
func followReplay(ctx context.Context, c *client.Client, out io.Writer) error {
	for {
		s, err := status(ctx, c)
		if err != nil {
			return err
		}
		if p := s.Replay; p != nil && !p.Running {
			if onTerminal() {
				fmt.Fprint(os.Stderr, "\r\033[K")
			}
			fmt.Fprintln(out, "replay "+replayLine(p))
			if p.Error != "" {
				return errors.New("the replay failed; the read model is the one before it")
			}
			return nil
		} else if p != nil && onTerminal() {
			fmt.Fprint(os.Stderr, clearLine()+"replay "+replayLine(p))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// replayLine returns how far a replay is.
func replayLine(p *projector.Progress) string {
	switch {
	case p.Error != "":
		return "failed: " + p.Error
	case p.Running:
		return fmt.Sprintf("event %d of %d, %.0f events/s, %.0f s left", p.Seq, p.Target, p.Rate, p.Left)
	}
	return fmt.Sprintf("done: %d events in %.1f s (%.0f events/s)", p.Seq, p.Seconds, p.Rate)
}
