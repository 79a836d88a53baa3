package node

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// The bounds of the histograms.
var (
	requestSeconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	syncSeconds    = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	roundEvents    = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
	fanoutChanges  = []float64{0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000}
)

// instruments are a node's metrics that its parts write. They are there before the parts are.
type instruments struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	denied   *prometheus.CounterVec
	duration *prometheus.HistogramVec
	rounds   prometheus.Histogram
	syncs    prometheus.Histogram
	fanout   prometheus.Histogram
	queries  *queryInstruments
	routes   sync.Map // *routeInstruments by routeKey
}

// newInstruments returns the metrics of one node.
func newInstruments() *instruments {
	m := &instruments{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fanfold_http_requests_total",
			Help: "Requests that have ended, by route, method and status; code 499 is a client that has gone before the answer."}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanfold_http_request_duration_seconds",
			Help: "Time from a request's headers to the end of its answer, without those of feeds.", Buckets: requestSeconds}, []string{"route", "method"}),
		denied: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fanfold_denied_requests_total",
			Help: "Requests with a key that works, or without one where that is let in, whose sender lacks a right, by route."}, []string{"route"}),
		rounds: histogram("fanfold_commit_round_events", "Events that one fsync of the embedded log made durable, or that one round of writes sent to an outside log.", roundEvents),
		syncs:  histogram("fanfold_log_sync_duration_seconds", "Time of an fsync of the embedded log.", syncSeconds),
		fanout: histogram("fanfold_fanout_changes", "Derived changes of an event, of those folded since the start.", fanoutChanges),
	}
	m.queries = newQueryInstruments()
	m.registry.MustRegister(m.requests, m.denied, m.duration, m.rounds, m.syncs, m.fanout, m.queries.duration, m.queries.documents, m.queries.refused)
	return m
}

// histogram returns a histogram without labels.
func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// routeKey names a route and a method.
type routeKey struct{ route, method string }

// routeInstruments are what one route and method have, so that counting a request looks nothing up by its labels.
type routeInstruments struct {
	duration prometheus.Observer // nil of a feed
	codes    [500]atomic.Pointer[prometheus.Counter]
}

// answered counts a request. The statuses are HTTP's, from 100 to 599.
func (m *instruments) answered(a api.Answer) {
	key := routeKey{a.Route, a.Method}
	known, ok := m.routes.Load(key)
	if !ok {
		r := &routeInstruments{}
		if !a.Feed {
			r.duration = m.duration.WithLabelValues(a.Route, a.Method)
		}
		known, _ = m.routes.LoadOrStore(key, r)
	}
	r := known.(*routeInstruments)
	if a.Status < 100 || a.Status > 599 {
		return
	}
	counter := r.codes[a.Status-100].Load()
	if counter == nil {
		c := m.requests.WithLabelValues(a.Route, a.Method, statusText[a.Status-100])
		counter = &c
		r.codes[a.Status-100].Store(counter)
	}
	(*counter).Inc()
	if r.duration != nil {
		r.duration.Observe(a.Took.Seconds())
	}
}

// statusText has the decimal digits of the statuses from 100 on.
var statusText = func() (texts [500]string) {
	for i := range texts {
		texts[i] = string([]byte{byte('1' + i/100), byte('0' + i/10%10), byte('0' + i%10)})
	}
	return texts
}()

// gauge registers a gauge whose value is asked for when it is read.
func (m *instruments) gauge(name, help string, value func() float64, labels ...string) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: pairs(labels)}, value))
}

// counter registers a counter whose value is asked for when it is read.
func (m *instruments) counter(name, help string, value func() uint64, labels ...string) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: pairs(labels)},
		func() float64 { return float64(value()) }))
}

// pairs returns labels from a list of name, value, name, value.
func pairs(list []string) prometheus.Labels {
	labels := prometheus.Labels{}
	for i := 0; i+1 < len(list); i += 2 {
		labels[list[i]] = list[i+1]
	}
	return labels
}

// metrics registers what is asked of the parts of a node, and returns a handler that answers with all metrics, in the format
// of Prometheus.
func metrics(n *Node) http.Handler {
	m := n.instruments
	n.processMetrics(m, func() bool { return len(n.reasons()) == 0 })
	n.tlsMetrics(m)
	n.backupMetrics(m)
	n.historyMetrics(m)
	n.foldMetrics(m)
	n.logMetrics(m)
	n.writeMetrics(m)
	n.feedMetrics(m)
	m.registry.MustRegister(newIndexStates(n.Store))
	n.memberMetrics(m)
	n.keyMetrics(m)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m.handler(n.groupStates)
}

