package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// fakeEraser erases nothing, and notes what it is asked for. It has several erasures, each of two documents.
type fakeEraser struct {
	Lag
	asked  []string
	phase  string
	number int
	err    error
}

func (f *fakeEraser) CaughtUp() bool                   { return true }
func (f *fakeEraser) CatchingUp(context.Context) error { return nil }

func (f *fakeEraser) note(how string, r fanfold.EraseRequest) error {
	f.asked = append(f.asked, fmt.Sprint(how, " ", r.Documents, " ", r.Members))
	return f.err
}

func (f *fakeEraser) PlanErasure(_ context.Context, r fanfold.EraseRequest) (*wire.ErasurePlan, error) {
	return &wire.ErasurePlan{Documents: int64(len(r.Documents))}, f.note("plan", r)
}

func (f *fakeEraser) Erase(_ context.Context, r fanfold.EraseRequest, by string) (*wire.Erasure, error) {
	return &wire.Erasure{Number: 7, Phase: f.phase, By: by}, f.note("erase", r)
}

func (f *fakeEraser) Erasure(_ context.Context, number uint64) (*wire.Erasure, error) {
	if number != 7 {
		return nil, fanfold.Errorf(fanfold.NotFound, "there is no erasure %d", number)
	}
	return &wire.Erasure{Number: number}, nil
}

func (f *fakeEraser) Erasures(context.Context) (all []wire.Erasure, err error) {
	for i := range f.number {
		all = append(all, wire.Erasure{Number: uint64(i + 1)})
	}
	return all, nil
}

func (f *fakeEraser) EachErased(_ context.Context, fn func(wire.ErasedDocument) error) (err error) {
	for i := range 2 * f.number {
		err = errors.Join(err, fn(wire.ErasedDocument{Erasure: uint64(i/2 + 1), Collection: "c", ID: fmt.Sprint(i)}))
	}
	return err
}

func (f *fakeEraser) FindText(_ context.Context, text string, limit int) ([]wire.Found, bool, error) {
	return []wire.Found{{Collection: "c", ID: text, Versions: limit}}, true, nil
}

// eraseServer serves the API of a fake, and returns what asks it.
func eraseServer(t *testing.T, f *fakeEraser) (ask func(method, path, body string, headers ...string) (int, string, http.Header)) {
	t.Helper()
	judge := access.NewJudge(access.Everybody{}, func() *model.Model { return &model.Model{} })
	s := New(Dependencies{Writer: writer.New(writer.Dependencies{}, writer.Options{}), Judge: judge, Lag: f, Eraser: f, Finder: f}, Options{Logger: slog.New(slog.DiscardHandler), SpoolDir: t.TempDir()})
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	return func(method, path, body string, headers ...string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", jsonType)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header
	}
}

