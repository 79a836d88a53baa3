package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

func TestImportTellsOfEachLine(t *testing.T) {
	s := harness.OpenTemp(t, harness.Bookshop)
	got := harness.ImportText(t, s.Client, "collection=books", strings.Join([]string{
		`{"id":"b1","n":1}`, ``, `not json`, `{"id":"b2","_x":1}`, `  {"id":"b3","authors":[{"id":"a1","name":"dropped"}]}  `, `[]`,
		`{"n":"no id"}`, `{"id":"b1","n":2}`, `{"id":"big","x":"` + strings.Repeat("x", 2<<20) + `"}`, strings.Repeat("[", 100), `{"id":"b4"}`}, "\n"))
	for line, status := range map[int]int{3: 400, 4: 422, 6: 400, 9: 413, 10: 422} {
		if !strings.Contains(got, fmt.Sprintf(`{"line":%d,"status":%d,`, line, status)) {
			t.Errorf("line %d is not refused with %d in %s", line, status, got)
		}
	}
	if !strings.Contains(got, `"refused":5,"written":6}`) && !strings.Contains(got, `"refused":5`) {
		t.Errorf("the end says %s", got)
	}
	s.WantDoc("books", "b1", `{"id":"b1","n":2}`)
	s.WantDoc("books", "b3", `{"id":"b3","authors":[{"id":"a1"}]}`)
	s.WantDoc("books", "b4", `{"id":"b4"}`)
	got = harness.ImportText(t, s.Client, "", strings.Join([]string{
		`{"collection":"books","doc":{"id":"e1"}}`, `{"collection":"9books","doc":{}}`, `{"doc":{}}`, `{"line":77,"collection":"books","doc":{"_x":1}}`,
		`{"collection":"books","text":"{\n \"id\": \"e2\" }"}`, `{"collection":"books","text":"{"}`, `{"model":{"collections":{"x":{"relations":{}}}},"doc":{}}`, `{"more":1}`}, "\n"))
	for line, status := range map[int]int{2: 400, 3: 400, 77: 422, 6: 400, 7: 400, 8: 400} {
		if !strings.Contains(got, fmt.Sprintf(`{"line":%d,"status":%d,`, line, status)) {
			t.Errorf("line %d is not refused with %d in %s", line, status, got)
		}
	}
	if got := referenced(s, "books", "e2"); got != "{\n \"id\": \"e2\" }" {
		t.Errorf("e2 as written is %q", got)
	}
	if import2 := harness.ImportText(t, s.Client, "collection=books", ""); !strings.Contains(import2, `"written":0`) {
		t.Errorf("an empty import says %s", import2)
	}
}

