package query_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

// The oracle filters, sorts and groups in memory. It shares no code with the package: documents are Go values, and numbers are
// big.Rat.

// value is a JSON value: nil for an absent one, null{}, bool, *big.Rat, string, []any or map[string]any.
type (
	value = any
	null  struct{}
)

// parse returns the value of JSON text.
func parse(text string) value {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(text + ": " + err.Error())
	}
	return ofJSON(v)
}

func ofJSON(v any) value {
	switch v := v.(type) {
	case nil:
		return null{}
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			panic(v)
		}
		return r
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = ofJSON(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name := range v {
			out[name] = ofJSON(v[name])
		}
		return out
	default:
		return v
	}
}

// thing is a document as the oracle has it.
type thing struct {
	id      string
	number  int64
	body    map[string]any
	created time.Time
	updated time.Time
}

// at returns the value at a path without arrays, nil for none.
func at(v value, path ...string) value {
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		if v, ok = object[name]; !ok {
			return nil
		}
	}
	return v
}

// class returns the place of a value's kind in the order of values.
func class(v value) int {
	switch v := v.(type) {
	case nil:
		return 0
	case null:
		return 1
	case []any, map[string]any:
		return 2
	case bool:
		if v {
			return 4
		}
		return 3
	case *big.Rat:
		return 5
	case string:
		return 6
	}
	panic(fmt.Sprintf("%T", v))
}

// clipped returns the part of a text that enters into the order.
func clipped(s string) string { return s[:min(len(s), 1024)] }

// order compares two values in the one order of values.
func order(a, b value) int {
	if c := cmp.Compare(class(a), class(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case *big.Rat:
		return a.Cmp(b.(*big.Rat))
	case string:
		return strings.Compare(clipped(a), clipped(b.(string)))
	}
	return 0
}

// truth is what a filter says: 1 for true, -1 for false, 0 for no value.
type truth int

func truthOf(b bool) truth {
	if b {
		return 1
	}
	return -1
}

// node is a part of a filter.
type node interface {
	cel() string
	eval(d *thing) truth
}

type (
	and struct{ list []node }
	or  struct{ list []node }
	not struct{ of node }
	// compare compares a term with a constant, as JSON text.
	compare struct {
		term     term
		op       string
		constant string
		reversed bool
	}
	has struct{ path []string }
	// text is startsWith, endsWith or contains.
	text struct {
		term     term
		function string
		part     string
	}
	oneOf struct {
		term term
		list []string
	}
	holds  struct{ array, constant string } // constant in doc.array
	exists struct {
		array string
		list  []element // all of one element
	}
	since struct {
		updated, before bool
		at              time.Time
	}
)

// element is a condition on an array's element, or on a member of it.
type element struct{ member, op, constant string }

// term is what a filter looks at.
type term struct {
	path  []string
	lower bool
}

func (t term) cel() string {
	s := "doc." + strings.Join(t.path, ".")
	if t.lower {
		return "lower(" + s + ")"
	}
	return s
}

// value returns a term's value. ok is false where there is none.
func (t term) value(d *thing) (value, bool) {
	v := at(d.body, t.path...)
	if t.lower {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		return strings.ToLower(s), true
	}
	return v, v != nil
}

// join returns parts in brackets with an operator between them.
func join(list []node, op string) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = "(" + n.cel() + ")"
	}
	return strings.Join(parts, op)
}

func (n and) cel() string { return join(n.list, " && ") }
func (n and) eval(d *thing) truth {
	out := truth(1)
	for _, c := range n.list {
		out = min3(out, c.eval(d))
	}
	return out
}

// min3 is false if one is, else without a value if one is.
func min3(a, b truth) truth {
	switch {
	case a == -1 || b == -1:
		return -1
	case a == 0 || b == 0:
		return 0
	}
	return 1
}

func (n or) cel() string { return join(n.list, " || ") }
func (n or) eval(d *thing) truth {
	out := truth(-1)
	for _, c := range n.list {
		out = -min3(-out, -c.eval(d))
	}
	return out
}

func (n not) cel() string         { return "!(" + n.of.cel() + ")" }
func (n not) eval(d *thing) truth { return -n.of.eval(d) }

// literals that a filter has by its parameters: long ones, and integers that CEL does not take.
var given = func() map[string]string {
	out := map[string]string{}
	for _, s := range append(slices.Clone(scalars), `"`+strings.Repeat("x", 1100)+`"`) {
		if len(s) > 100 || s == "18446744073709551617" || len(s) < 4 { // and some of the others
			out[s] = fmt.Sprintf("p%d", len(out))
		}
	}
	return out
}()

// params are the parameters of every filter.
var params = func() []byte {
	var members []string
	for text, name := range given {
		members = append(members, fmt.Sprintf("%q:%s", name, text))
	}
	slices.Sort(members)
	return []byte("{" + strings.Join(members, ",") + "}")
}()

