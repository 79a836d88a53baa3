package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/node"
)

// benchRich measures an import of rich data under a model with many rules, beside the same without its guards. Then it measures a change
// that reaches the 22 of a hundred documents which refer to one, and a replay.
func benchRich(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	d := bench.RichData{Documents: documents}
	small, err := richRound(ctx, filepath.Join(dir, "small"), bench.RichData{Documents: documents / 10}, true, nil)
	if err != nil {
		return nil, err
	}
	plain, err := richRound(ctx, filepath.Join(dir, "plain"), d, false, nil)
	if err != nil {
		return nil, err
	}
	var change bench.Result
	guardedDir := filepath.Join(dir, "guarded")
	guarded, err := richRound(ctx, guardedDir, d, true, func(ctx context.Context, n *node.Node, c *client.Client) error {
		change, err = richChange(ctx, n, c, guardedDir, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	replay, err := bench.RichReplay(ctx, guardedDir, guarded)
	return []bench.Result{bench.RichResult(small, guarded, plain), change, replay}, err
}

// richRound imports rich data into a new store in dir, and calls then, which may be nil, on the node.
func richRound(ctx context.Context, dir string, d bench.RichData, guards bool, then measure) (r bench.RichRound, err error) {
	s := benchStore{model: `{"collections":{}}`}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
		if _, err := c.PutModel(ctx, []byte(bench.RichModel(guards)), client.ModelOptions{}); err != nil {
			return err
		}
		r, err = bench.MeasureRich(ctx, dir, n.Store, d, func(ctx context.Context, lines io.Reader) (refused int, err error) {
			result, err := c.Import(ctx, lines, client.ImportOptions{})
			return result.Refused, err
		})
		if err != nil || then == nil {
			return err
		}
		return then(ctx, n, c)
	})
	return r, err
}

// richChange moves publisher 0 to another city, which is copied to each of its books, and then changes the limit alone.
func richChange(ctx context.Context, n *node.Node, c *client.Client, dir string, d bench.RichData) (bench.Result, error) {
	publishers := client.Collection[json.RawMessage](c, "publishers")
	r, err := bench.Rename{
		Name:   fmt.Sprintf("change that reaches %d rich documents", d.Reached()),
		Path:   "$.publisherCity",
		Where:  "body ->> '$.publisher' = '0'",
		Copies: d.Reached(),
		Write: func(name string) error {
			_, err := publishers.Patch(ctx, "0", map[string]string{"city": name}, patient, client.AllowFanout())
			return err
		},
	}.Run(ctx, n.Store, dir)
	if err != nil {
		return r, err
	}
	began := time.Now()
	model := strings.Replace(bench.RichModel(true), "limit: 5000", "limit: 6000", 1)
	_, err = c.PutModel(ctx, []byte(model), client.ModelOptions{})
	r.Notes = append(r.Notes, fmt.Sprintf("a model with another limit alone took %d ms", time.Since(began).Milliseconds()))
	return r, err
}
