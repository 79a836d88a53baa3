package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestImportLeavesNoWAL: once an import is answered nothing of SQLite's log is left, unless a reader holds a snapshot from before: then it
// goes after that has ended. It also goes after other writes, once there are no more.
func TestImportLeavesNoWAL(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.Bookshop)
	wal := func() int64 { _, n := s.Node.Store.Sizes(); return n }
	load := func(prefix string) {
		t.Helper()
		var text strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&text, `{"id":"%s%d","authors":[{"id":"a%d"}],"text":"%01000d"}`+"\n", prefix, i, i%100, i)
		}
		if got := harness.ImportText(t, s.Client, "collection=books", text.String()); !strings.Contains(got, `"written":3000`) || !strings.Contains(got, `"folded":true`) {
			t.Fatalf("the import says %s", got)
		}
	}
	if load("a"); wal() > 0 {
		t.Errorf("after an import the WAL has %d bytes", wal())
	}
	sc, err := s.Node.Store.Scan()
	if err != nil {
		t.Fatal(err)
	}
	if load("b"); wal() == 0 {
		t.Error("the WAL of a reader is gone")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if s.Node.Projector.Tidy(ctx); ctx.Err() == nil {
		t.Error("the reader is not waited for")
	}
	if err := sc.Close(); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the WAL to go after the reader", time.Minute, func() bool { return wal() == 0 })
	write := func(prefix string) {
		for i := range 4 {
			s.Put("books", fmt.Sprint(prefix, i), fmt.Sprintf(`{"text":"%01000000d"}`, i))
		}
	}
	write("c")
	harness.Await(t, "the WAL to go after writes", time.Minute, func() bool { return wal() == 0 })
	write("d")
	var tidying sync.WaitGroup
	for range 4 { // none keeps another from it
		tidying.Go(func() { s.Node.Projector.Tidy(t.Context()) })
	}
	if tidying.Wait(); wal() > 0 {
		t.Errorf("after all have tidied up the WAL has %d bytes", wal())
	}
}
