package model

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Function is JavaScript that runs inside a transaction: a client calls it by its name, or a collection has it as its trigger. The fold runs
// none, so nothing of this program reads Source except the writer.
type Function struct {
	Name    string
	Args    []byte   // a JSON Schema that the arguments must fit; nil for none
	Call    []string // the roles that may call it, sorted; RoleWrite where the model does not say, none for RoleAdmin alone
	Reads   []string // the declared collections that it queries, or sees in the embedded view, sorted
	AsModel bool     // it may do everything, rather than what its caller may
	Source  string   // the module, as the model has it
}

// same tells whether both declare the same function.
func (f *Function) same(o *Function) bool {
	return bytes.Equal(f.Args, o.Args) && slices.Equal(f.Call, o.Call) && slices.Equal(f.Reads, o.Reads) && f.AsModel == o.AsModel && f.Source == o.Source
}

// Function returns the function of that name, nil for none.
func (m *Model) Function(name string) *Function {
	i, found := slices.BinarySearchFunc(m.Functions, name, func(f *Function, name string) int { return strings.Compare(f.Name, name) })
	if !found {
		return nil
	}
	return m.Functions[i]
}

// HasFunctions tells whether the model has a function. A trigger needs one.
func (m *Model) HasFunctions() bool { return len(m.Functions) > 0 }

// GatesOf returns the collections whose writes can alter what a query, children or the embedded view shows of a collection, sorted: itself,
// and all from which its rules derive. A delete that changes documents of another collection writes those.
func (m *Model) GatesOf(collection string) []string {
	gates := []string{collection}
	for i, r := range m.Rules {
		if r.Collection != collection {
			continue
		}
		for _, source := range m.Sources[i] {
			if at, found := slices.BinarySearch(gates, source); !found {
				gates = slices.Insert(gates, at, source)
			}
		}
	}
	return gates
}

// Gated tells whether what some function reads depends on the writes of a collection as a whole, so that each batch of them has a gate.
func (m *Model) Gated(collection string) bool { return m.gated[collection] }

// IndexGates finds the collections that are gated. Whoever reads a model calls it once, when its functions, rules and Sources are in place.
func (m *Model) IndexGates() {
	m.gated = nil
	for _, f := range m.Functions {
		for _, read := range f.Reads {
			for _, collection := range m.GatesOf(read) {
				if m.gated == nil {
					m.gated = map[string]bool{}
				}
				m.gated[collection] = true
			}
		}
	}
}

// FunctionPair holds the functions of two models that have one name. One of the two may be nil.
type FunctionPair struct{ Prev, Next *Function }

// name returns the function's name.
func (p FunctionPair) name() string { return cmp.Or(p.Next, p.Prev).Name }

// Same tells whether both models have the function, with the same declaration.
func (p FunctionPair) Same() bool { return p.Prev != nil && p.Next != nil && p.Prev.same(p.Next) }

// ChangesFunctions tells whether a function comes, goes or is declared otherwise, or a collection gets another trigger.
func (c *Comparison) ChangesFunctions() bool {
	return slices.ContainsFunc(c.Functions, func(p FunctionPair) bool { return !p.Same() }) ||
		slices.ContainsFunc(c.Collections, func(p *CollectionPair) bool {
			before, after := p.both()
			return before.Trigger != after.Trigger
		})
}

// ChangesGates tells whether the collections that are gated differ.
func (c *Comparison) ChangesGates() bool {
	return slices.ContainsFunc(c.Collections, func(p *CollectionPair) bool { // no other collection is in reads
		return c.Prev.Gated(p.Name) != c.Next.Gated(p.Name)
	})
}

// trigger adds the trigger of a collection where it differs. One that goes, also for another, checks nothing any more.
func (d *differ) trigger(collection, before, after string) {
	if before != after {
		d.addDeclaration(changeOf(before != "", after != ""), before != "", "collections", collection, "trigger")
	}
}

// function adds a function that came or went, which breaks whoever calls it, or what differs in it. It may be called by others where it does
// not say any more by whom.
func (d *differ) function(old, f *Function) {
	switch {
	case old == nil:
		d.addDeclaration(added, false, "functions", f.Name)
		return
	case f == nil:
		d.addDeclaration(removed, true, "functions", old.Name)
		return
	}
	member := func(name string, differs, removes bool) {
		path := []string{"functions", f.Name, name}
		before, after := declaration(d.before, path) != nothing, declaration(d.after, path) != nothing
		if differs {
			d.addDeclaration(changeOf(before, after), removes || name == "call" && !after, path...)
		}
	}
	member("args", !bytes.Equal(old.Args, f.Args), schemaLoses(old.Args, f.Args))
	member("call", !slices.Equal(old.Call, f.Call), false)
	member("reads", !slices.Equal(old.Reads, f.Reads), false)
	member("authority", old.AsModel != f.AsModel, false)
	if old.Source != f.Source {
		d.add(Difference{Path: "functions." + f.Name + ".source", Change: changed, Detail: lineThatDiffers(old.Source, f.Source)})
	}
}

// lineThatDiffers tells of the first line in which two different texts differ.
func lineThatDiffers(before, after string) string {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	at := 0
	for at < len(was) && at < len(is) && was[at] == is[at] {
		at++
	}
	line := func(lines []string) string {
		if at == len(lines) {
			return nothing
		}
		return fmt.Sprintf("%.*q", maxDeclaration, lines[at])
	}
	return fmt.Sprintf("line %d is %s, was %s", at+1, line(is), line(was))
}
