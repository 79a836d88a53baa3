package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
)

// offline runs fn on a node of its own over the files of a server that is not running. fn begins once the log is
// folded; when it ends, the node is stopped.
func offline(ctx context.Context, data string, fn func(ctx context.Context, n *node.Node) error) error {
	n, err := openOffline(ctx, data)
	if err != nil {
		return err
	}
	return runOffline(ctx, n, fn)
}

// openOffline returns a node over the files of a server that is not running; the caller runs or closes it. The error
// is Invalid where there are no such files.
func openOffline(ctx context.Context, data string) (*node.Node, error) {
	if _, err := os.Stat(filepath.Join(data, "nats")); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid,
			"%s is not the data directory of a server with an embedded log: %v", data, err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return node.Open(ctx, node.Config{Data: data, Listen: "127.0.0.1:0", Durability: "always", Logger: logger})
}

// runOffline runs fn once everything in the log is folded, and stops the node. It returns the errors of both.
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
