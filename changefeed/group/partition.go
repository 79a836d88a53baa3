package group

import (
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// partition is the state of one partition, the value of one key, so that every change of it is a compare-and-set. So two
// owners never both acknowledge: a token is in it or it is not, whatever any clock says.
type partition struct {
	Generation int              `json:"generation,omitempty"` // of the group's beginning that Checkpoint is counted from
	Checkpoint fanfold.Position `json:"checkpoint"`           // everything up to it is acknowledged or parked
	Fold       int              `json:"fold,omitempty"`       // the version of the fold by which Checkpoint's event was folded

	Epoch   uint64    `json:"epoch,omitempty"` // how often it was leased
	Owner   string    `json:"owner,omitempty"`
	Token   string    `json:"token,omitempty"` // of the lease; "" for none
	Expires time.Time `json:"expires,omitzero"`

	Attempts  int       `json:"attempts,omitempty"` // that failed since the checkpoint moved
	Failures  int       `json:"failures,omitempty"` // attempts that ever failed
	Error     string    `json:"error,omitempty"`    // of the last one, while Attempts is not 0
	NotBefore time.Time `json:"notBefore,omitzero"` // when the batch is given again

	Answer *wire.PushAnswer `json:"answer,omitempty"` // to the last post; nil for none

	Parked     []parkedRef `json:"parked,omitempty"`
	LastParked int         `json:"lastParked,omitempty"` // the number of the batch that was parked last
}

// parkedRef names a parked batch: the changes after From, up to To. Its other data has a key of its own.
type parkedRef struct {
	Number int              `json:"n"`
	From   fanfold.Position `json:"from"`
	To     fanfold.Position `json:"to"`
	Retry  bool             `json:"retry,omitempty"` // it is to be given again
}

// held reports whether somebody has the lease.
func (p *partition) held(now time.Time) bool { return p.Token != "" && now.Before(p.Expires) }

// free reports whether a member may take the lease.
func (p *partition) free(now time.Time) bool { return !p.held(now) }

// overlong reports whether the lease ends later than any that is given now could, by far: a clock was ahead that gave it.
func (p *partition) overlong(now time.Time, lease time.Duration) bool {
	return p.Token != "" && isOverlong(p.Expires, now, lease)
}

// isOverlong reports whether a time that lasts so long, and ends at expires, begins far in the future: no clock that is nearly right
// gave it.
func isOverlong(expires, now time.Time, lasts time.Duration) bool { return expires.Sub(now) > 2*lasts }

// take gives the lease to a member, until a time. random makes the token one that nobody guesses. The number that it begins
// with grows with every lease of the partition.
func (p *partition) take(member, random string, until time.Time) {
	p.Epoch++
	p.Owner, p.Token, p.Expires = member, tokenOf(p.Epoch, random), until
}

// release ends the lease.
func (p *partition) release() {
	p.Owner, p.Token, p.Expires = "", "", time.Time{}
}

// check returns LeaseLost for a token that the lease does not have. It does not ask for the time: while nobody else has
// taken the lease, its owner may acknowledge.
func (p *partition) check(token string) error {
	if !p.isToken(token) {
		return fanfold.Errorf(fanfold.LeaseLost, "the lease of the partition is not this token's any more: ask for leases again, and drop what was read under it")
	}
	return nil
}

// isToken reports whether the lease has this token.
func (p *partition) isToken(token string) bool { return token != "" && token == p.Token }

// retried returns the parked batch that is to be given again, nil for none.
func (p *partition) retried() *parkedRef {
	for i := range p.Parked {
		if p.Parked[i].Retry {
			return &p.Parked[i]
		}
	}
	return nil
}

// ack records that everything up to a position was handled. A position within a parked batch that is given again is of that
// batch: nobody is given such a position otherwise. done is that batch where it is through. Any other position that is not
// after the checkpoint changes nothing.
func (p *partition) ack(at fanfold.Position) (changed bool, done *parkedRef) {
	if r := p.retried(); r != nil && r.From < at && at <= r.To {
		if at == r.To {
			gone := *r
			p.unpark(r.Number)
			return true, &gone
		}
		r.From = at
		return true, nil
	}
	if at <= p.Checkpoint {
		return false, nil
	}
	p.Checkpoint = at
	p.Attempts, p.Error, p.NotBefore = 0, "", time.Time{}
	return true, nil
}

// failure is an attempt that failed.
type failure struct {
	at    fanfold.Position // the end of the batch
	error string
	now   time.Time
	most  int  // attempts
	room  bool // for one more parked batch
}

// nack records that an attempt failed. parked is the batch where it is parked by that, again or for the first time.
// Otherwise it comes again after a back-off. A position that is not after the checkpoint changes nothing.
func (p *partition) nack(f failure) (changed bool, parked *parkedRef) {
	if r := p.retried(); r != nil && r.From < f.at && f.at <= r.To {
		r.Retry = false
		p.Failures++
		return true, r
	}
	if f.at <= p.Checkpoint {
		return false, nil
	}
	p.Attempts++
	p.Failures++
	if p.Attempts < f.most || !f.room || len(p.Parked) >= maxParkedHere {
		p.Error, p.NotBefore = f.error, f.now.Add(backOff(p.Attempts))
		return true, nil
	}
	p.LastParked++
	p.Parked = append(p.Parked, parkedRef{Number: p.LastParked, From: p.Checkpoint, To: f.at})
	p.Checkpoint = f.at
	p.Attempts, p.Error, p.NotBefore = 0, "", time.Time{}
	return true, &p.Parked[len(p.Parked)-1]
}

// unpark removes a parked batch, and reports whether it was there.
func (p *partition) unpark(number int) bool {
	for i, r := range p.Parked {
		if r.Number == number {
			p.Parked = append(p.Parked[:i:i], p.Parked[i+1:]...)
			return true
		}
	}
	return false
}

// Back-off of a batch that failed.
const (
	firstBackOff = time.Second
	maxBackOff   = time.Minute
)

// wait returns how long the batch that failed is not given again, 0 or less where it is: also where a clock that was ahead has
// said so.
func (p *partition) wait(now time.Time) time.Duration {
	if isOverlong(p.NotBefore, now, maxBackOff) {
		return 0
	}
	return p.NotBefore.Sub(now)
}

// backOff returns how long a batch waits after so many attempts: a second, then twice as long each time, a minute at most.
func backOff(attempts int) time.Duration {
	if attempts > 6 {
		return maxBackOff
	}
	return min(firstBackOff<<(attempts-1), maxBackOff)
}

// reset makes the partition begin at a position. Its lease ends. Batches parked after that position come again, and are not
// parked any more.
func (p *partition) reset(generation int, start fanfold.Position) {
	p.Generation, p.Checkpoint = generation, start
	p.release()
	p.Attempts, p.Error, p.NotBefore = 0, "", time.Time{}
	var parked []parkedRef
	for _, r := range p.Parked {
		if r.From < start {
			r.To = min(r.To, start)
			parked = append(parked, r)
		}
	}
	p.Parked = parked
}

// refold translates the positions into another version of the fold. The checkpoint inside an event becomes that event's
// start, and a parked batch grows to whole events before it, so that nothing is missed and something comes again.
func (p *partition) refold() {
	p.Checkpoint = eventStart(p.Checkpoint)
	var parked []parkedRef
	for _, r := range p.Parked {
		if r.From, r.To = eventStart(r.From), min(eventEnd(r.To), p.Checkpoint); r.From < r.To {
			parked = append(parked, r)
		}
	}
	p.Parked = parked
}
