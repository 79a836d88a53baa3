package main

import (
	"context"
	"embed"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/console"
	"github.com/fanfold/fanfold/node"
)

// demoFiles has the bookshop: a model, and a file of NDJSON for each collection.
//
//go:embed demo
var demoFiles embed.FS

func demoCommand() *cobra.Command {
	cfg := node.Config{Durability: "always"}
	var once bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start with a bookshop on a temporary directory, and show a rename reaching its copies",
		Long: `Start a node on a temporary directory, load a bookshop of real books and authors, and show
what the store does by itself: a rename that reaches every copy, counts, the change feed. The
node then stays up, with commands to try, until it is interrupted; the directory is removed.`,
		Example: "  fanfold demo\n  fanfold demo --listen 127.0.0.1:0   (any free port)\n  fanfold demo --once",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8090", "address of the HTTP API; another than that of serve, so that both run side by side")
	f.StringVar(&cfg.Data, "data", "", "directory for the log and the read model, kept at the end (default a temporary one)")
	f.BoolVar(&once, "once", false, "end after the tour")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg.Logger = warnings(cmd.ErrOrStderr())
		return demo(cmd.Context(), cmd.OutOrStdout(), cfg, once)
	}
	return cmd
}

// demo runs the tour on a node of its own, and then, without once, keeps the node up until ctx ends. It is meant to
// end so, without an error.
func demo(ctx context.Context, out io.Writer, cfg node.Config, once bool) (err error) {
	kept, place := cfg.Data, "in "+cfg.Data
	if cfg.Data == "" {
		if cfg.Data, err = os.MkdirTemp("", "fanfold-demo-"); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "cannot make a temporary directory: %v", err)
		}
		place = "on a temporary directory"
		defer func() { err = errors.Join(err, os.RemoveAll(cfg.Data)) }()
	} else if _, err := os.Stat(filepath.Join(cfg.Data, "nats")); err == nil {
		return fanfold.Errorf(fanfold.Invalid, "%s holds a store already, and the demo wants an empty one: "+
			"name a new directory, or serve that store:\n  %s serve --data %s", cfg.Data, invocation(), shellWord(cfg.Data))
	}
	if cfg.API.Console, err = console.New(""); err != nil {
		return err
	}
	n, err := node.Open(ctx, cfg)
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	err = n.Run(running, func(running context.Context) error {
		t := newTour(baseURL(n.Addr()), out)
		t.say("Fanfold demo: a bookshop at %s, %s.", t.server.server, place)
		t.say("Its console, for a browser: %s/_console/", t.server.server)
		err := t.run(running)
		switch {
		case err == nil && once:
			t.end(kept)
		case err == nil:
			t.commands()
		}
		if once {
			stop()
		}
		return err
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// baseURL returns the URL at which a client on this machine reaches a server that listens on addr. An address that
// stands for all interfaces is none to send requests to.
func baseURL(addr string) string {
	if a, err := netip.ParseAddrPort(addr); err == nil && a.Addr().IsUnspecified() {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(a.Port())))
	}
	return "http://" + addr
}
