package changefeed

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
)

// request is what one consumer asks for, checked against the store.
type request struct {
	Query
	since   fanfold.Position
	head    fanfold.Position // where the store stood then
	shape   string           // the same for the same rows: everything that is asked for but the position, the transport and when it ends, and the rights
	fresh   fanfold.Position // up to here nothing that was there before has been given to the consumer, who begins with nothing
	filter  *expr.Filter     // only changes for which it is true; nil for none
	actors  bool             // rows say who sent the request that they come from
	timeout time.Duration    // of a long poll, and of a stream where quiet is set
	quiet   bool             // the stream ends where no change comes for timeout

	reads  func(collection string) bool // whether the consumer reads a collection, or some of it; nil where it reads all
	issuer fanfold.Issuer               // gives out positions, with the mark of the consumer's rights
	judged func(collection string) bool // whether a rule decides which documents of a collection it reads; nil for none
}

// newRequest returns what a query asks for. It returns Invalid, Forbidden without rights, and the errors of resolveSince and checkMark.
func (f *Feed) newRequest(q Query) (req *request, err error) {
	if q.Rights == nil {
		return nil, fanfold.Errorf(fanfold.Forbidden, "the right to read the feed is missing")
	}
	req = &request{Query: q, shape: fmt.Sprintf("%#v %v %s", q.Selection, q.Docs, q.Rights.Shape()), timeout: f.opt.Timeout, quiet: q.Timeout != nil}
	req.setRights(q.Rights)
	req.issuer = f.opt.Issuer
	all, asked := q.Rights.Key(), q.Rights.KeyTo(q.Collections)
	req.issuer.Reader = fanfold.ReaderMark(all, asked)
	req.actors = q.AllChanges && q.Rights.Admin() && !q.Rights.IsOpen()
	req.Transport, req.Heartbeat = cmp.Or(q.Transport, Normal), cmp.Or(q.Heartbeat, f.opt.Heartbeat)
	if req.quiet {
		req.timeout = *q.Timeout
	}
	if req.filter, err = q.compileFilter(); err != nil {
		return nil, err
	}
	if req.filter != nil {
		if err := q.checkNames(); err != nil {
			return nil, err
		}
	}
	if req.since, req.head, err = f.resolveSince(q.Since); err == nil {
		err = f.checkMark(q.Since, all, asked)
	}
	if req.since == 0 && !req.AllChanges && !f.scoped {
		req.fresh = req.head
	}
	return req, err
}

// resolveSince returns the position that since names: a position, 0, now, or an RFC 3339 time; and the position at which
// the store stands. It does not wait for a position that this node has yet to reach. The consumer has seen it on a node
// that is ahead, and nothing is sent before this one is there too. It returns Invalid, StoreChanged for a position of
// another store, PositionGone if changes after the position are missing, and the store's errors.
func (f *Feed) resolveSince(text string) (since, head fanfold.Position, err error) {
	oldest, head, err := f.store.Bounds()
	if err != nil {
		return 0, 0, err
	}
	switch text {
	case "", "0":
	case "now":
		return head, head, nil
	default:
		if since, err = f.parseSince(text); err != nil {
			return 0, 0, err
		}
	}
	if since < oldest {
		return 0, 0, f.goneSince(cmp.Or(text, "0"), oldest)
	}
	return since, head, nil
}

// parseSince returns the position that a position or a time stands for. It returns the errors of resolveSince.
func (f *Feed) parseSince(text string) (fanfold.Position, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return f.store.Before(t)
	}
	b, err := fanfold.ParseBookmark(text)
	if err != nil {
		return 0, fanfold.Errorf(fanfold.Invalid, "since=%s is not a position (<sequence>-<n>-<store>, as it was given out), 0, now or an RFC 3339 time%s", text, fanfold.BlankHint(text))
	}
	return f.opt.Issuer.Resolve(b)
}

// checkMark returns RightsChanged for a position that was given to a consumer who read other documents. No row has said what
// left by that. A position without a mark is taken as it is.
func (f *Feed) checkMark(since, all, asked string) error {
	b, err := fanfold.ParseBookmark(since)
	if err != nil || b.FitsReader(all, asked) { // since may be now, or a time
		return nil //nolint:nilerr // these have no mark
	}
	oldest, _, err := f.store.Bounds()
	if err != nil {
		return err
	}
	changed := fanfold.Errorf(fanfold.RightsChanged, "since=%s was given under other rights, or under a model with other rules of access: read from 0, and drop what does not come", since)
	at := f.opt.Issuer.Mark(oldest)
	changed.Oldest = &at
	return changed
}

// checkNames returns a Forbidden where a filter names a private member of a collection that was asked for, which the consumer does not see.
func (q *Query) checkNames() error {
	for _, variable := range []string{"doc", "previous"} {
		paths, err := expr.PathsRead(q.Filter, variable)
		if err != nil {
			return fanfold.Errorf(fanfold.Invalid, "filter: %v", err)
		}
		for _, collection := range q.Collections {
			for _, names := range paths {
				if err := q.Rights.CheckMember("filter", collection, names); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
