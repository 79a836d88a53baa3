package main

import (
	"fmt"
	"time"
)

// showProgress shows rate and time left on a terminal until stop is called, which waits for the last of it.
func (im *importer) showProgress() (stop func()) {
	if !onTerminal() {
		return func() {}
	}
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(im.stderr, "\r\033[K"+im.progressLine())
			case <-end:
				fmt.Fprint(im.stderr, "\r\033[K")
				return
			}
		}
	}()
	return func() {
		close(end)
		<-done
	}
}

// progressLine returns how far the import is.
func (im *importer) progressLine() string {
	took := time.Since(im.began)
	line := fmt.Sprintf("%d documents, %.0f/s", im.written.Load(), float64(im.written.Load())/took.Seconds())
	if read := im.read.Load(); im.size > 0 && read > 0 {
		left := time.Duration(float64(took) * float64(im.size-read) / float64(read))
		line += fmt.Sprintf(", %d%%, %s left", 100*read/im.size, left.Round(time.Second))
	}
	return line
}