// TestImportResumes cuts imports short in many places; each line is loaded exactly once, also a
// line that makes a new id, and a request that was overtaken cannot go on.
func TestImportResumes(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	const lines = 5000
	var text []string
	for i := range lines {
		text = append(text, fmt.Sprintf(`{"n":%d}`, i+1))
	}
	whole := strings.Join(text, "\n") + "\n"
	for cut := 700; cut < lines; cut += 900 {
		part := strings.Join(text[:cut], "\n") + "\n" + text[cut][:4] // in the middle of a line
		body := &brokenReader{r: strings.NewReader(part)}
		req, err := http.NewRequest(http.MethodPost, s.URL+"/v1/_import?collection=c&id=job&resume=true", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", harness.NDJSON)
		if resp, err := s.HTTP.Do(req); err == nil {
			_, _ = bytes.NewBuffer(nil).ReadFrom(resp.Body)
			_ = resp.Body.Close()
		}
	}
	harness.ImportText(t, s.Client, "collection=c&id=job&resume=true", whole)
	end := harness.ImportText(t, s.Client, "collection=c&id=job&resume=true", whole)
	if !strings.Contains(end, fmt.Sprintf(`"line":%d`, lines)) || !strings.Contains(end, fmt.Sprintf(`"written":%d`, lines)) {
		t.Errorf("an import that is through says %s", end)
	}
	requireOnce(t, s.Client, lines)
	s.Want(http.StatusConflict, http.MethodPost, "/v1/_import?collection=c&id=job&resume=true&first=7000", "{}", "Content-Type", harness.NDJSON)
	// Two requests of one import at a time: at most one of them goes on.
	var wg sync.WaitGroup
	done := make([]bool, 4)
	for i := range done {
		wg.Go(func() {
			r, err := s.Do(http.MethodPost, "/v1/_import?collection=d&id=two&resume=true", []byte(whole), "Content-Type", harness.NDJSON)
			done[i] = err == nil && strings.Contains(string(r.Body), `"done":true`)
		})
	}
	wg.Wait()
	harness.ImportText(t, s.Client, "collection=d&id=two&resume=true", whole)
	if n := countDocs(t, s.Client, "d"); n != lines {
		t.Errorf("%d documents of %d lines; done: %v", n, lines, done)
	}
}

// brokenReader ends with an error, as a connection that is cut.
type brokenReader struct{ r *strings.Reader }

func (b *brokenReader) Read(p []byte) (int, error) {
	if b.r.Len() == 0 {
		return 0, fmt.Errorf("cut")
	}
	return b.r.Read(p)
}

// requireOnce wants each line's number once in the collection.
func requireOnce(t *testing.T, c *harness.Client, lines int) {
	t.Helper()
	seen := map[int]int{}
	cursor := ""
	for {
		var list struct {
			Items []struct{ N int }
			Next  string
		}
		harness.Decode(t, c.Want(http.StatusOK, http.MethodGet, "/v1/c?limit=1000"+cursor, "").Body, &list)
		for _, d := range list.Items {
			seen[d.N]++
		}
		if list.Next == "" {
			break
		}
		cursor = "&cursor=" + list.Next
	}
	for n := 1; n <= lines; n++ {
		if seen[n] != 1 {
			t.Fatalf("line %d is loaded %d times", n, seen[n])
		}
	}
	if len(seen) != lines {
		t.Fatalf("%d different documents, want %d", len(seen), lines)
	}
}

func countDocs(t *testing.T, c *harness.Client, collection string) (n int) {
	t.Helper()
	export := c.Want(http.StatusOK, http.MethodGet, "/v1/_export?collections="+collection, "").Body
	return bytes.Count(export, []byte("\n"))
}

// TestImportSurvivesKills kills the client, then the server, in the middle of `fanfold import`,
// and goes on with --resume.
func TestImportSurvivesKills(t *testing.T) {
	suite.Parallel(t)
	const lines = 60_000
	dir := t.TempDir()
	file := filepath.Join(dir, "lines.ndjson")
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "{\"n\":%d,\"x\":%q}\n", i+1, strings.Repeat("x", 200))
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	p := harness.StartProcess(t, "--data", data)
	load := func(after int) {
		cmd := exec.Command(path, "import", "--server", p.URL, "--resume", "--collection", "c", file)
		var out bytes.Buffer
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitApplied(t, p.Client, after)
		if after%2 == 0 {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return
		}
		p.Signal(9)
		_ = cmd.Wait() // it says that the server went away
		if !strings.Contains(out.String(), "--resume") {
			t.Errorf("the client says %q", out.String())
		}
		p = harness.StartProcess(t, "--data", data)
	}
	load(8_000) // the last one leaves enough, for an import may be far ahead of what is folded
	load(14_001)
	load(22_000)
	load(30_001)
	out, err := harness.RunProgram(t, "import", "--server", p.URL, "--resume", "--collection", "c", file)
	var written, before int
	if at := strings.LastIndex(strings.TrimSpace(out), "\n") + 1; err == nil { // the last line
		_, err = fmt.Sscanf(out[at:], "%d documents written", &written)
		if _, rest, found := strings.Cut(out[at:], "), "); found && err == nil {
			_, err = fmt.Sscanf(rest, "%d were stored before", &before)
		}
	}
	if err != nil || written == 0 || before == 0 || written+before != 60000 {
		t.Fatalf("the last import: %v %s", err, out)
	}
	requireOnce(t, p.Client, lines)
	p.Verify(t)
}

