package fold_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// TestUnknownKindStops: an event of a kind that this program does not know is not folded as a put.
func TestUnknownKindStops(t *testing.T) {
	m := newMachine(t)
	ev := &fanfold.Event{Seq: 1, Time: time.Unix(1, 0), Kind: "rename", Key: fanfold.Key{Collection: "c", ID: "1"}, Body: []byte(`{"id":"1"}`)}
	err := m.store.Use(func(db *sqlite.DB) error { return apply(db, m.fold, []*fanfold.Event{ev}) })
	if err == nil || !strings.Contains(err.Error(), `event 1 (rename c/1)`) || !strings.Contains(err.Error(), "newer Fanfold") {
		t.Errorf("the fold says %v", err)
	}
}
