package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of a line that shows a change.
const (
	lineMembers = 6  // members whose values changed
	lineRules   = 3  // rules of a derived change
	lineValue   = 60 // characters of a value
)

// The colours of a line, as terminals take them.
const (
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// opColours has the colour of each operation.
var opColours = map[string]string{"create": green, "replace": yellow, "patch": yellow, "change": yellow, "delete": red, "erase": red, "derive": cyan, "leave": red, "enter": green}

// colours tells whether what is written to out is to have colours: only on a terminal that knows them, and unless NO_COLOR
// (no-color.org) says otherwise.
func colours(out io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(out)
}

// changeStyle says how a change is shown.
type changeStyle struct{ time, colour bool }

// paint returns text in a colour.
func (s changeStyle) paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return own + "[" + colour + "m" + text + own + "[0m"
}

// line returns a change as one line for people, in parts that two spaces divide.
func (s changeStyle) line(change client.Change) string {
	line := ""
	if s.time {
		line = s.paint(faint, change.Time.UTC().Format(time.RFC3339)) + "  "
	}
	line += s.paint(faint, fmt.Sprintf("%-20s", shown(change.Seq))) + " " + s.paint(opColours[change.Op], fmt.Sprintf("%-8s", shown(change.Op))) +
		" " + shown(change.Collection+"/"+change.ID)
	parts := whatChanged(change)
	for _, part := range parts[:min(len(parts), lineMembers)] {
		line += "  " + part
	}
	if more := len(parts) - lineMembers; more > 0 {
		line += fmt.Sprintf("  and %d more", more)
	}
	if cause := causeText(change.Cause); cause != "" {
		line += "  " + s.paint(faint, "("+cause+")")
	}
	if change.Within {
		line += "  " + s.paint(faint, "within")
	}
	return line
}

// causeText returns what a derived change follows from, "" for nothing.
func causeText(cause *client.Cause) string {
	if cause == nil || cause.Rule == "" {
		return ""
	}
	if cause.Collection == "" { // a model, or a document that the reader may not know
		return shown(rulesText(cause))
	}
	return shown(rulesText(cause) + ", from " + cause.Collection + "/" + cause.ID)
}

// rulesText returns the rules or relations by which a change follows from another, "" for none.
func rulesText(cause *client.Cause) string {
	rules := cause.Rules
	if len(rules) == 0 {
		return cause.Rule
	}
	text := strings.Join(rules[:min(len(rules), lineRules)], ", ")
	if more := len(rules) - lineRules; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// whatChanged returns the values that a change has changed, each with its path. A derived change has them in its
// patch. For others they are the members in which the document differs from the one before, if the change has both.
func whatChanged(change client.Change) (parts []string) {
	if change.Op != "derive" {
		if len(change.Doc) == 0 || change.Op != "create" && len(change.Previous) == 0 {
			return nil
		}
		return changedMembers(change.Previous, change.Doc)
	}
	var patch []struct {
		Path       string
		Value, Old json.RawMessage
	}
	if len(change.Patch) == 0 || json.Unmarshal(change.Patch, &patch) != nil {
		return nil
	}
	for _, p := range patch {
		parts = append(parts, changedValue(p.Path, p.Old, p.Value))
	}
	return parts
}

// changedMembers returns the members in which two versions of a document differ, those that are gone at the end. before is
// empty where there was none: then only the values that came are shown.
func changedMembers(before, after json.RawMessage) (parts []string) {
	old := jsondoc.MustParse([]byte("{}"))
	if len(before) > 0 {
		old = jsondoc.MustParse(jsondoc.Compact(nil, before))
	}
	now := jsondoc.MustParse(jsondoc.Compact(nil, after))
	for n := now.First(jsondoc.Root); n != jsondoc.None; n = now.Next(n) {
		name := now.Key(n)
		was := old.Member(jsondoc.Root, name)
		switch {
		case name == "_meta" || len(before) == 0 && name == "id":
		case len(before) == 0:
			parts = append(parts, pointer(name)+": "+shortened(string(now.Raw(n)), lineValue))
		case was == jsondoc.None:
			parts = append(parts, changedValue(pointer(name), nil, now.Raw(n)))
		case !bytes.Equal(old.Raw(was), now.Raw(n)):
			parts = append(parts, changedValue(pointer(name), old.Raw(was), now.Raw(n)))
		}
	}
	for n := old.First(jsondoc.Root); n != jsondoc.None; n = old.Next(n) {
		if name := old.Key(n); name != "_meta" && now.Member(jsondoc.Root, name) == jsondoc.None {
			parts = append(parts, changedValue(pointer(name), old.Raw(n), nil))
		}
	}
	return parts
}

// pointer returns a member's name as a JSON pointer.
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// changedValue returns a value before and after a change; nil stands for none.
func changedValue(path string, old, now json.RawMessage) string {
	return shortened(path, 2*lineValue) + ": " + orNone(old) + " -> " + orNone(now)
}

// orNone returns a JSON value's text, or none where it is not there.
func orNone(v json.RawMessage) string {
	if v == nil {
		return "none"
	}
	return shortened(string(v), lineValue)
}

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

// sourceOf returns what a change comes from: the document that was written and the rules, the function that was called, and who sent the
// request; "" where nothing is told.
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
	if change.Call != "" {
		sources = append(sources, "function "+change.Call)
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
