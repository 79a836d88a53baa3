package bench

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// richModel is a model as a publishing house might grow it: chains of counts and copies, the newest of many, pages, frozen
// values, strict relations, unique members, and a fan-out limit that one publisher and its sections are far beyond.
const richModel = `
fanout: {limit: 5000}
collections:
  publishers:
    derive:
      books:    {count: books.publisher}
      latest:   {recent: books.publisher, max: 3, fields: [id, title]}
      sections: {ids: sections.publisher, limit: 50}
  sections:
    relations: {publisher: {path: publisher, to: publishers}}
    derive:
      publisherName: {copy: publisher, value: doc.name}
      n:             {count: sources.section}
      latest:        {recent: sources.section, max: 3, fields: [id, active]}
  authors:
    unique: [email]
    derive:
      books:     {count: books.authors}
      recent:    {recent: books.authors, max: 3, fields: [id, title, reviews]}
      firstYear: {min: books.authors, of: year}
      pages:     {sum: books.authors, of: pages}
  series:
    derive: {books: {count: books.series, where: doc.year > 1950}}
  readers:
    unique: [email]
    derive: {reviews: {count: reviews.reader}}
  books:
    relations:
      authors:   {path: "authors[].id", to: authors, strict: true}
      publisher: {path: publisher, to: publishers, strict: true}
      series:    {path: series, to: series}
    unique: [isbn]
    derive:
      "authors[].name": {copy: authors, value: 'doc.first + " " + doc.last'}
      publisherName:    {copy: publisher, value: doc.name}
      publisherCity:    {copy: publisher, value: doc.city}
      publisherActive:  {copy: publisher, value: string(doc.books > 0)}
      seriesTitle:      {copy: series, value: doc.title, frozen: true}
      reviews:          {count: reviews.book}
      stars:            {avg: reviews.book, of: stars}
      lastReviews:      {recent: reviews.book, max: 3, fields: [id, stars, readerName]}
  sources:
    relations: {section: {path: section, to: sections, strict: true}}
    unique: [code]
    pages: {by: section, size: 100}
    derive:
      active:        {copy: section, value: string(doc.n > 0)}
      publisherName: {copy: section, value: doc.publisherName}
      sectionTitle:  {copy: section, value: doc.title, frozen: true}
  reviews:
    relations: {book: {path: book, to: books, strict: true, onDelete: cascade}, reader: {path: reader, to: readers, strict: true}}
    pages: {by: book, size: 50}
    derive:
      bookTitle:     {copy: book, value: doc.title}
      publisherName: {copy: book, value: doc.publisherName}
      readerName:    {copy: reader, value: doc.name, frozen: true}
  editions:
    relations: {book: {path: book, to: books}}
    derive:
      title:    {copy: book, value: doc.title}
      reviewed: {copy: book, value: string(doc.reviews > 0)}
  shelves:
    relations: {books: {path: "books[]", to: books}, reader: {path: reader, to: readers}}
    derive:
      titles:   {copy: books, value: doc.title}
      reviewed: {copy: books, value: string(doc.reviews > 0)}
`

