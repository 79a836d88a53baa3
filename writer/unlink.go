package writer

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// edit holds the nodes to be removed from a document that stays. The document itself is read again where it is needed: there
// may be many edits, of large documents.
type edit struct {
	key      fanfold.Key
	revision fanfold.Revision
	read     func() (*fanfold.Document, error) // the document, from one snapshot
	trees    *treeCache
	remove   map[jsondoc.Node]string // the nodes' JSON pointers; a document always has the same nodes
	strict   bool                    // one of them is the reference of a strict relation
	by       fanfold.ByDelete        // the delete that it follows from
}

// maxCauses bounds how many relations an event names by which a delete has reached its document.
const maxCauses = 8

// newEdit returns an edit of a document, given with its body, that removes nothing yet. read returns the document again, with its body.
func newEdit(doc *fanfold.Document, trees *treeCache, read func() (*fanfold.Document, error)) *edit {
	trees.add(doc.Key, jsondoc.MustParse(doc.Body))
	return &edit{key: doc.Key, revision: doc.Revision, read: read, trees: trees, remove: map[jsondoc.Node]string{}}
}

// tree returns the document as it was written.
func (e *edit) tree() (*jsondoc.Tree, error) {
	if t := e.trees.get(e.key); t != nil {
		return t, nil
	}
	doc, err := e.read()
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, fanfold.Errorf(fanfold.Internal, "document %s is no longer in its snapshot", e.key)
	}
	t := jsondoc.MustParse(doc.Body)
	e.trees.add(e.key, t)
	return t, nil
}

// drop removes the document's references to target by a relation, each with the innermost array's element around it.
func (e *edit) drop(rel *model.Relation, target fanfold.Key) error {
	t, err := e.tree()
	if err != nil {
		return err
	}
	e.strict = e.strict || rel.Strict
	if name := rel.FullName(); len(e.by.Relations) < maxCauses && !slices.Contains(e.by.Relations, name) {
		e.by.Relations = append(e.by.Relations, name)
	}
	rel.Path.Find(t, target.ID, func(node, elem jsondoc.Node, pointer, elemPointer string) {
		if elem != jsondoc.None {
			node, pointer = elem, elemPointer
		}
		e.remove[node] = pointer
	})
	return nil
}

