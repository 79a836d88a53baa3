package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// parsedLine is a line of an import of rich data.
type parsedLine struct {
	Collection string
	Doc        richBook // or what other kinds have of it
	text       string
}

// key returns the collection and the id.
func (l parsedLine) key() string { return l.Collection + "/" + l.Doc.ID }

// strict returns what a document refers to by strict relations.
func (l parsedLine) strict() []string {
	if l.Collection != "books" {
		return nil
	}
	return []string{"formats/" + l.Doc.Format, "languages/" + l.Doc.Language}
}

// late returns what a document refers to and what comes after it.
func (l parsedLine) late() (refs []string) {
	switch l.Collection {
	case "books":
		refs = []string{"works/" + l.Doc.Work, "sections/" + l.Doc.Section, "editors/" + l.Doc.Editor}
	case "works":
		refs = []string{"sections/" + l.Doc.Section, "editors/" + l.Doc.Editor}
	}
	for _, id := range l.Doc.Topics {
		refs = append(refs, "topics/"+id)
	}
	return refs
}

// books returns the ids of other books, by list.
func (l parsedLine) books() (lists [][]string) {
	var requires []string
	for _, ref := range l.Doc.Requires {
		requires = append(requires, ref.ID)
	}
	return [][]string{requires, l.Doc.Advises, l.Doc.Mentions}
}

