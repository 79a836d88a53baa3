package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// checksModel bounds what is sold of an author. Nothing is derived on books.
const checksModel = `{"collections":{"authors":{"derive":{"sold":{"sum":"sales.author","of":"quantity"},"left":{"value":"doc.stock - doc.sold"}},
"checks":{"stock":{"that":"doc.left >= 0"},"bound":{"that":"doc.sold <= 1000000000"}}},
"sales":{"relations":{"author":{"path":"author","to":"authors"}}},"books":{}}}`

// sales writes new documents that add to what is sold of one of so many authors.
func sales(name string, authors int) request {
	return func(dst []byte, worker, n int) []byte {
		id := fmt.Sprintf("%s-%d-%d", name, worker, n)
		author := strconv.Itoa((worker*7919 + n*31) % authors)
		return appendRequest(dst, "PUT /v1/sales/"+id, appendNote(nil, id, `,"quantity":1,"author":"`+author+`"`))
	}
}

// benchChecks compares writes that a check of another document looks at with PUTs of as long documents. It also has 60 buyers ask once each for 40
// pieces.
func benchChecks(ctx context.Context, b *bench) error {
	s := benchStore{model: checksModel, authors: benchAuthors}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		for _, row := range []struct {
			what    string
			authors int
		}{{"of one document", 1}, {"of many documents", benchAuthors}} {
			if err := b.pair(pair{name: "writes under a check " + row.what + ", 64 connections", unit: "writes/s", limit: "durable PUTs of new documents, 64 connections",
				ours: func(round int) (float64, error) {
					rate, _, err := send(ctx, n.Addr(), 64, sales(fmt.Sprintf("s%d-%d", row.authors, round), row.authors))
					return rate, err
				}, plain: func(round int) (float64, error) {
					rate, _, err := send(ctx, n.Addr(), 64, puts(fmt.Sprintf("c%d-%d", row.authors, round)))
					return rate, err
				}}); err != nil {
				return err
			}
		}
		return buyers(ctx, b, "http://"+n.Addr())
	})
}

// buyers has 60 buyers ask once each for 40 pieces, and adds how many got one.
func buyers(ctx context.Context, b *bench, url string) error {
	put := func(path, body string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, url+path, strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		return r.StatusCode, r.Body.Close()
	}
	if _, err := put("/v1/authors/few", `{"stock":40}`); err != nil {
		return err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	status, failed := map[int]int{}, error(nil)
	for i := range 60 {
		all.Go(func() {
			code, err := put(fmt.Sprintf("/v1/sales/few%d", i), `{"author":"few","quantity":1}`)
			mu.Lock()
			defer mu.Unlock()
			if status[code]++; err != nil {
				failed = err
			}
		})
	}
	all.Wait()
	b.one("60 buyers of 40 pieces, a request each", "sold", float64(status[http.StatusCreated]), 40, fmt.Sprintf("%d were told that there is none", status[http.StatusUnprocessableEntity]))
	return failed
}
