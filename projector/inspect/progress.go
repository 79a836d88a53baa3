package inspect

import "github.com/fanfold/fanfold"

// workCount counts the documents that long work looks at, phase by phase, and tells how far it is.
type workCount struct {
	progress    fanfold.Progress
	phase       string
	done, total int64
}

// progressEvery is how many documents lie between two reports of progress.
const progressEvery = 256

// begin begins a phase that looks at about total documents.
func (w *workCount) begin(phase string, total int64) {
	w.phase, w.done, w.total = phase, 0, total
	w.progress.Tell(phase, 0, total)
}

// one counts a document.
func (w *workCount) one() {
	if w.done++; w.done%progressEvery == 0 {
		w.progress.Tell(w.phase, w.done, max(w.total, w.done))
	}
}
