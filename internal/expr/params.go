package expr

import (
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of the parameters of a query.
const (
	MaxParams      = 16 << 10 // of their text, in bytes
	MaxParamsDepth = 16       // objects and arrays inside each other
)

var errParams = errors.New("the parameters are no JSON object")

// ParseParams returns the parameters of a query, a JSON object. The error says what is wrong with them, or which bound they pass. The tree
// aliases text.
func ParseParams(text []byte) (*jsondoc.Tree, error) {
	if len(text) > MaxParams {
		return nil, fmt.Errorf("the parameters have %d bytes; at most %d are taken", len(text), MaxParams)
	}
	if err := jsondoc.Check(text, MaxParamsDepth); err != nil {
		return nil, err
	}
	t := jsondoc.MustParse(text)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, errParams
	}
	return t, checkNumbers(t, jsondoc.Root)
}

// checkNumbers returns an error where a value has a number that is not compared.
func checkNumbers(t *jsondoc.Tree, n jsondoc.Node) error {
	var room [40]byte
	if t.Kind(n) == jsondoc.Number {
		if _, ok := decimal.Scan(room[:0], t.Raw(n)); !ok {
			return fmt.Errorf("%s: %s", clip(string(t.Raw(n))), errBeyond)
		}
	}
	for child := t.First(n); child != jsondoc.None; child = t.Next(child) {
		if err := checkNumbers(t, child); err != nil {
			return err
		}
	}
	return nil
}
