package writer

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
)

// checkJSON checks JSON text against what we take.
func (w *Writer) checkJSON(body []byte) error { return CheckDepth(body, w.opt.MaxDepth) }

// CheckDepth checks that a body is JSON text that nests at most most levels deep. The error is Invalid, or
// Unprocessable for depth.
func CheckDepth(body []byte, most int) error {
	err := jsondoc.Check(body, most)
	var syntax *jsondoc.SyntaxError
	if errors.As(err, &syntax) {
		code := fanfold.Invalid
		if syntax.Depth {
			code = fanfold.Unprocessable
		}
		return fanfold.Errorf(code, "the body is not a JSON value that is taken: %v", syntax)
	}
	return err
}

// document checks a written document against its key, drops what the store owns and gives it
// its id. An empty id in key is taken from the body, or made. t is the body as it came.
func (w *Writer) document(body []byte, key *fanfold.Key) (t *jsondoc.Tree, source []byte, dropped []string, err error) {
	t, hasID, err := w.parse(body, key, "_meta", "_expanded")
	if err != nil {
		return nil, nil, nil, err
	}
	_, shape := w.shape(key.Collection)
	source, dropped = shape.Strip(t)
	dropped = slices.DeleteFunc(dropped, func(p string) bool { return p == "/_meta" || p == "/_expanded" })
	if !hasID {
		source = jsondoc.WithFirst(source, "id", jsondoc.Quote(key.ID))
		if int64(len(source)) > w.opt.MaxBody {
			return nil, nil, nil, fanfold.Errorf(fanfold.TooLarge, "with its id the document has %d bytes; at most %d are taken", len(source), w.opt.MaxBody)
		}
	}
	return t, source, dropped, nil
}

// exact checks a document that is stored as it is: one that _export wrote, whose members may be
// hidden by derived ones.
func (w *Writer) exact(body []byte, key *fanfold.Key) ([]byte, error) {
	_, hasID, err := w.parse(body, key)
	if err == nil && !hasID {
		err = fanfold.Errorf(fanfold.Unprocessable, "the document has no id")
	}
	return body, err
}

// shapes are those of one model's collections, made when they are first asked for.
type shapes struct {
	model      *fanfold.Model
	undeclared *fanfold.Shape
	declared   map[string]*fanfold.Shape
	derived    map[string]*fanfold.Shape // declared without the members that are the store's own in all documents
	schemas    map[string]*schema.Schema
}

// shape returns what the model says of a collection, nil where it is not declared, and what of its
// documents is the store's own.
func (w *Writer) shape(name string) (*fanfold.Collection, *fanfold.Shape) {
	all := w.currentShapes()
	if shape := all.declared[name]; shape != nil {
		return all.model.Collection(name), shape
	}
	return nil, all.undeclared
}

// checkSchema returns an Unprocessable where a document, as it is to be stored, does not fit its collection's schema.
func (w *Writer) checkSchema(collection string, source []byte) error {
	compiled, declared := w.currentShapes().schemas[collection]
	if !declared {
		return nil
	}
	if compiled == nil {
		return fanfold.Errorf(fanfold.Internal, "the schema of %s cannot be read", collection)
	}
	problems := compiled.Check(source)
	if problems == nil {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the document does not fit the schema of " + collection, Problems: problems}
}

// derivedShape returns what of a collection's documents is derived or reserved.
func (w *Writer) derivedShape(name string) *fanfold.Shape {
	if shape := w.currentShapes().derived[name]; shape != nil {
		return shape
	}
	return noShape
}

var noShape = fanfold.NewShape(nil, nil)

// currentShapes returns the shapes of the model that applies. Two callers may both make them, which does no harm.
func (w *Writer) currentShapes() *shapes {
	m, _, reserved := w.Models.Model()
	all := w.shapes.Load()
	if all == nil || all.model != m {
		all = w.newShapes(m, reserved)
		w.shapes.Store(all)
	}
	return all
}

func (w *Writer) newShapes(m *fanfold.Model, reserved fanfold.Reserved) *shapes {
	own := []string{"_meta", "_expanded"}
	all := &shapes{model: m, undeclared: fanfold.NewShape(nil, own), declared: map[string]*fanfold.Shape{},
		derived: map[string]*fanfold.Shape{}, schemas: map[string]*schema.Schema{}}
	for _, c := range m.Collections {
		if c.Schema != nil {
			compiled, err := schema.Compile(c.Schema)
			if err != nil { // it was compiled when the model was applied, by this version or another
				w.opt.Logger.Error("a schema that was accepted cannot be read: documents of its collection are refused", "collection", c.Name, "err", err)
			}
			all.schemas[c.Name] = compiled
		}
		all.declared[c.Name] = fanfold.NewShape(c, slices.Concat(own, reserved[c.Name]))
		all.derived[c.Name] = fanfold.NewShape(c, reserved[c.Name])
	}
	for name, paths := range reserved {
		if all.declared[name] == nil {
			all.declared[name] = fanfold.NewShape(nil, slices.Concat(own, paths))
			all.derived[name] = fanfold.NewShape(nil, paths)
		}
	}
	return all
}

// parse checks what any document must be. Of the store's own members it lets through those
// that are dropped later.
func (w *Writer) parse(body []byte, key *fanfold.Key, dropped ...string) (t *jsondoc.Tree, hasID bool, err error) {
	if err := w.checkJSON(body); err != nil {
		return nil, false, err
	}
	t = jsondoc.MustParse(body)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, false, fanfold.Errorf(fanfold.Invalid, "the body must be a JSON object, the document")
	}
	if hasID, err = documentID(t, key); err != nil {
		return nil, false, err
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		if name := t.Key(n); strings.HasPrefix(name, "_") && !slices.Contains(dropped, name) {
			return nil, false, fanfold.Errorf(fanfold.Unprocessable, "member %q: names that begin with _ are the store's own at the top level", name)
		}
	}
	return t, hasID, nil
}

