package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/model"
)

// slowly is a memory whose documents take time to read.
type slowly struct {
	*memory
	read int // documents
	own  int // snapshots that are no longer of the pool
}

func (s *slowly) Own(context.Context) error                             { s.own++; return nil }
func (s *slowly) EachIndex(string, func(model.StoredIndex) error) error { return nil }
func (s *slowly) ModelSeq() (uint64, error)                             { return 0, nil }
func (s *slowly) CountDocuments(string) (int64, error)                  { return 2, nil }
func (s *slowly) Scan(context.Context) (Scan, error)                    { return s, nil }
func (s *slowly) Read(fn func(Snapshot) error) error                    { return fn(s) }

func (s *slowly) ByNumber(number int64, _ fanfold.View) (*fanfold.Document, error) {
	return s.docs[number-1], nil
}

func (s *slowly) EachByID(_ model.IDRange, fn func(doc *fanfold.Document) (bool, error)) error {
	_, err := s.each(func(doc *fanfold.Document) (bool, error) {
		time.Sleep(700 * time.Millisecond)
		s.read++
		return fn(doc)
	})
	return err
}

// TestHeavyQueriesReadOnce: a query that turns out heavy reads each document once, on the snapshot with which it began.
func TestHeavyQueriesReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowly{memory: newMemory()}
		w := request(servingFrom(t, s, s.memory), http.MethodGet, "/v1/books?sort=author")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"id":"b2"`) || s.read != 2 || s.own != 1 {
			t.Errorf("%d documents are read, %d snapshots leave the pool: %d %s", s.read, s.own, w.Code, w.Body)
		}
	})
}

// TestHeavyQueriesGoOn: a query that finds no free place goes on where it is if one comes free within a moment. Otherwise it begins anew.
func TestHeavyQueriesGoOn(t *testing.T) {
	for _, c := range []struct {
		free time.Duration // after the query has begun to wait
		read int
		own  int
	}{{40 * time.Millisecond, 2, 1}, {time.Second, 3, 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowly{memory: newMemory()}
			server := servingWithin(t, s, s.memory, 5*time.Second)
			var last func()
			for leave := server.opt.Budget.TryEnter(admission.LargeQueries, "others"); leave != nil; leave = server.opt.Budget.TryEnter(admission.LargeQueries, "others") {
				last = leave
			}
			go func() {
				time.Sleep(700*time.Millisecond + c.free)
				last()
			}()
			w := request(server, http.MethodGet, "/v1/books?sort=author")
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"id":"b2"`) || s.read != c.read || s.own != c.own {
				t.Errorf("a place comes after %v: %d documents are read, %d snapshots leave the pool: %d %s", c.free, s.read, s.own, w.Code, w.Body)
			}
		})
	}
}
