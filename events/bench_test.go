package events_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
)

// openEmbedded opens a log on an embedded server that syncs every write before its
// acknowledgement.
func openEmbedded(b *testing.B) *events.Log {
	b.Helper()
	server, err := embedded.Start(b.Context(), embedded.Options{Dir: b.TempDir(), Durability: embedded.Always, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	nc, err := server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	l, err := events.Open(b.Context(), nc, events.Options{Embedded: server})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkAppend appends one event after the other, each to a new document.
func BenchmarkAppend(b *testing.B) {
	l := openEmbedded(b)
	body := `{"text":"` + strings.Repeat("x", 490) + `"}`
	n := 0
	for b.Loop() {
		n++
		if _, err := l.Append(context.Background(), put(fmt.Sprint(n), body), fanfold.Exactly(0)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendConcurrent appends from 64 goroutines a processor, so that writes share commits.
func BenchmarkAppendConcurrent(b *testing.B) {
	l := openEmbedded(b)
	body := `{"text":"` + strings.Repeat("x", 490) + `"}`
	var n atomic.Int64
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Append(context.Background(), put(fmt.Sprint(n.Add(1)), body), fanfold.Exactly(0)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkEnvelope encodes and decodes the payload of a put.
func BenchmarkEnvelope(b *testing.B) {
	ev := put("1", `{"text":"`+strings.Repeat("x", 490)+`"}`)
	b.ReportAllocs()
	for b.Loop() {
		var back fanfold.Event
		if err := events.Decode(events.Encode(ev), &back); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScan reads 100,000 events through, as a node does at its start.
func BenchmarkScan(b *testing.B) {
	l := openEmbedded(b)
	const batches = 100
	body := `{"text":"` + strings.Repeat("x", 490) + `"}`
	for i := range batches {
		writes := make([]fanfold.Write, events.MaxBatch)
		for j := range writes {
			writes[j].Event = put(fmt.Sprint(i, "-", j), body)
		}
		if _, err := l.AppendAll(b.Context(), "", writes); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n := 0
		if err := l.Scan(b.Context(), 1, batches*events.MaxBatch, func(uint64, int, fanfold.Digest) error { n++; return nil }); err != nil || n != batches*events.MaxBatch {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.N)*batches*events.MaxBatch/b.Elapsed().Seconds(), "events/s")
}
