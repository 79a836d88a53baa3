package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestRetain: a node begins a compaction by itself once a tenth of the events is older than what is to be kept, and not before. Less than
// an hour is refused.
func TestRetain(t *testing.T) {
	if _, err := harness.Start(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.Retain = time.Minute }}); fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "--retain") {
		t.Fatalf("a history of a minute: %v", err)
	}
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: quickPurge})
	defer func() { s.Close() }()
	churn(t, s, 5)
	old := time.Now()
	s.Put("others", "o", `{}`)
	horizon := churn(t, s, 50) - 51
	if err := s.Node.Forget.Compactor.CompactIfDue(t.Context(), fanfold.Moment{Time: old}); err != nil || s.Node.Forget.Compactor.Compaction() != nil {
		t.Fatalf("of 56 events 5 are old: %v, %+v", err, s.Node.Forget.Compactor.Compaction())
	}
	churn(t, s, 1)
	before := everything(t, s)
	if err := s.Node.Forget.Compactor.CompactIfDue(t.Context(), fanfold.Moment{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	s.Compacted()
	if h, _, err := s.Node.Projector.Horizon(); err != nil || h.Seq <= horizon {
		t.Fatalf("the store begins at %+v, %v", h, err)
	}
	if after := everything(t, s); after != before {
		t.Fatal("the documents are others")
	}
	if c := s.Node.Forget.Compactor.Compaction(); c.By != "retain" {
		t.Fatalf("%+v", c)
	}
}
