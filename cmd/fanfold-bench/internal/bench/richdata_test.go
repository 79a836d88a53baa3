package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestRichData checks that whatever a rich document refers to comes before it, that publisher 0 has as many books as
// Reached says, and its sections their share of sources.
func TestRichData(t *testing.T) {
	const documents = 5000
	d := RichData{Documents: documents}
	var text bytes.Buffer
	if _, err := d.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	seen, books, sources, lines := map[string]bool{}, 0, 0, 0
	for line := range strings.Lines(text.String()) {
		var l struct {
			Collection string
			Doc        struct {
				ID, Publisher, Series, Section, Book, Reader string
				Authors                                      []struct{ ID string }
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		refs := map[string]string{"publishers": l.Doc.Publisher, "series": l.Doc.Series, "sections": l.Doc.Section, "books": l.Doc.Book, "readers": l.Doc.Reader}
		for _, a := range l.Doc.Authors {
			refs["authors"] = a.ID
		}
		for to, id := range refs {
			if id != "" && !seen[to+"/"+id] {
				t.Fatalf("%s refers to %s/%s, which is not there yet", line, to, id)
			}
		}
		key := l.Collection + "/" + l.Doc.ID
		if seen[key] {
			t.Fatalf("%s comes twice", key)
		}
		seen[key] = true
		lines++
		switch {
		case l.Collection == "books" && l.Doc.Publisher == "0":
			books++
		case l.Collection == "sources":
			sources++
		}
	}
	if lines != documents || books != d.Reached() || books < documents/5 || sources < documents*11/20 {
		t.Errorf("%d documents, %d books of publisher 0 (Reached says %d), %d sources", lines, books, d.Reached(), sources)
	}
	if plain := RichModel(false); strings.Contains(plain, "strict") || strings.Contains(plain, "unique") || strings.Contains(plain, "limit: 5000") || !strings.Contains(plain, "pages:") {
		t.Errorf("the model without guards is %s", plain)
	}
}
