package changefeed

import (
	"bytes"
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// compileFilter returns the filter of a selection, nil for none. The error is Invalid.
func (s *Selection) compileFilter() (*expr.Filter, error) {
	var params *jsondoc.Tree
	if s.Params != "" {
		var err error
		if params, err = expr.ParseParams([]byte(s.Params)); err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "params: %v", err)
		}
	}
	if s.Filter == "" {
		return nil, nil
	}
	filter, err := expr.CompileFilter(s.Filter, params)
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "filter: %v", err)
	}
	if filter.Reads("previous") && !s.AllChanges {
		return nil, fanfold.Errorf(fanfold.Invalid, "filter: previous is known with mode=all alone")
	}
	return filter, nil
}

// filters reports whether the consumer asks for less than all changes.
func (req *request) filters() bool {
	return !req.AllChanges || len(req.Collections) > 0 || req.Direct || req.NoCascades || req.Partitions > 0 || req.filter != nil
}

// query returns the query for the page after a position, with at most maxBytes.
func (req *request) query(after fanfold.Position, maxBytes int) fanfold.ChangeQuery {
	q := fanfold.ChangeQuery{After: after, Limit: maxPageRows, MaxBytes: maxBytes, Collections: req.Collections, Latest: !req.AllChanges,
		Docs: req.Docs, View: req.View, Direct: req.Direct, NoCascades: req.NoCascades, Partition: req.Partition, Partitions: req.Partitions, Reads: req.reads, Judged: req.judged, Shape: req.shape}
	if req.filter != nil {
		q.Versions = req.filter.Reads("doc")
		q.Docs = q.Docs || q.Versions
		q.Before = req.filter.Reads("previous")
		q.HeldFrom = req.fresh
	}
	return q
}

// applyFilter takes out the rows of a page that the consumer's filter leaves out, and makes those by which a document ceases
// to match say so. It blocks while other feeds' filters are evaluated,
// and sends heartbeats meanwhile; errors are ctx's, the output's and errRightsChanged.
func (s *scan) applyFilter(ctx context.Context, page *fanfold.ChangePage, out output) error {
	if s.req.filter == nil || len(page.Rows) == 0 {
		return nil
	}
	return s.inTurns(ctx, page, out, s.judge)
}

// inTurns takes those rows out of a page that decide leaves out, and puts what it returns in the place of the others. decide counts its
// evaluations: after some it is the next feed's turn. Blocking and errors are applyFilter's.
func (s *scan) inTurns(ctx context.Context, page *fanfold.ChangePage, out output, decide func(row fanfold.ChangeRow) (_ fanfold.ChangeRow, given bool)) error {
	beats := time.NewTicker(s.req.Heartbeat)
	defer beats.Stop()
	kept := page.Rows[:0]
	for rest := page.Rows; len(rest) > 0; {
		if err := s.waitToFilter(ctx, out, beats.C); err != nil {
			return err
		}
		s.work.evaluated = 0
		for ; len(rest) > 0 && s.work.evaluated < evaluationsAtOnce; rest = rest[1:] {
			if row, given := decide(rest[0]); given {
				kept = append(kept, row)
			}
		}
		<-s.filtering
	}
	if s.leftOut != nil {
		s.leftOut(len(page.Rows) - len(kept))
	}
	clear(page.Rows[len(kept):])
	page.Rows = kept
	return nil
}

