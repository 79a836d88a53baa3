package fold

import (
	"bytes"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// liveIndex is an index of the model whose entries the read model keeps, with its number there.
type liveIndex struct {
	*model.Index
	id int64
}

// IndexRule returns the name by which an index is told apart from rules in what is counted of their errors.
func IndexRule(x *model.Index) string { return x.Collection + ".indexes." + x.Name }

// writtenDocument is the document that an event writes to, whose entries are made anew once its derived members are final.
// row is nil where its collection has no indexes.
type writtenDocument struct {
	row, old *sqlite.Row // as it was written, and before; old is nil for a document that was not there
	body     []byte      // the embedded view so far
}

// indexer keeps the entries of indexes up to the documents' views.
type indexer struct {
	*folding

	values  *values
	live    map[string][]liveIndex // by collection, as far as they were asked for
	trees   views
	written writtenDocument // the document that the event writes to
}

// note notes a document that was written.
func (in *indexer) note(c *Collection, row, old *sqlite.Row) {
	if len(c.Indexes) > 0 && in.tx.Indexes.AreWritten() {
		in.written = writtenDocument{row: row, old: old, body: row.Body}
	}
}

// of returns the indexes of a collection whose entries are kept. Those that a model event adds are built at its end, and
// are none before. The error is Internal where the read model lacks one.
func (in *indexer) of(c *Collection) ([]liveIndex, error) {
	if len(c.Indexes) == 0 || !in.tx.Indexes.AreWritten() {
		return nil, nil
	}
	if live, known := in.live[c.Name]; known {
		return live, nil
	}
	stored, err := in.tx.Snapshot().Indexes(c.Name)
	if err != nil {
		return nil, err
	}
	ids := map[string]int64{}
	for _, s := range stored {
		ids[s.Name] = s.ID
	}
	live := make([]liveIndex, 0, len(c.Indexes))
	for _, x := range c.Indexes {
		id, there := ids[x.Name]
		if !there && in.event.Kind != fanfold.KindModel {
			return nil, fanfold.Errorf(fanfold.Internal, "the read model lacks index %s", x)
		}
		if there {
			live = append(live, liveIndex{x, id})
		}
	}
	if in.live == nil {
		in.live = map[string][]liveIndex{}
	}
	in.live[c.Name] = live
	return live, nil
}

// write brings the entries of the document that the event has written to up to its final view.
func (in *indexer) write(c *Collection) error {
	w := in.written
	if w.row == nil {
		return nil
	}
	live, err := in.of(c)
	if err != nil || len(live) == 0 {
		return err
	}
	after := in.facts(w.row, w.body, &in.trees.after)
	var before model.IndexFacts
	if w.old != nil {
		before = in.facts(w.old, w.old.Body, &in.trees.before)
	}
	for _, x := range live {
		was := x.entries(before)
		if err := in.changeEntries(x, w.row.Number, was, in.newEntries(x, w.row.Key, after)); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the entries of a document that is deleted.
func (in *indexer) remove(c *Collection, old *sqlite.Row) error {
	live, err := in.of(c)
	if err != nil || len(live) == 0 {
		return err
	}
	before := in.facts(old, old.Body, &in.trees.before)
	for _, x := range live {
		if err := in.changeEntries(x, old.Number, x.entries(before), nil); err != nil {
			return err
		}
	}
	return nil
}

// change brings the entries of a document up to a derived change of its view. changed names the top-level members that differ;
// none stands for any.
func (in *indexer) change(c *Collection, row *sqlite.Row, before, after []byte, changed map[string]bool) error {
	live, err := in.of(c)
	if err != nil {
		return err
	}
	var was, is model.IndexFacts
	for _, x := range live {
		if len(changed) > 0 && !x.ReadsAny(changed) {
			continue
		}
		if was.Doc == nil {
			was, is = in.facts(row, before, &in.trees.before), in.facts(row, after, &in.trees.after)
		}
		old := x.entries(was)
		if err := in.changeEntries(x, row.Number, old, in.newEntries(x, row.Key, is)); err != nil {
			return err
		}
	}
	return nil
}

// facts returns what indexes look at in a document with a view, read into a tree.
func (in *indexer) facts(row *sqlite.Row, body []byte, t *jsondoc.Tree) model.IndexFacts {
	t.Reset(body)
	return model.IndexFacts{Doc: t, Created: row.Created, Updated: row.Updated}
}

// overflowKeys is the list of keys of a document with too many elements: the empty one.
var overflowKeys = [][]byte{{}}

// entries returns the keys that the read model has of a document; none where there is no document.
func (x liveIndex) entries(facts model.IndexFacts) [][]byte {
	if facts.Doc == nil {
		return nil
	}
	return IndexKeys(x.Index, facts)
}

// IndexKeys returns the keys of a document's entries in an index: the empty one alone where it has too many elements.
func IndexKeys(x *model.Index, facts model.IndexFacts) [][]byte {
	keys, overflow := x.Keys(nil, facts)
	if overflow {
		return overflowKeys
	}
	return keys
}

// newEntries returns the keys that a document is to have. It tells the reporter which expressions have failed.
func (in *indexer) newEntries(x liveIndex, key fanfold.Key, facts model.IndexFacts) [][]byte {
	if in.opt.Reporter != nil {
		facts.Failed = func(_ *model.Component, err error) { in.opt.Reporter.RuleFailed(IndexRule(x.Index), key, err) }
	}
	return IndexKeys(x.Index, facts)
}

// changeEntries removes those keys of a document that are in before alone, and adds those that are in after alone. Both are in order.
func (in *indexer) changeEntries(x liveIndex, number int64, before, after [][]byte) error {
	tie := x.Tie(number)
	for len(before) > 0 || len(after) > 0 {
		var order int
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = bytes.Compare(before[0], after[0])
		}
		var err error
		switch {
		case order < 0:
			err = in.tx.Indexes.RemoveEntry(x.id, before[0], tie)
		case order > 0:
			err = in.tx.Indexes.AddEntry(x.id, after[0], tie)
		}
		if err != nil {
			return err
		}
		if order <= 0 {
			before = before[1:]
		}
		if order >= 0 {
			after = after[1:]
		}
	}
	return nil
}

// drop removes the indexes that the model does not have any more, or declares otherwise.
func (in *indexer) drop(m *ModelChange) error {
	for _, x := range m.goneIndexes {
		stored, err := in.tx.Snapshot().Indexes(x.Collection)
		if err != nil {
			return err
		}
		for _, s := range stored {
			if s.Name != x.Name {
				continue
			}
			if err := in.tx.Indexes.Remove(s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// build makes the entries of new indexes, of every document as the model has left it.
func (in *indexer) build(m *ModelChange) error {
	if len(m.NewIndexes) == 0 {
		return nil
	}
	byCollection, names := map[string][]liveIndex{}, []string(nil)
	for _, x := range m.NewIndexes { // in order of collection and name
		id, err := in.tx.Indexes.Add(x.Collection, x.Name, x.Declaration())
		if err != nil {
			return err
		}
		if byCollection[x.Collection] == nil {
			names = append(names, x.Collection)
		}
		byCollection[x.Collection] = append(byCollection[x.Collection], liveIndex{x, id})
	}
	in.live = nil
	build := in.tx.Indexes.Build()
	for _, name := range names {
		numbers, err := in.tx.Documents.Numbers(name, 0, -1)
		if err != nil {
			return err
		}
		if err := in.tx.Documents.Each(numbers, func(row *sqlite.Row) error { return in.buildEntries(build, byCollection[name], row) }); err != nil {
			return err
		}
	}
	return build.Finish()
}

// buildEntries makes a document's entries of new indexes.
func (in *indexer) buildEntries(build *sqlite.IndexBuild, live []liveIndex, row *sqlite.Row) error {
	if err := in.ended(); err != nil {
		return err
	}
	facts := in.facts(row, row.Body, &in.trees.after)
	for _, x := range live {
		for _, key := range in.newEntries(x, row.Key, facts) {
			if err := build.Add(x.id, key, x.Tie(row.Number)); err != nil {
				return err
			}
		}
	}
	return in.callOnDocument()
}
