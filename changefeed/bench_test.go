package changefeed_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
)

// discard is a ResponseWriter that keeps nothing.
type discard struct {
	io.Writer
	header http.Header
}

func (d discard) Header() http.Header { return d.header }
func (d discard) WriteHeader(int)     {}

// BenchmarkFeed answers with 1,000 changes at a time, a tenth of them derived.
func BenchmarkFeed(b *testing.B) {
	store := newMemoryStore()
	for i := range 1000 {
		ch := create(uint64(i+1), fmt.Sprint("b", i))
		if i%10 == 0 {
			ch.Op, ch.Rules, ch.Delta = fanfold.OpDerive, []string{"books.authorName"}, []byte(`[{"op":"replace","path":"/authorName","value":"A","old":"B"}]`)
		}
		store.add(ch)
	}
	feed := changefeed.New(store, changefeed.Options{})
	defer feed.Close()
	r := httptest.NewRequest(http.MethodGet, "/v1/_changes?mode=all", nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := answer(feed, discard{io.Discard, http.Header{}}, r); err != nil {
			b.Fatal(err)
		}
	}
}
