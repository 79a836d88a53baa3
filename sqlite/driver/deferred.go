package driver

import (
	"sync"
	"unsafe"
)

// Statements that write return nothing that the fold needs, so a transaction does not wait for them. They are put into
// lists in the order in which they came. A list that is full is run by another goroutine, while the fold goes on with the
// next event. The transaction waits for all of them where it needs the result: before a statement that reads, and at its end. A
// query that knows that they write nothing of what it reads is run between two of them instead (QueryAhead).

// Bounds of what waits to be run. There are at most six lists: one grows and one is being run.
const (
	maxDeferredStatements = 64        // of a list
	maxDeferredBytes      = 256 << 10 // of the texts and blobs of a statement, and of a list before its last statement
	maxDeferredLists      = 4         // that wait for the goroutine
)

// deferredList is a list of statements that are yet to be run. It holds copies of their arguments.
type deferredList struct {
	stmts  []deferredStmt
	args   []Value
	size   int    // bytes of the texts and blobs among args
	copies []byte // of those whose memory may be used again
}

// deferredStmt is a statement of a list, with how many arguments it has.
type deferredStmt struct {
	*stmt

	args int
}

// argumentBytes returns how many bytes the texts and blobs among arguments have.
func argumentBytes(args []Value) (size int) {
	for _, v := range args {
		switch v := v.(type) {
		case string:
			size += len(v)
		case borrowedText:
			size += len(v)
		case []byte:
			size += len(v)
		}
	}
	return size
}

// add appends a statement whose texts and blobs have size bytes, and returns whether the list is full.
func (l *deferredList) add(s *stmt, args []Value, size int) (full bool) {
	for _, v := range args {
		switch b := v.(type) {
		case borrowedText:
			c := keepCopy(l, b)
			v = unsafe.String(unsafe.SliceData(c), len(c))
		case []byte:
			if b != nil { // which is NULL
				v = keepCopy(l, b)
			}
		}
		l.args = append(l.args, v)
	}
	l.stmts = append(l.stmts, deferredStmt{s, len(args)})
	l.size += size
	return len(l.stmts) >= maxDeferredStatements || l.size >= maxDeferredBytes
}

// keepCopy returns a copy of a text or blob that is valid until the list's reset, and not nil.
func keepCopy[T borrowedText | []byte](l *deferredList, b T) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	begin := len(l.copies)
	l.copies = append(l.copies, b...)
	return l.copies[begin:len(l.copies):len(l.copies)]
}

// run runs the statements, up to the first that fails, and empties the list. It takes the turn for each.
func (l *deferredList) run(r *runner, t *turn) (err error) {
	args := l.args
	for _, s := range l.stmts {
		t.take()
		err = r.run(s.stmt, args[:s.args])
		t.failed = err
		t.give()
		if err != nil {
			break
		}
		args = args[s.args:]
	}
	l.reset()
	return err
}

// turn lets one goroutine at a time use the connection. The goroutine that waits for it is the next: a mutex alone could be taken again
// and again by the one that has just given it back.
type turn struct {
	next, now sync.Mutex
	failed    error // of the last statement of a list
}

// take waits for the turn.
func (t *turn) take() {
	t.next.Lock()
	t.now.Lock()
	t.next.Unlock()
}

// give gives the turn back.
func (t *turn) give() { t.now.Unlock() }

// reset empties the list.
func (l *deferredList) reset() {
	clear(l.args)
	l.stmts, l.args, l.size, l.copies = l.stmts[:0], l.args[:0], 0, l.copies[:0]
}

// deferral holds the statements of a transaction that are yet to be run. While its goroutine runs, who uses the connection takes the
// turn.
type deferral struct {
	turn    turn
	written Tables             // by statements that may be yet to be run
	filling *deferredList      // the list that grows; the goroutine never sees it
	full    chan *deferredList // to the goroutine; nil where there is none
	spare   chan *deferredList // run and empty
	ended   chan error         // the goroutine's first error, nil for none, once it has ended
	failed  error              // the first error of the transaction, which every later statement returns
	runner  runner             // for what the transaction runs itself
}

// newDeferral returns a deferral without statements. failWrite is the connection's.
func newDeferral(failWrite func() error) *deferral {
	return &deferral{filling: &deferredList{}, spare: make(chan *deferredList, maxDeferredLists+2), ended: make(chan error, 1), runner: runner{failWrite: failWrite}}
}

// exec defers a statement and copies its arguments. It blocks while too many lists wait to be run. If atOnce is true, or the
// arguments are large, it runs the statement, after all others. The error is of any of these. After an error nothing is run
// any more, for SQLite may have ended the transaction.
func (d *deferral) exec(s *stmt, args []Value, atOnce bool) error {
	if d.failed != nil {
		return d.failed
	}
	size := argumentBytes(args)
	if atOnce || size > maxDeferredBytes {
		if err := d.settle(); err != nil {
			return err
		}
		d.failed = d.runner.run(s, args)
		return d.failed
	}
	d.written |= s.watched.writes
	if !d.filling.add(s, args, size) {
		return nil
	}
	if d.full == nil {
		d.full = make(chan *deferredList, maxDeferredLists)
		go d.runAll(d.full, runner{failWrite: d.runner.failWrite})
	}
	d.handOver()
	return nil
}

// handOver gives the list that grows to the goroutine.
func (d *deferral) handOver() {
	d.full <- d.filling
	select {
	case d.filling = <-d.spare:
	default:
		d.filling = &deferredList{}
	}
}

// runAll runs lists until there are no more. After an error it only empties them.
func (d *deferral) runAll(lists <-chan *deferredList, r runner) {
	var err error
	for l := range lists {
		if err == nil {
			err = l.run(&r, &d.turn)
		} else {
			l.reset()
		}
		d.spare <- l
	}
	d.ended <- err
}

// settle returns once every statement has been run, and nothing uses the connection any more. It returns the
// translated error of the transaction's first failed statement.
func (d *deferral) settle() error {
	if d.full != nil {
		d.handOver()
		d.failed = d.end()
	}
	if d.failed == nil {
		d.failed = d.filling.run(&d.runner, &d.turn)
	}
	d.written = 0
	return d.failed
}

// end ends the goroutine and returns its error.
func (d *deferral) end() error {
	close(d.full)
	d.full = nil
	return <-d.ended
}

// discard forgets the list that grows, and the transaction's error. It returns once the goroutine has run what it was given,
// and nothing uses the connection any more.
func (d *deferral) discard() {
	if d.full != nil {
		_ = d.end() // the transaction is rolled back
	}
	d.filling.reset()
	d.failed, d.turn.failed, d.written = nil, nil, 0
}

// fail returns the error of a function within the transaction, or the error of a deferred statement that has failed before. The
// function may have read rows of no transaction after it.
func (d *deferral) fail(err error) error {
	if d.full != nil {
		if failed := d.end(); failed != nil {
			return failed
		}
	}
	return err
}
