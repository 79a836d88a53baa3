package events

import (
	"testing"

	"github.com/fanfold/fanfold"
)

// TestBaseOfRestoredLog: the compact event says the erasure of the base that the metadata of a restored log name.
func TestBaseOfRestoredLog(t *testing.T) {
	var h horizon
	digest := fanfold.Digest{1}
	h.known.Store(&knownHorizon{base: Base{Seq: 15, Digest: digest}})
	h.note(&fanfold.Compaction{Horizon: fanfold.Horizon{Seq: 15, Digest: digest}, Erasure: 17}, 18)
	if got := h.known.Load().base; got != (Base{15, digest, 17}) {
		t.Fatalf("the base is %+v", got)
	}
	h.note(&fanfold.Compaction{Horizon: fanfold.Horizon{Seq: 15, Digest: fanfold.Digest{2}}, Erasure: 18}, 19) // another base of the same event
	if got := h.known.Load().base; got != (Base{15, digest, 17}) {
		t.Fatalf("the base is %+v", got)
	}
}
