package cluster_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestLostBucketOfNodes: a store whose bucket of nodes is deleted, which holds nothing that the log needs, takes writes again
// by itself.
func TestLostBucketOfNodes(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer s.Close()
	s.Put("books", "b", `{}`)
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	const bucket = "KV_fanfold_fanfold_nodes"
	if err := js.DeleteStream(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the bucket", time.Minute, func() bool {
		_, err := js.Stream(t.Context(), bucket)
		return err == nil
	})
	harness.Await(t, "a write", time.Minute, func() bool {
		r, err := s.Do(http.MethodPut, "/v1/books/b", []byte(`{"x":1}`))
		return err == nil && r.Status == http.StatusNoContent
	})
}
