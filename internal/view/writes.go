package view

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// Texts in place of documents that a principal may not read.
const (
	unnamed          = "a document that you may not read"
	unnamedHolds     = "does not let it happen"
	unnamedInTheWay  = "a document that you may not read does not let it happen"
	countedElsewhere = "documents of collections that you may not read are concerned"
)

// maxTold bounds each text of an error, in bytes. It may repeat what a body has.
const maxTold = 16 << 10

// Refusal returns an error with the documents that it may name, and with texts of at most maxTold bytes.
func (v View) Refusal(e *fanfold.Error) *fanfold.Error { return bounded(v.refusal(e)) }

// TellsAbout tells whether the reader may know of all that an error's message is about.
func (v View) TellsAbout(e *fanfold.Error) bool {
	return v.rights.ReadsAll() || !slices.ContainsFunc(e.About, func(key fanfold.Key) bool { return !v.names(key) })
}

// bounded returns an error whose longer texts lack their middle.
func bounded(e *fanfold.Error) *fanfold.Error {
	long := func(text string) bool { return len(text) > maxTold }
	if !long(e.Message) && !slices.ContainsFunc(e.Problems, func(p fanfold.Problem) bool { return long(p.Path) || long(p.Detail) }) {
		return e
	}
	cut := func(text string) string {
		if !long(text) {
			return text
		}
		return strings.ToValidUTF8(text[:maxTold*3/4], "") + "…" + strings.ToValidUTF8(text[len(text)-maxTold/8:], "")
	}
	told := *e
	told.Message, told.Problems = cut(e.Message), slices.Clone(e.Problems)
	for i, p := range told.Problems {
		told.Problems[i].Path, told.Problems[i].Detail = cut(p.Path), cut(p.Detail)
	}
	return &told
}

// refusal returns an error with the documents that it may name.
func (v View) refusal(e *fanfold.Error) *fanfold.Error {
	if len(e.Problems) == 0 && len(e.About) == 0 || v.rights.ReadsAll() {
		return e
	}
	shown := *e
	if !v.TellsAbout(e) {
		if shown.Message = e.Discreet; shown.Message == "" {
			shown.Message = unnamedInTheWay
		}
	}
	shown.Problems = nil
	for _, p := range e.Problems {
		if p, told := v.problem(p); told && (p.Path != unnamed || !slices.Contains(shown.Problems, p)) { // it does not say how many they are
			shown.Problems = append(shown.Problems, p)
		}
	}
	if shown.Problems == nil && e.Problems != nil {
		shown.Problems = []fanfold.Problem{{Path: "", Detail: countedElsewhere}}
	}
	return &shown
}

// problem returns a problem with the documents that it may name. It is not told where it counts documents of a collection.
func (v View) problem(p fanfold.Problem) (shown fanfold.Problem, told bool) {
	if p.Target.Collection != "" && !v.names(p.Target) {
		p.Detail = strings.ReplaceAll(p.Detail, p.Target.String(), unnamed)
	}
	if p.Key.Collection == "" || v.names(p.Key) {
		return p, true
	}
	return fanfold.Problem{Path: unnamed, Detail: unnamedHolds}, p.Key.ID != ""
}

// Writes returns those writes of a dry run whose documents may be named.
func (v View) Writes(all []fanfold.Write) []fanfold.Write {
	if v.rights.ReadsAll() {
		return all
	}
	var shown []fanfold.Write
	for _, w := range all {
		if v.rights.Reads(w.Event.Key.Collection) {
			shown = append(shown, w)
		}
	}
	return shown
}

// CountStep returns how many documents the writes of a step of a delete have deleted and changed, of those that may be read.
func (v View) CountStep(writes []fanfold.Write) (deleted, changed int) {
	for _, w := range v.Writes(writes) {
		if w.Event.Kind == fanfold.KindDelete {
			deleted++
		} else {
			changed++
		}
	}
	return deleted, changed
}

// Fanout returns what writes would cause in the collections that may be read.
func (v View) Fanout(f *model.Fanout) *model.Fanout {
	if v.rights.ReadsAll() {
		return f
	}
	shown := model.NewFanout()
	shown.Position = f.Position
	shown.Examples = slices.DeleteFunc(slices.Clone(f.Examples), func(e model.Example) bool { return !v.rights.Reads(e.Key.Collection) })
	for rule, n := range f.Rules {
		if v.rights.Reads(collectionOf(rule)) {
			shown.Rules[rule] = n
		}
	}
	for collection, n := range f.Collections {
		if v.rights.Reads(collection) {
			shown.Collections[collection] = n
			shown.Derived += n
		}
	}
	return shown
}
