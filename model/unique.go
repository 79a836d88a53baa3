package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Unique declares values that no two documents of a collection share, such as an email address: of one member or expression,
// or of several together. It looks at documents as they were written, and never at derived fields. A document without such a
// value is compared with no other.
type Unique struct {
	Parts []UniquePart
}

// UniquePart declares one member or expression of a Unique.
type UniquePart struct {
	Path       Path   // of a member, outside arrays; nil where there is an expression
	Expression string // a CEL expression over doc; "" where there is a path
	// Evaluate returns the JSON text of the expression's value; ok is false where there is none.
	Evaluate func(t *jsondoc.Tree) (text []byte, ok bool)
	// Explain returns why the expression has no value, "" where it has one.
	Explain func(t *jsondoc.Tree) string
}

// HasValue tells whether the document has a text or a number there, so that it is compared with others.
func (p UniquePart) HasValue(t *jsondoc.Tree) bool {
	value, err := p.value(t)
	return value != "" || err != nil // what is too long is refused, and not left out
}

// WhyNot returns why HasValue is false, in words for people.
func (p UniquePart) WhyNot(t *jsondoc.Tree) string {
	if p.Expression != "" {
		if why := p.Explain(t); why != "" {
			return why
		}
		return "the value is neither a text nor a number"
	}
	n := jsondoc.Root
	for _, step := range p.Path {
		at := n
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return t.Missing(at, step.Name)
		}
	}
	return "member " + p.Path.String() + " is neither a text nor a number"
}

// String returns the part as a model declares it.
func (p UniquePart) String() string {
	if p.Expression != "" {
		return p.Expression
	}
	return p.Path.String()
}

// Name returns what names the declaration in claims, and no other of the collection: the path or expression itself, or a
// JSON array of several.
func (u *Unique) Name() string {
	if len(u.Parts) == 1 {
		return u.Parts[0].String()
	}
	return arrayOf(u.Parts)
}

// arrayOf returns the texts of a list as a JSON array.
func arrayOf[T fmt.Stringer](list []T) string {
	out := []byte{'['}
	for i, x := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsondoc.AppendQuote(out, x.String())
	}
	return string(append(out, ']'))
}

// String returns the declaration for messages, such as isbn or [tenant, email].
func (u *Unique) String() string {
	if len(u.Parts) == 1 {
		return u.Parts[0].String()
	}
	var parts []string
	for _, p := range u.Parts {
		parts = append(parts, p.String())
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Value returns the value by which claims compare a document. It is "s" and a string's text, or "n" and a number in its
// one canonical form. With several parts it is "t" and a JSON array of theirs. It returns "" if a part has any other value
// or none, or its expression fails: any number of documents may be so. The error is Unprocessable for a value that is too
// long to be compared.
func (u *Unique) Value(t *jsondoc.Tree) (value string, err error) {
	if len(u.Parts) == 1 {
		value, err = u.Parts[0].value(t)
	} else {
		value, err = u.tuple(t)
	}
	if len(value) > MaxUniqueLen {
		return "", fanfold.Errorf(fanfold.Unprocessable, "the unique %s has more than %d bytes", u.what(), MaxUniqueLen-1)
	}
	return value, err
}

// what returns String with the word for what it is.
func (u *Unique) what() string {
	switch {
	case len(u.Parts) > 1:
		return "value of " + u.String()
	case u.Parts[0].Expression != "":
		return "value " + u.String()
	}
	return "member " + u.String()
}

// tuple returns the value of several parts.
func (u *Unique) tuple(t *jsondoc.Tree) (string, error) {
	out := []byte("t[")
	for i, p := range u.Parts {
		value, err := p.value(t)
		if err != nil || value == "" {
			return "", err
		}
		if i > 0 {
			out = append(out, ',')
		}
		if value[0] == 's' {
			out = jsondoc.AppendQuote(out, value[1:])
		} else {
			out = append(out, value[1:]...)
		}
		if len(out) > MaxUniqueLen {
			break // Value tells about it
		}
	}
	return string(append(out, ']')), nil
}

// Unlike returns an Unprocessable where a part of the document has a value that cannot be compared: true, false, an array or an object.
// Null and nothing are no value.
func (u *Unique) Unlike(t *jsondoc.Tree) error {
	for _, p := range u.Parts {
		at, n, ok := p.lookup(t)
		if !ok {
			continue
		}
		switch kind := at.Kind(n); kind {
		case jsondoc.True, jsondoc.False, jsondoc.Array, jsondoc.Object:
			what := map[jsondoc.Kind]string{jsondoc.True: "true", jsondoc.False: "false", jsondoc.Array: "an array", jsondoc.Object: "an object"}[kind]
			return fanfold.Errorf(fanfold.Unprocessable, "the unique %s is %s: only texts and numbers are compared; leave it out, or make it null, for none", (&Unique{Parts: []UniquePart{p}}).what(), what)
		}
	}
	return nil
}

// lookup returns where the value of a part is; ok is false where there is none.
func (p UniquePart) lookup(t *jsondoc.Tree) (at *jsondoc.Tree, n jsondoc.Node, ok bool) {
	if p.Expression == "" {
		n = p.Path.Lookup(t, jsondoc.Root)
		return t, n, n != jsondoc.None
	}
	text, ok := p.Evaluate(t)
	if !ok {
		return nil, jsondoc.None, false
	}
	return jsondoc.MustParse(text), jsondoc.Root, true
}

// value returns the value of one part, as Unique.Value does of a declaration with no other; it may be too long.
func (p UniquePart) value(t *jsondoc.Tree) (string, error) {
	t, n, ok := p.lookup(t)
	if !ok {
		return "", nil
	}
	switch t.Kind(n) {
	case jsondoc.String:
		return "s" + t.Text(n), nil
	case jsondoc.Number:
		d, err := decimal.Parse(t.Text(n))
		if err != nil {
			return "", fanfold.Errorf(fanfold.Unprocessable, "the unique %s is a number of more than 1000 digits, or beyond 1e±1000", (&Unique{Parts: []UniquePart{p}}).what())
		}
		return "n" + d.String(), nil
	}
	return "", nil
}

// Has returns the declaration with a value of Value's for messages, such as isbn "978" or [tenant, email] ["t1","a@b.c"].
func (u *Unique) Has(value string) string {
	if len(u.Parts) > 1 {
		return u.String() + " " + value[1:]
	}
	return u.String() + " " + string(jsondoc.AppendQuote(nil, value[1:]))
}

// HasUnique tells whether one of the declarations is u.
func HasUnique(all []*Unique, u *Unique) bool {
	return slices.ContainsFunc(all, func(o *Unique) bool { return o.Name() == u.Name() })
}
