package batch

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers are the goroutines that compute views of documents for a fold (fold.Workers). They exist while Run runs only.
type Workers struct {
	sync.Mutex // held by a worker that reads rows

	count int
}

// maxWorkers is how many workers there are at most: requests need processors, too.
const maxWorkers = 4

// NewWorkers returns as many workers as there are processors, and no more than four.
func NewWorkers() *Workers { return &Workers{count: min(runtime.GOMAXPROCS(0), maxWorkers)} }

// Count implements fold.Workers.
func (w *Workers) Count() int { return w.count }

// takenAtOnce is how many parts a worker takes at a time.
const takenAtOnce = 8

// Run implements fold.Workers. The caller's goroutine is the first worker.
func (w *Workers) Run(parts int, fn func(worker, part int) error) error {
	r := run{parts: parts, fn: fn}
	var others sync.WaitGroup
	for worker := 1; worker < w.count; worker++ {
		others.Go(func() { r.work(worker) })
	}
	r.work(0)
	others.Wait()
	if r.panicked != nil { // whoever called the fold handles it
		panic(r.panicked)
	}
	return r.err
}

// run is one call of Workers.Run.
type run struct {
	parts int
	fn    func(worker, part int) error
	next  atomic.Int64
	once  sync.Once // for the first error or panic

	err      error
	panicked any
}

// work runs parts until there are none left.
func (r *run) work(worker int) {
	defer func() {
		if p := recover(); p != nil {
			r.end(nil, p)
		}
	}()
	for {
		end := int(r.next.Add(takenAtOnce))
		for part := end - takenAtOnce; part < min(end, r.parts); part++ {
			if err := r.fn(worker, part); err != nil {
				r.end(err, nil)
				return
			}
		}
		if end >= r.parts {
			return
		}
	}
}

// end notes the first error or panic, and lets no worker take more parts.
func (r *run) end(err error, panicked any) {
	r.once.Do(func() { r.err, r.panicked = err, panicked })
	r.next.Store(int64(r.parts))
}