// TestImportBeforeAnAnswer: a server that goes away before it has answered anything may have stored what it took, and one that takes
// nothing has not.
func TestImportBeforeAnAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lines.ndjson")
	if err := os.WriteFile(file, []byte(strings.Repeat(`{"n":1}`+"\n", 1_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 8))
		panic(http.ErrAbortHandler)
	}))
	defer gone.Close()
	out, err := harness.RunProgram(t, "import", "--server", gone.URL, "--collection", "c", file)
	if err == nil || !strings.Contains(out, "went away after line 0: when it is back, run this again with --resume") {
		t.Errorf("%v: %s", err, out)
	}
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "import", "--server", gone.URL, "--collection", "c", "-")
	cmd.Stdin = strings.NewReader(`{"n":1}` + "\n")
	piped, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(piped), "send what is missing; an import of standard input that has an --id") {
		t.Errorf("of standard input: %v: %s", err, piped)
	}
	out, err = harness.RunProgram(t, "import", "--server", gone.URL, "--collection", "c", "--resume", file) // it goes away when it is asked how far the import is
	if err == nil || !strings.Contains(out, "when it is back, run this again with --resume") {
		t.Errorf("asked how far it is: %v: %s", err, out)
	}
	absent := "http://" + harness.FreeAddress(t)
	out, err = harness.RunProgram(t, "import", "--server", absent, "--collection", "c", file)
	if err == nil || !strings.Contains(out, "is a server running there?") || strings.Contains(out, "--resume") {
		t.Errorf("%v: %s", err, out)
	}
}

// awaitApplied waits until the server has folded an event.
func awaitApplied(t *testing.T, c *harness.Client, seq int) {
	t.Helper()
	for range 600 {
		r, err := c.Do(http.MethodGet, "/v1/_model", nil, "Fanfold-Min-Position", fmt.Sprint(seq), "Fanfold-Timeout", "1")
		if err == nil && r.Status == http.StatusOK {
			return
		}
	}
	t.Fatalf("event %d is not folded", seq)
}

// TestImportNeedsLittleMemory: the memory of the server does not grow with an import, of lines of 1 MiB each. The log is on an outside server: NATS keeps
// what was written in the last ten seconds in memory. The garbage collector has a limit, so that garbage does not count on a busy machine.
func TestImportNeedsLittleMemory(t *testing.T) {
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--nats", natsserver.Start(t, 1)[0])
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=160MiB")
	p := harness.StartCommand(t, cmd)
	line := []byte(`{"x":"` + strings.Repeat("x", 1<<20-10) + "\"}\n")
	load := func(lines int) (mostMemory int) {
		req, err := http.NewRequest(http.MethodPost, p.URL+"/v1/_import?collection=c", &repeated{piece: line, left: lines})
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", harness.NDJSON)
		resp, err := p.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var out bytes.Buffer
		if _, err := out.ReadFrom(resp.Body); err != nil || !strings.Contains(out.String(), fmt.Sprintf(`"written":%d}`, lines)) {
			t.Fatalf("%v: %.500s", err, out.String())
		}
		return p.HighWater(t)
	}
	first := load(96)
	if most := load(256); first > 400 || most-first > 128 {
		t.Errorf("an import of 96 MiB took %d MiB, and one of 256 MiB %d", first, most)
	}
}

