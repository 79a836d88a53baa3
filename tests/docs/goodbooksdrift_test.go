package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// exported is the goodbooks library as a store has it whose program keeps the copies by hand.
type exported struct {
	authors []map[string]any
	books   []map[string]any
}

// export computes all copies, counts and lists.
func (l *library) export() *exported {
	e := &exported{}
	works := map[string][]any{}
	for _, id := range slices.Sorted(maps.Keys(l.books)) {
		var authors []any
		for i, name := range l.books[id] {
			authors = append(authors, map[string]any{"id": name, "name": name})
			if !slices.Contains(l.books[id][:i], name) {
				works[name] = append(works[name], id)
			}
		}
		n, _ := strconv.Atoi(id)
		e.books = append(e.books, map[string]any{"id": n, "authors": authors})
	}
	for _, name := range slices.Sorted(maps.Keys(l.names)) {
		e.authors = append(e.authors, map[string]any{"id": name, "name": name, "countOfBooks": len(works[name]), "books": works[name]})
	}
	return e
}

// damage changes one name, count and list in a hundred, and returns which.
func (e *exported) damage(r *rand.Rand) map[string]bool {
	wrong := map[string]bool{}
	hit := func(format string, args ...any) bool {
		at := r.IntN(100) == 0
		if at {
			wrong[fmt.Sprintf(format, args...)] = true
		}
		return at
	}
	for _, a := range e.authors {
		works := a["books"].([]any)
		r.Shuffle(len(works), func(i, j int) { works[i], works[j] = works[j], works[i] }) // which is no damage
		if hit("authors/%s/countOfBooks", a["id"]) {
			a["countOfBooks"] = len(works) + []int{-1, 1, 1000}[r.IntN(3)]
		}
		if hit("authors/%s/books", a["id"]) {
			other := strconv.Itoa(20_000 + r.IntN(1000))
			a["books"] = [][]any{works[1:], append(slices.Clone(works), other), append(slices.Clone(works[1:]), other), append(slices.Clone(works), works[0])}[r.IntN(4)]
		}
	}
	for _, b := range e.books {
		for i, of := range b["authors"].([]any) {
			author := of.(map[string]any)
			if hit("books/%d/authors/%d/name", b["id"], i) {
				name := author["name"].(string)
				author["name"] = []string{name + " ", strings.ToUpper(name) + "!", "?" + name[1:], e.authors[r.IntN(len(e.authors))]["name"].(string) + "x", ""}[r.IntN(5)]
			}
		}
	}
	return wrong
}

// write writes a directory with a file a collection.
func (e *exported) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, all := range map[string][]map[string]any{"authors.json": e.authors, "books.json": e.books} {
		text, err := json.Marshal(all)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestGoodbooksDamage: of ten thousand real books with 1% of the copied names, counts and lists changed, each change is found and none is
// invented. Without damage nothing is found, and the model of the example is proposed.
func TestGoodbooksDamage(t *testing.T) {
	t.Parallel()
	e := readLibrary(t).export()
	const model = "../../examples/goodbooks/model.yaml"
	out, err := harness.RunProgram(t, "model", "suggest", e.write(t))
	for _, want := range []string{"countOfBooks: { count: books.authors }", "books: { ids: books.authors,", `"authors[].name": { copy: authors, value: doc.name }`} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: there is no %s in\n%s", err, want, out)
		}
	}
	if out, err := harness.RunProgram(t, "import", e.write(t), "--model", model, "--drift", "--dry-run"); err != nil || !strings.Contains(out, "15841 documents compared") {
		t.Errorf("without damage: %v\n%s", err, out)
	}
	seed := rand.Uint64()
	wrong := e.damage(rand.New(rand.NewPCG(seed, 0)))
	differences := filepath.Join(t.TempDir(), "differences.ndjson")
	out, err = harness.RunProgram(t, "import", e.write(t), "--model", model, "--drift", "--dry-run", "--out", differences)
	if harness.ExitCode(err) != 3 {
		t.Fatalf("seed %d: %v\n%s", seed, err, out)
	}
	text, err := os.ReadFile(differences)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var d struct{ Kind, Collection, ID, Path string }
		harness.Decode(t, []byte(line), &d)
		place := d.Collection + "/" + d.ID + d.Path
		if found[place] = true; !wrong[place] || d.Kind != "wrong" {
			t.Errorf("seed %d: invented: %s", seed, line)
		}
	}
	for place := range wrong {
		if !found[place] {
			t.Errorf("seed %d: %s is not found", seed, place)
		}
	}
	t.Logf("%d changes of copies are found", len(found))
}