// literal returns a constant as a filter has it.
func literal(constant string) string {
	if name, ok := given[constant]; ok {
		return "params." + name
	}
	return constant
}

func literals(list []string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = literal(list[i])
	}
	return out
}

func (n compare) cel() string {
	constant := literal(n.constant)
	if n.reversed {
		return constant + " " + mirrored[n.op] + " " + n.term.cel()
	}
	return n.term.cel() + " " + n.op + " " + constant
}

var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

func (n compare) eval(d *thing) truth {
	v, ok := n.term.value(d)
	if !ok {
		return 0
	}
	return compareValues(v, n.op, parse(n.constant))
}

// compareValues is CEL's comparison.
func compareValues(a value, op string, b value) truth {
	same := class(a) == class(b) || isBool(a) && isBool(b)
	switch op {
	case "==":
		return truthOf(same && equal(a, b))
	case "!=":
		return truthOf(!same || !equal(a, b))
	}
	ordered := same && class(a) > 2
	if !ordered {
		return 0
	}
	c := fullOrder(a, b)
	switch op {
	case "<":
		return truthOf(c < 0)
	case "<=":
		return truthOf(c <= 0)
	case ">":
		return truthOf(c > 0)
	}
	return truthOf(c >= 0)
}

func isBool(v value) bool { _, ok := v.(bool); return ok }

// equal is CEL's equality of scalars; no composite is a constant.
func equal(a, b value) bool { return class(a) != 2 && fullOrder(a, b) == 0 }

// fullOrder compares all of two texts.
func fullOrder(a, b value) int {
	if s, ok := a.(string); ok {
		if o, ok := b.(string); ok {
			return strings.Compare(s, o)
		}
	}
	return order(a, b)
}

func (n has) cel() string         { return "has(doc." + strings.Join(n.path, ".") + ")" }
func (n has) eval(d *thing) truth { return truthOf(at(d.body, n.path...) != nil) }

func (n text) cel() string {
	return n.term.cel() + "." + n.function + "(" + literal(fmt.Sprintf("%q", n.part)) + ")"
}
func (n text) eval(d *thing) truth {
	v, _ := n.term.value(d)
	s, ok := v.(string)
	if !ok {
		return 0
	}
	switch n.function {
	case "startsWith":
		return truthOf(strings.HasPrefix(s, n.part))
	case "endsWith":
		return truthOf(strings.HasSuffix(s, n.part))
	}
	return truthOf(strings.Contains(s, n.part))
}

func (n oneOf) cel() string {
	return n.term.cel() + " in [" + strings.Join(literals(n.list), ", ") + "]"
}
func (n oneOf) eval(d *thing) truth {
	v, ok := n.term.value(d)
	if !ok {
		return 0
	}
	return truthOf(slices.ContainsFunc(n.list, func(c string) bool { return compareValues(v, "==", parse(c)) == 1 }))
}

// elements returns what CEL goes through in place of an array. ok is false where it goes through nothing.
func elements(v value) (list []any, ok bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case map[string]any:
		for name := range v {
			list = append(list, name)
		}
		return list, true
	}
	return nil, false
}

func (n holds) cel() string { return literal(n.constant) + " in doc." + n.array }
func (n holds) eval(d *thing) truth {
	list, ok := elements(at(d.body, n.array))
	if !ok {
		return 0
	}
	c := parse(n.constant)
	return truthOf(slices.ContainsFunc(list, func(v any) bool { return compareValues(v, "==", c) == 1 }))
}

func (n exists) cel() string {
	parts := make([]string, len(n.list))
	for i, e := range n.list {
		of := "x"
		if e.member != "" {
			of += "." + e.member
		}
		parts[i] = of + " " + e.op + " " + literal(e.constant)
	}
	return fmt.Sprintf("doc.%s.exists(x, %s)", n.array, strings.Join(parts, " && "))
}

func (n exists) eval(d *thing) truth {
	list, ok := elements(at(d.body, n.array))
	if !ok {
		return 0
	}
	out := truth(-1)
	for _, v := range list {
		one := truth(1)
		for _, e := range n.list {
			of := v
			if e.member != "" {
				of = at(v, e.member)
			}
			c := truth(0)
			if of != nil {
				c = compareValues(of, e.op, parse(e.constant))
			}
			one = min3(one, c)
		}
		out = -min3(-out, -one)
	}
	return out
}

func (n since) cel() string {
	what, op := "createdAt", ">="
	if n.updated {
		what = "updatedAt"
	}
	if n.before {
		op = "<"
	}
	return fmt.Sprintf("meta.%s %s timestamp(%q)", what, op, n.at.Format(time.RFC3339Nano))
}

func (n since) eval(d *thing) truth {
	at := d.created
	if n.updated {
		at = d.updated
	}
	return truthOf(at.Before(n.at) == n.before)
}
