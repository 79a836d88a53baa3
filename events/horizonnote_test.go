package events

import (
	"testing"

	"github.com/fanfold/fanfold"
)

// TestBaseOfRestoredLog: the compact event says the erasure of the base that the metadata of a restored log name. Another base of the same horizon takes
// its place by an erased event alone, in whichever order they are known.
func TestBaseOfRestoredLog(t *testing.T) {
	digest := fanfold.Digest{1}
	at := func(d byte, asOf fanfold.AsOf) *fanfold.Compaction {
		return &fanfold.Compaction{Horizon: fanfold.Horizon{Seq: 15, Digest: fanfold.Digest{d}}, AsOf: asOf}
	}
	compact := &fanfold.Event{Seq: 18, Loss: &fanfold.Loss{UpTo: 17, Base: at(1, 17)}}
	another := &fanfold.Event{Seq: 19, Loss: &fanfold.Loss{UpTo: 18, Base: at(2, 18)}}
	erased := &fanfold.Event{Seq: 20, Loss: &fanfold.Loss{UpTo: 19, Base: at(3, 19), List: &fanfold.Erasure{}}}
	for _, order := range [][]*fanfold.Event{{compact, another, erased}, {erased, compact, another}} {
		var p Prefix
		p.begin(Base{Seq: 15, Digest: digest})
		want := Base{15, digest, 17}
		for i, ev := range order {
			p.losses.note([]int{1}, ev)
			if i == 0 && ev == erased || i == 2 && order[0] == compact {
				want = Base{15, fanfold.Digest{3}, 19}
			}
			if got := p.Base(); got != want {
				t.Fatalf("after event %d the base is %+v, want %+v", ev.Seq, got, want)
			}
		}
		if c, seq := p.Compaction(); c != erased.Loss.Base || seq != another.Seq {
			t.Errorf("the log begins with %+v by event %d", c, seq)
		}
	}
}
