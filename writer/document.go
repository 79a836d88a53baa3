package writer

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/model"
)

// checkJSON checks that a body is JSON text that nests no deeper than a document may. Errors are those of CheckDepth.
func (w *Writer) checkJSON(body []byte) error { return CheckDepth(body, w.opt.MaxDepth) }

// CheckDepth checks that a body is JSON text that nests at most maxDepth levels deep. Errors are Invalid, and
// Unprocessable where it nests deeper.
func CheckDepth(body []byte, maxDepth int) error {
	err := jsondoc.Check(body, maxDepth)
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

// stripDocument checks what any document must be, and returns it as it is stored: without the members that the store owns,
// and with its id. An empty id in key is set from the body, or to a new one. t is the body as it came; dropped holds the
// JSON pointers of the members that were dropped. Errors are those of parse, and TooLarge.
func (w *Writer) stripDocument(body []byte, key *fanfold.Key) (t *jsondoc.Tree, source []byte, dropped []string, err error) {
	t, hasID, err := w.parse(body, key, "_meta", "_expanded")
	if err != nil {
		return nil, nil, nil, err
	}
	_, shape := w.shape(key.Collection)
	source, dropped = shape.Strip(t)
	if !hasID {
		source = jsondoc.WithFirst(source, "id", jsondoc.Quote(key.ID))
		if int64(len(source)) > w.opt.MaxBody {
			return nil, nil, nil, fanfold.Errorf(fanfold.TooLarge, "with its id the document has %d bytes; at most %d are taken", len(source), w.opt.MaxBody)
		}
	}
	return t, source, dropped, nil
}

// checkExact checks a document that is stored as it is, and returns it: one that _export wrote, some of whose members may
// be hidden by derived ones. Errors are those of parse, and Unprocessable where it has no id.
func (w *Writer) checkExact(body []byte, key *fanfold.Key) ([]byte, error) {
	_, hasID, err := w.parse(body, key)
	if err == nil && !hasID {
		err = fanfold.Errorf(fanfold.Unprocessable, "the document has no id")
	}
	return body, err
}

// shapes holds the shapes and the compiled schemas of one model's collections. It does not change once made.
type shapes struct {
	model      *model.Model
	undeclared *model.Shape
	declared   map[string]*model.Shape
	derived    map[string]*model.Shape // as declared, without the members that the store owns in every document
	schemas    map[string]*lazySchema
}

// lazySchema compiles a schema when the first document is to be checked with it, so that no other waits for that.
type lazySchema struct {
	source  []byte
	compile func() *schema.Schema // nil where it cannot be read
}

// newLazySchema returns the schema of a collection.
func (w *Writer) newLazySchema(c *model.Collection) *lazySchema {
	return &lazySchema{source: c.Schema, compile: sync.OnceValue(func() *schema.Schema {
		compiled, err := schema.Compile(c.Schema)
		if err != nil { // it was compiled when the model was applied, by this version or another
			w.opt.Logger.Error("a schema that was accepted cannot be read: documents of its collection are refused", "collection", c.Name, "err", err)
		}
		return compiled
	})}
}

// shape returns what the model says about a collection, nil where it does not declare it, and which members of its
// documents the store owns.
func (w *Writer) shape(name string) (*model.Collection, *model.Shape) {
	all := w.currentShapes()
	if shape := all.declared[name]; shape != nil {
		return all.model.Collection(name), shape
	}
	return nil, all.undeclared
}

// checkSchema returns an Unprocessable where a document, as it is to be stored, does not fit its collection's schema.
func (w *Writer) checkSchema(collection string, source []byte) error {
	lazy := w.currentShapes().schemas[collection]
	if lazy == nil {
		return nil
	}
	compiled := lazy.compile()
	if compiled == nil {
		return fanfold.Errorf(fanfold.Internal, "the schema of %s cannot be read", collection)
	}
	problems := compiled.Check(source)
	if problems == nil {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the document does not fit the schema of " + collection, Problems: problems}
}

// checkLength returns an Unprocessable where a document, as it is to be stored, is by itself longer than an embedded one
// may be. Imports are not asked, because they bring documents from before the limit.
func (w *Writer) checkLength(source []byte) error {
	limit := w.currentShapes().model.EmbeddedLimit
	if len(source) <= limit {
		return nil
	}
	if n := len(jsondoc.Compact(nil, source)); n > limit {
		return fanfold.Errorf(fanfold.Unprocessable, "the document has %d bytes without whitespace; the model lets an embedded document have %d (embedded.limit)", n, limit)
	}
	return nil
}

// derivedShape returns which members of a collection's documents are derived or reserved.
func (w *Writer) derivedShape(name string) *model.Shape {
	if shape := w.currentShapes().derived[name]; shape != nil {
		return shape
	}
	return noShape
}

// noShape is the shape of a collection in which nothing is derived or reserved.
var noShape = model.NewShape(nil, nil)

// currentShapes returns the shapes of the model that applies, which it makes once for each model.
func (w *Writer) currentShapes() *shapes {
	m, _, reserved := w.Models.Model()
	all := w.shapes.Load()
	if all == nil || all.model != m {
		all = w.newShapes(m, reserved, all) // two callers may both make them, which does no harm
		w.shapes.Store(all)
	}
	return all
}

// newShapes makes the shapes of a model. Schemas that are as they were in the model before, which may be nil, stay compiled.
func (w *Writer) newShapes(m *model.Model, reserved model.Reserved, before *shapes) *shapes {
	ownEverywhere := []string{"_meta", "_expanded"}
	all := &shapes{model: m, undeclared: model.NewShape(nil, ownEverywhere), declared: map[string]*model.Shape{},
		derived: map[string]*model.Shape{}, schemas: map[string]*lazySchema{}}
	for _, c := range m.Collections {
		if c.Schema != nil {
			all.schemas[c.Name] = w.newLazySchema(c)
			if before != nil && before.schemas[c.Name] != nil && bytes.Equal(before.schemas[c.Name].source, c.Schema) {
				all.schemas[c.Name] = before.schemas[c.Name]
			}
		}
		all.declared[c.Name] = model.NewShape(c, slices.Concat(ownEverywhere, reserved[c.Name]))
		all.derived[c.Name] = model.NewShape(c, reserved[c.Name])
	}
	for name, paths := range reserved {
		if all.declared[name] == nil {
			all.declared[name] = model.NewShape(nil, slices.Concat(ownEverywhere, paths))
			all.derived[name] = model.NewShape(nil, paths)
		}
	}
	return all
}

// parse checks what any document must be, and sets an empty id in key. Of the members that the store owns in every
// document it lets those pass that are dropped later. Errors are Invalid and Unprocessable.
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

// documentID checks that the body's id is the key's. Where the key has none, it sets it to the body's, or to a new one.
// hasID tells whether the body has an id. The error is Unprocessable.
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

// CheckRelations returns an Unprocessable where a document holds more ids than a relation takes. c may be nil.
func CheckRelations(c *model.Collection, t *jsondoc.Tree) error {
	if c == nil {
		return nil
	}
	for _, r := range c.Relations {
		if r.Derived() { // see model.Relation.Crowded
			continue
		}
		if n := len(r.Path.AppendIDs(nil, t, jsondoc.Root)); n > model.MaxRelationIDs {
			return fanfold.Errorf(fanfold.Unprocessable, "relation %s holds %d ids at %s; at most %d are taken", r.Name, n, r.Path, model.MaxRelationIDs)
		}
	}
	return nil
}

// newID returns the id of a new document. It is a UUIDv7, so that ids have the order of creation.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// Parsing waits while maxParsers large bodies are being parsed, each of which may need many times its size for a moment.
// Call done when body is parsed. It returns at once for a body that is not large.
func (w *Writer) Parsing(body []byte) (done func()) {
	if len(body) < largeBody {
		return func() {}
	}
	w.parsers <- struct{}{}
	return func() { <-w.parsers }
}

// largeBody is the size from which on a body is large, in bytes.
const largeBody = 64 << 10

// checkDocument checks a document that is to be stored, and returns it as it is stored. dropped holds the JSON pointers of
// members that the store owns, which were dropped; with strict they are refused. Errors are those of stripDocument, and
// Unprocessable.
func (w *Writer) checkDocument(body []byte, key *fanfold.Key, strict bool) (source []byte, dropped []string, err error) {
	defer w.Parsing(body)()
	t, source, dropped, err := w.stripDocument(body, key)
	if err == nil { // the tree still has the derived members, but no relation looks at those
		c, _ := w.shape(key.Collection)
		if err = CheckRelations(c, t); err == nil {
			err = w.checkSchema(key.Collection, source)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if len(dropped) > 0 && strict {
		return nil, nil, w.ownedError(key.Collection, "the body has members that the store derives or adds, or that are reserved; leave them out, or send no Prefer: handling=strict", dropped)
	}
	return source, dropped, nil
}
