package main

import (
	"context"
	"fmt"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// sequencesModel has documents that get a number, and others with a unique member.
const sequencesModel = `{"collections":{"invoices":{"sequences":{"number":{}}},"books":{"unique":["code"]}}}`

// benchSequences compares documents that get the next number with PUTs of as long documents that have a unique member.
func benchSequences(ctx context.Context, b *bench) error {
	s := benchStore{model: sequencesModel}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		for _, conns := range []int{16, 64} {
			write := func(line func(id string) string, member string) func(round int) (float64, error) {
				return func(round int) (float64, error) {
					rate, _, err := send(ctx, n.Addr(), conns, func(dst []byte, worker, i int) []byte {
						id := fmt.Sprintf("%d-%d-%d-%d", conns, round, worker, i)
						return appendRequest(dst, line(id), appendNote(nil, id, `,"`+member+`":"`+id+`"`))
					})
					return rate, err
				}
			}
			if err := b.pair(pair{name: fmt.Sprintf("POST with a sequence, %d connections", conns), unit: "writes/s", limit: "PUTs of new documents with a unique member",
				ours:  write(func(string) string { return "POST /v1/invoices" }, "note"),
				plain: write(func(id string) string { return "PUT /v1/books/" + id }, "code")}); err != nil {
				return err
			}
		}
		return nil
	})
}
