package changefeed

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// maxCounting bounds how long EachSelected evaluates a filter.
const maxCounting = time.Second

// EachSelected calls fn with each change after a position that a scope's reader with these rights is given, up to the newest, without its
// values. all is false where it has ended before, after maxCounting. It waits for room and for its turn as other feeds do. Errors are as of newRequest, and ctx's.
func (f *Feed) EachSelected(ctx context.Context, rights *access.Rights, scope *Scope, fn func(ch *fanfold.Change)) (all bool, err error) {
	o := f.over(f.store)
	req, err := o.newRequest(Query{Selection: scope.Selection, Since: scope.Since.String(), Rights: rights})
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, maxCounting)
	defer cancel()
	s := o.newScan(req)
	s.leftOut = nil
	err = s.eachRow(limited, fn)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// eachRow calls fn with the change of each row from the scan's position on.
func (s *scan) eachRow(ctx context.Context, fn func(ch *fanfold.Change)) error {
	defer s.lease.Release()
	for ctx.Err() == nil {
		page, err := s.nextPage(ctx, noOutput{})
		if err != nil {
			return err
		}
		if err := s.applyAll(ctx, &page, noOutput{}); err != nil {
			return err
		}
		for _, row := range page.Rows {
			fn(row.Change)
		}
		if s.at = page.Last; page.Pending == 0 {
			return nil
		}
		s.lease.Release()
	}
	return ctx.Err()
}

// noOutput is the output of a scan that sends nothing.
type noOutput struct{}

func (noOutput) row(fanfold.ChangeRow) error { return nil }
func (noOutput) flush() error                { return nil }
func (noOutput) alive() error                { return nil }
