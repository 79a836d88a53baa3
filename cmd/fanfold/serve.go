package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/sending"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/sqlite"
)

func serveCommand() *cobra.Command {
	cfg, model := node.Config{}, ""
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node: the log, the projector, the read model and the HTTP API",
		Long: `Run a node. By default it needs nothing else: the log is an embedded NATS server that
keeps its files in the data directory, beside the read model.`,
		Example: `  fanfold serve
  fanfold serve --data /var/lib/fanfold --model model.yaml
  fanfold serve --data ./node1 --nats nats://127.0.0.1:4222 --replicas 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
			return serve(cmd.Context(), cfg, model)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Data, "data", "fanfold-data", "directory for the log and the read model")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8080", "address of the HTTP API")
	f.BoolVar(&cfg.Insecure, "insecure", false, "let --listen be an address that others reach: they may then read and write everything")
	f.IntVar(&cfg.MaxConnections, "max-connections", 50_000, "connections to the HTTP API at a time; others wait to be accepted")
	f.StringSliceVar(&cfg.Hosts, "host", nil, "names by which the API may be called besides localhost and loopback addresses")
	f.StringSliceVar(&cfg.Origins, "origin", nil, "web origins, such as https://app.example, whose pages may write")
	f.StringVar(&cfg.NATS, "nats", "", "URL of a NATS server to keep the log on, instead of the embedded one")
	f.StringVar(&cfg.NATSListen, "nats-listen", "", "open the embedded NATS server to ordinary clients on this address")
	f.StringVar(&model, "model", "", "model file to apply at the start, where it differs from the one that applies")
	f.StringVar(&cfg.Durability, "durability", "always",
		"of the embedded log: always (an acknowledged write survives loss of power) or interval")
	f.Int64Var(&cfg.API.MaxSending, "max-sending", sending.DefaultBudget, "bytes of answers, exports and feeds that are held in memory at a time while clients read them")
	f.Int64Var(&cfg.Cache, "cache", sqlite.DefaultCache, "bytes of the read model's file that are kept in memory, where the system has it; 2 GiB is the most")
	f.IntVar(&cfg.Replicas, "replicas", 1, "replicas of the stream, where this node creates it on an outside server")
	return cmd
}

// serve runs a node until ctx ends. path names a model file to apply at the start, "" none; a mistake in it is the
// error before anything is started.
func serve(ctx context.Context, cfg node.Config, path string) error {
	var model []byte
	if path != "" {
		var err error
		if model, err = readModelFile(path); err == nil {
			_, err = modelfile.Parse(model)
		}
		if err != nil {
			return err
		}
	}
	n, err := node.Open(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // interrupted while it opened: the end that was asked for
		}
		return err
	}
	cfg.Logger.Info("fanfold is ready", "url", n.URL(), "data", cfg.Data, "applied", n.Store.Applied.Seq())
	if cfg.NATS != "" {
		cfg.Logger.Info("durability is the outside server's: unverified; set sync_interval: always on every server")
	}
	return n.Run(ctx, func(ctx context.Context) error {
		if model == nil {
			return nil
		}
		return n.ApplyModel(ctx, model)
	})
}
