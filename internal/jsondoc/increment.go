package jsondoc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/internal/decimal"
)

var (
	errUnfit  = errors.New("the value is no number that can be added to")
	errPassed = errors.New("the result passes the bound")
)

// increment makes an increment the add or replace of the sum of its value and the one at its path, where an absent member counts as 0.
func (p *patcher) increment(op *Operation) error {
	have, result := []byte("0"), "add"
	v, err := p.get(op.Path)
	switch {
	case errors.Is(err, errNoSuchPath) && len(op.Path) > 0:
		parent, err := p.get(op.Path[:len(op.Path)-1])
		if err != nil || parent.text.kind != Object {
			return fmt.Errorf("%w: there is no object that has or could have it", errUnfit)
		}
	case errors.Is(err, errTooMuchWork):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errUnfit, err)
	case !bytes.ContainsAny(v.text.raw[:1], "-0123456789"):
		return errUnfit
	default:
		have, result = v.append(nil), "replace"
	}
	if err := p.charge(len(have) + len(op.Value)); err != nil {
		return err
	}
	sum, err := addNumbers(have, op.Value)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	if err := within(sum, op.Min, op.Max); err != nil {
		return err
	}
	op.Op, op.Value, op.text = result, sum.Append(nil), nil
	return nil
}

// addNumbers returns the exact sum of two numbers.
func addNumbers(a, b []byte) (sum decimal.Scaled, err error) {
	x, err := decimal.ParseScaled(a)
	if err != nil {
		return sum, err
	}
	y, err := decimal.ParseScaled(b)
	if err != nil {
		return sum, err
	}
	return x.ExactSum(y)
}

// within returns an error for a number beyond bounds; nil bounds are none.
func within(n decimal.Scaled, least, most []byte) error {
	text := n.Append(nil)
	value, _ := decimal.Scan(nil, text)
	if least != nil {
		if bound, ok := decimal.Scan(nil, least); ok && value.Compare(bound) < 0 {
			return fmt.Errorf("%w: %s would be less than %s", errPassed, text, least)
		}
	}
	if most != nil {
		if bound, ok := decimal.Scan(nil, most); ok && value.Compare(bound) > 0 {
			return fmt.Errorf("%w: %s would be more than %s", errPassed, text, most)
		}
	}
	return nil
}

// textOf returns the JSON Patch of operations.
func textOf(ops []Operation) []byte {
	var out bytes.Buffer
	for i, op := range ops {
		out.WriteByte("[,"[min(i, 1)])
		if op.text != nil {
			out.Write(op.text)
			continue
		}
		fmt.Fprintf(&out, `{"op":%q,"path":%s,"value":%s}`, op.Op, AppendQuote(nil, Pointer(op.Path)), op.Value)
	}
	out.WriteByte(']')
	return out.Bytes()
}
