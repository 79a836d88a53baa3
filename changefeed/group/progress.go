package group

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// Batch names the batch that a member was given of a partition: everything after its checkpoint, or its parked batch that
// is given again, up to a position.
type Batch struct {
	Partition int
	Token     string
	Position  string
	Answer    *wire.PushAnswer // to the post that had it; nil for a batch that was asked for
}

// note records the answer to the post of a batch, where it was posted, and reports whether it was.
func (b *Batch) note(p *partition) bool {
	if b.Answer != nil {
		p.Answer = b.Answer
	}
	return b.Answer != nil
}

// position returns the position of a batch, which this node has reached. Errors are Invalid, Timeout and Unavailable.
func (g *Groups) position(ctx context.Context, text string) (fanfold.Position, error) {
	if _, err := fanfold.ParseBookmark(text); err != nil { // the feed takes now and times, too
		return 0, fanfold.Errorf(fanfold.Invalid, "the member position is %q: the position of a batch is one that was given out, such as 1042-17-abcdefgh", fanfold.Clip(text))
	}
	return g.resolve(ctx, text)
}

// Ack records that everything of a batch was handled. An older position than one that was acknowledged changes nothing. Errors
// are LeaseLost where the token is not the partition's any more, Invalid, NotFound, Timeout for a position that this node does
// not reach, Busy and Unavailable.
func (g *Groups) Ack(ctx context.Context, name string, b Batch) error {
	s, err := g.get(ctx, name)
	if err != nil {
		return err
	}
	at, err := g.position(ctx, b.Position)
	if err != nil {
		return err
	}
	var done *parkedRef
	err = g.change(ctx, s, b.Partition, func(p *partition) (changed bool, err error) {
		if err := p.check(b.Token); err != nil {
			return false, err
		}
		changed, done = p.ack(at)
		return b.note(p) || changed, nil
	})
	if err != nil || done == nil {
		return err
	}
	return g.forget(ctx, s, b.Partition, done.Number)
}

// Nack records that a batch could not be handled, and why. It comes again after a back-off. After as many attempts as the
// group has, it is parked, and the partition goes on after it. It returns the errors of Ack.
func (g *Groups) Nack(ctx context.Context, name string, b Batch, why string) error {
	s, err := g.get(ctx, name)
	if err != nil {
		return err
	}
	at, err := g.position(ctx, b.Position)
	if err != nil {
		return err
	}
	room, err := g.roomToPark(ctx, s, b.Partition)
	if err != nil {
		return err
	}
	f := failure{at: at, error: clip(why), now: g.opt.Now().UTC(), most: s.Settings.MaxAttempts, room: room}
	return g.change(ctx, s, b.Partition, func(p *partition) (bool, error) {
		if err := p.check(b.Token); err != nil {
			return false, err
		}
		batch := wire.Failure{Attempts: p.Attempts + 1, Error: f.error, Time: f.now, Member: p.Owner}
		changed, parked := p.nack(f)
		changed = b.note(p) || changed
		if parked == nil {
			return changed, nil
		}
		return changed, g.keep(ctx, s.parkedKey(b.Partition, parked.Number), batch)
	})
}

// keep keeps what is known of a parked batch, before the partition's state says that it is parked.
func (g *Groups) keep(ctx context.Context, key string, batch wire.Failure) error {
	return g.compareAndSet(ctx, key, func(old []byte) ([]byte, error) {
		var was wire.Failure
		if old != nil && json.Unmarshal(old, &was) == nil && batch.Attempts <= was.Attempts { // it was given again, and failed again
			batch.Attempts = was.Attempts + 1
		}
		return json.Marshal(batch)
	})
}

// Bounds of parked batches.
const (
	MaxParked     = 1000 // of a group; partitions that park at the same moment may pass it by some
	maxParkedHere = 100  // of a partition
)

