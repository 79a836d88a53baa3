package expr

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// maxOutputDepth bounds maps and lists that an expression builds.
const maxOutputDepth = 64

// appendJSON appends the text of a value that is nested depth deep: values of the document as their original bytes,
// those that CEL computed in canonical form. The error says why a value has no JSON form, or that the text would be
// longer than MaxResult.
func (e *evaluation) appendJSON(dst []byte, v ref.Val, depth int) ([]byte, error) {
	if depth > maxOutputDepth {
		return nil, fmt.Errorf("the value is nested deeper than %d", maxOutputDepth)
	}
	size := textLen(v)
	if own, ok := v.(interface{ raw() []byte }); ok {
		size = len(own.raw())
	}
	if len(dst)+size > MaxResult {
		return nil, fmt.Errorf("the value is longer than %d bytes", MaxResult)
	}
	e.spendText(size, bytesPerUnit)
	switch v := v.(type) {
	case *object:
		return append(dst, v.raw()...), nil
	case *list:
		return append(dst, v.raw()...), nil
	case *scalar:
		return append(dst, v.raw()...), nil
	case types.Null:
		return append(dst, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(dst, bool(v)), nil
	case types.Int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case types.Uint:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, errors.New("the value is not a finite number")
		}
		return append(dst, jsontext.Float(float64(v)).String()...), nil
	case types.String:
		return jsondoc.AppendQuote(dst, string(v)), nil
	case types.Timestamp:
		return jsondoc.AppendQuote(dst, v.UTC().Format(time.RFC3339Nano)), nil
	case traits.Lister:
		return e.appendList(dst, v, depth)
	case traits.Mapper:
		return e.appendMap(dst, v, depth)
	}
	return nil, fmt.Errorf("a value of type %s has no JSON form", v.Type().TypeName())
}

func (e *evaluation) appendList(dst []byte, l traits.Lister, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for i, element := range e.elements(l) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = e.appendJSON(dst, element, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (e *evaluation) appendMap(dst []byte, m traits.Mapper, depth int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := normalize(it.Next())
		name, ok := k.(types.String)
		if !ok {
			return nil, fmt.Errorf("a map key of type %s has no JSON form: use strings", k.Type().TypeName())
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if len(dst)+len(name) > MaxResult {
			return nil, fmt.Errorf("the value is longer than %d bytes", MaxResult)
		}
		e.spendText(len(name), bytesPerUnit)
		dst = append(jsondoc.AppendQuote(dst, string(name)), ':')
		var err error
		if dst, err = e.appendJSON(dst, m.Get(k), depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
