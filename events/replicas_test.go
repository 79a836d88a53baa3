package events_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// onMessage is a log handler that calls back with every message.
type onMessage func(message string)

func (onMessage) Enabled(context.Context, slog.Level) bool         { return true }
func (fn onMessage) Handle(_ context.Context, r slog.Record) error { fn(r.Message); return nil }
func (fn onMessage) WithAttrs([]slog.Attr) slog.Handler            { return fn }
func (fn onMessage) WithGroup(string) slog.Handler                 { return fn }

// TestServerThatHasJustStarted: a cluster refuses replicas although enough servers answer, because they have not heard of one another yet.
// The log waits until they have, for a number that was asked for and for the usual one.
func TestServerThatHasJustStarted(t *testing.T) {
	for _, replicas := range []int{0, 3} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			cluster := natsserver.NewLinked(t, false, false)
			cluster.EachLink(2, (*natsserver.Link).Cut)
			nc := startAll(t, cluster)
			for limit := time.Now().Add(suite.Deadline(time.Minute)); !cluster.LeadingAmong(2); {
				if time.Now().After(limit) {
					t.Fatal("two of the servers have no leader")
				}
			}
			openMending(t, nc, replicas, func() { cluster.EachLink(2, (*natsserver.Link).Mend) })
		})
	}
}

// TestServersWithoutALeader: where the cluster has no leader yet, the log waits until it has, whether the servers say so or,
// having just started, nothing.
func TestServersWithoutALeader(t *testing.T) {
	for _, told := range []bool{false, true} {
		t.Run(fmt.Sprintf("told=%t", told), func(t *testing.T) {
			t.Parallel()
			cluster := natsserver.NewLinked(t, false, false)
			cluster.EachLink(1, (*natsserver.Link).Cut)
			cluster.EachLink(2, (*natsserver.Link).Cut)
			nc := startAll(t, cluster)
			for limit := time.Now().Add(suite.Deadline(time.Minute)); told; {
				answer, err := nc.Request("$JS.API.STREAM.INFO.fanfold", nil, 5*time.Second)
				if err == nil && strings.Contains(string(answer.Data), "10008") {
					break
				}
				if time.Now().After(limit) {
					t.Fatalf("a server without a leader answers %v, %v", answer, err)
				}
			}
			openMending(t, nc, 3, func() {
				cluster.EachLink(1, (*natsserver.Link).Mend)
				cluster.EachLink(2, (*natsserver.Link).Mend)
			})
		})
	}
}

// startAll starts three servers and returns a connection to the first.
func startAll(t *testing.T, cluster *natsserver.Linked) *nats.Conn {
	var urls []string
	for i := range 3 {
		cluster.Restart(i)
		urls = append(urls, "nats://"+cluster.Addr(i))
	}
	nc, err := servers.Connect(strings.Join(urls, ","), nats.DontRandomize())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// openMending opens a new log, which is to have 3 replicas, and calls mend when it says that it waits for servers. It opens it
// again where the servers take longer to agree than the log waits.
func openMending(t *testing.T, nc *nats.Conn, replicas int, mend func()) {
	var once sync.Once
	waited := false
	opt := events.Options{Replicas: replicas, Logger: slog.New(onMessage(func(message string) {
		if strings.Contains(message, "waits for") {
			once.Do(func() { waited = true; mend() })
		}
	}))}
	l, err := events.Open(t.Context(), nc, opt)
	for limit := time.Now().Add(suite.Deadline(3 * time.Minute)); fanfold.CodeOf(err) == fanfold.Unavailable && time.Now().Before(limit); {
		l, err = events.Open(t.Context(), nc, opt)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := l.Replicas().Ask(t.Context()); err != nil || r.Replicas != 3 || !waited {
		t.Errorf("asked for %d, the log has %d replicas, %v; it waited: %t", replicas, r.Replicas, err, waited)
	}
}