// documentID compares the body's id with the key's, or gives the key its id.
func documentID(t *jsondoc.Tree, key *fanfold.Key) (hasID bool, err error) {
	n := t.Member(jsondoc.Root, "id")
	if n == jsondoc.None {
		if key.ID == "" {
			key.ID, err = newID()
		}
		return false, err
	}
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		return true, fanfold.Errorf(fanfold.Unprocessable, "member \"id\" must be a string or a number")
	}
	id := t.Text(n)
	if err := fanfold.CheckID(id); err != nil {
		return true, err
	}
	if key.ID == "" {
		key.ID = id
	}
	if id != key.ID {
		return true, fanfold.Errorf(fanfold.Unprocessable, "the body's id %q is not %q, under which it is written", id, key.ID)
	}
	return true, nil
}

// CheckRelations refuses a document with more ids than a relation takes.
func CheckRelations(c *fanfold.Collection, t *jsondoc.Tree) error {
	if c == nil {
		return nil
	}
	for _, r := range c.Relations {
		if n := len(r.Path.AppendIDs(nil, t, jsondoc.Root)); n > fanfold.MaxRelationIDs {
			return fanfold.Errorf(fanfold.Unprocessable, "relation %s holds %d ids at %s; at most %d are taken", r.Name, n, r.Path, fanfold.MaxRelationIDs)
		}
	}
	return nil
}

// newID returns a new document's id: a UUIDv7, so that documents arrive in order.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// Parsing waits where several large bodies are being parsed, each of which may need many times its
// size meanwhile. Call done when this one is parsed.
func (w *Writer) Parsing(body []byte) (done func()) {
	if len(body) < largeBody {
		return func() {}
	}
	w.parsers <- struct{}{}
	return func() { <-w.parsers }
}

// largeBody is from how many bytes on a body counts among those that are parsed a few at a time.
const largeBody = 64 << 10

// takenDocument checks a document that is to be stored and drops what the store owns; with strict it
// refuses that. It returns the document as it is stored.
func (w *Writer) takenDocument(body []byte, key *fanfold.Key, strict bool) (source []byte, dropped bool, err error) {
	defer w.Parsing(body)()
	t, source, list, err := w.document(body, key)
	if err == nil { // a derived member is none of a relation's, so it does not matter that they are in the tree
		c, _ := w.shape(key.Collection)
		if err = CheckRelations(c, t); err == nil {
			err = w.checkSchema(key.Collection, source)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if len(list) > 0 && strict {
		e := fanfold.Errorf(fanfold.Unprocessable, "the body has members that the store derives; leave them out, or send no Prefer: handling=strict")
		for _, p := range list {
			e.Problems = append(e.Problems, fanfold.Problem{Path: p, Detail: "is derived"})
		}
		return nil, false, e
	}
	return source, len(list) > 0, nil
}
