package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// richText is a model as a publishing house might grow it for the index of its books. It has 34 rules: copies over three hops, values beside
// elements of arrays, lists from many targets, counts, sums, averages, ids, and lists of the newest that show derived members.
const richText = `
fanout: {limit: 5000}
collections:
  formats: {}
  languages: {}
  books:
    relations:
      format:   {path: format, to: formats, strict: true}
      language: {path: language, to: languages, strict: true}
      editor:   {path: editor, to: editors}
      work:     {path: work, to: works}
      section:  {path: section, to: sections}
      requires: {path: "requires[].id", to: books}
      advises:  {path: "advises[]", to: books}
      mentions: {path: "mentions[]", to: books}
      topics:   {path: "topics[]", to: topics}
    unique: [code]
    derive:
      editorName:              {copy: editor, value: doc.name}
      editorBusy:              {copy: editor, value: string(doc.books > 10)}
      sectionTitle:            {copy: section, value: doc.title}
      workHomepage:            {copy: work, value: doc.homepage}
      workEditor:              {copy: work, value: doc.editorName}
      "requires[].edition":    {copy: requires, value: doc.edition}
      "requires[].section":    {copy: requires, value: doc.section}
      "requires[].editorName": {copy: requires, value: doc.editorName}
      advisesEditions:         {copy: advises, value: doc.edition}
      topicTitles:             {copy: topics, value: doc.title}
      topicFacets:             {copy: topics, value: doc.facet}
      requiredBy:              {count: books.requires}
      advisedBy:               {count: books.advises}
      mentionedBy:             {count: books.mentions}
      newestUsers:             {recent: books.requires, max: 3, fields: [id, edition]}
      userIds:                 {ids: books.requires, limit: 20}
  works:
    relations:
      editor:  {path: editor, to: editors}
      section: {path: section, to: sections}
    unique: [homepage]
    derive:
      editorName:   {copy: editor, value: doc.name}
      sectionTitle: {copy: section, value: doc.title}
      books:        {count: books.work}
      bookIds:      {ids: books.work, limit: 50}
      pages:        {sum: books.work, of: pages}
      largest:      {max: books.work, of: size}
  editors:
    derive:
      books:  {count: books.editor}
      works:  {count: works.editor}
      newest: {recent: books.editor, max: 5, fields: [id, edition, section]}
      size:   {sum: books.editor, of: size}
  sections:
    derive:
      books:   {count: books.section}
      newest:  {recent: books.section, max: 10, fields: [id, editorName]}
      average: {avg: books.section, of: pages}
      longest: {max: books.section, of: pages}
      works:   {count: works.section}
  topics:
    derive:
      books:  {count: books.topics}
      newest: {recent: books.topics, max: 3, fields: [id, summary]}
      busy:   {value: "doc.books > 100"}
`

