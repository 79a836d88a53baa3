package admission

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// drips is a client that sends size bytes each pause, of what is left. It is its own connection, with the deadline of one.
type drips struct {
	left  int
	size  int
	pause time.Duration
	until time.Time
}

func (d *drips) SetReadDeadline(t time.Time) error { d.until = t; return nil }
func (d *drips) SetWriteDeadline(time.Time) error  { return nil }
func (d *drips) Close() error                      { return nil }

func (d *drips) Read(b []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	if due := time.Until(d.until); due < d.pause {
		time.Sleep(max(0, due))
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(d.pause)
	n := copy(b, bytes.Repeat([]byte{'x'}, min(d.size, d.left)))
	d.left -= n
	return n, nil
}

// dripping returns the body that a client sends.
func dripping(t *testing.T, d *drips) *Body {
	t.Helper()
	p, err := NewBudget(Options{Grace: 10 * time.Second}).Body(d, d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readAll reads a body in large pieces to its end.
func readAll(r io.Reader) error {
	b := make([]byte, 1<<20)
	for {
		if _, err := r.Read(b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestPace: a body that comes slowly is taken for as long as it comes at minRate without long pauses; another one is ended.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		d    drips
		ends bool
		by   time.Duration // when a body that is ended is
	}{
		"a poor line":                {drips{left: 512 << 10, size: 110, pause: 100 * time.Millisecond}, false, 0},
		"a poor line with pauses":    {drips{left: 512 << 10, size: 10 << 10, pause: 9 * time.Second}, false, 0},
		"a transaction on such":      {drips{left: 65 << 20, size: 1 << 10, pause: 990 * time.Millisecond}, true, bodyTime + time.Second},
		"a transaction on another":   {drips{left: 65 << 20, size: 128 << 10, pause: time.Second}, false, 0},
		"nothing":                    {drips{left: 1, size: 1, pause: time.Hour}, true, 11 * time.Second},
		"a byte a second":            {drips{left: 1 << 20, size: 1, pause: time.Second}, true, 12 * time.Second},
		"less than the least":        {drips{left: 1 << 20, size: 900, pause: time.Second}, true, 3 * time.Minute},
		"much, and then a long rest": {drips{left: 1 << 20, size: 512 << 10, pause: 11 * time.Second}, true, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := readAll(dripping(t, &c.d))
				took := time.Since(began)
				if ended := fanfold.CodeOf(err) == fanfold.TooSlow; ended != c.ends || !ended && err != nil || ended && took > c.by {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// TestLinesHaveTheirTime: an import may take any time, and each of its lines as long as a body.
func TestLinesHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dripping(t, &drips{left: 1 << 30, size: 2 << 10, pause: time.Second})
		p.ByLines()
		for begun := time.Now(); time.Since(begun) < 5*bodyTime; p.Line(1 << 10) {
			if _, err := p.Read(make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		for {
			n, err := p.Read(make([]byte, 4<<10))
			if err != nil {
				if took := time.Since(begun); fanfold.CodeOf(err) != fanfold.TooSlow || took < bodyTime-time.Minute || took > bodyTime+time.Second {
					t.Errorf("a long line is ended after %v with %v", took, err)
				}
				return
			}
			p.Part(n)
		}
	})
}

// TestLinesMayPause: an import may bring a whole line in three times the silence that a body may have, and no later.
func TestLinesMayPause(t *testing.T) {
	for pause, ends := range map[time.Duration]bool{29 * time.Second: false, 31 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			p := dripping(t, &drips{left: 4 << 10, size: 1 << 10, pause: pause})
			p.ByLines()
			var err error
			for err == nil {
				var n int
				n, err = p.Read(make([]byte, 1<<10))
				p.Line(n)
			}
			if ended := fanfold.CodeOf(err) == fanfold.TooSlow; ended != ends {
				t.Errorf("with pauses of %v: %v", pause, err)
			}
		})
	}
}

// TestWorkIsNotTheClients: the time in which the server does not read is not the client's.
func TestWorkIsNotTheClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dripping(t, &drips{left: 10, size: 1, pause: 100 * time.Millisecond})
		for range 10 {
			time.Sleep(time.Minute)
			if _, err := p.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if late, _ := p.late(time.Now()); late > 0 {
				t.Fatalf("late by %v", late)
			}
		}
	})
}

// TestLateBodiesAreCutForOthers: while somebody waits, the bodies are cut that are late, the latest first, until there is enough.
func TestLateBodiesAreCutForOthers(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		var all senders
		var mu sync.Mutex
		ended := map[string]error{}
		for name, d := range map[string]*drips{
			"silent":  {left: 1 << 20, size: 1, pause: 9 * time.Second},
			"slow":    {left: 1 << 20, size: 4 << 10, pause: time.Second},
			"slower":  {left: 1 << 20, size: 2 << 10, pause: time.Second},
			"fast":    {left: 1 << 20, size: 64 << 10, pause: time.Second},
			"holding": {left: 8 << 20, size: 64 << 10, pause: time.Second}, // so much that it must send more
		} {
			p, holds := dripping(t, d), int64(1<<10)
			if name == "holding" {
				holds = 32 << 20
			}
			all.add(p, holds)
			go func() {
				err := readAll(p)
				mu.Lock()
				ended[name] = err
				mu.Unlock()
				all.remove(p)
			}()
		}
		time.Sleep(4500 * time.Millisecond) // nobody waits
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(ended) > 0 {
			t.Fatalf("while nobody waits: %v", ended)
		}
		wanted := func(n int64) { // for one look, and until whoever is cut has noticed
			stop := all.press(n)
			synctest.Wait()
			stop()
			mu.Unlock()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			mu.Lock()
		}
		if wanted(1 << 10); len(ended) != 1 || !errors.Is(ended["silent"], errCutForOthers) {
			t.Errorf("for a little these have yielded: %v", ended)
		}
		wanted(1 << 30)
		for _, name := range []string{"slow", "slower", "holding"} {
			if !errors.Is(ended[name], errCutForOthers) {
				t.Errorf("%s has ended with %v", name, ended[name])
			}
		}
		if ended["fast"] != nil {
			t.Errorf("the fast one has ended with %v", ended["fast"])
		}
	})
}
