package projector

import "github.com/fanfold/fanfold"

// Guards finds the places in a log between the claims and links that guard a document, and its write. A log that ended there would have
// documents awaited that never come.
type Guards struct{ end atomicEnd }

// Add goes one event further. Events other than claims and links may be left out while none is open.
func (g *Guards) Add(ev *fanfold.Event) { g.end.add(ev) }

// Open returns whether the write of a guarded document is yet to come.
func (g *Guards) Open() bool { return len(g.end.awaited) > 0 }
