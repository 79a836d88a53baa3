package api

import "github.com/fanfold/fanfold"

// positions gives out positions and the tags in which they stand.
type positions struct{ fanfold.Issuer }

// mark returns a position as it is given out.
func (p positions) mark(at fanfold.Position) fanfold.Bookmark { return p.Mark(at) }

// markEvent returns the position of an event's first change as it is given out.
func (p positions) markEvent(seq uint64) fanfold.Bookmark { return p.mark(fanfold.At(seq, 0)) }

// etag returns a document's ETag. Its fold version is that of the document's last change, so that it is the same on every node.
func (p positions) etag(doc *fanfold.Document) entityTag {
	version, _ := p.FoldOf(doc.Position.Seq())
	return entityTag{Revision: doc.Revision, Position: doc.Position, Fold: version}
}

// tag returns the ETag that a document has after the write seq. The write's own change is the first of its event, and no
// other change of that event is of the same document.
func (p positions) tag(seq uint64) string {
	return p.etag(&fanfold.Document{Revision: fanfold.Revision(seq), Position: fanfold.At(seq, 0)}).String()
}
