package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// richText is a model as a publishing house might grow it. It has chains of counts, copies and lists of the newest, ids of many, pages,
// frozen values, strict relations and unique members. One publisher and its sections are far beyond its fan-out limit.
const richText = `
fanout: {limit: 5000}
collections:
  publishers:
    derive:
      books:    {count: books.publisher}
      bookIds:  {ids: books.publisher}
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
  topics:
    derive:
      bookIds: {ids: books.topics, limit: 100}
      newest:  {recent: books.topics, max: 5, fields: [id, title, year], orderBy: year}
  readers:
    unique: [email]
    derive: {reviews: {count: reviews.reader}}
  catalogs:
    derive:
      editions: {recent: editions.catalog, max: 20, fields: [id, title, reviews]}
  books:
    relations:
      authors:   {path: "authors[].id", to: authors, strict: true}
      publisher: {path: publisher, to: publishers, strict: true}
      series:    {path: series, to: series}
      topics:    {path: "topics[].id", to: topics}
    unique: [isbn]
    derive:
      "authors[].name": {copy: authors, value: 'doc.first + " " + doc.last'}
      publisherName:    {copy: publisher, value: doc.name}
      publisherCity:    {copy: publisher, value: doc.city}
      publisherActive:  {copy: publisher, value: string(doc.books > 0)}
      seriesTitle:      {copy: series, value: doc.title, frozen: true}
      "topics[].name":  {copy: topics, value: doc.name}
      "topics[].group": {copy: topics, value: doc.group}
      topicNames:       {copy: topics, value: doc.name}
      reviews:          {count: reviews.book}
      stars:            {avg: reviews.book, of: stars}
      lastReviews:      {recent: reviews.book, max: 3, fields: [id, stars, readerName]}
  sources:
    relations:
      section: {path: section, to: sections, strict: true}
      uses:    {path: "uses[]", to: sources}
    unique: [code]
    pages: {by: section, size: 100}
    derive:
      active:        {copy: section, value: string(doc.n > 0)}
      publisherName: {copy: section, value: doc.publisherName}
      sectionTitle:  {copy: section, value: doc.title, frozen: true}
      urls:          {copy: uses, value: doc.url}
      users:         {count: sources.uses}
      userIds:       {ids: sources.uses, limit: 50}
  reviews:
    relations: {book: {path: book, to: books, strict: true, onDelete: cascade}, reader: {path: reader, to: readers, strict: true}}
    unique: [code]
    pages: {by: book, size: 50}
    derive:
      bookTitle:     {copy: book, value: doc.title}
      publisherName: {copy: book, value: doc.publisherName}
      readerName:    {copy: reader, value: doc.name, frozen: true}
  editions:
    relations: {book: {path: book, to: books}, catalog: {path: catalog, to: catalogs, strict: true}}
    unique: [ean]
    derive:
      title:   {copy: book, value: doc.title}
      reviews: {copy: book, value: doc.reviews}
  shelves:
    relations: {books: {path: "books[]", to: books}, reader: {path: reader, to: readers, strict: true}}
    unique: [label]
    derive:
      titles:   {copy: books, value: doc.title}
      reviewed: {copy: books, value: string(doc.reviews > 0)}
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

// richData makes so many documents of the rich model, always the same. The target of a strict reference comes first. Of the other targets half
// come later than a document that refers to them, and some never. Document 0 of the publishers has 22 of a hundred documents as its books, and 52 of a hundred are
// sources of its four sections.
type richData struct{ documents int }

const (
	richPublishers  = 100
	richSections    = 20
	richCatalogs    = 20
	ownSections     = 4   // of publisher 0
	dependentPeriod = 100 // documents, in which the kinds come again
	periodBooks     = 27
	periodSources   = 54
	periodReviews   = 8
	periodEditions  = 10
	ownBooks        = 23 // of periodBooks, that publisher 0 has
	hubSources      = 4  // to which a quarter of the sources refer
	updateEvery     = 20 // documents; one is written again
)

// early returns how many authors and readers there are, which come first.
func (d richData) early() (authors, readers int) {
	return max(10, d.documents/100), max(10, d.documents*3/100)
}

// late returns how many series and topics there are. They come among the books that refer to them.
func (d richData) late() (series, topics int) {
	return max(1, d.documents/1000), max(10, d.documents/500)
}

// dependents returns how many documents are left for books and what refers to them.
func (d richData) dependents() int {
	authors, readers := d.early()
	series, topics := d.late()
	return max(0, d.documents-richPublishers-richSections-richCatalogs-authors-readers-series-topics)
}

// before returns how many of the dependents have places in their period before limit.
func (d richData) before(limit int) int {
	n := d.dependents()
	return n/dependentPeriod*limit + min(n%dependentPeriod, limit)
}

// reached returns how many books publisher 0 has.
func (d richData) reached() int { return d.before(ownBooks) }

// updates returns how many documents writeUpdates writes.
func (d richData) updates() int { return d.dependents() / updateEvery }

// write writes the documents as lines of an import, and returns how many bytes their texts have.
func (d richData) write(w io.Writer) (size int64, err error) {
	return writeLines(w, func(line richLine) {
		d.writeEarly(line)
		series, topics := d.late()
		dependents := d.dependents()
		for i, nextSeries, nextTopic := 0, 0, 0; i < dependents; i++ {
			for ; nextSeries*dependents <= i*series && nextSeries < series; nextSeries++ {
				line("series", `{"id":"%d","title":"Series %d"}`, nextSeries, nextSeries)
			}
			for ; nextTopic*dependents <= i*topics && nextTopic < topics; nextTopic++ {
				line("topics", `{"id":"%d","name":"Topic %d","group":"Group %d"}`, nextTopic, nextTopic, nextTopic%9)
			}
			d.writeDependent(line, i, 1)
		}
	})
}

// writeUpdates writes one of updateEvery dependents again, with another text, as write does.
func (d richData) writeUpdates(w io.Writer) (size int64, err error) {
	return writeLines(w, func(line richLine) {
		for i := range d.updates() {
			d.writeDependent(line, i*updateEvery+i*7%updateEvery, 2)
		}
	})
}

// richLine writes a document, given as a format and its arguments.
type richLine func(collection, format string, args ...any)

// writeLines calls write with a function that writes lines of an import, and returns how many bytes the documents' texts have.
func writeLines(w io.Writer, write func(line richLine)) (size int64, err error) {
	out := bufio.NewWriterSize(w, 1<<16)
	write(func(collection, format string, args ...any) {
		doc := fmt.Sprintf(format, args...)
		size += int64(len(doc))
		fmt.Fprintf(out, "{\"collection\":%q,\"doc\":%s}\n", collection, doc)
	})
	return size, out.Flush()
}

// writeEarly writes what comes before all that refers to it, but for half of the publishers that sections refer to.
func (d richData) writeEarly(line richLine) {
	publish := func(from, to int) {
		for i := from; i < to; i++ {
			line("publishers", `{"id":"%d","name":"Press %d","city":"City %d","founded":%d}`, i, i, i%7, 1800+i)
		}
	}
	publish(0, richPublishers/2)
	for i := range richSections {
		publisher := i / ownSections
		if publisher%2 == 1 {
			publisher = richPublishers - publisher
		}
		line("sections", `{"id":"%d","title":"Section %d","publisher":"%d"}`, i, i, publisher)
	}
	publish(richPublishers/2, richPublishers)
	for i := range richCatalogs {
		line("catalogs", `{"id":"%d","title":"Catalog %d","preface":"%04000d"}`, i, i, i)
	}
	authors, readers := d.early()
	for i := range authors {
		line("authors", `{"id":"%d","first":"Ann%d","last":"Author","email":"a%d@example.org","bio":"%0200d"}`, i, i, i, i)
	}
	for i := range readers {
		line("readers", `{"id":"%d","name":"Reader %d","email":"r%d@example.org"}`, i, i, i)
	}
}

// writeDependent writes an edition of document i of those that refer to others.
func (d richData) writeDependent(line richLine, i, edition int) {
	authors, readers := d.early()
	series, topics := d.late()
	round, at := i/dependentPeriod, i%dependentPeriod
	anyBook := func(n int) string { return orAbsent(n, (n*7919+edition)%d.before(periodBooks)) }
	switch n := at; {
	case n < periodBooks:
		publisher := 0
		if n >= ownBooks {
			publisher = 1 + i%(richPublishers-1)
		}
		id := round*periodBooks + n
		line("books", `{"id":"%d","isbn":"isbn-%d","title":"The book that has the number %d, edition %d","year":%d,"pages":%d,"publisher":"%d","series":"%s",`+
			`"authors":[{"id":"%d"},{"id":"%d"}],"topics":[{"id":"%s"},{"id":"%d"}],"summary":"%0200d"}`, id, id, id, edition, 1900+id%120, 100+id%400, publisher, orAbsent(id, id%series),
			id%authors, (id*31+7)%authors, orAbsent(id, id*13%topics), (id*29+edition)%topics, id)
	case n < periodBooks+periodSources:
		id := round*periodSources + n - periodBooks
		sources := d.before(periodBooks+periodSources) - d.before(periodBooks)
		first := id * 7919 % sources
		if id%4 == 0 {
			first = id / 4 % hubSources
		}
		line("sources", `{"id":"%d","code":"code-%d","section":"%d","url":"https://example.org/%d/%d","uses":["%d","%s"],"text":"%0150d"}`,
			id, id, id%ownSections, id, edition, first, orAbsent(id, (id*104729+edition)%sources), id)
	case n < periodBooks+periodSources+periodReviews:
		id := round*periodReviews + n - periodBooks - periodSources
		book := (id * 7919) % (round*periodBooks + periodBooks)
		line("reviews", `{"id":"%d","code":"review-%d","book":"%d","reader":"%d","stars":%d.5,"text":"%0150d"}`, id, id, book, (id*17)%readers, (id+edition)%5, id)
	case n < periodBooks+periodSources+periodReviews+periodEditions:
		id := round*periodEditions + n - periodBooks - periodSources - periodReviews
		line("editions", `{"id":"%d","ean":"ean-%d","book":"%s","catalog":"%d","format":"paperback","price":%d.90}`, id, id, anyBook(id), id%richCatalogs, (id+edition)%50)
	default:
		line("shelves", `{"id":"%d","label":"shelf %d","reader":"%d","books":["%s","%s","%s"]}`, round, round, (round*13)%readers, anyBook(round), anyBook(round+1), anyBook(round+2))
	}
}

// orAbsent returns the id of a target for the nth document, and for one of eight documents the id of a target that never comes.
func orAbsent(n, target int) string {
	if n%8 == 7 {
		return fmt.Sprintf("absent-%d", n%800)
	}
	return strconv.Itoa(target)
}
