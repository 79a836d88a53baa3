package changefeed

import (
	"bytes"
	"context"

	"github.com/fanfold/fanfold"
)

// applyRules takes out the rows of a page that rules about single documents hide. It marks those by which a document enters or leaves what the
// consumer may read. Blocking and errors are applyFilter's.
func (s *scan) applyRules(ctx context.Context, page *fanfold.ChangePage, out output) error {
	if s.req.judged == nil || len(page.Rows) == 0 {
		return nil
	}
	return s.inTurns(ctx, page, out, s.show)
}

// sight is what the consumer may read of a row's document: before the change, after it, and now. lost says that nobody knows whether before.
type sight struct{ before, after, now, lost bool }

// look judges the versions of a row. Equal ones are judged once.
func (s *scan) look(row fanfold.ChangeRow) (see sight) {
	v, c := row.Sight, row.Key.Collection
	see.after = s.reads(c, v.After)
	see.lost = s.req.beforeIsLost(row)
	if see.before = see.after && !see.lost; !isJudgedAlike(row) {
		see.before = s.reads(c, v.Before)
	}
	switch {
	case v.Now != nil && bytes.Equal(v.Now, v.After):
		see.now = see.after
	case v.Now != nil && bytes.Equal(v.Now, v.Before):
		see.now = see.before
	default:
		see.now = s.reads(c, v.Now)
	}
	return see
}

// show returns a row as the consumer may see it, and whether it may. In a collection without a rule it may.
func (s *scan) show(row fanfold.ChangeRow) (_ fanfold.ChangeRow, given bool) {
	row = s.withReadableCause(row)
	if row.Sight == nil {
		return row, !s.req.judged(row.Key.Collection)
	}
	see := s.look(row)
	row, told := masked(s, row, see)
	if !told {
		return row, false
	}
	newerTells := row.Superseded && see.now // a later row has the document as it is
	switch {
	case row.Op == fanfold.OpDelete && (!see.before || row.Sight.Unasked):
		return row, false
	case row.Op.Gone():
		return s.gone(row, see)
	case row.Within && (s.req.Direct || row.Superseded || !see.after || !s.reads(row.Key.Collection, row.Sight.End)):
		return row, false // the direct change says what came of it
	case see.after && !see.before && (row.Sight.Before != nil || see.lost):
		row.Enters = true
		return s.asShown(row), see.now && !row.Superseded && row.Doc != nil
	case see.after:
		return s.asShown(row), see.now && !row.Sight.Unasked && (!row.Superseded || s.req.versions())
	case see.before || see.lost:
		row.Hides = true
		return row, !newerTells || s.req.filter != nil
	}
	return row, false
}

// gone returns the row by which a document goes, and whether it is given. If the document is there again and may not be read, nothing else tells
// the consumer that its one is gone. The row does not say what that was.
func (s *scan) gone(row fanfold.ChangeRow, see sight) (_ fanfold.ChangeRow, given bool) {
	if !see.now {
		change := *row.Change
		change.Previous, change.PreviousSource = nil, nil
		row.Change, row.Before = &change, nil
		row.Superseded, row.Newest = false, nil
		row.Hides = s.req.filter != nil && row.Op == fanfold.OpDelete // which may have left the filter by a row that was not given
	}
	return s.asShown(row), !row.Superseded || s.req.versions()
}

// asShown returns a row without what its consumer may not see, or has not asked for. It keeps what only a filter needs.
func (s *scan) asShown(row fanfold.ChangeRow) fanfold.ChangeRow {
	row.Within = row.Within && s.req.AllChanges
	if row.Enters {
		row.Before = nil
	}
	if s.req.filter == nil {
		return s.stripped(row)
	}
	if s.req.showsBetween() {
		c, embedded := row.Key.Collection, s.req.View == fanfold.Embedded
		if !embedded || !s.reads(c, row.Held) {
			row.Held = nil
		}
		if !embedded || !s.reads(c, row.Newest) {
			row.Newest = nil
		}
	}
	return row
}

// withReadableCause returns a row that names its cause only where that may be read now.
func (s *scan) withReadableCause(row fanfold.ChangeRow) fanfold.ChangeRow {
	row = row.WithCausesIn(func(collection string) bool {
		return !s.req.judged(collection) || s.reads(collection, row.CauseNow)
	})
	row.CauseNow = nil
	return row
}

// versions reports whether the consumer's filter looks at documents.
func (req *request) versions() bool { return req.filter != nil && req.filter.Reads("doc") }
