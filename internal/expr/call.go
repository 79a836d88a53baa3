package expr

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/fanfold/fanfold/internal/regex"
)

// function is an operator or function over normalized values. Before it does something it takes what that costs.
type function func(e *evaluation, args []ref.Val) ref.Val

// call applies a function to the values of its arguments.
type call struct {
	id    int64
	args  []interpreter.InterpretableV2
	apply function
	raw   bool // apply takes scalars of the document as they are
}

// ID implements interpreter.Interpretable.
func (c *call) ID() int64 { return c.id }

// Eval implements interpreter.Interpretable.
func (c *call) Eval(vars cel.Activation) ref.Val { return c.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (c *call) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	e := evaluationOf(frame)
	e.spend(1)
	args := make([]ref.Val, len(c.args))
	for i, arg := range c.args {
		v := arg.Exec(frame)
		if types.IsUnknownOrError(v) {
			return v
		}
		if !c.raw {
			v = normalize(v)
		}
		args[i] = v
	}
	return c.apply(e, args)
}

// functionOf returns what a call applies; nil where it takes part in how errors are handled, or is not known.
func functionOf(node interpreter.InterpretableCall) function {
	switch node.Function() {
	case operators.Equals:
		return func(e *evaluation, args []ref.Val) ref.Val { return types.Bool(e.equal(args[0], args[1])) }
	case operators.NotEquals:
		return func(e *evaluation, args []ref.Val) ref.Val { return types.Bool(!e.equal(args[0], args[1])) }
	case operators.In:
		return in
	case operators.Add:
		return add
	case operators.Subtract:
		return arithmetic(traits.Subtractor.Subtract)
	case operators.Multiply:
		return arithmetic(traits.Multiplier.Multiply)
	case operators.Divide:
		return arithmetic(traits.Divider.Divide)
	case "matches":
		return matching(node)
	case "join":
		return join
	case "abs", "ceil", "floor", "max", "min", "round", "sum":
		return decimals(node.Function(), len(node.Args()))
	}
	library, err := libraryFunctions()
	if err != nil {
		return nil
	}
	if f := library[node.Function()]; f != nil && !f.NonStrict {
		return priced(node.Function(), f)
	}
	return nil
}

// libraryFunctions returns the implementations of CEL's functions, by name.
var libraryFunctions = sync.OnceValues(func() (map[string]*functions.Overload, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	all := map[string]*functions.Overload{}
	for name, declared := range env.Functions() {
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			if b.Operator == name {
				all[name] = b
			}
		}
	}
	return all, nil
})

// charPricing names the functions that take text apart into characters.
var charPricing = map[string]bool{"charAt": true, "indexOf": true, "lastIndexOf": true, "lower": true, "lowerAscii": true, "size": true,
	"strings.quote": true, "substring": true, "upper": true, "upperAscii": true}

