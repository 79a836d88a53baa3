package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// arraysModel has orders whose rules go through their lines, and receipts whose rules read members: both of one text.
const arraysModel = `{"collections":{
"authors":{"derive":{"sold":{"sum":"orders.author","of":"lines[].quantity"},"received":{"sum":"receipts.author","of":"quantity"}}},
"orders":{"relations":{"author":{"path":"author","to":"authors"}}},"receipts":{"relations":{"author":{"path":"author","to":"authors"}}},
"carts":{"derive":{"lines[].amount":{"value":"element.price * element.quantity"},"total":{"sum":"lines[].amount"}}},
"sales":{"derive":{"amount":{"value":"doc.price * doc.quantity"},"total":{"value":"doc.amount + doc.price"}}}}}`

// arrayLines are the lines of a document: ten.
var arrayLines = strings.TrimSuffix(strings.Repeat(`{"price":29.90,"quantity":3},`, 10), ",")

// orderPuts writes new documents of a collection, with lines. round is one that no other round has.
func orderPuts(collection string, round int) request {
	return func(dst []byte, worker, n int) []byte {
		id := fmt.Sprintf("%d-%d-%d", round, worker, n)
		body := fmt.Appendf(nil, `{"id":"%s","author":"%d","price":29.90,"quantity":30,"lines":[%s]}`, id, (worker*7919+n*31)%benchAuthors, arrayLines)
		return appendRequest(dst, "PUT /v1/"+collection+"/"+id, body)
	}
}

// benchArrays compares durable PUTs of documents with ten lines: sums through the lines with sums of members.
func benchArrays(ctx context.Context, b *bench) error {
	s := benchStore{model: arraysModel, authors: benchAuthors}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		for _, row := range []struct{ what, ours, limit, plain string }{
			{"others' sums through arrays", "orders", "sums of members", "receipts"},
			{"own amounts and sums through arrays", "carts", "amounts and sums of members", "sales"},
		} {
			if err := b.pair(pair{name: "PUT with " + row.what + ", 64 connections", unit: "writes/s", limit: "PUT of the same documents with " + row.limit,
				ours: func(round int) (float64, error) {
					rate, _, err := send(ctx, n.Addr(), 64, orderPuts(row.ours, round))
					return rate, err
				}, plain: func(round int) (float64, error) {
					rate, _, err := send(ctx, n.Addr(), 64, orderPuts(row.plain, round))
					return rate, err
				}}); err != nil {
				return err
			}
		}
		return nil
	})
}
