package api

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

const (
	maxHops     = 8     // relations in a row that one path may follow
	maxExpanded = 5_000 // documents that one answer may hold besides its own
)

// expansion holds a relation to be expanded, and those to be expanded in its targets.
type expansion struct {
	relation *model.Relation
	inner    []*expansion
}

// parseExpand reads expand=relation[,relation.relation] for documents of a collection. The error is Invalid.
func parseExpand(m *model.Model, collection, text string) ([]*expansion, error) {
	var roots []*expansion
	for path := range strings.SplitSeq(text, ",") {
		level, at := &roots, collection
		hops := strings.Split(path, ".")
		if len(hops) > maxHops {
			return nil, fanfold.Errorf(fanfold.Invalid, "expand=%s has more than %d hops", path, maxHops)
		}
		for _, name := range hops {
			rel := m.Collection(at).Relation(name)
			if rel == nil {
				return nil, fanfold.Errorf(fanfold.Invalid, "expand=%s: %s has no relation %q", path, at, name)
			}
			i := slices.IndexFunc(*level, func(e *expansion) bool { return e.relation == rel })
			if i < 0 {
				*level = append(*level, &expansion{relation: rel})
				i = len(*level) - 1
			}
			level, at = &(*level)[i].inner, rel.To
		}
	}
	return roots, nil
}

// errManyExpanded says that an answer would hold more than maxExpanded documents besides its own. It is an Unprocessable.
var errManyExpanded = fanfold.Errorf(fanfold.Unprocessable, "expand reaches more than %d documents: ask for less at once, by a smaller limit, fewer ids or fewer relations in expand", maxExpanded)

// documentReader reads documents of one state of the store: see view.Prefix and view.Past.
type documentReader interface {
	At() fanfold.Position
	GetWithin(key fanfold.Key, form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)
}

// expander adds documents of one snapshot to an answer, with the member _expanded.
type expander struct {
	snap  documentReader
	form  fanfold.View
	out   *admission.Answer
	count int // of the documents expanded
	seen  map[fanfold.Key]*fanfold.Document
	sum   func(s string) // adds the key and position of an expanded document to the hash
}

// add adds a document with further members at its end: _meta, unless meta is nil, and _expanded where tree is not empty, which
// holds targets by relation, then by id. Ids without a document are left out. There must be room for the body and meta. It
// returns errManyExpanded, and the errors of Answer.Grow and the read model.
func (x *expander) add(doc *fanfold.Document, meta []byte, tree []*expansion) error {
	return x.addShown(doc, doc.Body, meta, tree)
}

// addShown does what add does, with another body in place of the document's, which is no longer.
func (x *expander) addShown(doc *fanfold.Document, body, meta []byte, tree []*expansion) error {
	if meta == nil && len(tree) == 0 {
		x.out.Add(body)
		return nil
	}
	separator := x.out.AddOpenObject(body)
	if meta != nil {
		x.out.AddString(separator + `"_meta":`)
		x.out.Add(meta)
		separator = ","
	}
	if len(tree) > 0 {
		x.out.AddString(separator + `"_expanded":{`)
		if err := x.addTargets(doc, tree); err != nil {
			return err
		}
		x.out.AddString("}")
	}
	x.out.AddString("}")
	return nil
}

// addTargets adds the documents that one refers to, by relation, then by id.
func (x *expander) addTargets(doc *fanfold.Document, tree []*expansion) error {
	body, err := x.bodyOfIDs(doc, tree)
	if err != nil {
		return err
	}
	ids := targetsOf(body, tree)
	for i, e := range tree {
		if i > 0 {
			x.out.AddString(",")
		}
		x.out.AddString(string(jsondoc.AppendQuote(nil, e.relation.Name)) + ":{")
		separator := ""
		for _, id := range ids[i] {
			doc, err := x.get(fanfold.Key{Collection: e.relation.To, ID: id})
			if err != nil {
				return err
			}
			if doc == nil {
				continue
			}
			x.out.AddString(separator + string(jsondoc.AppendQuote(nil, id)) + ":")
			separator = ","
			if err := x.add(doc, nil, e.inner); err != nil {
				return err
			}
		}
		x.out.AddString("}")
	}
	return nil
}

// bodyOfIDs returns the body of a document in a view that holds its ids by each relation, once there is room for it. Derived ids
// stand in the embedded view alone.
func (x *expander) bodyOfIDs(doc *fanfold.Document, tree []*expansion) ([]byte, error) {
	if x.form == fanfold.Embedded || !slices.ContainsFunc(tree, func(e *expansion) bool { return e.relation.Derived() }) {
		return doc.Body, nil
	}
	_, size, err := x.snap.GetWithin(doc.Key, fanfold.Embedded, 0)
	if err != nil {
		return nil, err
	}
	if err := x.out.Grow(size); err != nil {
		return nil, err
	}
	embedded, _, err := x.snap.GetWithin(doc.Key, fanfold.Embedded, size)
	if err != nil {
		return nil, err
	}
	return embedded.Body, nil
}

