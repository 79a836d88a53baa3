package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// onWaiting is a logger's handler that calls fn once, when a node waits for servers because of the keys.
type onWaiting struct {
	once *sync.Once
	fn   func()
}

func (h onWaiting) Enabled(context.Context, slog.Level) bool { return true }
func (h onWaiting) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h onWaiting) WithGroup(string) slog.Handler            { return h }

// Handle implements slog.Handler.
func (h onWaiting) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if strings.Contains(r.Message, "waits for NATS servers") && strings.Contains(fmt.Sprint(a.Value.Any()), "keys") {
			h.once.Do(h.fn)
		}
		return true
	})
	return nil
}

// TestStartWaitsForTheLeaderOfTheKeys: a node that starts while the bucket of the keys has no leader waits for it, as it does for the log's. Electing
// one takes longer than the node waits for one answer.
func TestStartWaitsForTheLeaderOfTheKeys(t *testing.T) {
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	dir := t.TempDir()
	a := openOnThree(t, dir, cluster, nil)
	a.CloseHouse()
	key := a.Key
	a.Close()
	js, err := jetstream.New(natsserver.Connect(t, strings.Join(cluster.URLs(), ",")))
	if err != nil {
		t.Fatal(err)
	}
	const bucket = "KV_fanfold_fanfold_keys"
	stream, err := js.Stream(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.Replicas = 1 // on one server, without which it has no leader
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if !cluster.Await(func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.Config.Replicas == 1 && len(info.Cluster.Replicas) == 0 && cluster.Leader(bucket) >= 0
	}) {
		t.Fatal("the bucket of the keys is not on one server")
	}
	leader := cluster.Leader(bucket)
	cluster.Stop(leader)
	var once sync.Once
	waited := false
	b := harness.Open(t, harness.Options{Dir: dir, NATS: strings.Join(cluster.URLs(), ","), Replicas: 3, Key: key, Configure: func(cfg *node.Config) {
		cfg.Logger = slog.New(onWaiting{&once, func() { waited = true; cluster.Restart(leader) }})
	}})
	defer b.Close()
	harness.AwaitReady(t, b, http.StatusOK)
	if !waited {
		t.Error("the node did not wait for the leader of the keys")
	}
}
