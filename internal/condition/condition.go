// Package condition judges the conditions that writes set on the content of their documents: the language of a query's filter, over a
// document as it was written.
package condition

import (
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Bounds of all conditions of one request.
const (
	maxText = 64 << 10 // bytes of their texts
	maxCost = expr.MaxCost
)

// Set holds what the conditions of one request have taken so far. It is for one goroutine.
type Set struct{ text, cost int }

// Condition is what must be true of a document.
type Condition struct {
	compiled *expr.Condition
	params   *jsondoc.Tree
	set      *Set
}

// Parse returns a condition with its parameters, the text of a JSON object, or nil for none. The error is Invalid, and says what is wrong and in which
// column, or which bound is passed.
func (s *Set) Parse(source string, params []byte) (*Condition, error) {
	c := &Condition{set: s}
	var err error
	if params != nil {
		if c.params, err = expr.ParseParams(params); err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "params: %s", oneLine(err))
		}
	}
	if s.text += len(source); s.text > maxText {
		return nil, fanfold.Errorf(fanfold.Invalid, "if: with this one the conditions of the request have more than %d bytes", maxText)
	}
	if c.compiled, err = expr.CompileCondition(source); err == nil {
		_, err = c.compiled.Bind(c.params)
	}
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "if: %s", oneLine(err))
	}
	return c, nil
}

// oneLine returns the first line of an error: the others point at the place.
func oneLine(err error) string {
	line, _, _ := strings.Cut(fanfold.MessageOf(err), "\n")
	return line
}

// CheckPaths returns an Invalid where the condition looks at a member that a rule gives. Others change such a member without a write of the document, so
// its revision says nothing about it.
func (c *Condition) CheckPaths(shape *model.Shape) error {
	for _, path := range c.compiled.DocPaths() {
		if owner, at := shape.Owner(path); owner != nil && owner.Rule != nil {
			return fanfold.Errorf(fanfold.Invalid, "if: a rule derives %s, and a condition sees the document as it was written: ask for members that are written", at)
		}
	}
	return nil
}

// Names returns the path of a member that hides tells of at a place which the condition names, "" for none.
func (c *Condition) Names(hides func(names []string) string) string {
	for _, names := range c.compiled.DocPaths() {
		if path := hides(names); path != "" {
			return path
		}
	}
	return ""
}

// Holds returns nil where the condition is true of a document, as it was written. Errors are ConditionFailed, with the document's revision, and
// Unprocessable where the conditions of the request take too much work.
func (c *Condition) Holds(doc *fanfold.Document) error {
	bound, err := c.compiled.Bind(c.params)
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "if: %s", oneLine(err))
	}
	if c.set.cost > maxCost {
		return fanfold.Errorf(fanfold.Unprocessable, "if: the conditions of the request cost more than %d together", maxCost)
	}
	verdict, err := bound.Judge(expr.Facts{Doc: jsondoc.MustParse(doc.Body), Created: doc.Created, Updated: doc.Updated})
	c.set.cost += bound.Cost()
	why := "is false"
	switch {
	case err != nil:
		return fanfold.Errorf(fanfold.Unprocessable, "if: %s", oneLine(err))
	case verdict == expr.True:
		return nil
	case verdict == expr.NoValue:
		why = "has no value (a member is missing, types do not go together, or it takes too much work)"
	}
	return &fanfold.Error{Code: fanfold.ConditionFailed, Current: doc.Revision, Message: "nothing was written: the condition if " + why + " for " + doc.Key.String() + " as it is"}
}

// Missing returns the ConditionFailed of a document that is not there.
func Missing(key fanfold.Key) error {
	return fanfold.Errorf(fanfold.ConditionFailed, "nothing was written: there is no document %s, of which the condition if could be true", key)
}
