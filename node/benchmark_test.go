package node_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/writer"
)

// guardedModel has a collection with a unique member and a strict relation; books is without either.
const guardedModel = `{"collections":{"people":{"unique":["email"],"relations":{"team":{"path":"team","to":"teams","strict":true}}},"teams":{}}}`

// openNode runs a node with a model until the benchmark ends.
func openNode(b *testing.B, model string) *node.Node {
	b.Helper()
	n, err := node.Open(context.Background(), node.Config{Data: b.TempDir(), Listen: "127.0.0.1:0", Durability: "interval", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, nil) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	if model != "" {
		result, err := n.Writer().PutModel(ctx, writer.ModelRequest{Source: []byte(model), By: access.Node})
		if err == nil {
			err = n.Store.Applied.Wait(ctx, result.Applied)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return n
}

// request calls the API's handler, and fails the benchmark where the answer has another status.
func request(b *testing.B, n *node.Node, status int, method, path, body string) {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	n.API().Handler().ServeHTTP(w, r)
	if w.Code != status {
		b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// waitFolded waits until a node has folded all that is in its log.
func waitFolded(b *testing.B, n *node.Node) {
	b.Helper()
	last, err := n.Log.LastSeq(b.Context())
	if err == nil {
		err = n.Store.Applied.Wait(b.Context(), last)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkGet reads one document through the API's handler.
func BenchmarkGet(b *testing.B) {
	n := openNode(b, "")
	request(b, n, http.StatusCreated, http.MethodPut, "/v1/books/b1", `{"id":"b1","title":"The Go Programming Language"}`)
	b.ReportAllocs()
	for b.Loop() {
		request(b, n, http.StatusOK, http.MethodGet, "/v1/books/b1", "")
	}
}

// BenchmarkGetWithKey reads one document of a store without keys, and of one with keys, where a rule decides about documents or does not.
func BenchmarkGetWithKey(b *testing.B) {
	for _, c := range []struct{ name, model string }{{"open", ""}, {"key", `{"collections":{"books":{"access":{"read":["reader"]}}}}`},
		{"rule", `{"collections":{"books":{"access":{"read":{"where":"doc.owner == auth.sub"}}}}}`}} {
		b.Run(c.name, func(b *testing.B) {
			n := openNode(b, c.model)
			if err := put(n, "books", `{"id":"b1","title":"The Go Programming Language","owner":"ann"}`); err != nil {
				b.Fatal(err)
			}
			waitFolded(b, n)
			r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/books/b1", nil)
			if c.model != "" {
				for _, k := range []keys.Settings{{Name: "ops", Roles: []string{model.RoleAdmin}}, {Name: "ann", Sub: "ann", Roles: []string{"reader"}}} {
					_, key, err := n.Keys().Create(b.Context(), k)
					if err != nil {
						b.Fatal(err)
					}
					r.Header.Set("Authorization", "Bearer "+key.Text())
				}
			}
			h := n.API().Handler()
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
}

// BenchmarkLookup finds one document of a thousand by an index through the API's handler, and reads it by its id.
func BenchmarkLookup(b *testing.B) {
	n := openNode(b, `{"collections":{"books":{"indexes":{"byK":["k"]}}}}`)
	for i := range 1000 {
		if err := put(n, "books", fmt.Sprintf(`{"id":"b%d","k":%d,"summary":"%0360d"}`, i, i, i)); err != nil {
			b.Fatal(err)
		}
	}
	waitFolded(b, n)
	for name, path := range map[string]func(i int) string{
		"index": func(i int) string {
			return "/v1/books?filter=" + url.QueryEscape("doc.k == params.k") + "&params=" + url.QueryEscape(fmt.Sprintf(`{"k":%d}`, i))
		},
		"id": func(i int) string { return fmt.Sprint("/v1/books/b", i) },
	} {
		b.Run(name, func(b *testing.B) {
			requests := make([]*http.Request, 1000)
			for i := range requests {
				requests[i] = httptest.NewRequest(http.MethodGet, "http://localhost"+path(i), nil)
			}
			h, i := n.API().Handler(), 0
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, requests[i*7919%1000]); w.Code != http.StatusOK || w.Body.Len() < 360 {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
				i++
			}
		})
	}
}

// BenchmarkPut writes one document again and again through the API's handler, each time until it is folded.
func BenchmarkPut(b *testing.B) {
	n := openNode(b, "")
	const body = `{"id":"b1","title":"The Go Programming Language"}`
	request(b, n, http.StatusCreated, http.MethodPut, "/v1/books/b1", body)
	b.ReportAllocs()
	for b.Loop() {
		request(b, n, http.StatusNoContent, http.MethodPut, "/v1/books/b1", body)
	}
}

// put writes a document with the writer, and returns once it is in the log.
func put(n *node.Node, collection, body string) error {
	op := &writer.Operation{Kind: writer.Put, Key: fanfold.Key{Collection: collection}, Content: []byte(body)}
	if err := n.Writer().Prepare(context.Background(), op, access.Node); err != nil {
		return err
	}
	_, err := n.Writer().Write(context.Background(), op, writer.Request{Intent: writer.Intent{By: access.Node}})
	return err
}

// openTeam runs a node as openNode does, with the team to which all people belong.
func openTeam(b *testing.B) *node.Node {
	b.Helper()
	n := openNode(b, guardedModel)
	if err := put(n, "teams", `{"id":"t1"}`); err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkWrite writes new documents with the writer: without guards, with guards one after the other, and with guards
// from many goroutines, whose writes share rounds.
func BenchmarkWrite(b *testing.B) {
	var number atomic.Int64
	person := func() string {
		i := number.Add(1)
		return fmt.Sprintf(`{"id":"p%d","email":"p%d@example.com","team":"t1"}`, i, i)
	}
	b.Run("unguarded", func(b *testing.B) {
		n := openTeam(b)
		for b.Loop() {
			if err := put(n, "books", person()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("guarded", func(b *testing.B) {
		n := openTeam(b)
		for b.Loop() {
			if err := put(n, "people", person()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("guarded-parallel", func(b *testing.B) {
		n := openTeam(b)
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := put(n, "people", person()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
