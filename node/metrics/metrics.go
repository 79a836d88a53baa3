// Package metrics has the metrics of one node: those that its parts write, and those that are asked of them when somebody reads.
package metrics

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/internal/wire"
)

// The bounds of the histograms.
var (
	requestSeconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	syncSeconds    = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	roundEvents    = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
	foldSeconds    = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	fanoutChanges  = []float64{0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000}
)

// Metrics are the metrics of a node. They are there before its parts are, which write some of them.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	denied    *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	rounds    prometheus.Histogram
	syncs     prometheus.Histogram
	fanout    prometheus.Histogram
	folds     prometheus.Histogram
	queries   *queryInstruments
	functions *functionInstruments
	groups    *groupStates // nil until Watch, and where there are no groups
	routes    sync.Map     // *routeInstruments by routeKey
}

// New returns the metrics of one node.
func New() *Metrics {
	m := &Metrics{
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
		folds:  histogram("fanfold_fold_duration_seconds", "Time of a transaction that folds events.", foldSeconds),
	}
	m.queries, m.functions = newQueryInstruments(), newFunctionInstruments()
	m.registry.MustRegister(m.requests, m.denied, m.duration, m.rounds, m.syncs, m.fanout, m.folds, m.queries.duration, m.queries.documents, m.queries.refused,
		m.functions.duration, m.functions.attempts, m.functions.steps, m.functions.errors)
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

// Answered counts a request. The statuses are HTTP's, from 100 to 599.
func (m *Metrics) Answered(a api.Answer) {
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
		observe(r.duration, a.Took.Seconds(), a.Trace)
	}
}

// observe observes a duration. A trace is its exemplar, by which a dashboard leads to the request's spans.
func observe(o prometheus.Observer, seconds float64, trace string) {
	if exemplars, ok := o.(prometheus.ExemplarObserver); ok && trace != "" {
		exemplars.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": trace})
		return
	}
	o.Observe(seconds)
}

// statusText has the decimal digits of the statuses from 100 on.
var statusText = func() (texts [500]string) {
	for i := range texts {
		texts[i] = string([]byte{byte('1' + i/100), byte('0' + i/10%10), byte('0' + i%10)})
	}
	return texts
}()

// Gauge registers a gauge whose value is asked for when it is read.
func (m *Metrics) Gauge(name, help string, value func() float64, labels ...string) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: pairs(labels)}, value))
}

// Counter registers a counter whose value is asked for when it is read.
func (m *Metrics) Counter(name, help string, value func() uint64, labels ...string) {
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

// handler returns a handler that answers with the metrics. Whoever asks sees the names of those groups that his rights allow.
func (m *Metrics) handler() http.Handler {
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
		if m.groups != nil {
			source = groupsShown{source, m.groups, access.RightsIn(r.Context())}
		}
		promhttp.HandlerFor(source, promhttp.HandlerOpts{DisableCompression: true, EnableOpenMetrics: true}).ServeHTTP(w, r)
	})
}

// maxScrapes bounds how many requests for the metrics are answered at a time.
const maxScrapes = 4

// OnSync is told of every fsync of the log.
func (m *Metrics) OnSync(took time.Duration) { m.syncs.Observe(took.Seconds()) }

// OnRound is told of every round of writes.
func (m *Metrics) OnRound(events int) { m.rounds.Observe(float64(events)) }

// OnFolded is told of every event folded.
func (m *Metrics) OnFolded(derived int64) { m.fanout.Observe(float64(derived)) }

// OnBatch is told how long a batch of events was folded.
func (m *Metrics) OnBatch(took time.Duration) { m.folds.Observe(took.Seconds()) }

// CountDenied makes the series of denied requests, one for each path of some routes, so that their first request is counted as a
// step from 0.
func (m *Metrics) CountDenied(routes []string) {
	for _, route := range routes {
		_, path, _ := strings.Cut(route, " ")
		m.denied.WithLabelValues(path)
	}
}

// Denied counts a request whose sender lacks a right.
func (m *Metrics) Denied(route string) { m.denied.WithLabelValues(route).Inc() }

// GroupNeeds returns what of the consumer groups needs attention. It blocks for groupsTime at most.
func (m *Metrics) GroupNeeds() []wire.Need { return m.groups.needs() }
