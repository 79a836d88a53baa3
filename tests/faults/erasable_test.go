package faults_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// TestStatusTellsWhetherTheLogIsErasable: a node on a log that an older version made works, and its status says that nothing can
// be erased there.
func TestStatusTellsWhetherTheLogIsErasable(t *testing.T) {
	for _, old := range []bool{false, true} {
		url := natsserver.Start(t, 1)[0]
		js, err := jetstream.New(natsserver.Connect(t, url))
		if err != nil {
			t.Fatal(err)
		}
		if old {
			if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "fanfold", Subjects: []string{"fanfold.fanfold.>"}, Duplicates: events.DefaultWindow,
				AllowAtomicPublish: true, AllowDirect: true, DenyDelete: true, DenyPurge: true}); err != nil {
				t.Fatal(err)
			}
		}
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		s.Put("books", "b", `{"x":1}`)
		s.WantDoc("books", "b", `{"id":"b","x":1}`)
		var status struct{ LogErasable *bool }
		if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status); err != nil {
			t.Fatal(err)
		}
		if status.LogErasable == nil || *status.LogErasable == old {
			t.Errorf("made by an older version: %v; erasable: %v", old, status.LogErasable)
		}
		s.Close()
	}
}
