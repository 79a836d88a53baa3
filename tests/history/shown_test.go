package history_test

import (
	"encoding/json"
	"net/http"

	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
)

// shown is what checks read of a store: of a whole node over HTTP, or of one that only folds.
type shown interface {
	// document returns a document in a view, as it is where at is "".
	document(key okey, view, at string) (body string, there bool)
	// feed returns the answer of the feed to a query.
	feed(query string) []byte
	// indexOrder returns the ids of documents in the order of an index's entries.
	indexOrder(collection, name string) []string
	// read calls fn with a snapshot.
	read(fn func(*sqlite.Snapshot) error) error
}

// shown returns what the checks read.
func (h *history) shown() shown {
	if h.folds != nil {
		return h.folds
	}
	return served{h.t, h.s}
}

// changes returns the rows of the feed that a query asks for.
func (h *history) changes(query string) []harness.Change {
	h.t.Helper()
	var page struct{ Results []harness.Change }
	body := h.shown().feed(query)
	if err := json.Unmarshal(body, &page); err != nil {
		h.t.Fatalf("%v in %s", err, body)
	}
	return page.Results
}

// served is a whole node.
type served struct {
	t harness.TB
	s *harness.Store
}

func (s served) document(key okey, view, at string) (body string, there bool) {
	query := harness.Path(key.collection, key.id) + "?view=" + view
	if at != "" {
		query += "&at=" + at
	}
	r, err := s.s.Do(http.MethodGet, query, nil)
	switch {
	case err != nil:
		s.t.Fatalf("%s: %v", query, err)
	case r.Status == http.StatusNotFound:
		return "", false
	case r.Status != http.StatusOK:
		s.t.Fatalf("%s: %d %s", query, r.Status, r.Body)
	}
	return string(r.Body), true
}

func (s served) feed(query string) []byte {
	return s.s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?"+query, "").Body
}

func (s served) indexOrder(collection, name string) []string {
	return harness.IndexOrder(fatal{s.t}, s.s, collection, name)
}

func (s served) read(fn func(*sqlite.Snapshot) error) error { return s.s.Node.Store.Read(fn) }

// fatal has Fatal for a harness.TB.
type fatal struct{ harness.TB }

// Fatal ends the test.
func (f fatal) Fatal(args ...any) { f.Fatalf("%v", args) }
