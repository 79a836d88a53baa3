package api

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/membership"
)

// Lag knows how far the node lags the log.
type Lag interface {
	// CatchingUp returns the CatchingUp of a node that has not reached the log's end of its start yet, nil otherwise. If it
	// soon will have, it waits, until ctx ends at most.
	CatchingUp(ctx context.Context) error
	// CaughtUp tells whether CatchingUp returns nil at once.
	CaughtUp() bool
	// TooFar returns the Lagging of a node that lags too far for strong reads and for writes under an Idempotency-Key,
	// nil otherwise.
	TooFar() error
	// Wait waits until the node is within a bound of the log. The error is Lagging where ctx ends before, or Unavailable.
	Wait(ctx context.Context, bound membership.LagBound) error
}

// freshness makes requests wait until the read model is as fresh as they ask for.
type freshness struct {
	lag      Lag
	fencer   Fencer
	folded   Folded
	issuer   fanfold.Issuer
	standard time.Duration         // for which a request waits that does not say how long
	caughtUp func(begun time.Time) // is told that everything from before a time is folded
}

// level names what a read promises.
type level string

// The levels, from the one that promises most.
const (
	levelStrong   level = "strong"   // every write acknowledged before the request
	levelBounded  level = "bounded"  // every write older than a bound
	levelSession  level = "session"  // every write up to a position that the client has seen
	levelPrefix   level = "prefix"   // some prefix of the log, on a node that is not catching up since its start
	levelEventual level = "eventual" // some prefix of the log, which may be much older
)

// readParameters lists the query parameters that every read of the read model takes.
func readParameters(c echo.Context, more ...string) error {
	return parameters(c, append(more, "consistency", "maxLag")...)
}

// want holds what a read asks of the read model before it is answered.
type want struct {
	level level
	bound membership.LagBound
	seq   uint64 // is to be folded; 0 for none
}

// readWant reads the parameters consistency and maxLag and the header Fanfold-Min-Position, by which alone a read is one of
// a session. Errors are Invalid and StoreChanged.
func (f *freshness) readWant(c echo.Context, minPosition string) (w want, err error) {
	if minPosition != "" {
		b, err := fanfold.ParseBookmark(minPosition)
		if err != nil {
			return w, fanfold.Errorf(fanfold.Invalid, "%s: %s", headerMinPosition, fanfold.MessageOf(err))
		}
		if _, err := f.issuer.Resolve(b); err != nil {
			return w, err
		}
		w.seq = b.Seq()
	}
	query := c.QueryParams()
	switch w.level = level(query.Get("consistency")); w.level {
	case levelStrong, levelBounded, levelPrefix, levelEventual:
	case levelSession:
		if minPosition == "" {
			return w, fanfold.Errorf(fanfold.Invalid, "consistency=session needs the header %s: the %s of an earlier answer", headerMinPosition, headerPosition)
		}
	case "":
		if w.level = levelPrefix; minPosition != "" {
			w.level = levelSession
		}
	default:
		return w, fanfold.Errorf(fanfold.Invalid, "consistency=%.40s is not one of strong, bounded, session, prefix and eventual", string(w.level))
	}
	text := query.Get("maxLag")
	switch {
	case w.level == levelBounded && text == "":
		return w, fanfold.Errorf(fanfold.Invalid, "consistency=bounded needs maxLag: a number of events, such as 10000, or a time, such as 30s")
	case text != "" && w.level != levelBounded:
		return w, fanfold.Errorf(fanfold.Invalid, "maxLag goes with consistency=bounded alone")
	case text != "":
		if w.bound, err = membership.ParseLagBound(text); err != nil {
			return w, fanfold.Errorf(fanfold.Invalid, "maxLag: %s", fanfold.MessageOf(err))
		}
	}
	return w, nil
}