// richModel returns the model of the rich data, with or without its limit, strict relations and unique members.
func richModel(guards bool) string {
	if guards {
		return richText
	}
	var kept []string
	for line := range strings.Lines(strings.ReplaceAll(richText, ", strict: true", "")) {
		if !strings.HasPrefix(line, "fanout:") && !strings.HasPrefix(line, "    unique:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// richData makes so many documents of the rich model, always the same. Formats and languages come first, as books refer to them strictly. Books come
// next, with up to 90 ids in a list; works, topics, sections and editors, to which they refer, come last. Of the ids of other books some are
// of neighbours, which come. The others are as unequal as words of a language: few are in thousands of lists, most in one, and many never come.
type richData struct{ documents int }

const (
	richFormats = 2
	richMain    = 4  // one of so many books has topic 0
	richNear    = 7  // one of so many ids of books is a neighbour's
	richGap     = 80 // as far as neighbours are
	richPresent = 8  // one of so many ranks of the other ids is a book's
	updateEvery = 20 // documents; so many times fewer books are written again
)

// richCounts says how many documents of a kind there are.
type richCounts struct{ books, works, topics, sections, editors, languages int }

// counts divides the documents; there are 100 or more. Books and works are the same share of any number.
func (d richData) counts() (n richCounts) {
	n.books = d.documents * 593 / 1000
	n.works = n.books * richWorks / len(workPlaces)
	n.topics, n.sections, n.languages = min(528, d.documents/23), max(1, min(54, d.documents/200)), max(2, min(12, d.documents/100))
	n.editors = d.documents - n.books - n.works - n.topics - n.sections - n.languages - richFormats
	return n
}

// reached returns how many books have topic 0.
func (d richData) reached() int { return (d.counts().books + richMain - 1) / richMain }

// updates returns how many documents writeUpdates writes.
func (d richData) updates() int { return min(d.documents/updateEvery, d.counts().books) }

// richWorks is how many works the books of workPlaces have.
const richWorks = 140

// workPlaces says for each of some books, one after the other, which of richWorks they are of. Most works have one book, few have many.
var workPlaces = func() (places []int) {
	work := 0
	for _, w := range []struct{ works, books int }{{40, 1}, {1, 32}, {20, 2}, {4, 3}, {1, 16}, {2, 4}, {25, 1}, {1, 8}, {2, 5}, {1, 7}, {14, 2}, {1, 11}, {1, 7}, {20, 1}, {4, 3}, {2, 4}, {1, 6}} {
		for range w.works {
			places = append(places, slices.Repeat([]int{work}, w.books)...)
			work++
		}
	}
	return places
}()

// work returns which work book i is of, and which of its books that is.
func (n richCounts) work(i int) (work, nth int) {
	round, at := i/len(workPlaces), i%len(workPlaces)
	if work = round*richWorks + workPlaces[at]; work >= n.works { // the last round is cut
		return n.works - 1, i
	}
	return work, at - slices.Index(workPlaces, workPlaces[at])
}

// Words of names and texts.
var (
	richWords = strings.Fields("amber anchor atlas bridge canal cedar ember fable field garden glacier harbour harvest island kestrel lantern lagoon " +
		"marble meadow mirror northern orchard overland pepper quarry raven ribbon river saffron silver summer tavern thistle umbra valley velvet winter yarrow zenith")
	richParts   = strings.Fields("reader maps notes sheets atlas index plates audio")
	richFacets  = strings.Fields("form subject period place reader use")
	richForeign = strings.Fields("Brücken Élan смерть čaj naïve 北国 Ærø μύθοι")
	richNames   = []string{"The maps' desk", "Redakce Řeka", "Lektorat Süd", "Evening desk", "Studio Næs", "Atelier Élan", "Desk of proofs", "North desk", "Отдел карт", "Desk of plates", "The house's hand"}
)

// workID, topicID, sectionID and editorID return the ids of documents. There are n works.
func workID(i, n int) string {
	return richWords[i*len(richWords)/n] + "-" + strconv.Itoa(i)
}

func topicID(i int) string {
	return fmt.Sprintf("%s::%s-%d", richFacets[i%len(richFacets)], richWords[i%len(richWords)], i)
}

func sectionID(i int) string {
	return richWords[i%len(richWords)] + strings.Repeat("s", i/len(richWords))
}

func editorID(i int) string {
	return fmt.Sprintf("%s.%d@%s.example.org", richWords[i%len(richWords)], i, richWords[i/7%len(richWords)])
}

// bookID returns the id of book i. It begins with the id of its work.
func (n richCounts) bookID(i int) string {
	work, nth := n.work(i)
	id := workID(work, n.works)
	if nth == 0 {
		return id
	}
	return fmt.Sprintf("%s-%s%d", id, richParts[nth%len(richParts)], nth)
}

// richRand returns numbers that depend on the arguments alone.
func richRand(i, salt int) *rand.Rand { return rand.New(rand.NewPCG(uint64(i), uint64(salt))) }

// rank returns one of n ranks; rank r has a share like 1/(r+flat).
func rank(r *rand.Rand, n int, flat float64) int {
	return min(n-1, int(flat*(math.Pow((float64(n)+flat)/flat, r.Float64())-1)))
}

// share says up to which part of the lists are so long at most.
type share struct {
	part   float64
	length int
}

// How long lists are.
var (
	requiresLength = []share{{.126, 0}, {.3, 1}, {.4, 2}, {.6, 3}, {.7, 5}, {.8, 6}, {.9, 10}, {.95, 15}, {.98, 23}, {.99, 31}, {.995, 42}, {.999, 68}, {1, 90}}
	advisesLength  = []share{{.811, 0}, {.9, 1}, {.93, 2}, {.95, 4}, {.97, 8}, {.98, 12}, {.99, 25}, {.995, 45}, {1, 90}}
	mentionsLength = []share{{.787, 0}, {.9, 1}, {.93, 2}, {.95, 3}, {.97, 5}, {.98, 7}, {.99, 14}, {.995, 24}, {1, 90}}
	topicsLength   = []share{{.39, 0}, {.5, 1}, {.6, 2}, {.7, 3}, {.8, 5}, {.85, 6}, {.9, 8}, {.95, 10}, {.98, 12}, {.99, 14}, {.999, 26}, {1, 62}}
)

// lengthAt returns the length that part of all lists have at most.
func lengthAt(shares []share, part float64) int {
	below := share{}
	for _, s := range shares {
		if part <= s.part {
			return below.length + int(math.Round(float64(s.length-below.length)*(part-below.part)/(s.part-below.part)))
		}
		below = s
	}
	return below.length
}

// distinct returns so many different ids of next, or fewer where next repeats itself.
func distinct(count int, next func() string) []string {
	ids := make([]string, 0, count)
	for tries := 4 * count; len(ids) < count && tries > 0; tries-- {
		if id := next(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// others returns ids of other books that book i refers to. Lengths of such lists are as shares say, and ranks of ids as flat says.
func (n richCounts) others(r *rand.Rand, i int, shares []share, flat float64) []string {
	return distinct(lengthAt(shares, r.Float64()), func() string {
		var to int
		if r.IntN(richNear) == 0 {
			to = i + (1+rank(r, richGap, 1))*(1-2*r.IntN(2))
		} else if at := rank(r, n.books, flat); at%richPresent == 0 {
			to = n.books/2 + at*7919
		} else {
			return fmt.Sprintf("%s-absent-%d", richWords[at%len(richWords)], at)
		}
		if to = (to%n.books + n.books) % n.books; to == i {
			to = (to + 1) % n.books
		}
		return n.bookID(to)
	})
}

// topicsOf returns the topics of book i. Each edition has topic 0, or none has.
func (n richCounts) topicsOf(r *rand.Rand, i int) []string {
	if i%richMain != 0 {
		return distinct(lengthAt(topicsLength, .82*r.Float64()), func() string { return topicID(1 + rank(r, n.topics-1, 2)) })
	}
	more := distinct(lengthAt(topicsLength, .6+.4*r.Float64())-1, func() string { return topicID(1 + rank(r, n.topics-1, 2)) })
	return append([]string{topicID(0)}, more...)
}

type (
	// richBook is a book. Its topic 0 comes first, if it has it.
	richBook struct {
		ID       string    `json:"id"`
		Edition  string    `json:"edition"`
		Pages    int       `json:"pages"`
		Editor   string    `json:"editor"`
		Format   string    `json:"format"`
		Language string    `json:"language"`
		Work     string    `json:"work"`
		Section  string    `json:"section"`
		Status   string    `json:"status"`
		Requires []richRef `json:"requires"`
		Advises  []string  `json:"advises"`
		Mentions []string  `json:"mentions"`
		Summary  string    `json:"summary"`
		Homepage string    `json:"homepage"`
		Topics   []string  `json:"topics"`
		File     string    `json:"file"`
		Size     int       `json:"size"`
		Code     string    `json:"code"`
		Checksum string    `json:"checksum"`
	}
	richRef struct {
		ID string `json:"id"`
	}
	richWork struct {
		ID       string `json:"id"`
		Homepage string `json:"homepage"`
		Editor   string `json:"editor"`
		Section  string `json:"section"`
	}
)

// workOf returns a work. Its books have its editor and section.
func (n richCounts) workOf(i int) richWork {
	r, id := richRand(i, 1), workID(i, n.works)
	return richWork{ID: id, Homepage: "https://" + id + ".example.org/", Editor: editorID(rank(r, n.editors, 4)), Section: sectionID(rank(r, n.sections, 4))}
}

// book returns an edition of book i. Each has lists of its own.
func (n richCounts) book(i, edition int) richBook {
	at, _ := n.work(i)
	work, id, r, lists := n.workOf(at), n.bookID(i), richRand(i, 2), richRand(i, 10+edition)
	words := make([]string, 6)
	for j := range words {
		words[j] = richWords[r.IntN(len(richWords))]
	}
	if i%100 == 0 {
		words[1] = richForeign[i/100%len(richForeign)]
	}
	b := richBook{ID: id, Edition: fmt.Sprintf("1:%d.%d.%d-%d", r.IntN(9), r.IntN(30), r.IntN(20), edition), Pages: 10 + rank(r, 100_000, 50), Editor: work.Editor,
		Format: fmt.Sprintf("fmt-%d", r.IntN(richFormats)), Language: fmt.Sprintf("l%d", rank(r, n.languages, 1)), Work: work.ID, Section: work.Section, Status: "in print",
		Requires: []richRef{}, Advises: n.others(lists, i, advisesLength, 30), Mentions: n.others(lists, i, mentionsLength, 30), Topics: n.topicsOf(lists, i),
		Summary: strings.Join(words, " "), Homepage: work.Homepage, File: fmt.Sprintf("shelf/main/%s/%s/%s_%d_all.book", id[:1], work.ID, id, edition), Size: 1000 + rank(r, 1_000_000_000, 5000),
		Code: fmt.Sprintf("%032x", i), Checksum: fmt.Sprintf("%016x%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64())}
	for _, id := range n.others(lists, i, requiresLength, .3) {
		b.Requires = append(b.Requires, richRef{id})
	}
	return b
}

// write writes the documents as lines of an import, with an edition of each book. It returns how many bytes their texts have.
func (d richData) write(w io.Writer, edition int) (size int64, err error) {
	n := d.counts()
	return writeLines(w, func(line richLine) {
		for i := range richFormats {
			line("formats", map[string]any{"id": fmt.Sprintf("fmt-%d", i)})
		}
		for i := range n.languages {
			line("languages", map[string]any{"id": fmt.Sprintf("l%d", i)})
		}
		for i := range n.books {
			line("books", n.book(i, edition))
		}
		for i := range n.works {
			line("works", n.workOf(i))
		}
		for i := range n.topics {
			id := topicID(i)
			line("topics", map[string]any{"id": id, "facet": strings.Split(id, "::")[0], "title": strings.Replace(id, "::", " ", 1)})
		}
		for i := range n.sections {
			id := sectionID(i)
			line("sections", map[string]any{"id": id, "title": strings.ToUpper(id[:1]) + id[1:], "area": "main"})
		}
		for i := range n.editors {
			line("editors", map[string]any{"id": editorID(i), "name": richNames[i%len(richNames)] + " " + strconv.Itoa(i), "team": i%3 == 0})
		}
	})
}

// writeUpdates writes other editions of some books, with other lists, as write does.
func (d richData) writeUpdates(w io.Writer) (size int64, err error) {
	n, updates := d.counts(), d.updates()
	return writeLines(w, func(line richLine) {
		for u := range updates {
			line("books", n.book(u*n.books/updates, 2))
		}
	})
}

// richLine writes a document.
type richLine func(collection string, doc any)

// writeLines calls write with a function that writes lines of an import. It returns how many bytes the documents' texts have, spaces left out.
func writeLines(w io.Writer, write func(line richLine)) (size int64, err error) {
	out := bufio.NewWriterSize(w, 1<<16)
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	write(func(collection string, doc any) {
		text.Reset()
		err = cmp.Or(err, enc.Encode(doc))
		body := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
		size += int64(len(body))
		fmt.Fprintf(out, "{\"collection\":%q,\"doc\":%s}\n", collection, spaced(body))
	})
	return size, cmp.Or(err, out.Flush())
}

// spaced returns a text of JSON with a space after each colon and comma, as many programs export it.
func spaced(text []byte) (wide []byte) {
	inString := false
	for i, c := range text {
		if c == '"' && (i == 0 || text[i-1] != '\\') { // no string of the rich data ends with a backslash
			inString = !inString
		}
		if wide = append(wide, c); !inString && (c == ':' || c == ',') {
			wide = append(wide, ' ')
		}
	}
	return wide
}
