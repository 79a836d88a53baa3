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

	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// onMessage is a log handler that calls back with every message.
type onMessage func(message string)

func (onMessage) Enabled(context.Context, slog.Level) bool         { return true }
func (fn onMessage) Handle(_ context.Context, r slog.Record) error { fn(r.Message); return nil }
func (fn onMessage) WithAttrs([]slog.Attr) slog.Handler            { return fn }
func (fn onMessage) WithGroup(string) slog.Handler                 { return fn }

// TestServerThatHasJustStarted: where the cluster refuses replicas although as many servers answer, for they have not heard of
// one another yet, the log waits until they have, whether the number is asked for or the usual one.
func TestServerThatHasJustStarted(t *testing.T) {
	for _, replicas := range []int{0, 3} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			servers := natsserver.NewLinked(t, false, false)
			servers.EachLink(2, (*natsserver.Link).Cut)
			var urls []string
			for i := range 3 {
				servers.Restart(i)
				urls = append(urls, "nats://"+servers.Addr(i))
			}
			for limit := time.Now().Add(time.Minute); !servers.LeadingAmong(2); {
				if time.Now().After(limit) {
					t.Fatal("two of the servers have no leader")
				}
			}
			nc, err := events.Connect(strings.Join(urls, ","), nats.DontRandomize())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(nc.Close)
			var mend sync.Once
			l, err := events.Open(t.Context(), nc, events.Options{Replicas: replicas, Logger: slog.New(onMessage(func(message string) {
				if strings.Contains(message, "waits for") {
					mend.Do(func() { servers.EachLink(2, (*natsserver.Link).Mend) })
				}
			}))})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := l.Replicas(t.Context()); err != nil || r.Replicas != 3 {
				t.Errorf("asked for %d, the log has %d replicas, %v", replicas, r.Replicas, err)
			}
		})
	}
}
