package query

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// grouping is what the groups of a query are made by.
type grouping struct {
	by      *model.Index // its components are the terms of the key; none for one group of all
	names   []string     // of the terms, as they were asked for
	compute []aggregate
	sort    []groupSort // empty for the order of the keys
}

// groupSort is an entry of sort. One of its two places is not -1.
type groupSort struct {
	compute, term int
	descending    bool
}

// compileGroup reads group, compute, and the sort of groups.
func (q *Query) compileGroup() error {
	r := &q.request
	if !r.Grouped {
		return nil
	}
	by, err := q.components("group", r.Group, MaxGroup)
	if err != nil {
		return err
	}
	g := &grouping{by: &model.Index{Collection: r.Collection, Components: by}}
	arrays := map[string]bool{}
	for i, c := range by {
		name := strings.TrimSpace(r.Group[i])
		switch {
		case c.Descending:
			return fanfold.Errorf(fanfold.Invalid, "group: %q has no direction: leave out the -, and say it in sort", fanfold.Clip(name))
		case slices.Contains(g.names, name):
			return fanfold.Errorf(fanfold.Invalid, "group: %q is there twice", fanfold.Clip(name))
		}
		g.names = append(g.names, name)
		if array := (&model.Index{Components: []model.Component{c}}).Array(); array != nil {
			arrays[array.String()] = true
		}
	}
	if len(arrays) > 1 {
		return fanfold.Errorf(fanfold.Invalid, "group goes through two arrays: one is taken")
	}
	if len(r.Compute) > MaxCompute {
		return fanfold.Errorf(fanfold.Invalid, "compute has %d entries; at most %d are taken", len(r.Compute), MaxCompute)
	}
	for i, text := range r.Compute {
		a, err := q.parseAggregate(i, text)
		if err != nil {
			return err
		}
		if g.find(a.name) >= 0 {
			return fanfold.Errorf(fanfold.Invalid, "compute: %q is there twice", fanfold.Clip(a.name))
		}
		g.compute = append(g.compute, a)
	}
	if len(g.compute) == 0 {
		g.compute = []aggregate{{name: computeCount, function: computeCount}}
	}
	q.grouping = g
	return g.compileSort(r.Sort)
}

// find returns the place of an aggregate with a name, -1 for none.
func (g *grouping) find(name string) int {
	return slices.IndexFunc(g.compute, func(a aggregate) bool { return a.name == name })
}

// compileSort reads what groups are sorted by.
func (g *grouping) compileSort(list []string) error {
	if len(list) > MaxSort {
		return fanfold.Errorf(fanfold.Invalid, "sort has %d entries; at most %d are taken", len(list), MaxSort)
	}
	for _, text := range list {
		name, descending := strings.CutPrefix(strings.TrimSpace(text), "-")
		s := groupSort{compute: g.find(strings.TrimSpace(name)), term: -1, descending: descending}
		if s.compute < 0 {
			s.term = slices.Index(g.names, strings.TrimSpace(name))
		}
		if s.compute < 0 && s.term < 0 {
			return fanfold.Errorf(fanfold.Invalid, "sort: %q is an entry of neither compute nor group: groups are sorted by these alone", fanfold.Clip(text))
		}
		g.sort = append(g.sort, s)
	}
	return nil
}
