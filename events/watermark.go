package events

import (
	"sync"
	"sync/atomic"
)

// Watermark is a number that only rises, and for which goroutines can wait. The zero value is 0.
type Watermark struct {
	atomic.Uint64
	waited atomic.Bool // there is a channel

	mu      sync.Mutex
	channel chan struct{} // closed when the number rises; nil while nobody waits
}

// Advance raises the number to at least n.
func (w *Watermark) Advance(n uint64) {
	if !advance(&w.Uint64, n) || !w.waited.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channel != nil {
		close(w.channel)
		w.channel = nil
		w.waited.Store(false)
	}
}

// Raised returns a channel that is closed as soon as the number is n or more, or rises otherwise.
func (w *Watermark) Raised(n uint64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channel == nil {
		w.channel = make(chan struct{})
	}
	channel := w.channel
	w.waited.Store(true)
	if w.Load() >= n { // it may have risen before anybody waited
		close(w.channel)
		w.channel = nil
		w.waited.Store(false)
	}
	return channel
}

// advance raises a number to at least n, and returns whether it was less.
func advance(number *atomic.Uint64, n uint64) (raised bool) {
	for old := number.Load(); old < n; old = number.Load() {
		if number.CompareAndSwap(old, n) {
			return true
		}
	}
	return false
}
