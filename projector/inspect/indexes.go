package inspect

import (
	"fmt"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// storedIndexes are the indexes of the model that applies, as the read model has them.
type storedIndexes struct {
	byCollection map[string][]storedIndex
	byID         map[int64]storedIndex
}

// storedIndex is an index of the model, and how the read model has it.
type storedIndex struct {
	*model.Index
	stored sqlite.StoredIndex
}

// verifyIndexes returns the indexes whose entries are made anew, and lists those that the read model lacks, or has otherwise than
// the model declares them.
func (v *verification) verifyIndexes(sc *sqlite.Scanner, m *model.Model) (*storedIndexes, error) {
	all, err := sc.AllIndexes()
	if err != nil {
		return nil, err
	}
	out := &storedIndexes{byCollection: map[string][]storedIndex{}, byID: map[int64]storedIndex{}}
	for _, s := range all {
		x := m.Collection(s.Collection).DeclaredIndex(s.Name)
		if x == nil || x.Declaration() != s.Components {
			v.add(Wrong{Rule: s.Collection + ".indexes." + s.Name, Detail: "the read model has the index with " + s.Components + ", which the model does not declare"})
			continue
		}
		out.byID[s.ID] = storedIndex{x, s}
		out.byCollection[s.Collection] = append(out.byCollection[s.Collection], out.byID[s.ID])
	}
	for _, x := range m.Indexes() {
		found := false
		for _, s := range out.byCollection[x.Collection] {
			found = found || s.Name == x.Name
		}
		if !found {
			v.add(Wrong{Rule: fold.IndexRule(x), Detail: "the read model lacks the index"})
		}
	}
	return out, nil
}

// enter enters the entries that a document should have.
func (s *storedIndexes) enter(sc *sqlite.Scanner, row *sqlite.Row, want []byte) error {
	indexes := s.byCollection[row.Key.Collection]
	if len(indexes) == 0 {
		return nil
	}
	facts := model.IndexFacts{Doc: jsondoc.MustParse(want), Created: row.Created, Updated: row.Updated}
	for _, x := range indexes {
		for _, key := range fold.IndexKeys(x.Index, facts) {
			if err := sc.AddIndexEntry(x.stored.ID, key, x.Tie(row.Number)); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareIndexes lists entries that are missing, or too many, and numbers of entries that are wrong.
func (v *verification) compareIndexes(sc *sqlite.Scanner, s *storedIndexes) error {
	if err := sc.CompareIndexEntries(func(d sqlite.IndexDifference) error { return v.addIndexEntry(sc, s, d) }); err != nil {
		return err
	}
	for _, x := range s.byID {
		n, err := sc.CountIndexEntries(x.stored.ID)
		if err != nil {
			return err
		}
		if n != x.stored.Entries {
			v.add(Wrong{Rule: fold.IndexRule(x.Index), Detail: fmt.Sprintf("the index has %d entries, where the read model has counted %d", n, x.stored.Entries)})
		}
	}
	return nil
}

// addIndexEntry lists an entry that only one side has.
func (v *verification) addIndexEntry(sc *sqlite.Scanner, s *storedIndexes, d sqlite.IndexDifference) error {
	x, known := s.byID[d.ID]
	if !known {
		v.add(Wrong{Detail: fmt.Sprintf("there is an entry of index number %d, which the read model does not have: key %x, document number %d", d.ID, d.Key, d.Tie)})
		return nil
	}
	key, found, err := sc.KeyOf(x.Tie(d.Tie))
	if err != nil {
		return err
	}
	name := key.String()
	if !found {
		name = fmt.Sprintf("document number %d", x.Tie(d.Tie))
	}
	detail := fmt.Sprintf("the index lacks the document's entry with the key %x", d.Key)
	if d.Stored {
		detail = fmt.Sprintf("the index has an entry with the key %x, which the document does not", d.Key)
	}
	v.add(Wrong{Document: name, Rule: fold.IndexRule(x.Index), Detail: clipBytes([]byte(detail))})
	return nil
}

// entryBytes is about how many bytes an entry takes besides its key.
const entryBytes = 16

// previewedIndex is an index that a model adds or changes, and what its preview says.
type previewedIndex struct {
	*model.Index
	out *model.IndexPreview
}

// listIndexes enters the indexes that come, change and go.
func (v *previewer) listIndexes(s *sqlite.Snapshot) error {
	stored, err := s.AllIndexes()
	if err != nil {
		return err
	}
	for _, pair := range v.change.Models.Collections {
		for _, p := range pair.Indexes {
			switch {
			case p.Same():
			case p.Next == nil:
				v.addIndex(p.Prev, "removed").Entries = entriesOf(stored, p.Prev)
			case p.Prev == nil:
				v.indexes[pair.Name] = append(v.indexes[pair.Name], previewedIndex{p.Next, v.addIndex(p.Next, "new")})
			default:
				v.indexes[pair.Name] = append(v.indexes[pair.Name], previewedIndex{p.Next, v.addIndex(p.Next, "changed")})
			}
		}
	}
	return nil
}

// addIndex adds an index to the preview.
func (v *previewer) addIndex(x *model.Index, change string) *model.IndexPreview {
	out := &model.IndexPreview{Collection: x.Collection, Index: x.Name, Change: change}
	for _, c := range x.Components {
		out.Components = append(out.Components, c.String())
	}
	v.out.Indexes = append(v.out.Indexes, out)
	return out
}

// entriesOf returns how many entries an index has.
func entriesOf(stored []sqlite.StoredIndex, x *model.Index) int64 {
	for _, s := range stored {
		if s.Collection == x.Collection && s.Name == x.Name {
			return s.Entries
		}
	}
	return 0
}

// countEntries counts the entries that a document will have in new indexes.
func (v *previewer) countEntries(row *sqlite.Row, want []byte) {
	indexes := v.indexes[row.Key.Collection]
	if len(indexes) == 0 {
		return
	}
	facts := model.IndexFacts{Doc: jsondoc.MustParse(want), Created: row.Created, Updated: row.Updated}
	for _, x := range indexes {
		for _, key := range fold.IndexKeys(x.Index, facts) {
			x.out.Entries++
			x.out.Bytes += int64(len(key)) + entryBytes
		}
	}
}
