package jsondoc

import (
	"errors"
	"fmt"
	"strings"
)

// PatchError says which operation of a patch failed and why.
type PatchError struct {
	Index  int    // of the operation; -1 for the patch as a whole
	Path   string // the operation's, as a JSON pointer
	Reason string
	Large  bool // the document would grow past what is accepted
	Costly bool // the patch would take more work than is accepted
	Unfit  bool // an increment of what is no number
	Passed bool // an increment would pass its min or max
}

// Error returns the reason, with the operation's index and path where it is about one.
func (e *PatchError) Error() string {
	if e.Index < 0 {
		return e.Reason
	}
	return fmt.Sprintf("operation %d at %q: %s", e.Index, e.Path, e.Reason)
}

// Operation is one operation of a JSON Patch (RFC 6902), or an increment.
type Operation struct {
	Op       string
	Path     []string // the pointer's tokens, unescaped
	From     []string // the same, of move and copy
	Value    []byte   // the JSON text, of add, replace, test and increment
	Min, Max []byte   // of an increment: what its result may be; nil for anything
	text     []byte   // as it is written
}

// MaxOperations bounds one JSON Patch: each operation may search the whole document.
const MaxOperations = 1000

// ParsePatch reads a JSON Patch that Check has accepted. The operations alias src. The error is a *PatchError.
func ParsePatch(src []byte) ([]Operation, error) { return parsePatch(src, false) }

// ParseRequest does what ParsePatch does for a patch that somebody asks for: it may have increments, which no stored patch has.
func ParseRequest(src []byte) ([]Operation, error) { return parsePatch(src, true) }

func parsePatch(src []byte, increments bool) ([]Operation, error) {
	t := MustParse(src)
	if t.Kind(Root) != Array {
		return nil, &PatchError{Index: -1, Reason: "a JSON Patch is an array of operations"}
	}
	if t.Len(Root) > MaxOperations {
		return nil, &PatchError{Index: -1, Reason: fmt.Sprintf("a JSON Patch has at most %d operations", MaxOperations)}
	}
	var ops []Operation
	for c := t.First(Root); c != None; c = t.Next(c) {
		op, err := parseOperation(t, c, increments)
		if err != nil {
			return nil, &PatchError{Index: len(ops), Path: t.Text(t.Member(c, "path")), Reason: err.Error()}
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func parseOperation(t *Tree, n Node, increments bool) (op Operation, err error) {
	op.Op, op.text = t.Text(t.Member(n, "op")), t.Raw(n)
	needValue, needFrom := false, false
	switch {
	case op.Op == "increment" && increments:
		if op.Min, op.Max, err = parseBounds(t, n); err != nil {
			return op, err
		}
		needValue = true
	case op.Op == "add", op.Op == "replace", op.Op == "test":
		needValue = true
	case op.Op == "move", op.Op == "copy":
		needFrom = true
	case op.Op == "remove":
	default:
		known := "add, remove, replace, move, copy or test"
		if increments {
			known += ", or increment"
		}
		return op, fmt.Errorf("unknown op %q: want %s", op.Op, known)
	}
	if op.Path, err = parsePointer(t, t.Member(n, "path"), "path"); err != nil {
		return op, err
	}
	if needFrom {
		if op.From, err = parsePointer(t, t.Member(n, "from"), "from"); err != nil {
			return op, err
		}
	}
	if needValue {
		v := t.Member(n, "value")
		if v == None {
			return op, errors.New("value is missing")
		}
		op.Value = t.Raw(v)
		if op.Op == "increment" && t.Kind(v) != Number {
			return op, errors.New("value is no number")
		}
	}
	return op, nil
}

// parseBounds returns the numbers between which the result of an increment must lie; nil for none.
func parseBounds(t *Tree, n Node) (least, most []byte, err error) {
	if least, err = parseBound(t, n, "min"); err == nil {
		most, err = parseBound(t, n, "max")
	}
	return least, most, err
}

// parseBound returns the number that is a member of an increment; nil for none.
func parseBound(t *Tree, n Node, name string) ([]byte, error) {
	switch m := t.Member(n, name); {
	case m == None:
		return nil, nil
	case t.Kind(m) != Number:
		return nil, fmt.Errorf("%s is no number", name)
	default:
		return t.Raw(m), nil
	}
}

// Pointer returns the JSON pointer that is made of tokens.
func Pointer(tokens []string) (pointer string) {
	for _, token := range tokens {
		pointer += "/" + PointerEscape(token)
	}
	return pointer
}

// parsePointer returns the unescaped tokens of the JSON pointer in the string n, none for the whole document.
func parsePointer(t *Tree, n Node, member string) ([]string, error) {
	if t.Kind(n) != String {
		return nil, fmt.Errorf("%s is missing or not a string", member)
	}
	s := t.Text(n)
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("%s %q is not a JSON pointer: it must begin with /", member, s)
	}
	tokens := strings.Split(s[1:], "/")
	for i, token := range tokens {
		if !validEscapes(token) {
			return nil, fmt.Errorf("%s %q has a ~ that is not ~0 or ~1", member, s)
		}
		tokens[i] = PointerUnescape(token)
	}
	return tokens, nil
}

// validEscapes tells whether each ~ in a pointer's token begins ~0 or ~1.
func validEscapes(token string) bool {
	for {
		_, rest, found := strings.Cut(token, "~")
		if !found {
			return true
		}
		if rest == "" || rest[0] != '0' && rest[0] != '1' {
			return false
		}
		token = rest
	}
}
