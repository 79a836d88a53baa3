package node

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fanfold/fanfold/sqlite"
)

// metrics returns a handler that answers with a node's metrics, in the format of Prometheus.
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
	gauge("fanfold_omitted_values", "Derived values that are absent because their embedded documents have no room for them.", func() float64 {
		total := int64(0)
		_ = n.Store.Read(func(s *sqlite.Snapshot) error {
			all, err := s.Omissions()
			for _, o := range all {
				total += o.Values
			}
			return err
		})
		return float64(total)
	})
	gauge("fanfold_requests_running", "Requests that are being answered, this one included.", func() float64 { return float64(n.api.Running()) })
	gauge("fanfold_replay_sequence", "Last event replayed by the running or last replay.", func() float64 {
		if p := n.Projector.Status().Replay; p != nil {
			return float64(p.Seq)
		}
		return 0
	})
	counter := func(name, help string, value func() uint64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	counter("fanfold_folded_events_total", "Events folded by this process.", func() uint64 { return n.Projector.Status().Folded })
	counter("fanfold_write_retries_total", "Writes tried again inside because another write to the document was faster.", func() uint64 { return n.writer.Retries() })
	counter("fanfold_commit_batches_total", "Group commits published as one atomic batch.", func() uint64 { return n.Log.Stats().Batches })
	counter("fanfold_commit_batched_events_total", "Events in these batches.", func() uint64 { return n.Log.Stats().Batched })
	counter("fanfold_commit_refused_batches_total", "Of these batches, those whose events had to be published by themselves.", func() uint64 { return n.Log.Stats().Refused })
	counter("fanfold_commit_single_events_total", "Events published by themselves.", func() uint64 { return n.Log.Stats().Singles })
	counter("fanfold_log_syncs_total", "Fsyncs of the embedded log, each for all concurrent writes.", func() uint64 { return n.Log.Stats().Syncs })
	counter("fanfold_append_resent_total", "Publishes repeated because the log had not decided.", func() uint64 { return n.Log.Stats().Resent })
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}
