package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/client"
)

// importProgress is how far an import is. Its atomic members are set while others are read.
type importProgress struct {
	size  int64 // of the file in bytes; 0 where it is not known
	first int64 // lines that were stored before it began
	began time.Time

	read    atomic.Int64 // bytes of the file
	total   atomic.Int64 // lines of the file; 0 where that is not known
	line    atomic.Int64 // up to which all are stored or refused
	written atomic.Int64 // documents
	refused atomic.Int64 // lines

	places linePlaces // of lines that a mapping makes
}

// linePlaces knows how far the file was read when lines were made of it: reading runs ahead of what is stored.
type linePlaces struct {
	mu    sync.Mutex
	lines int64
	every int64   // lines from one place to the next
	reads []int64 // bytes
}

// maxPlaces bounds how many places are known.
const maxPlaces = 4096

// add notes that one more line was made when so many bytes were read.
func (l *linePlaces) add(read int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines++; l.lines%max(l.every, 1) != 0 {
		return
	}
	if l.reads = append(l.reads, read); len(l.reads) < maxPlaces {
		l.every = max(l.every, 1)
		return
	}
	for i := range maxPlaces / 2 {
		l.reads[i] = l.reads[2*i+1]
	}
	l.reads, l.every = l.reads[:maxPlaces/2], 2*l.every
}

// readAt returns how many bytes were read when a line was made, or one shortly before it; ok is false where none were made.
func (l *linePlaces) readAt(line int64) (read int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == 0 {
		return 0, false
	}
	if i := min(line/l.every, int64(len(l.reads))); i > 0 {
		read = l.reads[i-1]
	}
	return read, true
}

// made notes that a mapping made one more line.
func (p *importProgress) made() { p.places.add(p.read.Load()) }

// stored records what the server says.
func (p *importProgress) stored(r client.ImportResult) {
	p.line.Store(int64(r.Line))
	p.written.Store(int64(r.Written))
	p.refused.Store(int64(r.Refused))
}

// text returns how far the import is, when it has gone on for some time. It counts lines if their number is known, and
// otherwise the bytes read of the file.
func (p *importProgress) text(took time.Duration) string {
	line, total := p.line.Load(), p.total.Load()
	text := fmt.Sprintf("%d documents, %.0f/s", p.written.Load(), float64(max(0, line-p.first))/took.Seconds())
	var share float64 // of what this run has to do
	read := p.read.Load()
	if at, ok := p.places.readAt(line); ok {
		read = min(at, p.size*99/100) // whether it is the last is known at the end
	}
	switch {
	case total > 0 && line >= total:
		return fmt.Sprintf("all %d lines are stored; waiting until they are shown", total)
	case total > 0:
		text = fmt.Sprintf("line %d of %d, %.0f/s, %d%%", line, total, float64(max(0, line-p.first))/took.Seconds(), 100*line/total)
		share = float64(line-p.first) / float64(total-p.first)
	case p.size > 0:
		text += fmt.Sprintf(", %d%%", 100*min(read, p.size)/p.size)
		share = float64(read) / float64(p.size)
	}
	text += timeLeft(share, took)
	if refused := p.refused.Load(); refused > 0 {
		text += fmt.Sprintf(", %d refused", refused)
	}
	return text
}

// timeLeft returns how long the rest of some work takes at the pace so far, as an end of a line. It is empty before the work has begun, and at its end.
func timeLeft(share float64, took time.Duration) string {
	if share <= 0 || share >= 1 {
		return ""
	}
	return fmt.Sprintf(", %s left", time.Duration(float64(took)*(1-share)/share).Round(time.Second))
}

// showProgress shows on a terminal how far the import is until stop is called, which waits for the last of it. done lines
// were stored before.
func (im *importer) showProgress(src *source, done int) (stop func()) {
	p := &im.progress
	p.first, p.began = int64(done), time.Now()
	p.line.Store(int64(done))
	if !onTerminal() {
		return func() {}
	}
	end, counted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(counted)
		if src.raw && !src.packed && p.size > 0 { // otherwise the lines that are sent are others
			if n, err := countLines(src.path, end); err == nil {
				p.total.Store(n)
			}
		}
	}()
	hide := showEvery(im.stderr, func() string { return p.text(time.Since(p.began)) })
	return func() {
		close(end)
		hide()
		<-counted
	}
}

// showEvery shows a line on a terminal, anew every now and then, until stop is called. stop returns once the line is gone.
func showEvery(terminal io.Writer, line func() string) (stop func()) {
	end, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(terminal, wipe+line())
			case <-end:
				fmt.Fprint(terminal, wipe)
				return
			}
		}
	}()
	return func() {
		close(end)
		<-gone
	}
}

// clearLine returns what takes the line with the progress away, where there is one.
func clearLine() string {
	if onTerminal() {
		return wipe
	}
	return ""
}

// errNotCounted says that counting was ended.
var errNotCounted = errors.New("not counted to the end")

// countLines returns how many lines a file has; one without an end counts. It ends early, with an error, once end is closed.
func countLines(path string, end <-chan struct{}) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	last := byte('\n')
	for {
		select {
		case <-end:
			return 0, errNotCounted
		default:
		}
		read, err := f.Read(buf)
		if read > 0 {
			n += int64(bytes.Count(buf[:read], []byte{'\n'}))
			last = buf[read-1]
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
	}
	if last != '\n' {
		n++
	}
	return n, nil
}

// shown returns text for a terminal: what is no printable character is escaped, so that a document cannot steer it.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && controls(r) {
			return '\ufffd'
		}
		return r
	}, text)
}
