package main

import (
	"context"
	"fmt"
	"io"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/node"
)

// benchTransactions measures transactions and guarded writes beside plain ones, and plain ones beside an import of guarded documents.
func benchTransactions(ctx context.Context, dir string, _ benchRequest) (results []bench.Result, err error) {
	s := benchStore{model: bench.TransactionModel, authors: bench.TransactionTargets}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
		for _, conns := range []int{1, 16, 64} {
			r, err := bench.Transactions(ctx, n.Addr(), conns)
			if err != nil {
				return err
			}
			results = append(results, r...)
		}
		r, err := bench.PutsBesideImport(ctx, n.Addr(), func(lines io.Reader) error {
			result, err := c.Import(ctx, lines, client.ImportOptions{Collection: "guarded"})
			if err == nil && result.Refused > 0 {
				err = fmt.Errorf("%d lines were refused", result.Refused)
			}
			return err
		})
		results = append(results, r)
		return err
	})
	return results, err
}