// parsedLines returns the lines of rich data and of its updates.
func parsedLines(t *testing.T, d richData) (lines, updates []parsedLine) {
	t.Helper()
	var text, again bytes.Buffer
	size, err := d.write(&text, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.writeUpdates(&again); err != nil {
		t.Fatal(err)
	}
	var compact int64
	read := func(text *bytes.Buffer) (all []parsedLine) {
		for line := range strings.Lines(text.String()) {
			l := parsedLine{text: line}
			var raw struct{ Doc json.RawMessage }
			var doc bytes.Buffer
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if err := json.Unmarshal([]byte(line), &raw); err != nil {
				t.Fatal(err)
			}
			if err := json.Compact(&doc, raw.Doc); err != nil {
				t.Fatal(err)
			}
			compact += int64(doc.Len())
			all = append(all, l)
		}
		return all
	}
	lines = read(&text)
	if compact != size {
		t.Errorf("the documents have %d bytes without spaces; write says %d", compact, size)
	}
	return lines, read(&again)
}

// TestRichData checks at four sizes that there are as many documents as asked for, each once. A strict target comes before its holder, and targets of the
// other kinds after it. As many books have topic 0 as reached says, and updates are of books that are there, with other lists.
func TestRichData(t *testing.T) {
	for _, documents := range []int{100, 1000, 1234, 12000} {
		d := richData{documents: documents}
		lines, updates := parsedLines(t, d)
		at, reached := map[string]int{}, 0
		for i, l := range lines {
			if _, twice := at[l.key()]; twice {
				t.Fatalf("%d documents: %s comes twice", documents, l.key())
			}
			at[l.key()] = i
			if slices.Contains(l.Doc.Topics, topicID(0)) {
				reached++
			}
		}
		if len(lines) != documents || reached != d.reached() || reached < documents/10 {
			t.Errorf("%d of %d documents, %d books of topic 0 (reached says %d)", len(lines), documents, reached, d.reached())
		}
		for i, l := range lines {
			for _, to := range l.strict() {
				if j, ok := at[to]; !ok || j >= i {
					t.Fatalf("%s refers to %s, which is not there yet", l.key(), to)
				}
			}
			for _, to := range l.late() {
				if j, ok := at[to]; !ok || j <= i {
					t.Fatalf("%s refers to %s, which does not come after it", l.key(), to)
				}
			}
		}
		changed := 0
		for _, l := range updates {
			before, ok := at[l.key()]
			if !ok || l.Collection != "books" || slices.Contains(l.Doc.Topics, topicID(0)) != slices.Contains(lines[before].Doc.Topics, topicID(0)) {
				t.Errorf("%s is updated, and is not there, or changes topic 0", l.key())
			}
			if !slices.EqualFunc(l.books(), lines[before].books(), slices.Equal) || !slices.Equal(l.Doc.Topics, lines[before].Doc.Topics) {
				changed++
			}
		}
		if len(updates) != documents/updateEvery || changed < len(updates)*2/3 {
			t.Errorf("%d updates of %d documents, %d with other lists", len(updates), documents, changed)
		}
	}
}

// TestRichLists checks how long the lists of books are, and how unequal their targets. Of the targets some come earlier, some later, many never.
func TestRichLists(t *testing.T) {
	lines, _ := parsedLines(t, richData{documents: 12000})
	at := map[string]int{}
	for i, l := range lines {
		at[l.key()] = i
	}
	var links, longest, early, late, absent, foreign, size int
	holders := map[string]int{}
	for i, l := range lines {
		links += len(l.strict()) + len(l.late())
		size += len(l.text) - len(`{"collection":"","doc":}`) - len(l.Collection) - 1
		if utf8.RuneCountInString(l.text) < len(l.text) {
			foreign++
		}
		for _, list := range l.books() {
			links, longest = links+len(list), max(longest, len(list))
			for n, id := range list {
				if id == l.Doc.ID || slices.Contains(list[:n], id) {
					t.Fatalf("%s refers to itself or twice to %s", l.key(), id)
				}
				holders[id]++
				switch j, ok := at["books/"+id]; {
				case !ok:
					absent++
				case j < i:
					early++
				default:
					late++
				}
			}
		}
	}
	if each := float64(links) / float64(len(lines)); each < 8 || each > 10 {
		t.Errorf("%.2f links a document", each)
	}
	if each := float64(size) / float64(len(lines)); each < 480 || each > 540 {
		t.Errorf("%.0f bytes a document", each)
	}
	if most := slices.Max(slices.Collect(maps.Values(holders))); longest < 80 || longest > 90 || most < 1500 {
		t.Errorf("the longest list has %d ids, and the target of most lists is in %d", longest, most)
	}
	if early < 3000 || late < 3000 || absent < early+late || absent > 4*(early+late) {
		t.Errorf("%d targets come before what refers to them, %d after it, %d never", early, late, absent)
	}
	if foreign < 50 {
		t.Errorf("%d documents have other letters than those of ASCII", foreign)
	}
}

// TestRichDataStays checks that the documents are the same each day, as the figures of one day are compared with another day's. A change on purpose
// needs new figures in docs/run/running.md.
func TestRichDataStays(t *testing.T) {
	d, sum := richData{documents: 1000}, sha256.New()
	if _, err := d.write(sum, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.writeUpdates(sum); err != nil {
		t.Fatal(err)
	}
	const want = "02526e6cf55cc6e8d0b51d8d3322b062153a0f62d2ab54974f54353e3b905aed"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the documents have the hash %s, not %s", got, want)
	}
}

// TestRichModel checks that the model has 34 rules, and without guards no strict relation, no unique member and no limit.
func TestRichModel(t *testing.T) {
	rules := 0
	for _, kind := range []string{"{copy: ", "{count: ", "{recent: ", "{ids: ", "{sum: ", "{max: ", "{avg: ", "{value: "} {
		rules += strings.Count(richText, kind)
	}
	if rules != 34 {
		t.Errorf("the model has %d rules", rules)
	}
	for _, guard := range []string{"strict", "unique", "limit: 5000"} {
		if plain := richModel(false); strings.Contains(plain, guard) || !strings.Contains(richModel(true), guard) {
			t.Errorf("%s: the model without guards is %s", guard, plain)
		}
	}
}

// TestRich: imports with and without guards, the CPU of a document beside a tenth of the documents, a change and a replay are measured.
func TestRich(t *testing.T) {
	r := measured(t, "--only", "rich", "--documents", "12000")
	var names []string
	for _, result := range r {
		names = append(names, result.Name)
	}
	want := []string{"import of 1260 rich documents", "CPU a document at 1260 and at 126", fmt.Sprintf("change that reaches %d rich documents", richData{documents: 1200}.reached()), "replay of 1260 rich documents"}
	if !slices.Equal(names, want) || !strings.Contains(r[0].Notes[2], " links, ") {
		t.Errorf("%q, not %q: %+v", names, want, r)
	}
}