// roomToPark reports whether the group may have one more parked batch. It asks only where the next failure parks one.
func (g *Groups) roomToPark(ctx context.Context, s *group, number int) (bool, error) {
	states, err := g.partitions(ctx, s)
	if err != nil || number < 0 || number >= len(states) || states[number].Attempts+1 < s.Settings.MaxAttempts {
		return true, err
	}
	count := 0
	for _, p := range states {
		count += len(p.Parked)
	}
	return count < MaxParked, nil
}

// clip returns at most MaxErrorBytes of an error, whole characters of it.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= MaxErrorBytes {
		return s
	}
	end := MaxErrorBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Parked returns the parked batches of a group, by partition. Errors are Invalid, Forbidden, NotFound and Unavailable.
func (g *Groups) Parked(ctx context.Context, name string) ([]wire.ParkedBatch, error) {
	s, err := g.get(ctx, name)
	if err != nil {
		return nil, err
	}
	states, err := g.partitions(ctx, s)
	if err != nil {
		return nil, err
	}
	out := []wire.ParkedBatch{}
	for n, p := range states {
		if len(p.Parked) == 0 {
			continue
		}
		kept, err := g.kv.All(ctx, s.parkedUnder(n))
		if err != nil {
			return nil, err
		}
		for _, r := range p.Parked {
			one := wire.ParkedBatch{ID: strconv.Itoa(n) + "-" + strconv.Itoa(r.Number), Partition: n, From: g.opt.Issuer.Mark(r.From).String(), To: g.opt.Issuer.Mark(r.To).String(), Retry: r.Retry}
			if i := slices.IndexFunc(kept, func(e fanfold.Entry) bool { return e.Key == s.parkedKey(n, r.Number) }); i >= 0 {
				one.Failure = &wire.Failure{}
				if err := unmarshal(kept[i], one.Failure); err != nil {
					return nil, err
				}
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// parked returns a group with the partition and the number that the id of a parked batch names. It returns the errors of
// get, and NotFound.
func (g *Groups) parked(ctx context.Context, name, id string) (s *group, number, batch int, err error) {
	if s, err = g.get(ctx, name); err == nil {
		number, batch, err = parkedID(s, id)
	}
	return s, number, batch, err
}

// parkedID reads the id of a parked batch. The error is NotFound.
func parkedID(s *group, id string) (number, batch int, err error) {
	first, second, ok := strings.Cut(id, "-")
	number, err = strconv.Atoi(first)
	if err == nil {
		batch, err = strconv.Atoi(second)
	}
	if !ok || err != nil || number < 0 || number >= s.Settings.Partitions {
		return 0, 0, noParked(s)
	}
	return number, batch, nil
}

// noParked returns the NotFound of a parked batch.
func noParked(s *group) error {
	return fanfold.Errorf(fanfold.NotFound, "group %s has no parked batch of this id: see _parked", s.name)
}

// Retry has a parked batch given to the owner of its partition, before anything else, once. It stays parked until it is
// acknowledged. Errors are Invalid, Forbidden, NotFound, Busy and Unavailable.
func (g *Groups) Retry(ctx context.Context, name, id string) error {
	s, number, batch, err := g.parked(ctx, name, id)
	if err != nil {
		return err
	}
	return g.change(ctx, s, number, func(p *partition) (bool, error) {
		i := slices.IndexFunc(p.Parked, func(r parkedRef) bool { return r.Number == batch })
		if i < 0 {
			return false, noParked(s)
		}
		changed := !p.Parked[i].Retry
		p.Parked[i].Retry = true
		return changed, nil
	})
}

// DropParked takes a parked batch off the list for good: nobody is given its changes any more. Errors are Invalid, NotFound,
// Busy and Unavailable.
func (g *Groups) DropParked(ctx context.Context, name, id string) error {
	s, number, batch, err := g.parked(ctx, name, id)
	if err != nil {
		return err
	}
	err = g.change(ctx, s, number, func(p *partition) (bool, error) {
		if !p.unpark(batch) {
			return false, noParked(s)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return g.forget(ctx, s, number, batch)
}

// forget takes away what is kept of a batch that is not parked any more.
func (g *Groups) forget(ctx context.Context, s *group, number, batch int) error {
	return g.kv.Drop(ctx, s.parkedKey(number, batch))
}