// waitToFilter takes a place among those that evaluate their filters. Errors are ctx's, the output's and errRightsChanged.
func (s *scan) waitToFilter(ctx context.Context, out output, beats <-chan time.Time) error {
	for {
		select {
		case <-beats: // first, for a place may be free each time
			if err := out.alive(); err != nil {
				return err
			}
		default:
		}
		select {
		case s.filtering <- struct{}{}:
			return nil
		case <-beats:
			if err := out.alive(); err != nil {
				return err
			}
		case <-s.rightsChanged:
			if err := s.checkRights(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// judge returns a row as it is sent, and whether it is: where the document matches the filter, or has matched it before. A
// change that is not its document's newest is sent only if the document leaves by it and does not come back by a later one.
// The later one would tell of itself.
func (s *scan) judge(row fanfold.ChangeRow) (_ fanfold.ChangeRow, given bool) {
	switch {
	case row.Hides:
		return row, true
	case row.Enters:
		return s.entering(row)
	}
	within := row.Within
	row.Within = within && s.req.AllChanges
	switch {
	case within && row.Superseded: // the direct change says whether it leaves
		return row, false
	case within && s.req.filter.Reads("doc"): // or whether it matches
		return s.stripped(row), s.matches(row, row.After) && s.matches(row, row.End)
	}
	if row.Superseded {
		if s.matches(row, row.Newest) || s.matches(row, row.After) {
			return row, false
		}
	} else {
		verdict := s.verdict(row, row.After)
		if given = verdict == expr.True; verdict == expr.NoValue {
			s.noValue++
		}
	}
	if !given {
		if given = s.held(row); !given {
			return row, false
		}
		row.Leaves = !row.Op.Gone()
	}
	return s.stripped(row), true
}

// entering returns the row of a document that may be read from now on, and whether it is given. A filter that looks at documents must match it.
// After an erasure nobody knows whether the consumer has the document.
func (s *scan) entering(row fanfold.ChangeRow) (_ fanfold.ChangeRow, given bool) {
	given = !s.req.filter.Reads("doc") || s.matches(row, row.Doc.Body) && (!row.Within || s.matches(row, row.End))
	if !given && row.ByErasure() {
		row.Enters, row.Leaves, given = false, true, true
	}
	return s.stripped(row), given
}

// showsBetween reports whether the filter's versions are of changes that may be far from a row's own, so that rules have not judged them with it.
func (req *request) showsBetween() bool { return req.Direct || req.NoCascades }

// unknownBefore reports whether nobody knows any more what a row's document was before the change.
func unknownBefore(row fanfold.ChangeRow) bool { return row.ByErasure() }

// beforeIsLost reports whether nobody knows any more what a rule said of a row's document before the change: an erasure may have taken what it looks at.
func (req *request) beforeIsLost(row fanfold.ChangeRow) bool {
	return row.ByErasure() && row.Position > req.fresh && req.looksAt(row.Key.Collection, row.Sight.Lost)
}

// isJudgedAlike reports whether a rule says the same of a row's document before the change and after it, unless what was before is lost.
func isJudgedAlike(row fanfold.ChangeRow) bool {
	return row.ByErasure() || row.Sight.Before != nil && bytes.Equal(row.Sight.Before, row.Sight.After)
}

// stripped returns a row without what only the filter decides by.
func (s *scan) stripped(row fanfold.ChangeRow) fanfold.ChangeRow {
	if !s.req.Docs && !row.Enters || row.Leaves {
		row.Doc = nil
	}
	row.After, row.Held, row.Newest, row.End, row.Sight = nil, nil, nil, nil, nil
	return row
}

// held reports whether a consumer that was given everything before a row has its document: whether the filter, of the same
// change, is true of the version before.
func (s *scan) held(row fanfold.ChangeRow) bool {
	switch {
	case row.Op == fanfold.OpErase:
		return true // to be forgotten, whatever it was
	case row.ByErasure(): // the view before is not known any more: only what is false of any document did not match
		return row.Position > s.req.fresh && s.req.filter.Reads("doc") && s.verdict(row, nil) != expr.False
	}
	if row.Sight != nil && s.req.showsBetween() && row.Position > s.req.fresh && s.differs(row, row.Sight.Before) { // an enter by a change that is left out has told of it
		return true
	}
	return s.differs(row, row.Held)
}

// differs reports whether the filter is true of a version of a row's document that is another one than after the change.
func (s *scan) differs(row fanfold.ChangeRow, held []byte) bool {
	return held != nil && !bytes.Equal(held, row.After) && s.matches(row, held) // it is no more true of the same
}

// matches reports whether the filter is true of a change and a version of its document, nil for none.
func (s *scan) matches(row fanfold.ChangeRow, doc []byte) bool {
	return s.verdict(row, doc) == expr.True
}

// verdict returns what the filter says of a change and a version of its document.
func (s *scan) verdict(row fanfold.ChangeRow, doc []byte) expr.Verdict {
	s.work.evaluated++
	return s.req.filter.Judge(jsondoc.MustParse(filterValues(row, doc, s.req.issuer)))
}

// filterValues returns the variables of a filter as an object. A missing value is no member.
func filterValues(row fanfold.ChangeRow, doc []byte, issuer fanfold.Issuer) []byte {
	values := append(appendHead([]byte(`{"change":`), row, issuer), '}')
	if doc != nil {
		values = append(append(values, `,"doc":`...), doc...)
	}
	if row.Before != nil {
		values = append(append(values, `,"previous":`...), row.Before...)
	}
	return append(values, '}')
}
