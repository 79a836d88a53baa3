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
}

// Error returns the reason, with the operation's index and path where it is about one.
func (e *PatchError) Error() string {
	if e.Index < 0 {
		return e.Reason
	}
	return fmt.Sprintf("operation %d at %q: %s", e.Index, e.Path, e.Reason)
}

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string
	Path  []string // the pointer's tokens, unescaped
	From  []string // the same, of move and copy
	Value []byte   // the JSON text, of add, replace and test
}

// MaxOperations bounds one JSON Patch: each operation may search the whole document.
const MaxOperations = 1000

// ParsePatch reads a JSON Patch that Check has accepted. The operations alias src. The error is a *PatchError.
func ParsePatch(src []byte) ([]Operation, error) {
	t := MustParse(src)
	if t.Kind(Root) != Array {
		return nil, &PatchError{Index: -1, Reason: "a JSON Patch is an array of operations"}
	}
	if t.Len(Root) > MaxOperations {
		return nil, &PatchError{Index: -1, Reason: fmt.Sprintf("a JSON Patch has at most %d operations", MaxOperations)}
	}
	var ops []Operation
	for c := t.First(Root); c != None; c = t.Next(c) {
		op, err := parseOperation(t, c)
		if err != nil {
			return nil, &PatchError{Index: len(ops), Path: t.Text(t.Member(c, "path")), Reason: err.Error()}
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func parseOperation(t *Tree, n Node) (op Operation, err error) {
	op.Op = t.Text(t.Member(n, "op"))
	needValue, needFrom := false, false
	switch op.Op {
	case "add", "replace", "test":
		needValue = true
	case "move", "copy":
		needFrom = true
	case "remove":
	default:
		return op, fmt.Errorf("unknown op %q: want add, remove, replace, move, copy or test", op.Op)
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
	}
	return op, nil
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
