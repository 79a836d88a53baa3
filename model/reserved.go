package model

import (
	"maps"
	"slices"
)

// Reserved holds the paths of removed rules, by collection, until the model releases them. A client that read a
// document before the removal must not be able to write its copies back as data. What stayed on documents by the rules
// stays stored as long.
type Reserved map[string][]string

// Next returns what is reserved once next replaces prev.
func (v Reserved) Next(prev, next *Model) Reserved {
	out := Reserved{}
	keep := func(collection, path string) {
		c := next.Collection(collection)
		if c != nil {
			if slices.Contains(c.Release, path) {
				return
			}
			if slices.ContainsFunc(c.Rules, func(r *Rule) bool { return slices.Contains(r.Paths(), path) }) {
				return
			}
		}
		if !slices.Contains(out[collection], path) {
			out[collection] = append(out[collection], path)
		}
	}
	for collection, paths := range v {
		for _, path := range paths {
			keep(collection, path)
		}
	}
	for _, c := range prev.Collections {
		for _, r := range c.Rules {
			for _, path := range r.Paths() {
				keep(c.Name, path)
			}
		}
	}
	for _, k := range next.Retired {
		keep(k.Collection, k.Path)
	}
	for _, c := range slices.Sorted(maps.Keys(out)) {
		slices.Sort(out[c])
	}
	return out
}
