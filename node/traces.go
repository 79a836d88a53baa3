package node

import (
	"context"
	"net/url"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/tracing"
)

// openTraces makes the tracer, where there is where to send spans. The error is Invalid.
func (n *Node) openTraces(ctx context.Context) (err error) {
	ratio := n.cfg.Trace.Ratio
	if !(ratio >= 0 && ratio <= 1) { // also not a number
		return fanfold.Errorf(fanfold.Invalid, "--trace-ratio %v is not a number from 0 to 1", ratio)
	}
	if e := n.cfg.Trace.Endpoint; e != "" {
		if u, err := url.Parse(e); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fanfold.Errorf(fanfold.Invalid, "--trace-endpoint is not a URL such as http://127.0.0.1:4318")
		}
	}
	n.tracer, err = tracing.New(ctx, tracing.Options{Endpoint: n.cfg.Trace.Endpoint, Ratio: ratio, Version: Version(), Logger: n.cfg.Logger})
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "traces cannot be sent (--trace-endpoint %q): %v", n.cfg.Trace.Endpoint, err)
	}
	return nil
}

// onBatch is told of every batch folded.
func (n *Node) onBatch(began time.Time, events []*fanfold.Event) {
	n.metrics.OnBatch(time.Since(began))
	if n.tracer == nil {
		return
	}
	var traced []tracing.Event
	for _, ev := range events {
		if ev.Trace != "" {
			traced = append(traced, tracing.Event{Seq: ev.Seq, Parent: ev.Trace})
		}
	}
	n.tracer.Folded(began, len(events), traced)
}

// onSent returns the function that is told of every event after a feed has sent rows of it, nil if nothing is traced.
func (n *Node) onSent() func(ctx context.Context, seq uint64) {
	if n.tracer == nil {
		return nil
	}
	return n.tracer.Delivered
}
