package expr

import (
	"math"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// An operation on numbers costs one unit for each operand and for its result, if these are short, and otherwise one for some of their bytes.
const (
	shortNumber = 20 // bytes of a number's text, which mostly has the digits that an int64 holds
	numberUnit  = 4  // bytes of a longer one
)

// spendNumber takes the cost of a number whose text has n bytes.
func (e *evaluation) spendNumber(n int) {
	if n <= shortNumber {
		e.spend(1)
		return
	}
	e.spend(n / numberUnit)
}

// arithmeticLibrary declares the functions on numbers that CEL does not have, and its operators between numbers that are written with a point
// and without one.
func arithmeticLibrary() (options []cel.EnvOption) {
	unimplemented := func(...ref.Val) ref.Val { return types.NewErr("no such overload") } // decimals has what is applied
	dyn := func(n int) (all []*cel.Type) {
		for range n {
			all = append(all, cel.DynType)
		}
		return all
	}
	for name, counts := range map[string][]int{"abs": {1}, "ceil": {1}, "floor": {1}, "round": {1, 2}, "max": {1, 2, 3, 4}, "min": {1, 2, 3, 4}} {
		var overloads []cel.FunctionOpt
		for _, n := range counts {
			overloads = append(overloads, cel.Overload(name+"_"+strconv.Itoa(n), dyn(n), cel.DynType))
		}
		options = append(options, cel.Function(name, append(overloads, cel.SingletonFunctionBinding(unimplemented))...))
	}
	options = append(options, cel.Function("sum", cel.MemberOverload("sum_of_list", []*cel.Type{cel.ListType(cel.DynType)}, cel.DynType, cel.FunctionBinding(unimplemented))))
	for name, id := range map[string]string{operators.Add: "add", operators.Subtract: "subtract", operators.Multiply: "multiply", operators.Divide: "divide"} {
		options = append(options, cel.Function(name,
			cel.Overload(id+"_int64_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
			cel.Overload(id+"_double_int64", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType)))
	}
	return options
}

// operator computes with two numbers.
type operator func(a, b decimal.Scaled) (decimal.Scaled, error)

// decimals returns what an operator or function on numbers applies; nil for any other.
func decimals(name string, args int) function {
	switch name {
	case operators.Add:
		return computed(decimal.Scaled.Plus, add)
	case operators.Subtract:
		return computed(decimal.Scaled.Minus, arithmetic(traits.Subtractor.Subtract))
	case operators.Multiply:
		return computed(decimal.Scaled.Times, nil)
	case operators.Divide:
		return computed(decimal.Scaled.DividedBy, nil)
	case operators.Modulo:
		return computed(decimal.Scaled.Remainder, nil)
	case operators.Negate:
		return onNumber(func(a decimal.Scaled) (decimal.Scaled, error) { return a.Negated(), nil })
	case "abs":
		return onNumber(func(a decimal.Scaled) (decimal.Scaled, error) {
			if a.Sign() < 0 {
				a = a.Negated()
			}
			return a, nil
		})
	case "floor":
		return onNumber(decimal.Scaled.Floor)
	case "ceil":
		return onNumber(decimal.Scaled.Ceil)
	case "round":
		return round
	case "min":
		return extreme(func(order int) bool { return order < 0 })
	case "max":
		return extreme(func(order int) bool { return order > 0 })
	case "sum":
		return sum
	case "string", "double", "int":
		if args == 1 {
			return converted(name)
		}
	}
	return nil
}

// operand returns the number that a value is. isNumber is false for any other value, and err says that arithmetic does not take the number.
func (e *evaluation) operand(v ref.Val) (n decimal.Scaled, isNumber bool, err error) {
	switch v := v.(type) {
	case *scalar:
		if v.tree.Kind(v.node) != jsondoc.Number {
			return n, false, nil
		}
		raw := v.raw()
		e.spendNumber(len(raw))
		n, err = decimal.ParseScaled(raw)
	case types.Int:
		n = decimal.ScaledInt(int64(v))
	case types.Uint:
		n, err = decimal.ParseScaled(strconv.AppendUint(nil, uint64(v), 10))
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return n, true, decimal.ErrRange
		}
		n, err = decimal.ParseScaled([]byte(jsontext.Float(float64(v)).String()))
	default:
		return n, false, nil
	}
	return n, true, err
}

// result returns the value of a number that was computed.
func (e *evaluation) result(n decimal.Scaled, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	if i, ok := n.Int(); ok {
		return types.Int(i)
	}
	text := n.Append(nil)
	e.spendNumber(len(text))
	return &scalar{value{e, jsondoc.NumberTree(text), jsondoc.Root}}
}

// computed returns the operator that applies an operation to two numbers, and otherwise to any two values where there is one.
func computed(apply operator, otherwise function) function {
	return func(e *evaluation, args []ref.Val) ref.Val {
		a, isNumber, err := e.operand(args[0])
		if isNumber && err == nil {
			var b decimal.Scaled
			if b, isNumber, err = e.operand(args[1]); isNumber && err == nil {
				return e.result(apply(a, b))
			}
		}
		if err != nil {
			return types.WrapErr(err)
		}
		l, r := normalize(args[0]), normalize(args[1])
		if otherwise == nil {
			return types.NewErr("no such overload: of %s and %s", l.Type().TypeName(), r.Type().TypeName())
		}
		return otherwise(e, []ref.Val{l, r})
	}
}

// onNumber returns the function that applies an operation to one number.
func onNumber(apply func(decimal.Scaled) (decimal.Scaled, error)) function {
	return func(e *evaluation, args []ref.Val) ref.Val {
		switch n, isNumber, err := e.operand(args[0]); {
		case !isNumber:
			return notNumber(args[0])
		case err != nil:
			return types.WrapErr(err)
		default:
			return e.result(apply(n))
		}
	}
}

// notNumber returns the error of a value that should be a number.
func notNumber(v ref.Val) ref.Val {
	return types.NewErr("no such overload: of %s, which is no number", v.Type().TypeName())
}

// round rounds its first argument to as many digits after the point as the second says, 0 without one.
func round(e *evaluation, args []ref.Val) ref.Val {
	digits := types.Int(0)
	if len(args) == 2 {
		var ok bool
		if digits, ok = normalize(args[1]).(types.Int); !ok {
			return types.NewErr("round: the number of digits is a whole number")
		}
	}
	return onNumber(func(a decimal.Scaled) (decimal.Scaled, error) {
		return a.Rounded(int(min(max(digits, -math.MaxInt32), math.MaxInt32)))
	})(e, args[:1])
}

// extreme returns the function that gives the first of its arguments that no other precedes, or the first such element of a list. replaces
// says by the order of two numbers whether the first of them precedes.
func extreme(replaces func(order int) bool) function {
	return func(e *evaluation, args []ref.Val) ref.Val {
		if l, ok := args[0].(traits.Lister); ok && len(args) == 1 {
			if args = e.elements(l); len(args) == 0 {
				return keyError("index out of bounds", types.IntZero)
			}
		}
		best := args[0]
		var room [2][40]byte
		have, isNumber, ok := e.number(room[0][:0], best)
		for _, v := range args {
			next, nextIsNumber, nextOK := e.number(room[1][:0], v)
			switch {
			case !isNumber || !nextIsNumber:
				return notNumber(v)
			case !ok || !nextOK:
				return types.NewErr(errBeyond)
			case replaces(next.Compare(have)):
				best = v
				have, _, _ = e.number(room[0][:0], v)
			}
		}
		return best
	}
}

// sum adds up the numbers of a list.
func sum(e *evaluation, args []ref.Val) ref.Val {
	l, ok := args[0].(traits.Lister)
	if !ok {
		return types.NewErr("no such overload: sum of %s, which is no list", args[0].Type().TypeName())
	}
	var total decimal.Scaled
	for _, element := range e.elements(l) {
		n, isNumber, err := e.operand(element)
		if !isNumber {
			return notNumber(element)
		}
		if err == nil {
			total, err = total.Plus(n)
		}
		if err != nil {
			return types.WrapErr(err)
		}
	}
	return e.result(total, nil)
}

// converted returns a conversion to a type that gives a number as it is: its text, the number, or its integer part. Other values are converted as
// CEL does.
func converted(name string) function {
	library, err := libraryFunctions()
	if err != nil || library[name] == nil {
		return nil
	}
	otherwise := priced(name, library[name])
	return func(e *evaluation, args []ref.Val) ref.Val {
		n, isNumber, err := e.operand(args[0])
		text, isText := normalize(args[0]).(types.String)
		if isText && name == "double" {
			if number := jsonNumber([]rune(string(text))); number == string(text) && isJSONNumber(number) {
				n, err = decimal.ParseScaled([]byte(number))
				isNumber = true
			}
		}
		switch {
		case err != nil:
			return types.WrapErr(err)
		case !isNumber:
			return otherwise(e, []ref.Val{normalize(args[0])})
		case name == "string":
			if s, ok := args[0].(*scalar); ok {
				return types.String(s.raw())
			}
			return types.String(n.Append(nil))
		case name == "int":
			return e.integer(n)
		default:
			return e.result(n, nil)
		}
	}
}

// integer returns the integer part of a number.
func (e *evaluation) integer(n decimal.Scaled) ref.Val {
	whole, err := n.Floor()
	if n.Sign() < 0 {
		whole, err = n.Ceil()
	}
	if err != nil {
		return types.WrapErr(err)
	}
	return e.result(whole, nil)
}

// isJSONNumber reports whether a text is a JSON number.
func isJSONNumber(text string) bool {
	t := new(jsondoc.Tree)
	return text != "" && t.Parse([]byte(text)) == nil && t.Kind(jsondoc.Root) == jsondoc.Number
}
