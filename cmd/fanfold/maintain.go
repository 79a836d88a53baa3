package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
)

// offline runs fn on a node that serves nobody, over the files of a server that is not running.
func offline(ctx context.Context, data string, fn func(ctx context.Context, n *node.Node) error) error {
	n, err := openOffline(ctx, data)
	if err != nil {
		return err
	}
	return runOffline(ctx, n, fn)
}

// openOffline opens the files of a server that is not running.
func openOffline(ctx context.Context, data string) (*node.Node, error) {
	if _, err := os.Stat(filepath.Join(data, "nats")); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "%s is not the data directory of a server with an embedded log: %v", data, err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return node.Open(ctx, node.Config{Data: data, Listen: "127.0.0.1:0", Durability: "always", Logger: logger})
}

// runOffline runs fn once everything in the log is folded, and stops the node.
func runOffline(ctx context.Context, n *node.Node, fn func(ctx context.Context, n *node.Node) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var result error
	err := n.Run(ctx, func(ctx context.Context) error {
		defer cancel()
		last, err := n.Log.LastSeq(ctx)
		if err == nil {
			err = n.Store.Applied.Wait(ctx, last)
		}
		if err == nil {
			err = fn(ctx, n)
		}
		result = err
		return nil
	})
	return errors.Join(result, err)
}

func replayCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Build the read model anew from the log, and put it in place of the old one",
		Long: `Build the read model anew from the log's first event, beside the one that is served, and
put it in its place once it has caught up. Reads never stop. Rows, positions and answers are
the same afterwards.`,
		Example: "  fanfold replay\n  fanfold replay --data ./fanfold-data   (where no server runs)",
		Args:    cobra.NoArgs,
	}
	c := serverFlag(cmd)
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		if data != "" {
			debug.SetGCPercent(40) // nobody is served meanwhile: less memory is worth a little time
			return replayOffline(cmd.Context(), out, data)
		}
		var s node.Status
		if err := c.json(cmd.Context(), http.MethodPost, "/v1/_replay", &s); err != nil {
			return err
		}
		return c.followReplay(cmd.Context(), out)
	}
	return cmd
}

// replayOffline builds the read model from the whole log; what is there may be damaged.
func replayOffline(ctx context.Context, out io.Writer, data string) error {
	n, err := openOffline(ctx, data)
	if err != nil {
		return err
	}
	last, err := n.Log.LastSeq(ctx)
	if err == nil {
		err = n.Projector.ReplayTo(ctx, last)
		fmt.Fprintln(out, "replay "+progressLine(n.Projector.Status().Replay))
	}
	return errors.Join(err, n.Close())
}

func (c *client) followReplay(ctx context.Context, out io.Writer) error {
	for {
		var s node.Status
		if err := c.json(ctx, http.MethodGet, "/v1/_status", &s); err != nil {
			return err
		}
		if p := s.Replay; p != nil && !p.Running {
			if onTerminal() {
				fmt.Fprint(os.Stderr, "\r\033[K")
			}
			fmt.Fprintln(out, "replay "+progressLine(p))
			if p.Error != "" {
				return errors.New("the replay failed; the read model is the one before it")
			}
			return nil
		} else if p != nil && onTerminal() {
			fmt.Fprint(os.Stderr, "\r\033[Kreplay "+progressLine(p))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// errWrong makes verify's exit code 3.
var errWrong = errors.New("wrong values found")

func verifyCommand() *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Recompute every derived value from the documents as written, and list wrong ones",
		Long: `Recompute every derived value and the link index from the documents as written, and list
what differs. The exit code is 0 where nothing does and 3 where something does.`,
		Example: "  fanfold verify\n  fanfold verify --data ./fanfold-data   (where no server runs)",
		Args:    cobra.NoArgs,
	}
	c := serverFlag(cmd)
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var v inspect.Verified
		var err error
		if data != "" {
			v, err = verifyOffline(cmd.Context(), data)
		} else {
			err = c.json(cmd.Context(), http.MethodPost, "/v1/_verify", &v)
		}
		if err != nil {
			return err
		}
		return showVerified(cmd, &v, asJSON)
	}
	return cmd
}

// verifyOffline looks at the files as they are: nothing is folded first.
func verifyOffline(ctx context.Context, data string) (out inspect.Verified, err error) {
	dir := filepath.Join(data, "readmodel")
	if _, err := os.Stat(dir); err != nil {
		return out, fanfold.Wrap(err, fanfold.Invalid, "%s is not the data directory of a server: %v", data, err)
	}
	lock, err := node.LockDir(data)
	if err != nil {
		return out, err
	}
	store, err := sqlite.OpenStore(dir, sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		return out, errors.Join(err, lock.Close())
	}
	v, err := inspect.Verify(ctx, store)
	if v != nil {
		out = *v
	}
	return out, errors.Join(err, store.Close(), lock.Close())
}

func showVerified(cmd *cobra.Command, v *inspect.Verified, asJSON bool) error {
	if asJSON {
		if err := printJSON(cmd, v); err != nil {
			return err
		}
	} else {
		out := cmd.OutOrStdout()
		for _, w := range v.Wrong {
			fmt.Fprintf(out, "wrong: %s %s\n  %s\n", w.Document, w.Rule, w.Detail)
		}
		if v.More > 0 {
			fmt.Fprintf(out, "and %d more\n", v.More)
		}
		fmt.Fprintf(out, "%d documents verified at position %s: %d wrong\n", v.Documents, v.Position, int64(len(v.Wrong))+v.More)
	}
	if len(v.Wrong) > 0 {
		return errWrong
	}
	return nil
}
