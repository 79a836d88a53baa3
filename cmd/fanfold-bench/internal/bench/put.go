package bench

import (
	"context"
	"fmt"
	"slices"
)

// latencies has the percentiles of several rounds, in ms.
type latencies struct{ p50, p99, longest []float64 }

func (l *latencies) add(sorted []float64) {
	l.p50 = append(l.p50, percentile(sorted, 50))
	l.p99 = append(l.p99, percentile(sorted, 99))
	l.longest = append(l.longest, percentile(sorted, 100))
}

// Put compares durable PUTs of new documents through the API at addr with plain durable publishes to raw. Each PUT waits for its fold. Both
// have the same concurrency, and messages of the same size.
func Put(ctx context.Context, addr string, raw RawLog, conns int) (Result, error) {
	name := fmt.Sprintf("durable PUT, %d connections", conns)
	if conns == 1 {
		name = "durable PUT, 1 connection"
	}
	var ours, limit latencies
	r, err := Pair{Name: name, Unit: "writes/s", Limit: "a message a write with its condition, one fsync for all that wait", Rounds: 4,
		Ours: func(round int) (float64, error) {
			rate, lats, err := Send(ctx, addr, conns, Puts(fmt.Sprintf("p%d-%d", conns, round)))
			ours.add(lats)
			return rate, err
		}, Plain: func(round int) (float64, error) {
			rate, lats, err := rawRound(ctx, raw, fmt.Sprintf("%d-%d", conns, round), conns)
			limit.add(lats)
			return rate, err
		}}.Run()
	if err == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("ours p50 %.2f ms, p99 %.2f ms, longest %.0f ms; limit p50 %.2f ms, p99 %.2f ms",
			median(ours.p50[1:]), median(ours.p99[1:]), slices.Max(ours.longest[1:]), median(limit.p50[1:]), median(limit.p99[1:])))
	}
	return r, err
}

// PutBeside compares durable PUTs of new documents to one node with those to another, in turn. p99s are in the notes.
func PutBeside(ctx context.Context, name, limit, addr, plain string, conns int) (Result, error) {
	var p99 [2]latencies
	measure := func(i int, addr string) func(round int) (float64, error) {
		return func(round int) (float64, error) {
			rate, lats, err := Send(ctx, addr, conns, Puts(fmt.Sprintf("p%d-%d", conns, round)))
			p99[i].add(lats)
			return rate, err
		}
	}
	r, err := Pair{Name: name, Unit: "writes/s", Limit: limit, Ours: measure(0, addr), Plain: measure(1, plain)}.Run()
	if err == nil {
		ours, limit := median(p99[0].p99[1:]), median(p99[1].p99[1:])
		r.Notes = append(r.Notes, fmt.Sprintf("p99 %.2f ms, limit %.2f ms: %.2f times", ours, limit, ours/limit))
	}
	return r, err
}
