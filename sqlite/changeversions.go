package sqlite

import "github.com/fanfold/fanfold"

// mayLeave reports whether a change that is not its document's newest may be the one by which the document leaves what a
// filter lets through.
func (f *feedPage) mayLeave(ch *fanfold.Change) bool {
	return f.q.Versions && ch.Position > f.q.HeldFrom && ch.Prior != 0
}

// addVersions adds to a row what a filter decides by. Where the page has no room for it, it is left out.
func (f *feedPage) addVersions(row *fanfold.ChangeRow) (err error) {
	if !f.q.Versions || f.size > f.q.MaxBytes {
		return nil
	}
	after := row.Doc
	if row.Op != fanfold.OpDelete && (after == nil || after.Position != row.Position) {
		if after, err = f.versionAfter(&f.history, row.Change); err != nil || f.size > f.q.MaxBytes {
			return err
		}
	}
	row.After = bodyOf(after)
	if row.Position <= f.q.HeldFrom || row.Prior == 0 {
		return nil
	}
	if row.Held, err = f.held(row.Change, after); err != nil || !row.Superseded || f.size > f.q.MaxBytes {
		return err
	}
	row.Newest, err = f.newestVersion(row.Key)
	return err
}

// bodyOf returns a document's body, nil where there is no document.
func bodyOf(doc *fanfold.Document) []byte {
	if doc == nil {
		return nil
	}
	return doc.Body
}

// versionAfter returns the document as it was after a change, and counts its bytes. It is nil where the page has no room.
func (f *feedPage) versionAfter(h *history, ch *fanfold.Change) (*fanfold.Document, error) {
	doc, size, err := h.after(ch, f.q.MaxBytes-f.size)
	f.size += size
	return doc, err
}

// held returns the document as it was before a change; of a query for direct changes, as it was after the direct change before,
// which is the last that a consumer was told of.
func (f *feedPage) held(ch *fanfold.Change, after *fanfold.Document) ([]byte, error) {
	if f.q.Direct && f.q.View == fanfold.Embedded {
		before, err := f.s.change(latestColumns, ch.Prior)
		if err != nil || before == nil {
			return nil, damagedHistory(ch.Position)
		}
		if before.Op == fanfold.OpDerive {
			return f.versionAfterWrite(before.Revision)
		}
	}
	body, err := f.history.before(ch, after)
	if ch.Op == fanfold.OpDerive && f.q.View == fanfold.Embedded {
		f.size += len(body)
	}
	return body, err
}

// versionAfterWrite returns the body of the document that an event wrote, as it was after its direct change.
func (f *feedPage) versionAfterWrite(rev fanfold.Revision) ([]byte, error) {
	ch, err := f.s.change(latestColumns, fanfold.At(uint64(rev), 0))
	if err != nil || ch == nil {
		return nil, damagedHistory(fanfold.At(uint64(rev), 0))
	}
	// The page may be far from the change, and needs no view of those between.
	doc, err := f.versionAfter(&history{s: f.s, view: f.q.View}, ch)
	return bodyOf(doc), err
}

// newestVersion returns the body of a document's newest version; of a query for direct changes, of that after the newest of
// these. The changes of a document share it, and its bytes count once.
func (f *feedPage) newestVersion(key fanfold.Key) ([]byte, error) {
	if body, known := f.newest[key]; known {
		return body, nil
	}
	doc, size, err := f.s.GetWithin(key, f.q.View, f.q.MaxBytes-f.size)
	if err != nil {
		return nil, err
	}
	body := bodyOf(doc)
	if doc != nil && f.q.Direct && f.q.View == fanfold.Embedded && doc.Position != fanfold.At(uint64(doc.Revision), 0) {
		if body, err = f.versionAfterWrite(doc.Revision); err != nil {
			return nil, err
		}
	} else {
		f.size += size
	}
	if f.newest == nil {
		f.newest = map[fanfold.Key][]byte{}
	}
	f.newest[key] = body
	return body, nil
}
