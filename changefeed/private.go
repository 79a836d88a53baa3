package changefeed

import (
	"bytes"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// masked returns a row without the members that its consumer does not see, and whether there is anything to tell: a change of such members alone is not told.
// The newest change that a consumer sees counts as its document's newest.
func masked(s *scan, row fanfold.ChangeRow, see sight) (_ fanfold.ChangeRow, told bool) {
	mask := s.work.grantOf(s.req, row.Key.Collection).Mask()
	if mask == nil {
		return row, true
	}
	cut := mask.Cut
	v := *row.Sight
	v.Before, v.After, v.Now, v.End = cut(v.Before), cut(v.After), cut(v.Now), cut(v.End)
	if s.req.tellsEach(row) {
		if see.before && see.after && !row.Op.Gone() && !unknownBefore(row) && bytes.Equal(v.Before, v.After) {
			return row, false
		}
		if row.Superseded && see.after && see.now && bytes.Equal(v.After, v.Now) {
			row.Superseded, row.Newest = false, nil
		}
	}
	change := *row.Change
	change.Previous, change.PreviousSource = cut(change.Previous), cut(change.PreviousSource)
	change.Rules, change.Omitted = s.req.told(row), nil
	if change.Delta != nil {
		change.Delta = jsondoc.Diff(v.Before, v.After)
	}
	row.Change, row.Sight = &change, &v
	row.Before, row.After, row.Held, row.Newest, row.End = cut(row.Before), cut(row.After), cut(row.Held), cut(row.Newest), cut(row.End)
	if row.Doc != nil {
		doc := *row.Doc
		doc.Body = cut(doc.Body)
		row.Doc = &doc
	}
	return row, true
}

// tellsEach reports whether the consumer is told of each change that it sees, so that one without anything to see need not be told. Of what was there before a
// consumer began, and where kinds of changes are left out, there may be the newest row alone.
func (req *request) tellsEach(row fanfold.ChangeRow) bool {
	return req.AllChanges || !req.showsBetween() && (req.filter == nil || row.Position > req.fresh)
}
