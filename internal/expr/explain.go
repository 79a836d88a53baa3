package expr

import (
	"errors"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// The beginnings of cel-go's errors of a member and of an index that are missing.
const (
	noSuchKey   = "no such key"
	outOfBounds = "index out of bounds"
)

// missing takes note of the members that an evaluation does not find.
type missing struct {
	text    string // of the error that ended the evaluation
	members []missingMember
}

// missingMember is a member that an object of the document does not have.
type missingMember struct {
	object jsondoc.Node
	name   string
}

// maxMissing is how many members are noted: an expression may ask for any number of them, and go on.
const maxMissing = 100

// note notes a member that is not there.
func (m *missing) note(object jsondoc.Node, name string) {
	if len(m.members) < maxMissing {
		m.members = append(m.members, missingMember{object, name})
	}
}

// Explain returns why the expression has no value over doc, in words for people, and "" where it has one. It evaluates
// the expression anew.
func (p *Program) Explain(doc *jsondoc.Tree) string { return p.ExplainOwn(doc, Meta{}) }

// ExplainOwn does what Explain does, with meta.
func (p *Program) ExplainOwn(doc *jsondoc.Tree, meta Meta) string {
	e, err := p.explain(doc, func(e *evaluation) error {
		e.meta = &meta
		_, err := p.text(e)
		return err
	})
	return e.reason(err)
}

// ExplainCondition returns why the expression is neither true nor false of doc, in words for people, and "" where it is
// one of them. It evaluates the expression anew.
func (p *Program) ExplainCondition(doc *jsondoc.Tree) string {
	e, err := p.explain(doc, func(e *evaluation) error {
		_, err := p.decide(e)
		return err
	})
	return e.reason(err)
}

// explain calls fn with an evaluation over doc that takes note of what is missing, and returns its error.
func (p *Program) explain(doc *jsondoc.Tree, fn func(e *evaluation) error) (e *evaluation, err error) {
	defer recoverCost(&err)
	e = newEvaluation(doc)
	e.explained = &missing{}
	return e, fn(e)
}

// reason returns what the error of an evaluation says, "" for nil.
func (e *evaluation) reason(err error) string {
	switch {
	case err == nil:
		return ""
	case !errors.Is(err, ErrNoValue):
		return err.Error()
	}
	what, key, _ := strings.Cut(e.explained.text, ": ")
	if what == outOfBounds {
		return "there is no element " + key
	}
	if key == metaCreator || key == metaWriter {
		return key + " has no value: no key of the request is known"
	}
	for i := len(e.explained.members) - 1; i >= 0; i-- {
		if m := e.explained.members[i]; m.name == key {
			return e.tree.Missing(m.object, m.name)
		}
	}
	return "there is no member " + strconv.Quote(key)
}
