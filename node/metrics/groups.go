package metrics

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/wire"
)

// Bounds of asking for the state of consumer groups, whose lags are counted.
const (
	groupsEvery = 15 * time.Second // at most as often
	groupsTime  = time.Second      // for as long at a time; those that are left are asked first the next time
)

// groupLabel is the label with a group's name.
const groupLabel = "group"

// groupStates are the metrics of consumer groups. They are read while somebody reads the metrics, and kept for a while.
// There are as many series as there are groups; a database has group.MaxGroups at most.
type groupStates struct {
	groups *group.Groups
	lag    *prometheus.Desc
	age    *prometheus.Desc
	parked *prometheus.Desc

	mu        sync.Mutex
	refreshed time.Time // when they were read last
	next      int       // the index of the group that is asked first the next time
	known     map[string]group.Backlog
	roles     map[string]wire.GroupSummary // of the groups that are known, by their names
}

// newGroupStates returns the metrics of groups.
func newGroupStates(groups *group.Groups) *groupStates {
	labels := []string{groupLabel}
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
	g.refresh()
	for name, b := range g.known {
		out <- prometheus.MustNewConstMetric(g.lag, prometheus.GaugeValue, float64(b.Changes), name)
		out <- prometheus.MustNewConstMetric(g.age, prometheus.GaugeValue, b.Seconds, name)
		out <- prometheus.MustNewConstMetric(g.parked, prometheus.GaugeValue, float64(b.Parked), name)
	}
}

// needs returns the groups with parked batches, by name. It blocks as Collect does.
func (g *groupStates) needs() (list []wire.Need) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh()
	for _, name := range slices.Sorted(maps.Keys(g.known)) {
		if n := g.known[name].Parked; n > 0 {
			list = append(list, wire.Need{What: wire.Counted(int64(n), "parked batch", "parked batches") + " of " + name, Detail: "They failed as often as the group allows.",
				Place: "/_groups/" + url.PathEscape(name), Role: g.roles[name].Settings.Role})
		}
	}
	return list
}

// shown returns how a group is called to whoever has rights: by its name, or by its id where its role is missing.
func (g *groupStates) shown(name string, rights *access.Rights) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.roles[name]
	if rights != nil && rights.Has(of.Settings.Role) {
		return name
	}
	return of.ID
}

// groupsShown are metrics in which groups are called as somebody may know them.
type groupsShown struct {
	prometheus.Gatherer
	states *groupStates
	rights *access.Rights
}

// Gather implements prometheus.Gatherer.
func (s groupsShown) Gather() ([]*dto.MetricFamily, error) {
	families, err := s.Gatherer.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == groupLabel {
					shown := s.states.shown(label.GetValue(), s.rights)
					label.Value = &shown
				}
			}
		}
	}
	return families, err
}

// refresh reads the states of the groups that are there where they are old, for groupsTime at most. Of those that it does not come
// to it keeps what was known. It is called with the lock.
func (g *groupStates) refresh() {
	if !g.refreshed.IsZero() && time.Since(g.refreshed) < groupsEvery {
		return
	}
	defer func() { g.refreshed = time.Now() }()
	ctx, cancel := context.WithTimeout(context.Background(), groupsTime)
	defer cancel()
	list, err := g.groups.List(ctx)
	if err != nil {
		return // the log is out of reach, which other metrics say
	}
	there := make(map[string]group.Backlog, len(list))
	g.roles = make(map[string]wire.GroupSummary, len(list))
	for _, s := range list {
		g.roles[s.Name] = s
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
