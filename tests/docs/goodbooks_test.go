package docs_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

const goodbooksFile = "../../../shared/data/goodbooks/books.csv"

// library is the plain recomputation of the goodbooks example: names by author, and authors by
// book in the order of creation.
type library struct {
	names   map[string]string // of authors that are there
	books   map[string][]string
	arrival []string // book ids
}

type goodAuthor struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// readLibrary reads the file the slow way.
func readLibrary(t *testing.T) *library {
	t.Helper()
	f, err := os.Open(goodbooksFile)
	if os.IsNotExist(err) {
		t.Skipf("%s is not there: this test needs books.csv of goodbooks-10k", goodbooksFile)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	id, authors := slices.Index(rows[0], "book_id"), slices.Index(rows[0], "authors")
	l := &library{names: map[string]string{}, books: map[string][]string{}}
	for _, row := range rows[1:] {
		l.books[row[id]] = strings.Split(row[authors], ", ")
		for _, name := range l.books[row[id]] {
			l.names[name] = name
		}
	}
	return l
}

// prolific are the n authors with the most books, most first, then by name.
func (l *library) prolific(n int) []string {
	count := map[string]int{}
	for _, authors := range l.books {
		for _, a := range slices.Compact(slices.Sorted(slices.Values(authors))) {
			count[a]++
		}
	}
	all := make([]string, 0, len(count))
	for a := range count {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	return all[:n]
}

// TestGoodbooksDocument runs the commands of examples/goodbooks/README.md twice on one server, with three books. If another model
// applies, the first command is refused with what it would take away, and the last one is accepted.
func TestGoodbooksDocument(t *testing.T) {
	t.Parallel()
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	s := harness.OpenTemp(t, "collections: {authors: {derive: {inCities: {count: cities.author}}}, cities: {relations: {author: {path: author, to: authors}}}}")
	dir := t.TempDir()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	const rows = "book_id,isbn13,authors,original_publication_year,title,language_code,average_rating,ratings_count,image_url,small_image_url\n" +
		"1,9.78043902348e+12,Suzanne Collins,2008.0,\"The Hunger Games (The Hunger Games, #1)\",eng,4.34,4780653,a,b\n" +
		"2,,\"J.K. Rowling, Mary GrandPré\",,Harry Potter,eng,4.44,4602479,a,b\n" + "17,,Suzanne Collins,2009.0,Catching Fire,eng,4.3,1831039,a,b\n"
	if err := os.WriteFile(filepath.Join(dir, "books.csv"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, b := range blocks(t, "../../examples/goodbooks/README.md") {
		if b.kind == "sh" && !strings.Contains(b.text, "fanfold serve") {
			commands = append(commands, b.text)
		}
	}
	last := len(commands) - 1
	shell := func(script string) (string, error) {
		cmd := exec.Command("bash", "-e", "-c", strings.NewReplacer("go run ./cmd/fanfold", path, "http://127.0.0.1:8080", s.URL).Replace(script))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "FANFOLD_SERVER="+s.URL)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := shell(commands[0]); err == nil || !strings.Contains(out, "inCities") || !strings.Contains(out, "--allow-removal") {
		t.Errorf("over another model: %v\n%s", err, out)
	}
	if out, err := shell(commands[last]); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 2 {
		if out, err := shell(strings.Join(commands, "")); err != nil || !strings.Contains(out, "S. Collins") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// TestGoodbooks loads ten thousand real books with `fanfold import`, renames, moves and deletes,
// and compares every document with the recomputation.
func TestGoodbooks(t *testing.T) {
	t.Parallel()
	l := readLibrary(t)
	if len(l.books) != 10_000 || len(l.names) != 5841 {
		t.Fatalf("%d books and %d authors in the file", len(l.books), len(l.names))
	}
	model, err := os.ReadFile("../../examples/goodbooks/model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := harness.OpenTemp(t, string(model))
	out, err := harness.RunProgram(t, "import", "--server", s.URL, "--skip-repeats", "--mapping", "../../examples/goodbooks/mapping.yaml", goodbooksFile)
	if err != nil || !strings.Contains(out, "15841 documents written") {
		t.Fatalf("import: %v %s", err, out)
	}
	t.Log(strings.TrimSpace(out))
	l.readArrival(t, s)
	l.compare(t, s)
	l.change(s)
	s.CatchUp()
	l.compare(t, s)
	before := s.Digest()
	s.Replay()
	if s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
}

// readArrival takes the order in which the import's writers put the books from the feed's
// direct changes; everything derived is recomputed.
func (l *library) readArrival(t *testing.T, s *harness.Store) {
	t.Helper()
	rows, _ := s.Changes("mode=all&collections=books")
	for _, row := range rows {
		if row.Op == "create" {
			l.arrival = append(l.arrival, row.ID)
		}
	}
	if len(l.arrival) != len(l.books) {
		t.Fatalf("%d books arrived of %d", len(l.arrival), len(l.books))
	}
}

// change renames the ten most prolific authors, gives 500 books other authors, and deletes 100
// authors.
func (l *library) change(s *harness.Store) {
	names := make([]string, 0, len(l.names))
	for name := range l.names {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, a := range l.prolific(10) {
		l.names[a] = fmt.Sprintf("Pen Name %d", i)
		s.Merge("authors", a, fmt.Sprintf(`{"name":%q}`, l.names[a]))
	}
	var wg sync.WaitGroup
	for i := range 500 {
		id := fmt.Sprint(1 + i*20)
		l.books[id] = []string{names[i*7%len(names)], names[i*11%len(names)]}
		body := fmt.Sprintf(`{"authors":[{"id":%q},{"id":%q}]}`, l.books[id][0], l.books[id][1])
		wg.Go(func() { s.Merge("books", id, body) })
		if i%16 == 15 {
			wg.Wait()
		}
	}
	wg.Wait()
	for i := range 100 {
		a := names[i*53%len(names)]
		s.Delete("authors", a)
		delete(l.names, a)
	}
}

// compare holds every book and author of the store against the recomputation.
func (l *library) compare(t *testing.T, s *harness.Store) {
	t.Helper()
	want := map[string][]string{}
	for _, id := range l.arrival {
		for _, a := range slices.Compact(slices.Sorted(slices.Values(l.books[id]))) {
			want[a] = append(want[a], id)
		}
	}
	seen := 0
	listAll(t, s, "books", func(doc []byte) {
		var b struct {
			ID      int
			Authors []goodAuthor
		}
		harness.Decode(t, doc, &b)
		var authors []goodAuthor
		for _, a := range l.books[fmt.Sprint(b.ID)] {
			authors = append(authors, goodAuthor{ID: a, Name: l.names[a]})
		}
		if !slices.Equal(b.Authors, authors) {
			t.Fatalf("book %d has %+v, want %+v", b.ID, b.Authors, authors)
		}
		seen++
	})
	authors := 0
	listAll(t, s, "authors", func(doc []byte) {
		var a struct {
			ID, Name     string
			CountOfBooks int
			Books        []string
		}
		harness.Decode(t, doc, &a)
		if a.Name != l.names[a.ID] || a.CountOfBooks != len(want[a.ID]) || !slices.Equal(a.Books, want[a.ID]) {
			t.Fatalf("author %s: %q, %d books %v; want %q, %v", a.ID, a.Name, a.CountOfBooks, a.Books, l.names[a.ID], want[a.ID])
		}
		authors++
	})
	if seen != len(l.books) || authors != len(l.names) {
		t.Fatalf("%d books and %d authors, want %d and %d", seen, authors, len(l.books), len(l.names))
	}
}

// listAll calls fn for every document of a collection, page by page.
func listAll(t *testing.T, s *harness.Store, collection string, fn func(doc []byte)) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items []json.RawMessage
			Next  string
		}
		harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/"+collection+"?limit=1000&cursor="+cursor, "").Body, &page)
		for _, doc := range page.Items {
			fn(doc)
		}
		if cursor = page.Next; cursor == "" {
			return
		}
	}
}
