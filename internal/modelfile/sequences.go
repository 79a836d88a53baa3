package modelfile

import (
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/internal/sequence"
	"github.com/fanfold/fanfold/model"
)

// sequenceParser reads sequences.
type sequenceParser struct{ *parser }

// sequence reads one sequence, such as {per: doc.event, start: 1000, format: "{per}-{n:6}"}, and adds it to its collection.
func (p sequenceParser) sequence(c *model.Collection, path string, n jsondoc.Node, at string) {
	if len(c.Sequences) == maxSequences && p.isNew {
		p.problem(at, "a collection has at most %d sequences", maxSequences)
		return
	}
	s := &model.Sequence{Path: p.path(path, at), Start: 1, Source: p.tree.Raw(n)}
	if len(s.Path) == 0 {
		return
	}
	c.Sequences = append(c.Sequences, s)
	if s.Path.Arrays() || path == "id" || strings.HasPrefix(s.Path[0].Name, "_") {
		p.problem(at, "%q cannot hold a number: it must be a member of the document's own, outside arrays, other than id", path)
	}
	if kind := p.tree.Kind(n); kind != jsondoc.Object {
		p.problem(at, "must be a mapping, {} where nothing is to be said")
		return
	}
	aSequence.read(p.parser, n, at, func(member, at string, v jsondoc.Node) {
		switch member {
		case "per":
			p.sequencePer(s, v, at)
		case "start":
			start, err := strconv.ParseUint(p.tree.Text(v), 10, 64)
			if p.tree.Kind(v) != jsondoc.Number || err != nil || start < 1 || start > sequence.MaxNumber {
				p.problem(at, "must be a whole number from 1 to %d", uint64(sequence.MaxNumber))
			}
			s.Start = start
		case "format":
			format, err := sequence.Parse(p.text(v, at))
			if err != nil {
				p.problem(at, "%v", err)
			}
			s.Format = format
		}
	})
	if s.Format.HasPer() && s.Per == "" {
		p.problem(at+".format", "has {per}, and the sequence has no per")
	}
}

// sequencePer reads the expression of a sequence.
func (p sequenceParser) sequencePer(s *model.Sequence, n jsondoc.Node, at string) {
	before := len(p.problems) + p.untold
	s.Per = p.expression(n, at)
	if len(p.problems)+p.untold > before {
		return
	}
	program, err := expr.Compile(s.Per)
	if err != nil {
		p.problem(at, "%v", err)
		return
	}
	s.Evaluate = func(t *jsondoc.Tree) ([]byte, bool) {
		text, err := program.Eval(t)
		return text, err == nil
	}
}

// checkSequences reports sequences that meet each other, a rule or what is unique by an expression of the store, and those that look at
// what is not written.
func (p sequenceParser) checkSequences(c *model.Collection) {
	for i, s := range c.Sequences {
		at := model.SequencePath(c.Name, s)
		for _, o := range c.Sequences[:i] {
			if o.Path.Overlaps(s.Path) {
				p.problem(at, "overlaps with sequence %s", o.Path)
			}
		}
		for _, r := range c.Rules {
			for _, owned := range r.OwnedPaths() {
				if owned.Overlaps(s.Path) {
					p.problem(rulePath(r), "stands in the way of sequence %s", s.Path)
					break
				}
			}
		}
		if s.Evaluate != nil {
			p.checkSequencePer(c, s, at+".per")
		}
	}
	if p.isNew && c.Schema != nil && len(c.Sequences) > 0 && len(p.problems) == 0 {
		p.checkFits(c)
	}
}

// checkFits reports sequences whose first number the schema refuses. A text with a value of per is one that nobody knows yet, so the schema is
// asked alone whether it takes a text.
func (p sequenceParser) checkFits(c *model.Collection) {
	compiled, err := schema.Compile(c.Schema)
	if err != nil {
		p.problem("collections."+c.Name+".schema", "cannot be read: %v", err)
		return
	}
	for _, s := range c.Sequences {
		refuses := compiled.RefusesAt
		if s.Format.HasPer() {
			refuses = compiled.RefusesKindAt
		}
		empty := []byte("{}")
		numbered, err := s.With(jsondoc.MustParse(empty), empty, s.Format.Value(s.Start, ""))
		if err != nil {
			p.problem(model.SequencePath(c.Name, s), "%v", err)
			continue
		}
		for _, problem := range refuses(numbered, s.Path.Pointer()) {
			p.problem(model.SequencePath(c.Name, s), "the schema refuses its numbers: at %s %s", problem.Path, problem.Detail)
		}
	}
}

// checkSequencePer reports an expression that sees what a client does not write: derived members, and numbers of sequences.
func (p sequenceParser) checkSequencePer(c *model.Collection, s *model.Sequence, at string) {
	members, err := expr.MembersRead(s.Per)
	if err != nil { // which was told when it was read
		return
	}
	if members == nil {
		p.problem(at, "%q looks at doc as a whole, or at a member by a computed name: name the members that it is made of", s.Per)
		return
	}
	reader := &model.Rule{Reads: members}
	for _, r := range c.Rules {
		if reader.CanRead(r) {
			p.problem(at, "%q looks at %s, in which %s is derived: numbers are given by what is written", s.Per, r.Path[0].Name, r.Path)
		}
	}
	for _, o := range c.Sequences {
		if reader.CanRead(&model.Rule{Path: o.Path}) {
			p.problem(at, "%q looks at %s, in which a sequence writes its number", s.Per, o.Path[0].Name)
		}
	}
}
