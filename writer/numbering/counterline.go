package numbering

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sequence"
	"github.com/fanfold/fanfold/model"
)

// ParseCounter returns the event that a line of an export stands for, which says the last number that a counter gave. The line names the
// counter by its key, or by the value of per. The error is Invalid.
func ParseCounter(raw []byte) (*fanfold.Event, error) {
	line := struct {
		Line                  int // which the reader of lines knows
		Collection, Path, Key string
		Per                   *string
		Last                  uint64
	}{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&line); err != nil || line.Collection == "" || line.Key != "" && line.Per != nil || line.Last < 1 || line.Last > sequence.MaxNumber {
		return nil, errCounterLine
	}
	path, err := model.ParsePath(line.Path)
	if err != nil || path.Arrays() {
		return nil, errCounterLine
	}
	if line.Key == "" {
		line.Key = sequence.Key(line.Path, *cmp.Or(line.Per, new(string)))
	}
	if hash, err := hex.DecodeString(line.Key); err != nil || len(hash) != sequence.KeyBytes || line.Per != nil && len(*line.Per) > sequence.MaxPer {
		return nil, errCounterLine
	}
	ev := &fanfold.Event{Kind: fanfold.KindSequence, Key: fanfold.Key{Collection: line.Collection}, Path: line.Path, Value: strings.ToLower(line.Key)}
	setGiven(ev, fanfold.GivenNumbers{Last: line.Last})
	return ev, nil
}

// errCounterLine says what a line with the last number of a sequence must be. It is an Invalid.
var errCounterLine = fanfold.Errorf(fanfold.Invalid, `the last number of a sequence is {"collection":"...","path":"...","key":"...","last":1}, as _export writes it, or has "per" in place of "key"`)

// Raise returns the writes of those sequence events that say more than their counters, and the conditions under which they may. Of several
// about one counter it returns one, with the greatest number.
func Raise(counters Counters, events []*fanfold.Event) (writes []fanfold.Write, err error) {
	type subject struct{ collection, key string }
	at := map[subject]int{}
	for _, ev := range events {
		given, err := ev.Given()
		if err != nil {
			return nil, err
		}
		last, seq, err := counters.Sequence(ev.Key.Collection, ev.Value)
		if err != nil {
			return nil, err
		}
		name := subject{ev.Key.Collection, ev.Value}
		i, twice := at[name]
		if twice {
			other, _ := writes[i].Event.Given()
			last = max(last, other.Last)
		}
		switch {
		case given.Last <= last:
		case twice:
			setGiven(writes[i].Event, given)
		default:
			at[name] = len(writes)
			raised := *ev
			writes = append(writes, fanfold.Write{Event: &raised, Expect: fanfold.Exactly(fanfold.Revision(seq))})
		}
	}
	return writes, nil
}
