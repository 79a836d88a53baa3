package fanfold

import (
	"strconv"
	"strings"
)

// MaxPredecessors bounds the predecessors that a store knows.
const MaxPredecessors = 16

// Predecessor is a store whose events up to one are in another store, which was restored from a backup of it.
type Predecessor struct {
	Store StoreID `json:"store"`
	Last  uint64  `json:"last"` // the last event that both have
}

// Origin lists the stores from which a store was restored, the latest first. None has more events in common with the store than the
// one before it. The last one stands for all stores before it, too. Nothing is the origin of a store that was not restored.
type Origin []Predecessor

// After returns the origin of a store that has the events up to last of a store, whose own origin is o.
func (o Origin) After(store StoreID, last uint64) Origin {
	out := Origin{{store, last}}
	for _, p := range o {
		out = append(out, Predecessor{p.Store, min(p.Last, last)})
	}
	if len(out) > MaxPredecessors {
		oldest := out[len(out)-1]
		out = out[:MaxPredecessors]
		out[MaxPredecessors-1].Last = oldest.Last // what it gave out later may have been given out by that one, too
	}
	return out
}

// Last returns the last event that the store has of a predecessor, and whether the store is one that it knows.
func (o Origin) Last(store StoreID) (last uint64, known bool) {
	for _, p := range o {
		if p.Store == store {
			return p.Last, true
		}
	}
	return 0, false
}

// Common returns the last event that the store has in common with all stores before it. It is 0 also where there is none.
func (o Origin) Common() uint64 {
	if len(o) == 0 {
		return 0
	}
	return o[len(o)-1].Last
}

// String returns "<store>:<last> <store>:<last> ...", "" for nothing.
func (o Origin) String() string {
	var b []byte
	for i, p := range o {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, p.Store...), ':')
		b = strconv.AppendUint(b, p.Last, 10)
	}
	return string(b)
}

// ParseOrigin reads what String returns, and nothing else. The error is Invalid.
func ParseOrigin(s string) (o Origin, err error) {
	if s == "" {
		return nil, nil
	}
	least := uint64(maxSeq)
	for text := range strings.SplitSeq(s, " ") {
		store, last, _ := strings.Cut(text, ":")
		p := Predecessor{Store: StoreID(store)}
		p.Last, err = parseDecimal(last, least)
		_, twice := o.Last(p.Store)
		if err != nil || !p.Store.Valid() || twice || len(o) == MaxPredecessors {
			return nil, Errorf(Invalid, "%q are no predecessors of a store: want <store>:<last event>, the latest first", Clip(s))
		}
		o, least = append(o, p), p.Last
	}
	return o, nil
}