// priced returns a function of CEL's library as one that takes what it costs.
func priced(name string, library *functions.Overload) function {
	per := bytesPerUnit
	if charPricing[name] {
		per = charsPerUnit
	}
	return func(e *evaluation, args []ref.Val) ref.Val {
		for _, arg := range args {
			e.spendText(textLen(arg), per)
		}
		e.spendGrowth(name, args)
		if library.OperandTrait != 0 && !args[0].Type().HasTrait(library.OperandTrait) {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		switch {
		case len(args) == 1 && library.Unary != nil:
			return library.Unary(args[0])
		case len(args) == 2 && library.Binary != nil:
			return library.Binary(args[0], args[1])
		case library.Function != nil:
			return library.Function(args...)
		}
		return types.NewErr("no such overload: %s", name)
	}
}

// textLen returns how many bytes of text a value has; 0 for one that is none.
func textLen(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// spendGrowth takes what a function costs whose work or result is larger than its arguments.
func (e *evaluation) spendGrowth(name string, args []ref.Val) {
	if name == "format" {
		for _, arg := range args {
			e.weigh(arg, 0)
		}
		return
	}
	text := make([]string, 3)
	for i, arg := range args[:min(len(args), 3)] {
		s, _ := arg.(types.String)
		text[i] = string(s)
	}
	switch name {
	case "replace":
		e.spendText(strings.Count(text[0], text[1])*len(text[2]), bytesPerUnit)
	case "split":
		e.spend((strings.Count(text[0], text[1]) + 1) * elementCost)
	case "indexOf", "lastIndexOf":
		e.spendText(len(text[0])*len(text[1]), bytesPerUnit)
	}
}

// matching returns the function of a call of matches. If its pattern is written in the expression, it is compiled once.
func matching(node interpreter.InterpretableCall) function {
	var known *regex.Regexp
	var why error
	if args := node.Args(); len(args) == 2 {
		if constant, ok := args[1].(interpreter.InterpretableConst); ok {
			if pattern, ok := constant.Value().(types.String); ok {
				known, why = regex.Compile(string(pattern))
			}
		}
	}
	return func(e *evaluation, args []ref.Val) ref.Val {
		text, ok := args[0].(types.String)
		pattern, isPattern := args[1].(types.String)
		if !ok || !isPattern {
			return types.NewErr("no such overload: matches(%s, %s)", args[0].Type().TypeName(), args[1].Type().TypeName())
		}
		re, err := known, why
		if re == nil && err == nil {
			e.spend(10 * min(len(pattern), regex.MaxPattern)) // it is parsed
			re, err = regex.Compile(string(pattern))
			if err == nil {
				e.spend(10 * re.Size)
			}
		}
		if err != nil {
			return types.WrapErr(err)
		}
		e.spendText((len(text)+1)*re.Size, matchesPerUnit)
		return types.Bool(re.MatchString(string(text)))
	}
}

// join returns the text of a list of strings, with the text that stands between two of them as the other argument.
func join(e *evaluation, args []ref.Val) ref.Val {
	l, ok := args[0].(traits.Lister)
	var between types.String
	if len(args) > 1 {
		var isText bool
		between, isText = args[1].(types.String)
		ok = ok && isText
	}
	if !ok {
		return types.NewErr("no such overload: join")
	}
	var out strings.Builder
	for i, element := range e.elements(l) {
		s, ok := normalize(element).(types.String)
		if !ok {
			return types.NewErr("join: element %d is no string", i)
		}
		e.spendText(len(between)+len(s), bytesPerUnit)
		if i > 0 {
			out.WriteString(string(between))
		}
		out.WriteString(string(s))
	}
	return types.String(out.String())
}

// add returns the sum of two numbers or times, or one text or list followed by the other.
func add(e *evaluation, args []ref.Val) ref.Val {
	e.spendText(textLen(args[0])+textLen(args[1]), bytesPerUnit)
	l, isList := args[0].(traits.Lister)
	r, otherIsList := args[1].(traits.Lister)
	if own, ok := args[0].(*list); ok && !otherIsList {
		return own.addNoList(args[1])
	}
	if !isList || !otherIsList {
		return arithmetic(traits.Adder.Add)(e, args)
	}
	more := e.elements(r)
	if accumulated, ok := l.(traits.MutableLister); ok { // of map() and filter(), which nothing else refers to
		return accumulated.Add(types.NewRefValList(verbatim{}, more))
	}
	return types.NewRefValList(verbatim{}, slices.Concat(e.elements(l), more))
}

// arithmetic returns the operator that calls a method of the left value, which must have the trait T. An int beside
// a double is made a double.
func arithmetic[T any](method func(left T, right ref.Val) ref.Val) function {
	return func(_ *evaluation, args []ref.Val) ref.Val {
		l, r := args[0], args[1]
		switch lv := l.(type) {
		case types.Int:
			if _, ok := r.(types.Double); ok {
				l = types.Double(lv)
			}
		case types.Double:
			if rv, ok := r.(types.Int); ok {
				r = types.Double(rv)
			}
		}
		left, ok := l.(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(l)
		}
		return method(left, r)
	}
}

// in tells whether the first value is an element of the second, a list, or a key of it, a map.
func in(e *evaluation, args []ref.Val) ref.Val {
	switch c := args[1].(type) {
	case traits.Lister:
		return types.Bool(e.contains(c, args[0]))
	case traits.Mapper:
		return c.Contains(args[0])
	}
	return types.MaybeNoSuchOverloadErr(args[1])
}

// keyError returns the error of a member or index that is not there. It names the key where that is short.
func keyError(what string, key ref.Val) ref.Val {
	switch k := normalize(key).(type) {
	case types.Int:
		return types.NewErr("%s: %d", what, k)
	case types.String:
		return types.NewErr("%s: %s", what, clip(string(k)))
	}
	return types.NewErr("%s: of type %s", what, key.Type().TypeName())
}

// clip returns text, cut off where it is too long for a message.
func clip(text string) string {
	const longest = 300
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + fmt.Sprintf("... (%d bytes)", len(text))
}
