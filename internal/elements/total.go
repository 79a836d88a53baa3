package elements

import (
	"errors"
	"strconv"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Total is what a rule makes of the elements of one document that take part.
type Total struct {
	Count  int64
	Number decimal.Decimal // the sum, for a minimum or maximum that number; 0 where none takes part, and for a count
}

// Total returns the total over a document. ok is false where there is none: the elements are too many, or cost too much together. The error
// is the first one besides a missing member; the element takes no part.
func (p *Program) Total(doc *jsondoc.Tree) (total Total, ok bool, failed error) {
	nodes, err := p.Find(doc)
	if err != nil {
		return Total{}, false, err
	}
	t := totaling{kind: p.kind}
	over := expr.NewElements(doc, expr.Meta{}, len(nodes))
	for _, n := range nodes {
		if p.where != nil {
			matches, err := over.Decide(p.where, n)
			if over.Exhausted() {
				return Total{}, false, errCost
			}
			if err != nil && !errors.Is(err, expr.ErrNoValue) && failed == nil {
				failed = err
			}
			if !matches {
				continue
			}
		}
		if err := t.add(doc, p.rest.Lookup(doc, n)); err != nil && failed == nil {
			failed = err
		}
	}
	return t.total(), true, failed
}

// Text returns the JSON text of a total by a rule of a kind, nil for none: there is no least, greatest or mean of nothing.
func (t Total) Text(kind model.RuleKind) []byte {
	switch {
	case kind == model.Count:
		return strconv.AppendInt(nil, t.Count, 10)
	case kind == model.Sum:
		return []byte(t.Number.String())
	case t.Count == 0:
		return nil
	case kind == model.Avg:
		return []byte(decimal.Mean(t.Number, t.Count).String())
	}
	return []byte(t.Number.String())
}

// numberAt returns the number at a node. ok is false for another value, and for a number that cannot be read exactly, which the error says.
func numberAt(doc *jsondoc.Tree, n jsondoc.Node) (d decimal.Decimal, ok bool, err error) {
	if n == jsondoc.None || doc.Kind(n) != jsondoc.Number {
		return d, false, nil
	}
	d, err = decimal.Parse(doc.Text(n))
	return d, err == nil, err
}

// totaling is a total that is being made.
type totaling struct {
	kind  model.RuleKind
	count int64
	small decimal.Scaled // the sum of numbers that it takes
	large decimal.Decimal
}

// add has a value take part, which may be missing. The error says that a number cannot be read exactly.
func (t *totaling) add(doc *jsondoc.Tree, n jsondoc.Node) error {
	if t.kind == model.Count {
		if n != jsondoc.None {
			t.count++
		}
		return nil
	}
	if n == jsondoc.None || doc.Kind(n) != jsondoc.Number {
		return nil
	}
	if t.kind == model.Sum || t.kind == model.Avg {
		s, err := decimal.ParseScaled(doc.Raw(n))
		if err != nil {
			return err
		}
		t.count++
		sum, err := t.small.ExactSum(s)
		if err != nil { // it is too long for the fast kind of number
			t.large, sum = decimal.Add(t.large, exactly(t.small)), s
		}
		t.small = sum
		return nil
	}
	d, ok, err := numberAt(doc, n)
	if !ok {
		return err
	}
	if order := decimal.Sub(d, t.large).Sign(); t.count == 0 || t.kind == model.Min && order < 0 || t.kind == model.Max && order > 0 {
		t.large = d
	}
	t.count++
	return nil
}

// exactly returns the same number.
func exactly(s decimal.Scaled) decimal.Decimal {
	d, err := decimal.ParseExact(string(s.Append(nil)))
	if err != nil {
		panic(err) // what Scaled takes is within the bounds
	}
	return d
}

// total returns the total over what took part.
func (t *totaling) total() Total {
	return Total{Count: t.count, Number: decimal.Add(t.large, exactly(t.small))}
}
