package node

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics serves Prometheus metrics of one node.
func metrics(n *Node) http.Handler {
	reg := prometheus.NewRegistry()
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("fanfold_applied_sequence", "Last event folded into the read model.", func() float64 { return float64(n.Projector.Status().Applied) })
	gauge("fanfold_lag_events", "Events in the log that are not folded yet, when last heard.", func() float64 { return float64(n.Projector.Status().Lag) })
	gauge("fanfold_projector_stopped", "1 while an event cannot be folded.", func() float64 {
		if n.Projector.Status().Stopped != nil {
			return 1
		}
		return 0
	})
	gauge("fanfold_rule_errors", "Evaluations of rules that failed for another reason than a missing member, since the start.", func() float64 {
		total := int64(0)
		for _, e := range n.Projector.Status().RuleErrors {
			total += e.Count
		}
		return float64(total)
	})
	gauge("fanfold_replay_sequence", "Last event replayed by the running or last replay.", func() float64 {
		if p := n.Projector.Status().Replay; p != nil {
			return float64(p.Seq)
		}
		return 0
	})
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "fanfold_folded_events_total", Help: "Events folded by this process."},
		func() float64 { return float64(n.Projector.Status().Folded) }))
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}