// dropAll removes the document's references by relations whose delete policy is unlink to each target that goes.
func (e *edit) dropAll(m *model.Model, goes func(target fanfold.Key) (bool, error)) error {
	t, err := e.tree()
	if err != nil {
		return err
	}
	for _, rel := range m.Collection(e.key.Collection).Relations {
		if rel.OnDelete != model.Unlink {
			continue
		}
		for _, id := range rel.Targets(t) {
			target := fanfold.Key{Collection: rel.To, ID: id}
			gone, err := goes(target)
			if err != nil {
				return err
			}
			if gone {
				if err := e.drop(rel, target); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pointers returns the JSON pointers of what is removed, from the last to the first, so that they stay right.
func (e *edit) pointers() (pointers []string) {
	nodes := make([]jsondoc.Node, 0, len(e.remove))
	for n := range e.remove {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes) // nodes stand in document order, each directly followed by the nodes inside it
	for _, n := range nodes {
		if last := len(pointers) - 1; last < 0 || !strings.HasPrefix(e.remove[n], pointers[last]+"/") {
			pointers = append(pointers, e.remove[n])
		}
	}
	slices.Reverse(pointers)
	return pointers
}

// removing returns a JSON Patch that removes what the pointers lead to.
func removing(pointers []string) []byte {
	out := []byte{'['}
	for i, p := range pointers {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsondoc.AppendQuote(append(out, `{"op":"remove","path":`...), p), '}')
	}
	return append(out, ']')
}

// result returns the document without what is removed.
func (e *edit) result() (body []byte, err error) {
	t, err := e.tree()
	if err != nil {
		return nil, err
	}
	body = t.Raw(jsondoc.Root)
	for some := range slices.Chunk(e.pointers(), jsondoc.MaxOperations) {
		ops, err := jsondoc.ParsePatch(removing(some))
		if err != nil {
			return nil, err
		}
		if body, err = jsondoc.Apply(body, ops); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// write returns the write of the edit: a JSON Patch or, where that would have too many operations, the whole document.
func (e *edit) write() (fanfold.Write, error) {
	ev := &fanfold.Event{Kind: fanfold.KindPatch, Key: e.key, Patch: fanfold.JSONPatch, Base: e.revision}
	if pointers := e.pointers(); len(pointers) <= jsondoc.MaxOperations {
		ev.Body = removing(pointers)
	} else {
		body, err := e.result()
		if err != nil {
			return fanfold.Write{}, err
		}
		ev = &fanfold.Event{Kind: fanfold.KindPut, Key: e.key, Body: body}
	}
	ev.ByDelete = &e.by
	return fanfold.Write{Event: ev, Expect: fanfold.Exactly(e.revision)}, nil
}

// hasSchema tells whether the model that applies has a schema for a collection.
func (ck *checker) hasSchema(collection string) bool {
	return ck.currentShapes().schemas[collection] != nil
}

// unfit returns what does not fit in the document that an edit leaves. It returns nil if the document fits its collection's
// schema, and also if it did not fit before the edit: a delete neither breaks nor mends a document's fit.
func (ck *checker) unfit(e *edit) (*fanfold.Problem, error) {
	key := e.key
	if !ck.hasSchema(key.Collection) {
		return nil, nil
	}
	t, err := e.tree()
	if err != nil {
		return nil, err
	}
	before := t.Raw(jsondoc.Root)
	defer ck.Parsing(before)()
	body, err := e.result()
	if err != nil {
		return nil, err
	}
	err = ck.checkSchema(key.Collection, body)
	if problems := problemsOf(err); len(problems) > 0 {
		if len(problemsOf(ck.checkSchema(key.Collection, before))) > 0 {
			return nil, nil
		}
		return &fanfold.Problem{Key: key, Path: key.String() + problems[0].Path, Detail: "would not fit the schema of " + key.Collection + " without its reference: " + problems[0].Detail}, nil
	}
	return nil, err
}

// deleteBlockers collects the documents that do not let a delete happen.
type deleteBlockers struct {
	problems           []fanfold.Problem // the first maxNamedBlockers
	collections        []fanfold.Key     // of all of them
	restricts, misfits int
}

// maxNamedBlockers bounds how many documents a refusal names.
const maxNamedBlockers = 20

// addRestricting adds a holder that restricts the delete.
func (b *deleteBlockers) addRestricting(p fanfold.Problem) {
	b.restricts++
	b.add(p)
}

// addMisfit adds a holder that would not fit without its reference.
func (b *deleteBlockers) addMisfit(p fanfold.Problem) {
	b.misfits++
	b.add(p)
}

// add adds a holder to those that are named, while there is room.
func (b *deleteBlockers) add(p fanfold.Problem) {
	if counted := (fanfold.Key{Collection: p.Key.Collection}); !slices.Contains(b.collections, counted) {
		b.collections = append(b.collections, counted)
	}
	if len(b.problems) < maxNamedBlockers {
		b.problems = append(b.problems, p)
	}
}

// error returns the Restricted that names the holders, nil where there are none.
func (b *deleteBlockers) error() error {
	var e *fanfold.Error
	switch {
	case b.restricts == 0 && b.misfits == 0:
		return nil
	case b.misfits == 0 && b.restricts == 1:
		e = fanfold.Errorf(fanfold.Restricted, "1 document restricts the delete: delete it first, or take its reference away")
	case b.misfits == 0:
		e = fanfold.Errorf(fanfold.Restricted, "%d documents restrict the delete: delete them first, or take their references away", b.restricts)
	case b.restricts == 0 && b.misfits == 1:
		e = fanfold.Errorf(fanfold.Restricted, "1 document would not fit its schema without its reference: delete it first, or write another reference in its place")
	case b.restricts == 0:
		e = fanfold.Errorf(fanfold.Restricted, "%d documents would not fit their schemas without their references: delete them first, or write other references in their place", b.misfits)
	default:
		e = fanfold.Errorf(fanfold.Restricted, "%d documents restrict the delete, and %d would not fit their schemas without their references: delete them first, or write them with other references", b.restricts, b.misfits)
	}
	e.Problems, e.About = b.problems, b.collections
	e.Discreet = "documents restrict the delete, or would not fit their schemas without their references"
	return e
}

// maxCachedTrees bounds the text of the documents that a treeCache holds, in bytes, besides the newest of them. A tree takes some
// ten times its text at worst.
const maxCachedTrees = 8 << 20

// treeCache holds the documents of one snapshot that were parsed last.
type treeCache struct {
	trees map[fanfold.Key]*jsondoc.Tree
	order []fanfold.Key // of trees, the oldest first
	size  int           // of their text, in bytes
}

// newTreeCache returns a cache that holds nothing yet.
func newTreeCache() *treeCache { return &treeCache{trees: map[fanfold.Key]*jsondoc.Tree{}} }

// get returns a document's tree, nil where the cache does not hold it.
func (c *treeCache) get(key fanfold.Key) *jsondoc.Tree { return c.trees[key] }

// add adds a document's tree, and drops the oldest ones where there are too many.
func (c *treeCache) add(key fanfold.Key, t *jsondoc.Tree) {
	c.trees[key] = t
	c.order = append(c.order, key)
	c.size += len(t.Raw(jsondoc.Root))
	for c.size > maxCachedTrees && len(c.order) > 1 {
		oldest := c.order[0]
		c.size -= len(c.trees[oldest].Raw(jsondoc.Root))
		delete(c.trees, oldest)
		c.order = c.order[1:]
	}
}
