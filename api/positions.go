package api

import (
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer"
)

// positions gives out positions and the tags in which they stand.
type positions struct{ fanfold.Issuer }

// mark returns a position as it is given out.
func (p positions) mark(at fanfold.Position) fanfold.Bookmark { return p.Mark(at) }

// read returns the position that a text of mark stands for. Errors are Invalid and StoreChanged.
func (p positions) read(text string) (fanfold.Position, error) {
	b, err := fanfold.ParseBookmark(text)
	if err != nil {
		return 0, err
	}
	return p.Resolve(b)
}

// markEvent returns the position of an event's first change as it is given out.
func (p positions) markEvent(seq uint64) fanfold.Bookmark { return p.mark(fanfold.At(seq, 0)) }

// etag returns a document's ETag. Its fold version is the version of the document's last change, so that it is the same on every node.
func (p positions) etag(doc *fanfold.Document) entityTag {
	version, _ := p.FoldOf(doc.Position.Seq())
	t := entityTag{Revision: doc.Revision, Position: doc.Position, Fold: version}
	if p.NamesStore(doc.Position.Seq()) {
		t.Store = p.Store
	}
	return t
}

// revision returns the revision that an entity tag names, writer.NoRevision where the tag is not one of this store.
func (p positions) revision(tag string) fanfold.Revision {
	t, err := parseETag(tag)
	if err != nil || !p.IssuedTag(t.Store, t.Revision) {
		return writer.NoRevision
	}
	return t.Revision
}

// tag returns the ETag that a document has after the write seq. The write's own change is the first of its event, and no
// other change of that event is of the same document.
func (p positions) tag(seq uint64) string {
	return p.etag(&fanfold.Document{Revision: fanfold.Revision(seq), Position: fanfold.At(seq, 0)}).String()
}

// modelTag returns the ETag of the model that event seq applied.
func (p positions) modelTag(seq uint64) string {
	tag := `"` + strconv.FormatUint(seq, 10)
	if p.NamesStore(seq) {
		tag += "." + fanfold.Bookmark{Position: fanfold.At(seq, 0), Store: p.Store}.String()
	}
	return tag + `"`
}

// withMark returns a position, as it is given out, with the mark of a reader, "" for none.
func withMark(text, mark string) string {
	if mark == "" && !fanfold.MayHaveReader(text) { // which most are, and a bookmark takes long to read
		return text
	}
	b, err := fanfold.ParseBookmark(text)
	if err != nil {
		return text
	}
	return marked(b, mark).String()
}

// marked returns a position with the mark of a reader.
func marked(b fanfold.Bookmark, mark string) fanfold.Bookmark {
	b.Reader = mark
	return b
}