// targetsOf returns the ids to which a body refers, by each relation. The parsed body is not held while they are expanded.
func targetsOf(body []byte, tree []*expansion) [][]string {
	ids := make([][]string, len(tree))
	t := jsondoc.MustParse(body)
	for i, e := range tree {
		ids[i] = e.relation.Targets(t)
	}
	return ids
}

// get returns one document to be expanded, nil where there is none, and takes room for it before it is read. It returns
// the errors of add.
func (x *expander) get(key fanfold.Key) (*fanfold.Document, error) {
	if x.count++; x.count > maxExpanded {
		return nil, errManyExpanded
	}
	doc, known := x.seen[key]
	if known && doc != nil {
		if err := x.out.Grow(len(doc.Body) + itemBytes + len(key.ID)); err != nil {
			return nil, err
		}
	} else if !known {
		var err error
		if doc, err = x.read(key); err != nil {
			return nil, err
		}
		x.seen[key] = doc
	}
	at := fanfold.Position(0)
	if doc != nil {
		at = doc.Position
	}
	x.sum(key.String() + "@" + at.String())
	return doc, nil
}

// read reads one document, nil where there is none, once there is room for it in the answer.
func (x *expander) read(key fanfold.Key) (*fanfold.Document, error) {
	around := itemBytes + len(key.ID)
	doc, size, err := x.snap.GetWithin(key, x.form, x.out.Free()-around)
	if err != nil || doc == nil {
		return nil, err
	}
	if err := x.out.Grow(size + around); err != nil {
		return nil, err
	}
	if size <= smallBody {
		x.out.Beside += size
	}
	if doc.Body == nil {
		doc, _, err = x.snap.GetWithin(key, x.form, size)
	}
	if err == nil && len(doc.Body) > size { // of an earlier state, which is known once it is rebuilt
		err = x.out.Grow(len(doc.Body) + around)
	}
	return doc, err
}

// smallBody is the size up to which a body is copied into the answer, besides being kept for the next who refers to it.
const smallBody = 4 << 10

// newExpander returns an expander of one snapshot into an answer. tag returns a hash of everything that was expanded so
// far, for the ETag.
func newExpander(snap documentReader, form fanfold.View, out *admission.Answer) (x *expander, tag func() string) {
	h := fnv.New64a()
	x = &expander{snap: snap, form: form, out: out, seen: map[fanfold.Key]*fanfold.Document{}, sum: func(s string) { h.Write([]byte(s + "\n")) }}
	return x, func() string { return fmt.Sprintf("%016x", h.Sum64()) }
}

// getExpanded answers GET of one document with expand=.
func (d *documents) getExpanded(c echo.Context, key fanfold.Key, asked shown) error {
	m, _, _ := d.models.Model()
	tree, err := parseExpand(m, key.Collection, c.QueryParam("expand"))
	if err != nil {
		return err
	}
	return d.getAssembled(c, key, asked, func(snap *view.Prefix) (documentReader, treeReader, error) {
		return snap, func() ([]*expansion, error) { return tree, nil }, nil
	})
}

// treeReader returns the relations to be expanded in a document that is there.
type treeReader func() ([]*expansion, error)

// getAssembled answers GET of one document of the state that open returns.
func (d *documents) getAssembled(c echo.Context, key fanfold.Key, asked shown, open func(snap *view.Prefix) (documentReader, treeReader, error)) error {
	var doc *fanfold.Document
	var at fanfold.Position
	var etag entityTag
	a, err := d.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error {
		return d.open(c).Read(func(snap *view.Prefix) error {
			state, treeOf, err := open(snap)
			if err != nil {
				return err
			}
			at = state.At()
			x, tag := newExpander(state, asked.view, a)
			if doc, err = x.read(key); err != nil || doc == nil {
				return err
			}
			tree, err := treeOf()
			if err != nil {
				return err
			}
			err = x.addShown(doc, asked.fields.show(doc.Body), nil, tree)
			if etag = d.positions.etag(doc); len(tree) > 0 {
				etag.Suffix = tag()
				if d.positions.NamesStore(at.Seq()) { // documents that were expanded may have changed since the restore
					etag.Store = d.positions.Store
				}
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	if doc == nil {
		return writer.Missing(key)
	}
	if d.setDocument(c, doc, at, etag) {
		a.Release()
		return c.NoContent(http.StatusNotModified)
	}
	return sendAnswer(c, a)
}