// timeout returns how long the request may wait for the fold: what its Fanfold-Timeout says, in seconds or with a unit,
// such as 500ms, and otherwise Options.Timeout. The error is Invalid.
func (f *freshness) timeout(c echo.Context) (time.Duration, error) {
	v, err := header(c.Request(), headerTimeout)
	if v == "" || err != nil {
		return f.standard, err
	}
	d, err := time.ParseDuration(v)
	if seconds, ferr := strconv.ParseFloat(v, 64); ferr == nil && seconds >= 0 && seconds <= time.Minute.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > time.Minute {
		return 0, fanfold.Errorf(fanfold.Invalid, "%s: %q is not a time of up to 60 seconds, such as 5 or 500ms", headerTimeout, v)
	}
	return d, nil
}

// wait waits until an event is folded, for limit at most. It returns the error of Folded.Wait.
func (f *freshness) wait(ctx context.Context, seq uint64, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f.folded.Wait(ctx, seq)
}

// await waits until the read model is as fresh as the request asks for, and then judges the sender again. Errors are Invalid,
// StoreChanged, Timeout, CatchingUp, Lagging and Unavailable, and judgeAgain's.
func (f *freshness) await(c echo.Context) error {
	minPosition, err := header(c.Request(), headerMinPosition)
	if err != nil {
		return err
	}
	if minPosition == "" && c.Request().URL.RawQuery == "" && f.lag.CaughtUp() {
		return nil
	}
	if err := f.awaitWanted(c, minPosition); err != nil {
		return err
	}
	return judgeAgain(c)
}

// awaitWanted waits as the parameters and the headers of a request say.
func (f *freshness) awaitWanted(c echo.Context, minPosition string) error {
	limit, err := f.timeout(c)
	if err != nil {
		return err
	}
	w, err := f.readWant(c, minPosition)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), limit)
	defer cancel()
	switch w.level {
	case levelPrefix:
		if err := f.lag.CatchingUp(ctx); err != nil {
			return err
		}
	case levelStrong:
		if err := f.lag.TooFar(); err != nil {
			return err
		}
		return f.waitForFence(ctx, w.seq, limit)
	case levelBounded:
		if err := f.lag.Wait(ctx, w.bound); err != nil {
			return err
		}
	}
	return f.waitToRead(ctx, w.seq, limit)
}

// takesKeys returns why the node cannot take a write under an Idempotency-Key, nil if it can or there is no key. Its table of
// keys may lack the request that was made before.
func (f *freshness) takesKeys(key fanfold.IdempotencyKey) error {
	if key.Hash == "" {
		return nil
	}
	return f.lag.TooFar()
}

// waitUpTo waits until an event is folded, for limit at most. It returns the error of waitToRead.
func (f *freshness) waitUpTo(ctx context.Context, seq uint64, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f.waitToRead(ctx, seq, limit)
}

// waitUpToFence waits until everything acknowledged before the call is folded, for limit at most. It returns the error of waitForFence.
func (f *freshness) waitUpToFence(ctx context.Context, limit time.Duration) error {
	if err := f.lag.TooFar(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f.waitForFence(ctx, 0, limit)
}

// waitForFence waits until want and everything acknowledged before the call are folded. Errors are Timeout and Unavailable.
func (f *freshness) waitForFence(ctx context.Context, want uint64, limit time.Duration) error {
	begun := time.Now()
	seq, err := f.fencer.Fence(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fanfold.Errorf(fanfold.Timeout, "the log did not answer within %v; this node stands at event %d", limit, f.folded.Applied())
	}
	if err != nil {
		return err
	}
	err = f.waitToRead(ctx, max(want, seq), limit)
	if f.folded.Applied() >= seq {
		f.caughtUp(begun)
	}
	return err
}

// waitToRead waits until an event is folded. The error is a Timeout, in which limit is named, where ctx ends before, and
// Unavailable.
func (f *freshness) waitToRead(ctx context.Context, want uint64, limit time.Duration) error {
	if want == 0 {
		return nil
	}
	err := f.folded.Wait(ctx, want)
	if errors.Is(err, context.DeadlineExceeded) {
		return fanfold.Errorf(fanfold.Timeout, "this node stands at event %d and did not reach %d within %v", f.folded.Applied(), want, limit)
	}
	return err
}
