package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/memory"
	"github.com/fanfold/fanfold/node"
)

// A process of its own that is measured is this program, which serves and replays as fanfold does.

// serveCommand returns the command that runs a node, as fanfold serve does.
func serveCommand() *cobra.Command {
	cfg := node.Config{Durability: "always"}
	cmd := &cobra.Command{Use: "serve", Hidden: true, Args: cobra.NoArgs}
	f := cmd.Flags()
	f.StringVar(&cfg.Data, "data", "", "directory for the log and the read model")
	f.StringVar(&cfg.Listen, "listen", "", "address of the HTTP API")
	f.StringVar(&cfg.NATS, "nats", "", "URL of NATS servers to keep the log on")
	f.IntVar(&cfg.Replicas, "replicas", 0, "replicas of the log on them")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
		defer memory.Reserve()()
		n, err := node.Open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		cfg.Logger.Info("ready", "url", n.URL())
		return n.Run(cmd.Context(), nil)
	}
	return cmd
}

// replayCommand returns the command that builds the read model of a directory anew, as fanfold replay --data does.
func replayCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{Use: "replay", Hidden: true, Args: cobra.NoArgs}
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		debug.SetGCPercent(40) // as fanfold replay --data does
		n, err := openWith(cmd.Context(), data, func(*node.Config) {})
		if err != nil {
			return err
		}
		last, err := n.Log.LastSeq(cmd.Context())
		if err == nil {
			err = n.Projector.ReplayTo(cmd.Context(), last)
		}
		if p := n.Projector.Status().Replay; err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d events in %f s\n", p.Seq, p.Seconds)
		}
		return errors.Join(err, n.Close())
	}
	return cmd
}

// openWith returns a node over the files in dir, with what change makes of its configuration; the caller runs or closes it.
func openWith(ctx context.Context, dir string, change func(cfg *node.Config)) (*node.Node, error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg := node.Config{Data: dir, Listen: "127.0.0.1:0", Durability: "always", Logger: logger}
	change(&cfg)
	return node.Open(ctx, cfg)
}

// withClient calls fn with a client of the node at url, which sends each request once.
func withClient(url string, fn func(c *client.Client) error) error {
	c, err := client.New(url, client.Options{RetryFor: -1, NoKeys: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}
