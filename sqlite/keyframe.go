package sqlite

import (
	"strconv"

	"github.com/fanfold/fanfold"
)

// A derived change is undone by its patch, so that a document's views from between two of its writes follow from that before
// the second one. Some derived changes, the key frames, hold the views before them too, so that no more than a few hundred
// have to be undone. Which ones do follows from the document's number and its change before, and from how long the view is:
// the longer it is, the fewer.

// frameSteps are by how long a view is, in bytes, how many of a document's derived changes there are to one key frame. The
// numbers are powers of two.
var frameSteps = []struct{ below, every int }{{64 << 10, 128}, {1 << 20, 512}, {1 << 62, 2048}}

// Numbers that mix a sequence, so that it does not matter in which rhythm a document's changes come.
const (
	frameMask   = 1<<31 - 1
	frameFactor = 2654435761
	frameShift  = 17
)

// IsKeyFrame reports whether a derived change of the document with this number is a key frame. prior is the document's
// change before it, and length the bytes of the embedded view before it.
func IsKeyFrame(number int64, prior fanfold.Position, length int) bool {
	every := 0
	for _, step := range frameSteps {
		if length < step.below {
			every = step.every
			break
		}
	}
	mixed := (int64(prior.Seq())&frameMask)*frameFactor>>frameShift + number
	return mixed&int64(every-1) == 0
}

// isKeyFrameSQL is IsKeyFrame for a row d of table document.
var isKeyFrameSQL = func() string {
	every := "CASE"
	for _, step := range frameSteps[:len(frameSteps)-1] {
		every += " WHEN octet_length(d.body) < " + strconv.Itoa(step.below) + " THEN " + strconv.Itoa(step.every-1)
	}
	every += " ELSE " + strconv.Itoa(frameSteps[len(frameSteps)-1].every-1) + " END"
	return "((((d.position >> 20) & " + strconv.Itoa(frameMask) + ") * " + strconv.Itoa(frameFactor) + " >> " + strconv.Itoa(frameShift) + ") + d.number) & (" + every + ") = 0"
}()
