package node

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fanfold/fanfold/changefeed/group"
)

// Bounds of asking for the state of consumer groups, whose lags are counted.
const (
	groupsEvery = 15 * time.Second // at most as often
	groupsTime  = time.Second      // for as long at a time; those that are left are asked first the next time
)

// groupStates are the metrics of consumer groups. They are read while somebody reads the metrics, and kept for a while.
// There are as many series as there are groups, of which a database has group.MaxGroups.
type groupStates struct {
	groups *group.Groups
	lag    *prometheus.Desc
	age    *prometheus.Desc
	parked *prometheus.Desc

	mu        sync.Mutex
	refreshed time.Time // when they were read last
	next      int       // the index of the group that is asked first the next time
	known     map[string]group.Backlog
}

// newGroupStates returns the metrics of groups.
func newGroupStates(groups *group.Groups) *groupStates {
	labels := []string{"group"}
	return &groupStates{groups: groups, known: map[string]group.Backlog{},
		lag:    prometheus.NewDesc("fanfold_group_lag_changes", "Changes that a consumer group has yet to acknowledge; of all kinds where they cannot be counted by its selection.", labels, nil),
		age:    prometheus.NewDesc("fanfold_group_lag_seconds", "Age of the oldest change that a consumer group has yet to acknowledge.", labels, nil),
		parked: prometheus.NewDesc("fanfold_group_parked_batches", "Batches of a consumer group that were parked because they kept failing.", labels, nil)}
}

// Describe implements prometheus.Collector.
func (g *groupStates) Describe(out chan<- *prometheus.Desc) {
	out <- g.lag
	out <- g.age
	out <- g.parked
}

// Collect implements prometheus.Collector. It blocks for groupsTime at most where the states are old.
func (g *groupStates) Collect(out chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refreshed.IsZero() || time.Since(g.refreshed) >= groupsEvery {
		g.refresh()
		g.refreshed = time.Now()
	}
	for name, b := range g.known {
		out <- prometheus.MustNewConstMetric(g.lag, prometheus.GaugeValue, float64(b.Changes), name)
		out <- prometheus.MustNewConstMetric(g.age, prometheus.GaugeValue, b.Seconds, name)
		out <- prometheus.MustNewConstMetric(g.parked, prometheus.GaugeValue, float64(b.Parked), name)
	}
}

// refresh reads the states of the groups that are there, for groupsTime at most. Of those that it does not come to it keeps
// what was known. It is called with the lock.
func (g *groupStates) refresh() {
	ctx, cancel := context.WithTimeout(context.Background(), groupsTime)
	defer cancel()
	list, err := g.groups.List(ctx)
	if err != nil {
		return // the log is out of reach, which other metrics say
	}
	there := make(map[string]group.Backlog, len(list))
	for _, s := range list {
		if b, ok := g.known[s.Name]; ok {
			there[s.Name] = b
		}
	}
	for range list {
		if ctx.Err() != nil {
			break
		}
		name := list[g.next%len(list)].Name
		if b, err := g.groups.Backlog(ctx, name); err == nil {
			there[name] = b
		}
		g.next++
	}
	g.known = there
}
