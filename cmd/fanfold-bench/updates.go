package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// benchUpdates compares updates by query of all books with an import that stores what they make of them, into the same store.
func benchUpdates(ctx context.Context, b *bench) error {
	count := 50_000 / b.scale
	s := benchStore{model: benchModel, authors: benchAuthors, books: count}
	return s.run(ctx, b.dir, func(ctx context.Context, _ *node.Node, c *client.Client) error {
		books := client.Collection[json.RawMessage](c, "books")
		return b.pair(pair{name: fmt.Sprintf("update by query of %d documents", count), unit: "documents/s", rounds: 3, limit: "an import that replaces the same documents",
			ours: func(round int) (float64, error) {
				return perSecond(count, func(int) error {
					r, err := books.UpdateByQuery(ctx, "true", map[string]int{"updated": round}, client.ByQuery{})
					if err == nil && r.Written != count {
						err = fmt.Errorf("the update wrote %d of %d documents", r.Written, count)
					}
					return err
				})(round)
			}, plain: func(round int) (float64, error) {
				var lines []byte
				for i := range count {
					lines = fmt.Appendf(lines, `%s,"updated":%d}`+"\n", s.book(i)[:len(s.book(i))-1], -1-round)
				}
				return perSecond(count, func(int) error {
					_, err := c.Import(ctx, bytes.NewReader(lines), client.ImportOptions{Collection: "books"})
					return err
				})(round)
			}})
	})
}
