package main

import (
	"context"
	"path/filepath"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/node"
)

// accessConnections is how many connections send requests.
const accessConnections = 64

// benchAccess measures what keys cost: a closed house beside an open one, with one key and with the most that there may be.
// It measures the closed house beside many requests whose keys do not work, too.
func benchAccess(ctx context.Context, dir string, scale int) (results []bench.Result, err error) {
	books := 20_000 / scale
	s := benchStore{model: benchModel, authors: benchAuthors, books: books}
	err = s.run(ctx, filepath.Join(dir, "open"), func(ctx context.Context, open *node.Node) error {
		return s.run(ctx, filepath.Join(dir, "closed"), func(ctx context.Context, closed *node.Node) (err error) {
			results, err = compareAccess(ctx, open, closed, books)
			return err
		})
	})
	return results, err
}

// compareAccess closes one of two nodes, and compares them.
func compareAccess(ctx context.Context, open, closed *node.Node, books int) (results []bench.Result, err error) {
	add := func(r bench.Result, err error) error {
		results = append(results, r)
		return err
	}
	_, key, err := closed.Keys().Create(ctx, keys.Settings{Name: "bench", Roles: []string{model.RoleAdmin}})
	if err != nil {
		return nil, err
	}
	plain, keyed := bench.Target{Addr: open.Addr()}, bench.Target{Addr: closed.Addr(), Header: bearer(key)}
	for made, first := 1, 0; ; first += 100 {
		if err := add(bench.AccessReads(ctx, plain, keyed, made, accessConnections, books)); err != nil {
			return nil, err
		}
		if err := add(bench.AccessWrites(ctx, plain, keyed, made, accessConnections, first)); err != nil {
			return nil, err
		}
		if made == keys.MaxKeys {
			break
		}
		for ; made < keys.MaxKeys; made++ {
			if _, _, err := closed.Keys().Create(ctx, keys.Settings{Name: "other", Roles: []string{model.RoleRead}}); err != nil {
				return nil, err
			}
		}
	}
	bad := bench.Target{Addr: closed.Addr(), Header: bearer(access.NewKey())}
	return results, add(bench.AccessAttacked(ctx, keyed, bad, accessConnections, books))
}

// bearer returns the line of a request's header that sends a key.
func bearer(key access.Key) string { return "Authorization: Bearer " + key.Text() + "\r\n" }
