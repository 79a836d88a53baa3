package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestSharesOfSlots: while others wait, one principal has at most half of the slots. Alone it has all of them, and nothing of it is cut.
func TestSharesOfSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlots(4, 5*time.Second)
		cut := make(chan int, 8)
		var leave [4]func()
		for i := range leave {
			var err error
			if leave[i], err = l.enter(t.Context(), "greedy", func() { cut <- i; leave[i]() }); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.enter(t.Context(), "greedy", nil); fanfold.CodeOf(err) != fanfold.Busy || len(cut) > 0 {
			t.Fatalf("a fifth one: %v, %d are cut", err, len(cut))
		}
		for want := 3; want >= 2; want-- {
			begun := time.Now()
			if _, err := l.enter(t.Context(), "modest", nil); err != nil || time.Since(begun) > 3*time.Second {
				t.Fatalf("another principal waits for %v, %v", time.Since(begun), err)
			}
			if got := <-cut; got != want {
				t.Errorf("the one with number %d is cut, want %d", got, want)
			}
		}
		if _, err := l.enter(t.Context(), "third", nil); fanfold.CodeOf(err) != fanfold.Busy || len(cut) > 0 {
			t.Errorf("a third principal: %v, %d are cut", err, len(cut))
		}
	})
}

// TestWaitersAreServedByShares: a slot that comes free is for the first who waits with less than its share.
func TestWaitersAreServedByShares(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		l := newSlots(2, time.Minute)
		var leave []func()
		for range 2 {
			free, err := l.enter(t.Context(), "greedy", nil)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, free)
		}
		served := make(chan string, 4)
		apply := func(who string) {
			go func() {
				if _, err := l.enter(t.Context(), who, nil); err == nil {
					served <- who
				}
			}()
			synctest.Wait()
		}
		apply("greedy")
		apply("modest")
		gone, cancel := context.WithCancel(t.Context())
		go func() { _, _ = l.enter(gone, "gone", nil) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		apply("third")
		for i, want := range []string{"modest", "greedy"} {
			if leave[i](); <-served != want {
				t.Errorf("the slot is not for %s", want)
			}
		}
		if l.tryEnter("fourth") != nil {
			t.Error("somebody goes in before one who waits")
		}
		l.mu.Lock()
		taken, waiting := len(l.taken), len(l.queue)
		l.mu.Unlock()
		if taken != 2 || waiting != 1 {
			t.Errorf("%d have a slot, %d wait", taken, waiting)
		}
		time.Sleep(2 * time.Minute) // until the last of them has given up
	})
}

// TestFewWaitBriefly: as many requests as there are slots wait for a moment, and others not even that.
func TestFewWaitBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlots(2, time.Minute)
		for range 2 {
			if l.enterSoon(t.Context(), "a") == nil {
				t.Fatal("a free slot is not given")
			}
		}
		took := make(chan time.Duration, 3)
		begin := time.Now()
		for range 3 {
			go func() {
				if l.enterSoon(t.Context(), "b") != nil {
					t.Error("there are more slots than two")
				}
				took <- time.Since(begin)
			}()
		}
		for _, want := range []time.Duration{0, moment, moment} {
			if got := <-took; got != want {
				t.Errorf("one waits for %v; want %v", got, want)
			}
		}
		if l.brief != 0 || len(l.queue) != 0 {
			t.Errorf("%d wait, %d are in the queue", l.brief, len(l.queue))
		}
	})
}
