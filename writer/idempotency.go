package writer

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// caughtUp remembers up to which time everything acknowledged is known to be folded on this node.
type caughtUp struct {
	began time.Time
	until atomic.Int64 // as a duration since began; 0 for never
}

// record remembers that everything acknowledged before a time is folded.
func (c *caughtUp) record(at time.Time) {
	until := int64(at.Sub(c.began))
	for old := c.until.Load(); old < until && !c.until.CompareAndSwap(old, until); old = c.until.Load() {
	}
}

// within tells whether the time remembered is at most d ago.
func (c *caughtUp) within(d time.Duration) bool {
	until := c.until.Load()
	return until != 0 && time.Since(c.began)-time.Duration(until) <= d
}

// RecordCaughtUp tells the writer that everything acknowledged before a time is folded on this node, because a write or
// fence that was begun at that time is.
func (w *Writer) RecordCaughtUp(at time.Time) { w.idempotency.caughtUp.record(at) }

// keyOf returns the key under which an actor's request happens once: no two actors share one. Without an actor it is the
// key as it came.
func keyOf(actor string, key fanfold.IdempotencyKey) fanfold.IdempotencyKey {
	if actor != "" && key.Hash != "" {
		sum := sha256.Sum256([]byte(actor + "\x00" + key.Hash)) // a hash has no zero byte
		key.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return key
}

// mark gives the first event of a request its key.
func (r Request) mark(ev *fanfold.Event) { ev.IdempotencyKey = r.Key }

// idempotency makes a request under a key happen once.
type idempotency struct {
	leader    Leader
	rows      ReadModel
	provenFor time.Duration // see Options.ProvenFor
	timeout   time.Duration // of one proof
	caughtUp  caughtUp
}

// once calls try, which appends events, unless a request was stored under the same key before. It returns the
// sequence of the first event, of that request or of this one. Without a key, and for a dry run, it only calls try.
// Errors are try's; KeyReused where another request has the key; and Unavailable where this node cannot tell.
func (i *idempotency) once(ctx context.Context, key fanfold.IdempotencyKey, dryRun bool, try func(ctx context.Context) (first uint64, err error)) (uint64, error) {
	if key.Hash == "" || dryRun {
		return try(ctx)
	}
	if !i.caughtUp.within(i.provenFor) {
		if err := i.prove(ctx); err != nil {
			return 0, err
		}
	}
	if first, err := i.lookup(key); first != 0 || err != nil {
		return first, err
	}
	bounded, cancel := context.WithTimeout(ctx, i.provenFor/2) // what was looked up must not be old when it is stored
	first, err := try(bounded)
	cancel()
	switch fanfold.CodeOf(err) {
	case "", fanfold.Unavailable, fanfold.OutcomeUnknown, fanfold.TooLarge, fanfold.KeyReused, fanfold.Internal:
		return first, err
	}
	// It was refused. The write in its way may be the same request, sent to another node.
	if perr := i.prove(ctx); perr != nil {
		return 0, perr
	}
	if first, lerr := i.lookup(key); first != 0 || lerr != nil {
		return first, lerr
	}
	if fanfold.CodeOf(err) == fanfold.Duplicate {
		err = fanfold.Errorf(fanfold.Unavailable, "the Idempotency-Key was used a moment ago, and its outcome is not known here yet: try again")
	}
	return 0, err
}

// prove waits until this node has folded everything acknowledged before the call, and records that. The error is
// Unavailable.
func (i *idempotency) prove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, i.timeout)
	defer cancel()
	if err := i.catchUp(ctx); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "this node is behind the log and cannot tell whether the Idempotency-Key was used: try again, or ask another node%s", reasonOf(err))
	}
	return nil
}

// catchUp does what prove does, for as long as that takes. It returns the errors of ctx, the log and the read model.
func (i *idempotency) catchUp(ctx context.Context) error {
	began := time.Now()
	seq, err := i.leader.Fence(ctx)
	if err == nil {
		err = i.rows.Wait(ctx, seq)
	}
	if err == nil {
		i.caughtUp.record(began)
	}
	return err
}

// lookup returns the sequence of the first event of the request that was made under the key, 0 where there is none.
// The error is KeyReused where that was another request.
func (i *idempotency) lookup(key fanfold.IdempotencyKey) (first uint64, err error) {
	err = i.rows.Read(func(snap Snapshot) error {
		r, err := snap.IdempotencyKey(key.Hash)
		switch {
		case err != nil || r == nil:
			return err
		case r.Digest != key.Digest:
			return errOtherRequest
		}
		first = r.Seq
		return nil
	})
	return first, err
}

// errOtherRequest refuses a request under a key that another one has. It is a KeyReused.
var errOtherRequest = fanfold.Errorf(fanfold.KeyReused, "the Idempotency-Key was used for another request; take a new key")

// progressKey returns the id under which the log has the progress of a request with a key, and what tells the request from others under it. Both
// are "" for one without a key, and for a dry run. The error is KeyReused where a write of another kind has the key.
func progressKey(w *Writer, req Request) (id, request string, err error) {
	if req.Key.Hash == "" || req.DryRun {
		return "", "", nil
	}
	key := keyOf(actorOf(req.By), req.Key)
	_, err = w.idempotency.lookup(key)
	return "\xffbulk\xff" + key.Hash, key.Digest, err // no import has such an id, which is no UTF-8
}
