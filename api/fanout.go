package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// What a write causes can be asked before it is made, and is bounded by the model.

// intent is how a write is meant.
type intent struct {
	dry   bool // to be told, not made
	allow bool // past the model's fanout limit
}

type intentKey struct{}

func intentOf(ctx context.Context) intent {
	in, _ := ctx.Value(intentKey{}).(intent)
	return in
}

// askParameters are what every write of documents takes.
var askParameters = []string{"dryRun", "allowFanout"}

// asked is the request's context with how its write is meant.
func asked(c echo.Context, p preferences) (ctx context.Context, err error) {
	ctx = c.Request().Context()
	in := intent{dry: p.dry}
	if c.Request().URL.RawQuery != "" {
		dry, err := boolParam(c, "dryRun")
		if err != nil {
			return nil, err
		}
		if in.allow, err = boolParam(c, "allowFanout"); err != nil {
			return nil, err
		}
		in.dry = in.dry || dry
	}
	if in == (intent{}) {
		return ctx, nil
	}
	return context.WithValue(ctx, intentKey{}, in), nil
}

// rehearsal ends a dry run: the writes that would have been stored.
type rehearsal struct{ writes []fanfold.Write }

func (r *rehearsal) Error() string { return "a dry run" }

// append appends an event, unless it is to be told only or is past the fanout limit.
func (s *Server) append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error) {
	s.remodeling.RLock()
	defer s.remodeling.RUnlock()
	writes := []fanfold.Write{{Event: ev, Expect: expect}}
	constrained := s.constrained(writes)
	if constrained && (intentOf(ctx).dry || ev.IdempotencyKey.Hash != "" || ev.Kind == fanfold.KindDelete) {
		seq, _, err := s.appendConstrained(ctx, "", writes)
		return seq, alone(err)
	}
	if err := s.bounded(ctx, writes); err != nil {
		return 0, alone(err)
	}
	if constrained {
		return s.company.append(s, writes[0])
	}
	return s.log.Append(ctx, ev, expect)
}

// appendAll is append of a transaction; first is the sequence of the first of the writes.
func (s *Server) appendAll(ctx context.Context, tx string, writes []fanfold.Write) (first uint64, err error) {
	s.remodeling.RLock()
	defer s.remodeling.RUnlock()
	if s.constrained(writes) {
		first, _, err := s.appendConstrained(ctx, tx, writes)
		return first, err
	}
	if err := s.bounded(ctx, writes); err != nil {
		return 0, err
	}
	return s.log.AppendAll(ctx, tx, writes)
}

// bounded is an error where writes are not to be made: a rehearsal, or a FanoutLimit.
func (s *Server) bounded(ctx context.Context, writes []fanfold.Write) error {
	in := intentOf(ctx)
	if in.dry {
		for i, w := range writes {
			if !w.Expect.Set {
				continue
			}
			rev, _, err := s.log.Last(ctx, w.Event.Key)
			if err != nil {
				return err
			}
			if rev != w.Expect.Rev {
				return fanfold.AtOperation(&fanfold.Error{Code: fanfold.Stale, Current: rev, Message: fmt.Sprintf("document %s is at revision %d", w.Event.Key, rev)}, i)
			}
		}
		return &rehearsal{writes}
	}
	m, _, _ := s.models.Model()
	limit := m.FanoutLimit
	if in.allow {
		limit = fanfold.MaxChanges - 1 // one event cannot have more, whoever allows it
	}
	evs := eventsOf(writes)
	if more, err := s.models.Reaches(evs, limit); err != nil || !more {
		return err
	}
	fan, err := s.models.DryRun(ctx, evs)
	if code := fanfold.CodeOf(err); code == fanfold.Conflict || code == fanfold.NotFound {
		return nil // a document changed meanwhile: the append will tell
	}
	if err != nil || fan.Derived <= limit || in.allow {
		return err
	}
	e := fanfold.Errorf(fanfold.FanoutLimit, "the write would cause %d derived changes; the model's fanout.limit is %d: send it with allowFanout=true if it is meant", fan.Derived, limit)
	for _, rule := range slices.Sorted(maps.Keys(fan.Rules)) {
		e.Problems = append(e.Problems, fanfold.Problem{Path: rule, Detail: fmt.Sprintf("%d documents would change", fan.Rules[rule])})
	}
	return e
}

func eventsOf(writes []fanfold.Write) []*fanfold.Event {
	evs := make([]*fanfold.Event, len(writes))
	for i, w := range writes {
		evs[i] = w.Event
	}
	return evs
}

// rehearsed answers a handler's dry run.
func (s *Server) rehearsed(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := h(c)
		var r *rehearsal
		if !errors.As(err, &r) {
			return err
		}
		fan, err := s.models.DryRun(c.Request().Context(), eventsOf(r.writes))
		if err != nil {
			return err
		}
		out := dryRunResult{Writes: make([]dryRunWrite, len(r.writes)), Fanout: fan}
		for i, w := range r.writes {
			out.Writes[i] = dryRunWrite{w.Event.Kind, w.Event.Key.Collection, w.Event.Key.ID}
		}
		header := c.Response().Header()
		header.Set(headerPosition, fan.Position.String())
		if prefer(c).dry {
			header.Set("Preference-Applied", "dry-run")
		}
		return c.JSON(http.StatusOK, out)
	}
}

// dryRunResult is the answer to a dry run.
type dryRunResult struct {
	Writes []dryRunWrite `json:"writes"` // what would be stored
	*fanfold.Fanout
}

type dryRunWrite struct {
	Op         fanfold.Kind `json:"op"`
	Collection string       `json:"collection"`
	ID         string       `json:"id"`
}