// handler returns a handler that answers with the metrics, as whoever asks may see the groups of states, nil for none.
func (m *instruments) handler(states *groupStates) http.Handler {
	running := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		default:
			http.Error(w, "the metrics are being read by as many as may at a time: try again later", http.StatusServiceUnavailable)
			return
		}
		source := prometheus.Gatherer(m.registry)
		if states != nil {
			source = groupsShown{source, states, access.RightsIn(r.Context())}
		}
		promhttp.HandlerFor(source, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	})
}

// maxScrapes bounds how many requests for the metrics are answered at a time.
const maxScrapes = 4

// oneIf returns 1 where a condition holds, and 0 otherwise.
func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

// processMetrics registers what is about the process and its read model.
func (n *Node) processMetrics(m *instruments, ready func() bool) {
	m.gauge("fanfold_build_info", "1, with the program's version, that of Go, and that of the fold.", func() float64 { return 1 },
		"version", Version(), "goversion", runtime.Version(), "fold", fold.Fingerprint())
	m.gauge("fanfold_ready", "1 where /readyz says that the node is ready, 0 where it does not.", func() float64 {
		return oneIf(ready())
	})
	m.gauge("fanfold_requests_running", "Requests that are being answered, this one included.", func() float64 { return float64(n.api.Running()) })
	m.gauge("fanfold_sqlite_bytes", "Bytes of the read model's SQLite file, and of SQLite's log (WAL) beside it.", func() float64 {
		size, _ := n.Store.Sizes()
		return float64(size)
	}, "file", "database")
	m.gauge("fanfold_sqlite_bytes", "Bytes of the read model's SQLite file, and of SQLite's log (WAL) beside it.", func() float64 {
		_, size := n.Store.Sizes()
		return float64(size)
	}, "file", "wal")
}

// backupMetrics registers what is about the backups that this node made.
func (n *Node) backupMetrics(m *instruments) {
	m.gauge("fanfold_backup_last_timestamp_seconds", "When this node last served a backup to its end, in Unix time; 0 for none since the start.", func() float64 {
		at, _ := n.backups.last()
		if at.IsZero() {
			return 0
		}
		return float64(at.UnixMilli()) / 1000
	})
	m.gauge("fanfold_backup_last_sequence", "Last event of that backup; 0 for none since the start.", func() float64 {
		_, seq := n.backups.last()
		return float64(seq)
	})
}

// tlsMetrics registers what is about the certificate that the node shows.
func (n *Node) tlsMetrics(m *instruments) {
	if n.certificate != nil {
		m.gauge("fanfold_tls_expiry_seconds", "Seconds until the certificate of --tls-cert ends, below 0 once it has; only with TLS.",
			func() float64 { return n.certificate.expiresIn().Seconds() })
	}
}

// appliedHelp says what fanfold_applied_sequence is.
const appliedHelp = "Last event folded into the read model."