// documentsBody returns a request for a number of documents.
func documentsBody(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"collection":"c","id":"%d"}`, i))
	}
	return `{"documents":[` + strings.Join(list, ",") + `]}`
}

// TestEraseRequests: what a request for an erasure takes, and what is answered.
func TestEraseRequests(t *testing.T) {
	f := &fakeEraser{phase: wire.PhaseReplaying}
	ask := eraseServer(t, f)
	var members []string
	for i := range 101 {
		members = append(members, fmt.Sprintf(`"/m%d"`, i))
	}
	for _, c := range []struct {
		want       int
		path, body string
	}{
		{202, "/v1/c/1/_erase", ``},
		{202, "/v1/c/1/_erase", `{}`},
		{202, "/v1/c/1/_erase", `{"members":["/a","/b/c","/b~1c","/ab","/a~0"]}`},
		{200, "/v1/c/1/_erase?dryRun=true", `{}`},
		{202, "/v1/_erase", documentsBody(1)},
		{202, "/v1/_erase", documentsBody(10_000)},
		{200, "/v1/_erase?dryRun=true", documentsBody(2)},
		{400, "/v1/_erase", documentsBody(0)},
		{400, "/v1/_erase", documentsBody(10_001)},
		{400, "/v1/_erase", `{}`},
		{400, "/v1/_erase", `[]`},
		{400, "/v1/_erase", `{"documents":"c/1"}`},
		{400, "/v1/_erase", `{"documents":["c/1"]}`},
		{400, "/v1/_erase", `{"documents":[null]}`},
		{400, "/v1/_erase", `{"documents":[{"collection":"c"}]}`},
		{400, "/v1/_erase", `{"documents":[{"collection":"c","ID":"1"}]}`},
		{400, "/v1/_erase", `{"documents":[{"collection":"c","id":1}]}`},
		{400, "/v1/_erase", `{"documents":[{"collection":"c","id":"1","members":[]}]}`},
		{400, "/v1/_erase", `{"documents":[{"collection":"1c","id":"1"}]}`},
		{400, "/v1/_erase", `{"documents":[{"collection":"c","id":"1"},{"collection":"c","id":"1"}]}`},
		{400, "/v1/_erase", `{"documents":[{"collection":"c","id":"1"}],"dryRun":true}`},
		{400, "/v1/_erase?dry=true", documentsBody(1)},
		{400, "/v1/_erase?dryRun=yes", documentsBody(1)},
		{422, "/v1/_erase", `{"documents":[[[[[1]]]]]}`},
		{413, "/v1/_erase", `{"documents":[` + strings.Repeat(" ", maxEraseBody) + `]}`},
		{413, "/v1/c/1/_erase", `{"members":[` + strings.Repeat(" ", maxMembersBody) + `]}`},
		{404, "/v1/_c/1/_erase", `{}`},
		{400, "/v1/1c/1/_erase", `{}`},
		{400, "/v1/c/1/_erase", `{"members":[` + strings.Join(members, ",") + `]}`},
		{202, "/v1/c/1/_erase", `{"members":[` + strings.Join(members[1:], ",") + `]}`},
		{400, "/v1/c/1/_erase", `{"members":["/` + strings.Repeat("m", 1024) + `"]}`},
		{202, "/v1/c/1/_erase", `{"members":["/` + strings.Repeat("m", 1023) + `"]}`},
		{400, "/v1/c/1/_erase", `{"members":[]}`},
		{400, "/v1/c/1/_erase", `{"members":[""]}`},
		{400, "/v1/c/1/_erase", `{"members":["email"]}`},
		{400, "/v1/c/1/_erase", `{"members":["/id"]}`},
		{400, "/v1/c/1/_erase", `{"members":["/a~2"]}`},
		{400, "/v1/c/1/_erase", `{"members":["/a","/a"]}`},
		{400, "/v1/c/1/_erase", `{"members":["/a/b","/a-","/a"]}`},
		{400, "/v1/c/1/_erase", `{"members":"/a"}`},
		{400, "/v1/c/1/_erase", `{"members":null}`},
		{400, "/v1/c/1/_erase", `x`},
	} {
		f.asked = nil
		status, text, headers := ask("POST", c.path, c.body)
		if status != c.want {
			t.Errorf("%s %.80s: %d, want %d: %s", c.path, c.body, status, c.want, text)
		}
		if begun := status == http.StatusAccepted; begun != (headers.Get("Location") == "/v1/_erasures/7") || (status < 300) != (len(f.asked) == 1) {
			t.Errorf("%s %.80s: location %q, asked %.100s", c.path, c.body, headers.Get("Location"), f.asked)
		}
	}
	if status, _, _ := ask("POST", "/v1/c/1/_erase", ``, "Content-Type", "text/plain"); status != http.StatusUnsupportedMediaType {
		t.Errorf("plain text is taken: %d", status)
	}
	if status, _, _ := ask("POST", "/v1/c/1/_erase", ``, "If-Match", "*"); status != http.StatusBadRequest {
		t.Errorf("a condition is taken: %d", status)
	}
	f.asked = nil
	ask("POST", "/v1/c/1/_erase", `{"members":["/a"]}`)
	if len(f.asked) != 1 || f.asked[0] != "erase [c/1] [/a]" {
		t.Errorf("asked: %s", f.asked)
	}
	f.phase = wire.PhaseDone
	if status, text, _ := ask("POST", "/v1/c/1/_erase", ``); status != http.StatusOK {
		t.Errorf("with nothing left: %d %s", status, text)
	}
	f.err = fanfold.Errorf(fanfold.Busy, "1,000 erasures wait")
	if status, text, _ := ask("POST", "/v1/c/1/_erase", ``); status != http.StatusTooManyRequests {
		t.Errorf("with too many: %d %s", status, text)
	}
}

// TestErasureLists: a list has the newest erasures, an export the documents of all.
func TestErasureLists(t *testing.T) {
	f := &fakeEraser{}
	ask := eraseServer(t, f)
	for _, n := range []int{0, 1, 1000, 1001} {
		f.number = n
		var list wire.Erasures
		status, text, _ := ask("GET", "/v1/_erasures", "")
		if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK || len(list.Erasures) != min(n, 1000) || list.More != (n > 1000) || n > 0 && list.Erasures[0].Number != uint64(n) {
			t.Errorf("%d erasures: %v, %d %.200s", n, err, status, text)
		}
		status, text, headers := ask("GET", "/v1/_erasures?export=true", "")
		if lines := strings.Count(text, "\n"); status != http.StatusOK || lines != 2*n || headers.Get("Content-Type") != ndjsonType {
			t.Errorf("%d erasures: %d, %d lines of %s", n, status, lines, headers.Get("Content-Type"))
		}
	}
	for path, want := range map[string]int{"/v1/_erasures/7": 200, "/v1/_erasures/8": 404, "/v1/_erasures/x": 400, "/v1/_erasures/7?x=1": 400, "/v1/_erasures?x=1": 400, "/v1/_erasures?export=1": 400} {
		if status, text, _ := ask("GET", path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// TestFindRequests: a text that is looked for has 1 to 1,000 bytes.
func TestFindRequests(t *testing.T) {
	ask := eraseServer(t, &fakeEraser{})
	long := strings.Repeat("x", 1000)
	for body, want := range map[string]int{`{"text":"T"}`: 200, `{"text":"` + long + `"}`: 200, `{"text":"` + long + `x"}`: 400, `{}`: 400, `{"text":""}`: 400, `{"text":1}`: 400, `{"find":"T"}`: 400,
		`{"text":"` + strings.Repeat(long, 9) + `"}`: 413} {
		status, text, _ := ask("POST", "/v1/_find", body)
		if status != want || status == 200 && !strings.Contains(text, `"versions":1000}],"more":true`) {
			t.Errorf("%.80s: %d %s", body, status, text)
		}
	}
}
