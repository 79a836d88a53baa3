package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fanfold/fanfold/projector/inspect"
)

// ruleStates are the metrics of what rules find, as they were counted last. There is a series for each rule of the model
// with expressions or paths, of which a model has a bounded number, and none before they are counted.
type ruleStates struct {
	values  *inspect.ValueCounter
	noValue *prometheus.Desc
	nothing *prometheus.Desc
}

// newRuleStates returns the metrics of what a counter counts.
func newRuleStates(values *inspect.ValueCounter) *ruleStates {
	return &ruleStates{values: values,
		noValue: prometheus.NewDesc("fanfold_rule_no_value", "Documents in which the expressions and paths of a rule, or of what is unique, find no value, when they were counted last; absent before.", []string{"rule"}, nil),
		nothing: prometheus.NewDesc("fanfold_rules_without_value", "Rules, and declarations of what is unique, of which an expression or path finds a value in no document, when they were counted last; absent before.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (r *ruleStates) Describe(out chan<- *prometheus.Desc) {
	out <- r.noValue
	out <- r.nothing
}

// Collect implements prometheus.Collector.
func (r *ruleStates) Collect(out chan<- prometheus.Metric) {
	rules, nothing := 0, 0
	r.values.EachRule(func(rule string, noValue int64, findsNothing bool) {
		rules++
		if findsNothing {
			nothing++
		}
		out <- prometheus.MustNewConstMetric(r.noValue, prometheus.GaugeValue, float64(noValue), rule)
	})
	if rules > 0 {
		out <- prometheus.MustNewConstMetric(r.nothing, prometheus.GaugeValue, float64(nothing))
	}
}
