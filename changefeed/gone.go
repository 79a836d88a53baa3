package changefeed

import (
	"errors"

	"github.com/fanfold/fanfold"
)

// goneSince returns the PositionGone of a consumer that asks for changes after one that is not kept.
func (f *Feed) goneSince(text string, oldest fanfold.Position) error {
	mark := f.opt.Issuer.Mark(oldest)
	gone := fanfold.Errorf(fanfold.PositionGone, "changes behind since=%s are no longer kept: the oldest position is %s; begin there, and take what was before from the documents", text, mark)
	gone.Oldest = &mark
	return gone
}

// explain returns an error of the store as the consumer is told it. A PositionGone, of changes that went meanwhile, has the oldest position.
func (s *scan) explain(err error) error {
	if fanfold.CodeOf(err) != fanfold.PositionGone {
		return err
	}
	oldest, _, failed := s.store.Bounds()
	if failed != nil {
		return failed
	}
	s.uncounted = true
	mark := s.req.issuer.Mark(oldest)
	gone := fanfold.Errorf(fanfold.PositionGone, "changes behind %s went while they were read: the oldest position is %s; begin there, and take what was before from the documents", s.bookmark(), mark)
	gone.Oldest = &mark
	return gone
}

// endOf returns the members that say why an answer ends before its time. Its consumer has lost its rights, changes that follow are no
// longer kept, or much was looked at. It is "" for any other end.
func endOf(err error) string {
	var e *fanfold.Error
	switch {
	case errors.Is(err, errRightsChanged):
		return `"end":"rights-changed"`
	case errors.Is(err, errWorkBound):
		return `"end":"work-bound"`
	case errors.As(err, &e) && e.Code == fanfold.PositionGone && e.Oldest != nil:
		return `"end":"position-gone","oldest":"` + e.Oldest.String() + `"`
	}
	return ""
}

// farewell returns the last message of a stream that ends before its time, "" for any other end.
func (s *scan) farewell(err error) string {
	if end := endOf(err); end != "" {
		return `{` + end + `,"last_seq":"` + s.bookmark().String() + `"}`
	}
	return ""
}
