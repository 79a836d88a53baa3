package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fanfold/fanfold/function"
)

// maxFunctions is how many functions have series of their own since the start. Others are counted as "other".
const maxFunctions = 100

// functionInstruments count the runs of functions.
type functionInstruments struct {
	duration *prometheus.HistogramVec
	attempts *prometheus.CounterVec
	steps    *prometheus.CounterVec
	errors   *prometheus.CounterVec

	mu    sync.Mutex
	known map[string]bool
}

func newFunctionInstruments() *functionInstruments {
	of := []string{"function"}
	return &functionInstruments{known: map[string]bool{},
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanfold_function_duration_seconds", Help: "Time of a run of a function, with what it reads.", Buckets: requestSeconds}, of),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fanfold_function_attempts_total", Help: "Runs of functions: a call has several where others change what it reads."}, of),
		steps:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fanfold_function_steps_total", Help: "Steps that runs of functions took."}, of),
		errors:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fanfold_function_errors_total", Help: "Runs of functions that ended with a problem of the function, by its type."}, []string{"function", "reason"})}
}

// label returns the label of a function.
func (f *functionInstruments) label(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known[name] && len(f.known) >= maxFunctions {
		return "other"
	}
	f.known[name] = true
	return name
}

// FunctionRan counts a run of a function.
func (m *Metrics) FunctionRan(r function.Run) {
	f := m.functions
	name := f.label(r.Function)
	f.duration.WithLabelValues(name).Observe(r.Took.Seconds())
	f.attempts.WithLabelValues(name).Inc()
	f.steps.WithLabelValues(name).Add(float64(r.Steps))
	if r.Reason != "" {
		f.errors.WithLabelValues(name, string(r.Reason)).Inc()
	}
}
