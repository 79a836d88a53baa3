package inspect

import "github.com/fanfold/fanfold"

// workCount counts the documents that long work looks at, phase by phase, and tells how far it is.
type workCount struct {
	tell        fanfold.Progress
	phase       string
	done, total int64
}

// tellEvery is how many documents lie between two tellings.
const tellEvery = 256

// begin begins a phase that looks at about total documents.
func (w *workCount) begin(phase string, total int64) {
	w.phase, w.done, w.total = phase, 0, total
	w.tell.Tell(phase, 0, total)
}

// one counts a document.
func (w *workCount) one() {
	if w.done++; w.done%tellEvery == 0 {
		w.tell.Tell(w.phase, w.done, max(w.total, w.done))
	}
}
