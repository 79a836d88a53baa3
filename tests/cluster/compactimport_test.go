package cluster_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// importLines returns the lines of an import of one collection. Each has another document.
func importLines(n int) (text []string) {
	for i := range n {
		text = append(text, fmt.Sprintf(`{"id":"%d","n":%d}`, i+1, i+1))
	}
	return text
}

// TestImportGoesOnAfterAPurge: an import that ended early goes on where it was, although the log has lost the event that says so. A document
// of its lines that was written later stays as it is.
func TestImportGoesOnAfterAPurge(t *testing.T) {
	const lines, cut = 2500, 1300
	text := importLines(lines)
	suite.Parallel(t)
	url, dir := natsserver.Start(t, 1)[0], t.TempDir()
	s := openKeeper(t, dir, url)
	defer func() { s.Close() }()
	harness.ImportText(t, s.Client, "collection=c&id=job&resume=true", strings.Join(text[:cut], "\n")+"\n"+text[cut]+"\n")
	s.Put("c", "7", `{"n":-7}`)
	s.Delete("c", "8")
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	awaitNoProgress(t, s, "job")
	s.Close()
	s = openKeeper(t, dir, url)
	if got := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_import?id=job", "").Body); !strings.Contains(got, fmt.Sprintf(`"line":%d`, cut+1)) {
		t.Fatalf("the import is at %s", got)
	}
	s.Want(http.StatusConflict, http.MethodPost, fmt.Sprintf("/v1/_import?collection=c&id=job&resume=true&first=%d", cut+3), "{}", "Content-Type", harness.NDJSON)
	end := harness.ImportText(t, s.Client, "collection=c&id=job&resume=true", strings.Join(text, "\n")+"\n")
	if !strings.Contains(end, fmt.Sprintf(`"line":%d`, lines)) || !strings.Contains(end, fmt.Sprintf(`"written":%d`, lines)) {
		t.Errorf("the import ends with %s", end)
	}
	s.CatchUp()
	for i := range lines {
		switch id := fmt.Sprint(i + 1); id {
		case "7":
			s.WantDoc("c", id, `{"id":"7","n":-7}`)
		case "8":
			s.Want(http.StatusNotFound, http.MethodGet, harness.Path("c", id), "")
		default:
			s.WantDoc("c", id, text[i])
		}
	}
	s.Verify()
	digest := s.Digest()
	if s.Replay(); s.Digest() != digest {
		t.Error("a replay gives other rows")
	}
}

// awaitNoProgress waits until the log has lost the last event of an import.
func awaitNoProgress(t *testing.T, s *harness.Store, id string) {
	t.Helper()
	harness.Await(t, "the log to be purged", time.Minute, func() bool {
		_, rev, err := s.Node.Log.Progress(t.Context(), id)
		return err == nil && rev == 0
	})
}

// pausedLines is the body of an import. It has its second part once next is closed.
type pausedLines struct {
	first, second io.Reader
	next          chan struct{}
}

// Read reads.
func (p *pausedLines) Read(b []byte) (int, error) {
	if n, err := p.first.Read(b); err == nil {
		return n, nil
	}
	<-p.next
	return p.second.Read(b)
}

// importPaused begins an import in a goroutine, and returns once the store has its first lines. After resume it sends the others, and returns
// the answer.
func importPaused(t *testing.T, s *harness.Store, query string, text []string, stored int) (resume func() string) {
	t.Helper()
	body := &pausedLines{first: strings.NewReader(strings.Join(text[:stored], "\n") + "\n"), second: strings.NewReader(strings.Join(text[stored:], "\n") + "\n"), next: make(chan struct{})}
	answer := make(chan string, 1)
	go func() {
		req, err := http.NewRequest(http.MethodPost, s.URL+"/v1/_import?"+query, body)
		if err != nil {
			answer <- err.Error()
			return
		}
		req.Header.Set("Content-Type", harness.NDJSON)
		resp, err := s.HTTP.Do(req)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		got, err := io.ReadAll(resp.Body)
		answer <- fmt.Sprint(string(got), err)
	}()
	harness.Await(t, "the first lines", time.Minute, func() bool {
		r, err := s.Do(http.MethodGet, "/v1/_import?id=job", nil)
		return err == nil && r.Status == http.StatusOK && !strings.Contains(string(r.Body), `"line":0`)
	})
	return func() string { close(body.next); return <-answer }
}

// TestImportsAroundAPurge: an import that is under way while the log loses its last event goes on, whether it began anew or goes on itself.
// Of two requests of one import the slower one cannot undo what the other has stored.
func TestImportsAroundAPurge(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	const lines = 3000
	text := importLines(lines)
	whole := strings.Join(text, "\n") + "\n"
	for _, c := range []struct {
		query  string
		beside bool   // another request finishes the import before the purge
		want   string // in the answer
	}{
		{"collection=c&id=job", false, `"done":true`}, {"collection=c&id=job&resume=true", false, `"done":true`},
		{"collection=c&id=job&resume=true", true, `"done":true`}, {"collection=c&id=job", true, "begun anew by another request"},
	} {
		s := openKeeper(t, t.TempDir(), natsserver.Start(t, 1)[0])
		resume := importPaused(t, s, c.query, text, 1500)
		if c.beside {
			harness.ImportText(t, s.Client, "collection=c&id=job&resume=true", whole)
			s.Put("c", fmt.Sprint(lines), `{"n":-1}`)
		}
		s.Put("c", "another", `{}`)
		s.CatchUp()
		s.Compact(s.Node.Store.Applied.Seq())
		awaitNoProgress(t, s, "job")
		if got := resume(); !strings.Contains(got, c.want) {
			t.Errorf("%s, beside another request: %v: the answer is %s", c.query, c.beside, got)
		}
		last := text[lines-1]
		if c.beside {
			last = fmt.Sprintf(`{"id":"%d","n":-1}`, lines)
		}
		s.CatchUp()
		s.WantDoc("c", fmt.Sprint(lines), last)
		if got := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_import?id=job", "").Body); !strings.Contains(got, fmt.Sprintf(`"line":%d`, lines)) {
			t.Errorf("%s, beside another request: %v: the import is at %s", c.query, c.beside, got)
		}
		s.Verify()
		s.Close()
	}
}