// RichModel returns the model of the rich data, with or without its limit, strict relations and unique members.
func RichModel(guards bool) string {
	if guards {
		return richModel
	}
	var kept []string
	for line := range strings.Lines(strings.ReplaceAll(richModel, ", strict: true", "")) {
		if !strings.HasPrefix(line, "fanout:") && !strings.HasPrefix(line, "    unique:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// RichData makes so many documents of the rich model, always the same. Whatever one refers to comes before it. Document 0
// of the publishers has 22 of a hundred documents as its books, and 60 of a hundred are sources of its four sections.
type RichData struct{ Documents int }

const (
	richPublishers  = 100
	richSections    = 20
	ownSections     = 4   // of publisher 0
	dependentPeriod = 100 // documents, in which the kinds come again
	periodBooks     = 27
	periodSources   = 62
	periodReviews   = 8
	periodEditions  = 2
	ownBooks        = 23 // of periodBooks, that publisher 0 has
)

// targets returns how many authors, series and readers there are.
func (d RichData) targets() (authors, series, readers int) {
	return max(10, d.Documents/100), max(1, d.Documents/1000), max(10, d.Documents*3/100)
}

// dependents returns how many documents are left for books and what refers to them.
func (d RichData) dependents() int {
	authors, series, readers := d.targets()
	return max(0, d.Documents-richPublishers-richSections-authors-series-readers)
}

// Reached returns how many books publisher 0 has.
func (d RichData) Reached() int {
	n := 0
	for i := range d.dependents() {
		if i%dependentPeriod < ownBooks {
			n++
		}
	}
	return n
}

// WriteTo writes the documents as lines of an import, and returns how many bytes their texts have.
func (d RichData) WriteTo(w io.Writer) (size int64, err error) {
	out := bufio.NewWriterSize(w, 1<<16)
	line := func(collection, format string, args ...any) {
		doc := fmt.Sprintf(format, args...)
		size += int64(len(doc))
		fmt.Fprintf(out, "{\"collection\":%q,\"doc\":%s}\n", collection, doc)
	}
	d.writeTargets(line)
	for i := range d.dependents() {
		d.writeDependent(line, i)
	}
	return size, out.Flush()
}

// writeTargets writes what others refer to.
func (d RichData) writeTargets(line func(collection, format string, args ...any)) {
	for i := range richPublishers {
		line("publishers", `{"id":"%d","name":"Press %d","city":"City %d","founded":%d}`, i, i, i%7, 1800+i)
	}
	for i := range richSections {
		line("sections", `{"id":"%d","title":"Section %d","publisher":"%d"}`, i, i, i/ownSections)
	}
	authors, series, readers := d.targets()
	for i := range authors {
		line("authors", `{"id":"%d","first":"Ann%d","last":"Author","email":"a%d@example.org","bio":"%0200d"}`, i, i, i, i)
	}
	for i := range series {
		line("series", `{"id":"%d","title":"Series %d"}`, i, i)
	}
	for i := range readers {
		line("readers", `{"id":"%d","name":"Reader %d","email":"r%d@example.org"}`, i, i, i)
	}
}

// writeDependent writes document i of those that refer to others.
func (d RichData) writeDependent(line func(collection, format string, args ...any), i int) {
	authors, series, readers := d.targets()
	round, at := i/dependentPeriod, i%dependentPeriod
	book := func(n int) int { return (n * 7919) % max(1, round*periodBooks+min(at, periodBooks)) }
	switch n := at; {
	case n < periodBooks:
		publisher := 0
		if n >= ownBooks {
			publisher = 1 + i%(richPublishers-1)
		}
		id := round*periodBooks + n
		line("books", `{"id":"%d","isbn":"isbn-%d","title":"The book that has the number %d","year":%d,"pages":%d,"publisher":"%d","series":"%d",`+
			`"authors":[{"id":"%d"},{"id":"%d"}],"summary":"%0200d"}`, id, id, id, 1900+id%120, 100+id%400, publisher, id%series, id%authors, (id*31+7)%authors, id)
	case n < periodBooks+periodSources:
		id := round*periodSources + n - periodBooks
		line("sources", `{"id":"%d","code":"code-%d","section":"%d","url":"https://example.org/%d","text":"%0150d"}`, id, id, id%ownSections, id, id)
	case n < periodBooks+periodSources+periodReviews:
		id := round*periodReviews + n - periodBooks - periodSources
		line("reviews", `{"id":"%d","book":"%d","reader":"%d","stars":%d.5,"text":"%0150d"}`, id, book(id), (id*17)%readers, id%5, id)
	case n < periodBooks+periodSources+periodReviews+periodEditions:
		id := round*periodEditions + n - periodBooks - periodSources - periodReviews
		line("editions", `{"id":"%d","book":"%d","format":"paperback","price":%d.90}`, id, book(id), id%50)
	default:
		line("shelves", `{"id":"%d","reader":"%d","books":["%d","%d","%d"]}`, round, (round*13)%readers, book(round), book(round+1), book(round+2))
	}
}
