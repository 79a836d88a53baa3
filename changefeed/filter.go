package changefeed

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// maxPartitions bounds how many partitions a consumer can divide the keys into.
const maxPartitions = 4096

// parsePartition reads partition=i/n. The error is Invalid.
func (req *request) parsePartition(text string) error {
	if text == "" {
		return nil
	}
	part, of, _ := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(part)
	n, err2 := strconv.Atoi(of)
	if err1 != nil || err2 != nil || n < 1 || n > maxPartitions || i < 0 || i >= n || text != strconv.Itoa(i)+"/"+strconv.Itoa(n) {
		return fanfold.Errorf(fanfold.Invalid, "partition=%s is not i/n with n from 1 to %d and i from 0 to n-1, such as 3/16", text, maxPartitions)
	}
	req.partition, req.partitions = i, n
	return nil
}

// parseFilter reads filter. The error is Invalid.
func (req *request) parseFilter(text string) (err error) {
	if text == "" {
		return nil
	}
	if req.filter, err = expr.CompileFilter(text); err != nil {
		return fanfold.Errorf(fanfold.Invalid, "filter: %v", err)
	}
	if req.filter.Reads("previous") && !req.allChanges {
		return fanfold.Errorf(fanfold.Invalid, "filter: previous is known with mode=all alone")
	}
	return nil
}

// filters reports whether the consumer asks for less than all changes.
func (req *request) filters() bool {
	return !req.allChanges || len(req.collections) > 0 || req.direct || req.partitions > 0 || req.filter != nil
}

// query returns the query for the page behind a position that has at most maxBytes.
func (req *request) query(after fanfold.Position, maxBytes int) fanfold.ChangeQuery {
	q := fanfold.ChangeQuery{After: after, Limit: maxPageRows, MaxBytes: maxBytes, Collections: req.collections, Latest: !req.allChanges,
		Docs: req.includeDocs, View: req.view, Direct: req.direct, Partition: req.partition, Partitions: req.partitions}
	if req.filter != nil {
		q.Docs = q.Docs || req.filter.Reads("doc")
		q.Before = req.filter.Reads("previous")
	}
	return q
}

// applyFilter takes out the rows of a page that the consumer's filter leaves out. A row on which the filter fails stays,
// and says so. It blocks while other feeds' filters are evaluated, and sends heartbeats meanwhile; errors are ctx's and the
// output's.
func (s *scan) applyFilter(ctx context.Context, page *fanfold.ChangePage, out output) error {
	if s.req.filter == nil || len(page.Rows) == 0 {
		return nil
	}
	beats := time.NewTicker(s.req.heartbeat)
	defer beats.Stop()
	kept := page.Rows[:0]
	for rows := range slices.Chunk(page.Rows, rowsFiltering) {
		if err := s.waitToFilter(ctx, out, beats.C); err != nil {
			return err
		}
		for _, row := range rows {
			if row, matches := s.matches(row); matches {
				kept = append(kept, row)
			}
		}
		<-s.filtering
	}
	if s.leftOut != nil {
		s.leftOut(len(page.Rows) - len(kept))
	}
	page.Rows = kept
	return nil
}

// waitToFilter takes a place among those that evaluate their filters. Errors are ctx's and the output's.
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
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// matches evaluates the filter on a row, and returns the row as it is sent where it is.
func (s *scan) matches(row fanfold.ChangeRow) (fanfold.ChangeRow, bool) {
	matches, err := s.req.filter.Matches(jsondoc.MustParse(filterValues(row, s.issuer)))
	if err != nil {
		row.FilterError = err.Error()
	}
	if !s.req.includeDocs {
		row.Doc = nil
	}
	return row, matches || err != nil
}

// filterValues returns the variables of a filter as an object. What a row does not have is no member.
func filterValues(row fanfold.ChangeRow, issuer fanfold.Issuer) []byte {
	values := append(appendHead([]byte(`{"change":`), row, issuer), '}')
	if row.Doc != nil {
		values = append(append(values, `,"doc":`...), row.Doc.Body...)
	}
	if row.Before != nil {
		values = append(append(values, `,"previous":`...), row.Before...)
	}
	return append(values, '}')
}
