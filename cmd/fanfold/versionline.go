package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// version returns a change of a document's history as one line for people, in parts that two spaces divide.
func (s changeStyle) version(change client.Change) string {
	parts := patchedValues(change.Patch)
	switch {
	case change.Op == "delete":
		parts = nil // the whole document went
	case change.Erased():
		parts = []string{"all that it was is erased"}
	}
	line := s.paint(faint, fmt.Sprintf("%-9s", shown(shortPosition(change.Seq)))+"  "+change.Time.UTC().Format(time.RFC3339)) +
		"  " + s.paint(opColours[change.Op], fmt.Sprintf("%-7s", shown(change.Op)))
	for _, part := range parts[:min(len(parts), lineMembers)] {
		line += "  " + part
	}
	if more := len(parts) - lineMembers; more > 0 {
		line += fmt.Sprintf("  and %d more", more)
	}
	if by := sourceOf(change); by != "" {
		line += "  " + s.paint(faint, "by "+by)
	}
	if change.Within {
		line += "  " + s.paint(faint, "within")
	}
	return strings.TrimRight(line, " ")
}

// shortPosition returns a position without the store and what follows it. Commands take it as it is.
func shortPosition(position string) string {
	parts := strings.SplitN(position, "-", 3)
	return strings.Join(parts[:min(len(parts), 2)], "-")
}

// sourceOf returns what a change comes from: the document that was written and the rules, and who sent the request; "" where nothing is
// told.
func sourceOf(change client.Change) string {
	var sources []string
	if cause := change.Cause; cause != nil {
		rules := rulesText(cause)
		switch {
		case cause.Collection == "":
			sources = append(sources, rules)
		case rules == "":
			sources = append(sources, cause.Collection+"/"+cause.ID)
		default:
			sources = append(sources, cause.Collection+"/"+cause.ID+" ("+rules+")")
		}
	}
	if change.Actor != "" {
		sources = append(sources, change.Actor)
	}
	return shown(strings.Join(sources, ", "))
}

// patchedValues returns the values that a JSON Patch with old values changes, each with its path. Of a whole document that it adds or
// replaces these are the members.
func patchedValues(text json.RawMessage) (parts []string) {
	var patch []struct {
		Op, Path   string
		Value, Old json.RawMessage
	}
	if len(text) == 0 || json.Unmarshal(text, &patch) != nil {
		return nil
	}
	for _, p := range patch {
		switch {
		case p.Path == "" && p.Op == "add":
			parts = append(parts, membersOf(p.Value)...)
		case p.Path == "":
			parts = append(parts, "the whole document")
		default:
			parts = append(parts, shortened(strings.TrimPrefix(p.Path, "/"), 2*lineValue)+" "+orNone(p.Old)+" -> "+orNone(p.Value))
		}
	}
	return parts
}

// membersOf returns the members of a document, each with its value, without the id; nil for what is no document.
func membersOf(doc json.RawMessage) (parts []string) {
	var t jsondoc.Tree
	if t.Parse(doc) != nil || t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		if name := t.Key(n); name != "id" {
			parts = append(parts, shortened(strings.TrimPrefix(pointer(name), "/"), 2*lineValue)+" "+shortened(string(t.Raw(n)), lineValue))
		}
	}
	return parts
}
