package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/sqlite"
)

// querySeconds are the bounds of the histogram of queries, which end after five seconds.
var querySeconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}

// queryRefusals are the reasons for which queries are refused, as the metrics have them.
var queryRefusals = []fanfold.Code{fanfold.Invalid, fanfold.NeedsIndex, fanfold.Busy}

// queryInstruments are the metrics of queries.
type queryInstruments struct {
	duration  *prometheus.HistogramVec
	documents prometheus.Counter
	refused   *prometheus.CounterVec
}

// newQueryInstruments returns the metrics of queries; every series is there.
func newQueryInstruments() *queryInstruments {
	q := &queryInstruments{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanfold_query_duration_seconds",
			Help: "Time for which a query asked the read model, by what it answers.", Buckets: querySeconds}, []string{"kind"}),
		documents: prometheus.NewCounter(prometheus.CounterOpts{Name: "fanfold_query_documents_total", Help: "Documents that queries looked at."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fanfold_query_refused_total",
			Help: "Queries that were refused, by the code of the problem."}, []string{"reason"}),
	}
	for _, group := range []bool{false, true} {
		q.duration.WithLabelValues(kindOf(group))
	}
	for _, reason := range queryRefusals {
		q.refused.WithLabelValues(string(reason))
	}
	return q
}

// kindOf returns what a query answers, as the metrics have it.
func kindOf(group bool) string {
	if group {
		return "group"
	}
	return "list"
}

// Queried counts a query.
func (m *Metrics) Queried(a api.Queried) {
	q := m.queries
	for _, reason := range queryRefusals {
		if a.Refused == string(reason) {
			q.refused.WithLabelValues(a.Refused).Inc()
		}
	}
	q.documents.Add(float64(a.Documents))
	if a.Took > 0 {
		q.duration.WithLabelValues(kindOf(a.Group)).Observe(a.Took.Seconds())
	}
}

// maxIndexSeries bounds the indexes that the metrics have. A model declares no more.
const maxIndexSeries = 500

// indexStates are the metrics of the declared indexes.
type indexStates struct {
	store   *sqlite.Store
	entries *prometheus.Desc
}

// newIndexStates returns the metrics of the indexes of a read model.
func newIndexStates(store *sqlite.Store) *indexStates {
	return &indexStates{store, prometheus.NewDesc("fanfold_index_entries", "Entries of a declared index.", []string{"collection", "index"}, nil)}
}

// Describe implements prometheus.Collector.
func (x *indexStates) Describe(out chan<- *prometheus.Desc) { out <- x.entries }

// Collect implements prometheus.Collector.
func (x *indexStates) Collect(out chan<- prometheus.Metric) {
	var all []sqlite.StoredIndex
	_ = x.store.Read(func(s *sqlite.Snapshot) (err error) { // what cannot be read is absent
		all, err = s.AllIndexes()
		return err
	})
	for _, index := range all[:min(len(all), maxIndexSeries)] {
		out <- prometheus.MustNewConstMetric(x.entries, prometheus.GaugeValue, float64(index.Entries), index.Collection, index.Name)
	}
}

// refusalStates are the metrics of what the rules of access have refused.
type refusalStates struct {
	judge *access.Judge
	total *prometheus.Desc
}

// newRefusalStates returns the metrics of what a judge's rules have refused.
func newRefusalStates(judge *access.Judge) *refusalStates {
	return &refusalStates{judge, prometheus.NewDesc("fanfold_rule_refusals_total", "Documents that the rule of a right has refused, without those that lists leave out.", []string{"collection", "right"}, nil)}
}

// Describe implements prometheus.Collector.
func (r *refusalStates) Describe(out chan<- *prometheus.Desc) { out <- r.total }

// Collect implements prometheus.Collector.
func (r *refusalStates) Collect(out chan<- prometheus.Metric) {
	for _, of := range r.judge.Refusals() {
		out <- prometheus.MustNewConstMetric(r.total, prometheus.CounterValue, float64(of.Count), of.Collection, of.Act)
	}
}
