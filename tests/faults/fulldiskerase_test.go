package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// fillWhileErasing fills a small disk at steps of an erasure. Writes are taken or refused with the reason. With room again the erasure goes on
// to its end.
func fillWhileErasing(t *testing.T) {
	for _, disk := range []string{"nats", "."} { // the log's alone, and the read model's, too
		for _, step := range []string{forget.StepEraseAppended, forget.StepErasurePrepared, forget.StepEraseSwitched, forget.StepDeleted} {
			t.Run(fmt.Sprint(disk, " ", step), func(t *testing.T) { fullDiskWhileErasing(t, disk, step) })
		}
	}
}

// fullDiskWhileErasing does the work of fillWhileErasing.
func fullDiskWhileErasing(t *testing.T, disk, step string) {
	dir := t.TempDir()
	small := filepath.Join(dir, disk)
	mountSmallDisk(t, small, "64m")
	ballast := filepath.Join(small, "ballast")
	var full atomic.Bool
	reached := make(chan struct{})
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true, Configure: func(cfg *node.Config) {
		cfg.Steps.Erase = func(at string) error {
			if at == step && !full.Swap(true) {
				fillRest(t, ballast)
				close(reached)
			}
			return nil
		}
	}})
	defer func() { s.Close() }()
	s.Model(forgetModel)
	writeCustomer(s, "ann")
	writeCustomer(s, "bob")
	r := s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
	location := r.Header.Get("Location")
	<-reached
	l := &diskLoad{t: t, s: s}
	tried, acked, refused := 0, 0, 0
	l.await("the erasure to meet the full disk", func() bool {
		fillRest(t, ballast) // what other files had is free again
		tried++
		r, err := s.Do("PUT", "/v1/shelves/s", fmt.Appendf(nil, `{"n":%d}`, tried), "Fanfold-Timeout", "1")
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Status < 300:
			acked = tried
		case r.Status == http.StatusServiceUnavailable && (r.Problem() == "urn:fanfold:problem:unavailable" || r.Problem() == "urn:fanfold:problem:outcome-unknown"):
			refused++
		default:
			t.Fatalf("a write: %d %s", r.Status, r.Body)
		}
		var e struct{ Phase, Error string }
		harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, location, "").Body, &e)
		if e.Error != "" {
			t.Logf("%s: %s", e.Phase, e.Error)
		}
		return e.Error != "" || e.Phase == "done" || refused > 10
	})
	t.Logf("%d writes taken, %d refused", acked, refused)
	must(t, os.Remove(ballast))
	l.awaitReady()
	s.Erased(location)
	var doc struct{ N int }
	if acked > 0 {
		harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/shelves/s?consistency=strong", "").Body, &doc)
	}
	if doc.N < acked {
		t.Errorf("write %d is there, %d was acknowledged", doc.N, acked)
	}
	s = wantForgotten(t, s, dir)
}

// fillRest appends to a file until the disk is full.
func fillRest(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		return
	}
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}
