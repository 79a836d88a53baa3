package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/writer"
)

// A create of a transaction may have a name (as), by which later operations take the id of its document. They take it as
// their own id, as {"ref":"name"}, or in their content, where refs says by JSON pointers which nulls the id replaces. Nothing
// is looked for in documents, so that no text of theirs is taken for a name.

// Bounds of names in transactions.
const (
	maxName     = 64   // bytes
	maxRefs     = 100  // of one operation
	maxRefPlace = 1024 // bytes of a pointer
)

// The members of an operation that are about names.
const (
	memberAs   = "as"
	memberRefs = "refs"
)

// namedOperations holds the operations of a transaction that have names, prepared, by name.
type namedOperations map[string]*writer.Operation

// operationNames holds what one operation says about names.
type operationNames struct {
	as   string
	refs []contentRef
	made namedOperations // before
}

// contentRef is a place in an operation's content that takes an id.
type contentRef struct {
	pointer, id string
}

// read reads the member m of an operation, named as or refs. The error is Invalid.
func (o *operationNames) read(t *jsondoc.Tree, m jsondoc.Node) error {
	if t.Key(m) == memberRefs {
		return o.readRefs(t, m)
	}
	o.as = t.Text(m)
	if t.Kind(m) != jsondoc.String || !isName(o.as) {
		return fanfold.Errorf(fanfold.Invalid, "as must be a name: a letter, then letters, digits, - and _, at most %d bytes", maxName)
	}
	if _, twice := o.made[o.as]; twice {
		return fanfold.Errorf(fanfold.Invalid, "as: another operation is named %q already", o.as)
	}
	return nil
}

// readRefs reads the places that take ids. The error is Invalid.
func (o *operationNames) readRefs(t *jsondoc.Tree, m jsondoc.Node) error {
	refs, err := jsondoc.Outline(t.Raw(m), maxRefs)
	if err != nil { // it is JSON
		return errManyRefs
	}
	if refs.Kind(jsondoc.Root) != jsondoc.Object || refs.First(jsondoc.Root) == jsondoc.None {
		return fanfold.Errorf(fanfold.Invalid, `refs is an object of names by JSON pointers, such as {"/ticketId":"ticket"}`)
	}
	for n := refs.First(jsondoc.Root); n != jsondoc.None; n = refs.Next(n) {
		pointer := refs.Key(n)
		if len(pointer) > maxRefPlace {
			return errManyRefs
		}
		named, err := o.named(refs, n, "refs: "+pointer)
		if err != nil {
			return err
		}
		o.refs = append(o.refs, contentRef{pointer, named.Key.ID})
	}
	return nil
}

var errManyRefs = fanfold.Errorf(fanfold.Invalid, "refs has at most %d pointers, of at most %d bytes each", maxRefs, maxRefPlace)

// named returns the operation with a name. at says where the name is. The error is Invalid.
func (o *operationNames) named(t *jsondoc.Tree, n jsondoc.Node, at string) (*writer.Operation, error) {
	name := t.Text(n)
	if t.Kind(n) != jsondoc.String || !isName(name) {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s must be the name of an operation, such as ticket", at)
	}
	op, ok := o.made[name]
	if !ok {
		return nil, fanfold.Errorf(fanfold.Invalid, `%s: no create before this operation has "as":%q`, at, name)
	}
	return op, nil
}

// readID gives an operation the id that is {"ref":"name"}. The error is Invalid.
func (o *operationNames) readID(op *writer.Operation, t *jsondoc.Tree, n jsondoc.Node) (err error) {
	id, err := jsondoc.Outline(t.Raw(n), 1)
	if err != nil || id.Kind(jsondoc.Root) != jsondoc.Object || id.First(jsondoc.Root) == jsondoc.None || id.Key(id.First(jsondoc.Root)) != "ref" {
		return fanfold.Errorf(fanfold.Invalid, `member "id" must be a string, a number, or {"ref":"name"}`)
	}
	if op.IDOf, err = o.named(id, id.First(jsondoc.Root), "id"); err == nil {
		op.Key.ID = op.IDOf.Key.ID
	}
	return err
}

// isName tells whether a text can name an operation.
func isName(s string) bool {
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	if s == "" || len(s) > maxName || !letter(s[0]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !letter(c) && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// fill puts the ids that the operation takes into its content, which is JSON. The error is Invalid.
func (o *operationNames) fill(op *writer.Operation) error {
	root := &refPlace{}
	for _, r := range o.refs {
		if err := root.add(r); err != nil {
			return err
		}
	}
	f := filler{t: jsondoc.MustParse(op.Content), text: op.Content}
	if err := f.walk(jsondoc.Root, root); err != nil {
		return err
	}
	op.Content = slices.Concat(f.out, f.text[f.done:])
	return nil
}

// refPlace is a place in a content to which pointers lead, or through which they do.
type refPlace struct {
	ref   *contentRef          // nil where they lead on
	below map[string]*refPlace // by name or index
}

// add adds a place. The error is Invalid.
func (p *refPlace) add(r contentRef) error {
	path, ok := strings.CutPrefix(r.pointer, "/")
	if !ok {
		return fanfold.Errorf(fanfold.Invalid, "refs: %q is not a JSON pointer into the operation's content, such as /ticketId", r.pointer)
	}
	for token := range strings.SplitSeq(path, "/") {
		name := jsondoc.PointerUnescape(token)
		if p.below[name] == nil {
			if p.below == nil {
				p.below = map[string]*refPlace{}
			}
			p.below[name] = &refPlace{}
		}
		p = p.below[name]
	}
	if p.ref != nil {
		return fanfold.Errorf(fanfold.Invalid, "refs: %s and %s lead to one place", p.ref.pointer, r.pointer)
	}
	p.ref = &r
	return nil
}

// first returns a place below, or itself, to which a pointer leads.
func (p *refPlace) first() *contentRef {
	for p.ref == nil {
		p = p.below[slices.Min(slices.Collect(maps.Keys(p.below)))]
	}
	return p.ref
}

// filler writes a content with ids in the places of nulls. It looks at each part of the content once, however many there are.
type filler struct {
	t    *jsondoc.Tree
	text []byte // the content
	done int    // how much of it is written
	out  []byte
}

// walk writes what is up to the last place in n. The error is Invalid.
func (f *filler) walk(n jsondoc.Node, p *refPlace) error {
	if p.ref != nil {
		if f.t.Kind(n) != jsondoc.Null || len(p.below) > 0 {
			return fanfold.Errorf(fanfold.Invalid, "refs: what is at %s in the operation's content is not null, which the id would replace", p.ref.pointer)
		}
		start, end := f.t.Span(n)
		f.out = jsondoc.AppendQuote(append(f.out, f.text[f.done:start]...), p.ref.id)
		f.done = end
		return nil
	}
	if kind := f.t.Kind(n); kind == jsondoc.Object || kind == jsondoc.Array {
		index := 0
		for c := f.t.First(n); c != jsondoc.None && len(p.below) > 0; c = f.t.Next(c) {
			name := strconv.Itoa(index)
			if kind == jsondoc.Object {
				name = f.t.Key(c)
			}
			index++
			if below := p.below[name]; below != nil {
				if err := f.walk(c, below); err != nil {
					return err
				}
				delete(p.below, name)
			}
		}
	}
	if len(p.below) > 0 {
		return fanfold.Errorf(fanfold.Invalid, "refs: nothing is at %s in the operation's content: write null where the id is to stand", p.first().pointer)
	}
	return nil
}
