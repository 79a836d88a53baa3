package js

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

var benchDocument = []byte(`{"_id":"a","name":"Some name","n":17,"tags":["a","b"],"at":"2026-01-01T00:00:00Z"}`)

func benchHost(context.Context, string, []byte) ([]byte, error) { return benchDocument, nil }

// ten does in Go what BenchmarkTen's function does.
func ten(b *testing.B) {
	for range 10 {
		text, _ := benchHost(b.Context(), "get", []byte(`["a","b"]`)) //nolint:errcheck // it has no error
		var doc map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			b.Fatal(err)
		}
		doc["n"] = doc["n"].(float64) + 1
		put, err := json.Marshal([]any{"a", "b", doc})
		if err != nil {
			b.Fatal(err)
		}
		_, _ = benchHost(b.Context(), "put", put)
	}
}

// beside measures calls of a source beside a Go function, in turns, and reports how many times as long a call takes.
func beside(b *testing.B, source string, plain func(*testing.B)) {
	p := load(b, shared(b), source)
	var calls, loops time.Duration
	var out Output
	for b.Loop() {
		began := time.Now()
		_, out = call(b, p, Input{Now: time.UnixMilli(1), Host: benchHost})
		between := time.Now()
		plain(b)
		calls += between.Sub(began)
		loops += time.Since(between)
	}
	b.ReportMetric(float64(out.Steps), "steps/op")
	b.ReportMetric(float64(calls)/float64(b.N)/1e3, "µs/call")
	b.ReportMetric(float64(calls)/float64(loops), "times-Go")
}

// BenchmarkTen: ten documents read, changed and written, beside a plain loop in Go that does so.
func BenchmarkTen(b *testing.B) {
	beside(b, `export default (ctx) => { for (let i = 0; i < 10; i++) { const d = ctx.get("a", "b"); d.n++; ctx.put("a", "b", d) } }`, ten)
}

// BenchmarkNoop: a call that does nothing, beside the same loop.
func BenchmarkNoop(b *testing.B) { beside(b, `export default () => null`, ten) }

// BenchmarkRestore: an instance set back after nothing was written, which is the least that a call takes.
func BenchmarkRestore(b *testing.B) {
	p := load(b, shared(b), `export default () => null`)
	call(b, p, Input{})
	in := <-p.runtime.idle
	own := 0
	for i, page := range p.image.pages {
		if i >= len(p.runtime.blank.pages) || &page[0] != &p.runtime.blank.pages[i][0] {
			own++
		}
	}
	for b.Loop() {
		in.restore(p.image)
	}
	p.runtime.idle <- in
	b.ReportMetric(float64(len(p.image.pages)), "pages")
	b.ReportMetric(float64(own), "own-pages")
}

// BenchmarkInstance: a fresh instance, which a call takes after a trap.
func BenchmarkInstance(b *testing.B) {
	r := shared(b)
	for b.Loop() {
		in, err := r.engine.instance(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		in.restore(r.blank)
		in.close(b.Context())
	}
}
