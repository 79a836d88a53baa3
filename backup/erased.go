package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
)

// ErrErased is the cause of Receive's Conflict for a stream that does not begin with the log, where the store has erased something since the backup
// was made. The whole backup is to be written anew.
var ErrErased = errors.New("the store has erased something since the backup was made")

// checkErased returns an error where what came cannot take the place of the backup that is there, which was made after another erasure. Apart from
// what the erasures since list, both have to have the same events.
func (w *Writer) checkErased(ctx context.Context, m *Manifest) error {
	old := w.old
	switch {
	case m.Store != old.Store:
		return fanfold.Errorf(fanfold.StoreChanged, "%s holds a backup of store %s, and this is store %s: take another directory", w.dir, old.Store, m.Store)
	case m.Erasure < old.Erasure || m.Position < old.Position:
		return fanfold.Errorf(fanfold.LogDamaged, "%s holds events up to %d and knows the erasure of event %d; the log ends with %d, and knows that of %d: it has lost some, or this node lags",
			w.dir, old.Position, old.Erasure, m.Position, m.Erasure)
	case !m.Complete():
		w.anew = true
		return fanfold.Wrap(ErrErased, fanfold.Conflict, "the store has erased something since the backup in %s was made: the whole backup is to be written anew", w.dir)
	}
	came, had := &Backup{*m, w.dir}, &Backup{*old, w.dir}
	listed, err := came.listed(ctx, old.Erasure)
	if err != nil {
		return err
	}
	return came.checkSame(ctx, had, listed)
}

// listed returns the messages, in order, that the erase events after one list up to the backup's own.
func (b *Backup) listed(ctx context.Context, after uint64) (seqs []uint64, err error) {
	err = b.Events(ctx, max(after, b.begins().Seq), func(ev *Event) error {
		if ev.Seq > b.Erasure || !isErase(ev.Subject) {
			return nil
		}
		type list struct {
			Messages []struct {
				Seq uint64 `json:"seq"`
			} `json:"messages"`
		}
		var erase struct {
			list      // of earlier programs
			List list `json:"list"`
		}
		if err := json.Unmarshal(ev.Payload, &erase); err != nil {
			return fanfold.Wrap(err, fanfold.Invalid, "the erase event %d cannot be read: %v", ev.Seq, err)
		}
		for _, m := range append(erase.Messages, erase.List.Messages...) {
			seqs = append(seqs, m.Seq)
		}
		return nil
	})
	slices.Sort(seqs)
	return slices.Compact(seqs), err
}

// isErase tells whether a subject belongs to erase events.
func isErase(subject string) bool {
	return strings.HasSuffix(subject, ".erase") && strings.Count(subject, ".") == 2
}

// place is an event's own digest.
type place struct {
	seq    uint64
	digest fanfold.Digest
}

// checkSame returns LogDamaged where an event that both backups have is another one in them, and is not listed. Files that both have are not read.
func (b *Backup) checkSame(ctx context.Context, had *Backup, listed []uint64) error {
	same := map[string]bool{}
	for _, s := range b.Segments {
		same[s.File] = slices.ContainsFunc(had.Segments, func(other Segment) bool { return other.File == s.File })
	}
	var failed error
	next, stop := iter.Pull(func(yield func(place) bool) {
		failed = b.places(ctx, same, func(p place) error {
			if !yield(p) {
				return errStopped
			}
			return nil
		})
	})
	defer stop()
	at, more := next()
	err := had.places(ctx, same, func(p place) error {
		for more && at.seq < p.seq {
			at, more = next()
		}
		if failed != nil {
			return failed
		}
		if more && at.seq == p.seq && at.digest != p.digest {
			if _, erased := slices.BinarySearch(listed, p.seq); !erased {
				return notContinued(had.dir, p.seq)
			}
		}
		return nil
	})
	return cmp.Or(err, failed)
}

// errStopped ends a walk whose caller has enough.
var errStopped = errors.New("enough is read")

// places calls fn with each event's own digest, in order, but for those in some files.
func (b *Backup) places(ctx context.Context, without map[string]bool, fn func(place) error) error {
	o, err := newOpener(b.begins())
	if err != nil {
		return err
	}
	defer o.close()
	var parts []byte
	for i := range b.Segments {
		s := &b.Segments[i]
		if without[s.File] {
			o.at = Point{s.Last, s.Digest}
			continue
		}
		err := b.segment(ctx, o, s, 0, func(ev *Event) error {
			p := place{seq: ev.Seq}
			p.digest, parts = fanfold.EventDigest(parts, ev.Seq, ev.Time, ev.Subject, ev.header, ev.Payload)
			return fn(p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
