package writer

import (
	"bytes"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/model"
)

// checker knows what documents, patches and lines of imports must be under the model that applies. It looks at nothing that is
// stored.
type checker struct {
	models   Models
	maxBody  int64 // see Options, as the others
	maxDepth int
	maxEvent int
	logger   *slog.Logger
	parsers  chan struct{} // has an element for each large body that is being parsed
	shapes   atomic.Pointer[shapes]
}

// newChecker returns the checker of a writer with these options.
func newChecker(models Models, opt Options) checker {
	return checker{models: models, maxBody: opt.MaxBody, maxDepth: opt.MaxDepth, maxEvent: opt.MaxEvent, logger: opt.Logger, parsers: make(chan struct{}, maxParsers)}
}

// MaxBody returns the size of the largest document that is taken, in bytes.
func (ck *checker) MaxBody() int64 { return ck.maxBody }

// MaxDepth returns how deeply a document may nest, in levels.
func (ck *checker) MaxDepth() int { return ck.maxDepth }

// maxParsers bounds how many large bodies are parsed at a time.
const maxParsers = 4

// Parsing a large body may need many times its size for a moment. So it waits while maxParsers large bodies are being
// parsed. Call done when body is parsed. It returns at once for a body that is not large.
func (ck *checker) Parsing(body []byte) (done func()) {
	if len(body) < largeBody {
		return func() {}
	}
	ck.parsers <- struct{}{}
	return func() { <-ck.parsers }
}

// largeBody is the size from which on a body is large, in bytes.
const largeBody = 64 << 10

// shapes holds the shapes and the compiled schemas of one model's collections. It does not change once made.
type shapes struct {
	model      *model.Model
	undeclared *model.Shape
	declared   map[string]*model.Shape
	derived    map[string]*model.Shape // as declared, without the members that the store owns in every document
	schemas    map[string]*lazySchema
	arguments  map[string]*lazySchema // of functions
}

// lazySchema compiles a schema when the first document is to be checked with it, so that no other waits for that.
type lazySchema struct {
	source  []byte
	compile func() *schema.Schema // nil where it cannot be read
}

// newLazySchema returns the schema of something that refuses what does not fit.
func (ck *checker) newLazySchema(of string, source []byte) *lazySchema {
	return &lazySchema{source: source, compile: sync.OnceValue(func() *schema.Schema {
		compiled, err := schema.Compile(source)
		if err != nil { // it was compiled when the model was applied, by this version or another
			ck.logger.Error("a schema that was accepted cannot be read: what it is for is refused", "of", of, "err", err)
		}
		return compiled
	})}
}

// shape returns what the model says about a collection, nil where it does not declare it, and which members of its
// documents the store owns.
func (ck *checker) shape(name string) (*model.Collection, *model.Shape) {
	all := ck.currentShapes()
	if shape := all.declared[name]; shape != nil {
		return all.model.Collection(name), shape
	}
	return nil, all.undeclared
}

// derivedShape returns which members of a collection's documents are derived or reserved.
func (ck *checker) derivedShape(name string) *model.Shape {
	if shape := ck.currentShapes().derived[name]; shape != nil {
		return shape
	}
	return noShape
}

// noShape is the shape of a collection in which nothing is derived or reserved.
var noShape = model.NewShape(nil, nil)

// currentShapes returns the shapes of the model that applies, which it makes once for each model.
func (ck *checker) currentShapes() *shapes {
	m, _, reserved := ck.models.Model()
	all := ck.shapes.Load()
	if all == nil || all.model != m {
		all = ck.newShapes(m, reserved, all) // two callers may both make them, which does no harm
		ck.shapes.Store(all)
	}
	return all
}

// newShapes makes the shapes of a model. Schemas that are as they were in the model before, which may be nil, stay compiled.
func (ck *checker) newShapes(m *model.Model, reserved model.Reserved, before *shapes) *shapes {
	ownEverywhere := []string{"_meta", "_expanded"}
	all := &shapes{model: m, undeclared: model.NewShape(nil, ownEverywhere), declared: map[string]*model.Shape{},
		derived: map[string]*model.Shape{}, schemas: map[string]*lazySchema{}, arguments: map[string]*lazySchema{}}
	for _, c := range m.Collections {
		if c.Schema != nil {
			all.schemas[c.Name] = ck.newLazySchema(c.Name, c.Schema)
			if before != nil && before.schemas[c.Name] != nil && bytes.Equal(before.schemas[c.Name].source, c.Schema) {
				all.schemas[c.Name] = before.schemas[c.Name]
			}
		}
		all.declared[c.Name] = model.NewShape(c, slices.Concat(ownEverywhere, reserved[c.Name]))
		all.derived[c.Name] = model.NewShape(c, reserved[c.Name])
	}
	for _, f := range m.Functions {
		if f.Args != nil {
			all.arguments[f.Name] = ck.newLazySchema(f.Name, f.Args)
		}
	}
	for name, paths := range reserved {
		if all.declared[name] == nil {
			all.declared[name] = model.NewShape(nil, slices.Concat(ownEverywhere, paths))
			all.derived[name] = model.NewShape(nil, paths)
		}
	}
	return all
}
