package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/node"
)

func serveCommand() *cobra.Command {
	cfg := node.Config{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node: the log, the projector, the read model and the HTTP API",
		Long: `Run a node. By default it needs nothing else: the log is an embedded NATS server that
keeps its files in the data directory, beside the read model.`,
		Example: "  fanfold serve\n  fanfold serve --data /var/lib/fanfold --model model.yaml\n  fanfold serve --data ./node1 --nats nats://127.0.0.1:4222 --replicas 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
			return serve(cmd.Context(), cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Data, "data", "fanfold-data", "directory for the log and the read model")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8080", "address of the HTTP API")
	f.StringVar(&cfg.NATS, "nats", "", "URL of a NATS server to keep the log on, instead of the embedded one")
	f.StringVar(&cfg.NATSListen, "nats-listen", "", "open the embedded NATS server to ordinary clients on this address")
	f.StringVar(&cfg.Model, "model", "", "model file to apply at the start, where it differs from the one that applies")
	f.StringVar(&cfg.Durability, "durability", "always", "of the embedded log: always (an acknowledged write survives loss of power) or interval")
	f.IntVar(&cfg.Replicas, "replicas", 1, "replicas of the stream, where it is made on an outside server")
	return cmd
}

func serve(ctx context.Context, cfg node.Config) error {
	if cfg.Model != "" { // a mistake in it should be known before anything starts
		src, err := readModelFile(cfg.Model)
		if err == nil {
			_, err = modelfile.Parse(src)
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
		if cfg.Model == "" {
			return nil
		}
		return applyFile(ctx, n.URL(), cfg.Model, cfg.Logger)
	})
}

// applyFile applies the model in a file through the API, once the node answers.
func applyFile(ctx context.Context, url, path string, logger *slog.Logger) error {
	src, err := readModelFile(path)
	if err != nil {
		return err
	}
	c := &client{server: url}
	same, err := c.sameModel(ctx, src)
	if err != nil || same {
		return err
	}
	resp, err := c.do(ctx, http.MethodPut, "/v1/_model", bytes.NewReader(src), header{"Content-Type": "application/yaml", "Fanfold-Timeout": "60"})
	if err != nil {
		return err
	}
	logger.Info("model applied", "file", path, "position", resp.Header.Get("Fanfold-Position"))
	return resp.Body.Close()
}