// repeated reads a piece over and over.
type repeated struct {
	piece, rest []byte
	left        int
}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.piece
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestImportOfBrokenCSV: a row that is not CSV is told with its number, and the rest goes on.
func TestImportOfBrokenCSV(t *testing.T) {
	s := harness.OpenTemp(t, "")
	dir := t.TempDir()
	files := map[string]string{"m.yaml": "- collection: books\n  documents: '{\"id\": doc.id, \"n\": doc.n}'\n", "b.csv": "id,n\n1,a\na\"b,c\n2,b\n2,b\n3,c,d\n4,d\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := harness.RunProgram(t, "import", "--server", s.URL, "--mapping", filepath.Join(dir, "m.yaml"), filepath.Join(dir, "b.csv"))
	if err == nil || !strings.Contains(out, "line 3: ") || !strings.Contains(out, "line 6: ") || !strings.Contains(out, "4 documents written") {
		t.Errorf("%v %s", err, out)
	}
	if out, err := harness.RunProgram(t, "import", "--server", s.URL, "--collection", "books", dir); err == nil || !strings.Contains(out, "has the CSV file b.csv: import it by itself") {
		t.Errorf("a directory is told as %v %s", err, out)
	}
	s.WantDoc("books", "4", `{"id":"4","n":"d"}`)
}

// TestImportOfLargeLines: a line that the log does not take is refused, and the others of its batch
// are stored; what the store took it also takes again.
func TestImportOfLargeLines(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Want(http.StatusRequestEntityTooLarge, http.MethodPost, "/v1/c", `{"x":"`+strings.Repeat("x", 2<<20-8)+`"}`)
	kept := `{"c.x":{"y":"` + strings.Repeat("y", 9<<20) + `"}}`
	got := harness.ImportText(t, s.Client, "", `{"collection":"c","doc":{"id":"1"}}`+"\n"+`{"collection":"c","kept":`+kept+`,"doc":{"id":"2"}}`+"\n"+
		`{"collection":"c","line":"x","doc":{"id":"3"}}`+"\n"+`{"collection":"c","doc":{"id":"4"}}`+"\n")
	if !strings.Contains(got, `{"line":2,"status":413,`) || !strings.Contains(got, `{"line":3,"status":400,`) || !strings.Contains(got, `"written":2}`) {
		t.Errorf("the import says %s", got)
	}
}

// TestImportOddities: what clients send besides plain lines.
func TestImportOddities(t *testing.T) {
	s := harness.OpenTemp(t, "")
	got := harness.ImportText(t, s.Client, "collection=c&id=odd", "\xef\xbb\xbf{\"id\":\"bom\"}\r\n\xc2\xa0{\"id\":\"nbsp\"}\n")
	if !strings.Contains(got, `{"line":2,"status":400,`) || !strings.Contains(got, `"written":1}`) {
		t.Errorf("the import says %s", got)
	}
	if again := harness.ImportText(t, s.Client, "collection=c&id=odd&resume=true", "\n\n"); !strings.Contains(again, `"position":"2-0-`) {
		t.Errorf("an import that was done says %s", again)
	}
	got = harness.ImportText(t, s.Client, "", `{"collection":"c","doc":{"id":"1"},"text":"{\"id\":\"2\"}"}`+"\n"+`{"collection":"c","text":{}}`)
	if !strings.Contains(got, `"refused":2`) {
		t.Errorf("the import says %s", got)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL+"/v1/_import?collection=c", strings.NewReader(`{"id":"expect"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", harness.NDJSON)
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}, Timeout: 20 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// TestImportOfManyRefusedLines: lines that a strict relation or a unique member refuses are found together, so that many of them cost one
// look at the log. The valid lines among them are written.
func TestImportOfManyRefusedLines(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  publishers: {}
  books: {unique: [isbn], relations: {publisher: {path: publisher, to: publishers, strict: true}}}
`)
	s.Put("publishers", "p", `{}`)
	s.Put("books", "first", `{"isbn":"taken"}`)
	lastEvent := func() uint64 {
		last, err := s.Node.Log.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	before := lastEvent()
	lines := make([]string, 1200)
	for i := range lines {
		switch i % 4 {
		case 0:
			lines[i] = fmt.Sprintf(`{"id":"%d","publisher":"missing"}`, i)
		case 1:
			lines[i] = fmt.Sprintf(`{"id":"%d","isbn":"taken"}`, i)
		case 2:
			lines[i] = fmt.Sprintf(`{"id":"%d","isbn":"same"}`, i) // the first of them takes it
		default:
			lines[i] = fmt.Sprintf(`{"id":"%d","isbn":"%d","publisher":"q%d"}`, i, i, i)
		}
	}
	lines[399], lines[799] = `{"id":"good1","isbn":"good1","publisher":"p"}`, `{"id":"good2","isbn":"good2","publisher":"p"}`
	got := harness.ImportText(t, s.Client, "collection=books", strings.Join(lines, "\n"))
	if !strings.Contains(got, `"written":3`) || strings.Count(got, `"status":4`) != len(lines)-3 {
		t.Errorf("the import says %.2000s", got)
	}
	s.WantDoc("books", "2", `{"id":"2","isbn":"same"}`)
	s.WantDoc("books", "good2", `{"id":"good2","isbn":"good2","publisher":"p"}`)
	// Three documents, their claims and links, and what asks the log where it stands.
	if events := lastEvent() - before; events > 30 {
		t.Errorf("the import stored %d events", events)
	}
}