// foldMetrics registers what is about the fold, replays and models.
func (n *Node) foldMetrics(m *instruments) {
	status := func(value func(projector.Status) float64) func() float64 {
		return func() float64 { return value(n.Projector.Status()) }
	}
	m.gauge("fanfold_applied_sequence", appliedHelp, status(func(s projector.Status) float64 { return float64(s.Applied) }))
	m.gauge("fanfold_lag_events", "Events in the log that are not folded yet, when last heard.", status(func(s projector.Status) float64 { return float64(s.Lag) }))
	m.gauge("fanfold_lag_seconds", "How old the oldest event is at most that is not folded yet, without anybody's time of day; it grows while the log is out of reach.",
		func() float64 { return n.shownLag().Age.Seconds() })
	m.gauge("fanfold_projector_stopped", "1 while an event cannot be folded.", status(func(s projector.Status) float64 { return oneIf(s.Stopped != nil && !s.Stopped.LogAway()) }))
	m.gauge("fanfold_rule_errors", "Evaluations of rules that failed for another reason than a missing member, since the start.", status(func(s projector.Status) float64 {
		total := int64(0)
		for _, e := range s.RuleErrors {
			total += e.Count
		}
		return float64(total)
	}))
	m.gauge("fanfold_omitted_values", "Derived values that are absent because their embedded documents have no room for them.", func() float64 {
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
	replay := func(value func(*projector.Progress) float64) func() float64 {
		return status(func(s projector.Status) float64 {
			if s.Replay == nil {
				return 0
			}
			return value(s.Replay)
		})
	}
	m.gauge("fanfold_replay_sequence", "Last event replayed by the running or last replay.", replay(func(p *projector.Progress) float64 { return float64(p.Seq) }))
	m.gauge("fanfold_replay_progress_ratio", "How far the running replay is, from 0 to 1; 1 where none runs.",
		status(func(s projector.Status) float64 { return replayRatio(s.Replay) }))
	m.gauge("fanfold_replay_rate", "Events that the running or last replay replays in a second; rows, while a check compares them.", replay(func(p *projector.Progress) float64 { return p.Rate }))
	m.gauge("fanfold_replay_left_seconds", "Seconds that what the running replay is at will still take; 0 where none runs.", replay(func(p *projector.Progress) float64 { return p.Left }))
	m.gauge("fanfold_replay_different_rows", "Rows of the read model that the last replay with check found to differ; 0 after one without.", replay(func(p *projector.Progress) float64 {
		if p.Check == nil {
			return 0
		}
		return float64(p.Check.Different)
	}))
	m.gauge("fanfold_model_preparation_ratio", "How far this node is with the model that is being prepared, from 0 to 1; 1 where none is.",
		status(func(s projector.Status) float64 { return projector.Ratio(s.Preparing) }))
	m.counter("fanfold_folded_events_total", "Events folded by this process.", func() uint64 { return n.Projector.Status().Folded })
}

// replayRatio returns how far a replay is, 1 for none that runs.
func replayRatio(p *projector.Progress) float64 {
	if p == nil || !p.Running || p.Target == 0 {
		return 1
	}
	ratio := min(1, float64(p.Seq)/float64(p.Target))
	if p.Check != nil { // the other half is to compare
		ratio = ratio/2 + float64(p.Check.Compared)/float64(max(p.Check.Rows, 1))/2
	}
	return ratio
}

// logMetrics registers what is about the log.
func (n *Node) logMetrics(m *instruments) {
	m.gauge("fanfold_log_failing", "1 while the log takes no events, or the last one was not stored.", func() float64 {
		return oneIf(n.Log.Failing() != nil || n.Log.Damage() != nil)
	})
	m.gauge("fanfold_log_events", "Events that the log has, as it was asked every two seconds.", func() float64 {
		events, _ := n.Log.Size()
		return float64(events)
	})
	m.gauge("fanfold_log_bytes", "Bytes that the log has, of one replica, as it was asked every two seconds.", func() float64 {
		_, size := n.Log.Size()
		return float64(size)
	})
	m.counter("fanfold_commit_batches_total", "Group commits published as one atomic batch.", func() uint64 { return n.Log.Stats().Batches })
	m.counter("fanfold_commit_batched_events_total", "Events in these batches.", func() uint64 { return n.Log.Stats().Batched })
	m.counter("fanfold_commit_refused_batches_total", "Of these batches, those whose events had to be published by themselves.", func() uint64 { return n.Log.Stats().Refused })
	m.counter("fanfold_commit_single_events_total", "Events published by themselves.", func() uint64 { return n.Log.Stats().Singles })
	m.counter("fanfold_log_syncs_total", "Fsyncs of the embedded log, each for all concurrent writes.", func() uint64 { return n.Log.Stats().Syncs })
	m.counter("fanfold_append_resent_total", "Publishes repeated because the log had not decided.", func() uint64 { return n.Log.Stats().Resent })
}

// writeMetrics registers what is about writes.
func (n *Node) writeMetrics(m *instruments) {
	for _, operation := range writer.Operations {
		m.counter("fanfold_writes_total", "Writes that this node has stored: requests, and of imports documents.",
			func() uint64 { return n.writer.Stored(operation) }, "operation", operation)
	}
	m.counter("fanfold_write_conflicts_total", "Writes refused because what is stored did not fit them: conditions that do not hold, documents that exist, unique values, patches.",
		n.writer.Conflicts)
	m.counter("fanfold_write_retries_total", "Writes tried again inside because another write to the document was faster.", n.writer.Retries)
}

// subscriberMetrics registers how many read the change feed.
func (n *Node) subscriberMetrics(m *instruments) {
	for _, transport := range changefeed.Transports() {
		m.gauge("fanfold_feed_subscribers", "Answers of the change feed and of consumer groups that are under way.",
			func() float64 { return float64(n.feed.Subscribers(transport)) }, "transport", transport)
	}
}

// feedMetrics registers what is about the change feed and its groups.
func (n *Node) feedMetrics(m *instruments) {
	n.subscriberMetrics(m)
	m.gauge("fanfold_feed_lag_changes", "Changes, of all kinds, behind the endless feed that is the furthest behind; 0 where there is none.", func() float64 {
		at, found := n.feed.Farthest()
		if !found {
			return 0
		}
		upTo, all, err := groupModel{n.Store}.Ordinal(at)
		if err != nil {
			return 0
		}
		return float64(max(0, all-upTo))
	})
	m.registry.MustRegister(n.groupStates)
}

// onSync is told of every fsync of the log.
func (m *instruments) onSync(took time.Duration) { m.syncs.Observe(took.Seconds()) }

// onRound is told of every round of writes.
func (m *instruments) onRound(events int) { m.rounds.Observe(float64(events)) }

// onFolded is told of every event folded.
func (m *instruments) onFolded(derived int64) { m.fanout.Observe(float64(derived)) }
