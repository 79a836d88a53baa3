// Package foreign reads what other stores export, as the documents that it means: a stream, a file, or a directory
// with a file a collection. It holds one document at a time, and sends nothing anywhere. DESIGN.md says why it is as it is.
package foreign

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Formats that From takes, besides Auto.
const (
	Auto      = "auto"
	Plain     = "json"      // documents as they are
	Own       = "fanfold"   // lines of an export of this store
	Cosmos    = "cosmos"    // of Azure Cosmos DB
	Mongo     = "mongo"     // extended JSON, canonical or relaxed
	Couch     = "couch"     // of CouchDB
	Firestore = "firestore" // of its REST API and of tools that print it
)

// Formats returns the names of all formats, for people.
func Formats() []string { return []string{Auto, Plain, Own, Cosmos, Mongo, Couch, Firestore} }

// Options say how an export is read. The zero value works.
type Options struct {
	From string // a format; default Auto
	// Collection has all documents. Without it an export says so itself, or the name of the file in a directory does.
	Collection string
	List       string            // the member of the object in the file that has the documents; "." for the object itself
	Rename     map[string]string // members at the top level, by what they are called in the export
	Drop       []string          // members at the top level to leave out, besides what the format says
	// KeepExtended lets values without a JSON form, such as binary ones, stay the objects that the export has.
	KeepExtended bool

	// Most bounds one document of the export, in bytes: whole MiB; 0 stands for 16 MiB.
	Most int
	// Parsing is called before a document is parsed, and done once it is converted; nil for nobody.
	Parsing func(text []byte) (done func())
}

// Validate returns an Invalid for options that mean nothing.
func (o Options) Validate() error {
	known := o.From == ""
	for _, name := range Formats() {
		known = known || name == o.From
	}
	if !known {
		return fanfold.Errorf(fanfold.Invalid, "--from %.40q is no store that is known: there are %v", o.From, Formats())
	}
	seen := map[string]bool{}
	for from, to := range o.Rename {
		if seen[to] {
			return fanfold.Errorf(fanfold.Invalid, "--rename gives two members the name %.80q", to)
		}
		if seen[to] = true; from == "" || to == "" || to[0] == '_' {
			return fanfold.Errorf(fanfold.Invalid, "--rename %.40s=%.40s renames nothing: give --rename OLD=NEW, and a new name that does not begin with _", from, to)
		}
	}
	return nil
}

// Bounds of what is read, in bytes and in levels.
const (
	maxDocument = 16 << 20 // one document; others are refused, and reading goes on
	maxDepth    = 256      // of a document as the export has it: some formats have three levels for one
	maxHead     = 4 << 20  // what is looked at to tell what an export is
	maxCounted  = 1000     // names that are counted by themselves
	maxName     = 200      // of a name that is counted by itself
	maxTree     = 1 << 20  // of a document whose tree is used for the next one
)

// Place says where in an export something is.
type Place struct {
	File string // of a directory; "" of a stream
	Line int    // from 1
}

// Document is one document of an export.
type Document struct {
	Collection string // "" where the export does not say
	Body       []byte // one line of JSON; nil for a line of an export of this store that has none
	Line       []byte // of an export of this store, as it is; nil for others
	Place      Place

	refused *Refusal // why it cannot be had, in place of all others
}

// Refusal says why one document cannot be had. Reading goes on after it.
type Refusal struct {
	Place  Place
	Reason string
}

// Error returns the reason and its place.
func (r *Refusal) Error() string { return fmt.Sprintf("line %d: %s", r.Place.Line, r.Reason) }

// Report counts what was read. All of it is the caller's.
type Report struct {
	From        []string       // what the export was taken for; of a directory one or more
	Documents   int            // that were given
	Collections map[string]int // documents
	Dropped     map[string]int // members that were left out, by their names
	Left        map[string]int // documents that were left out, such as deleted ones
	Files       []string       // of a directory, that were left out
}

// Reader gives the documents of an export. Next is for one goroutine.
type Reader struct {
	opt    Options
	format string // of the stream
	in     *walker
	plain  *bufio.Reader // the text, where each line goes as it is
	tree   jsondoc.Tree
	made   []byte
	more   []*Document // documents within the last one, which come next
	files  *directory  // nil for a stream

	mu     sync.Mutex
	report Report
}

// Open looks at the beginning of a stream of text, and says what it is. name is what the stream is called. Errors are Invalid: what it
// cannot be, and what to say where it may be one thing or another.
func Open(text io.Reader, name string, opt Options) (*Reader, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	r := &Reader{opt: opt, report: newReport()}
	return r, r.begin(text, name)
}

// newReport returns a report of nothing.
func newReport() Report {
	return Report{Collections: map[string]int{}, Dropped: map[string]int{}, Left: map[string]int{}}
}

// begin looks at the beginning of a stream. It sets what it was taken for. The error is Invalid.
func (r *Reader) begin(text io.Reader, name string) error {
	head, whole, err := headOf(text)
	if err != nil {
		return unreadable(err)
	}
	head = jsondoc.WithoutMark(head)
	seen, err := lookAt(head, whole, name, r.opt)
	if err != nil {
		return err
	}
	if seen.format == Own && len(r.opt.Rename)+len(r.opt.Drop) > 0 {
		return fanfold.Errorf(fanfold.Invalid, "%s is an export of Fanfold, whose documents go as they are: leave --rename and --drop out", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.format = seen.format; !slices.Contains(r.report.From, r.format) {
		r.report.From = append(slices.Clone(r.report.From), r.format)
	}
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), text), 64<<10)
	r.in = &walker{sc: &scanner{in: in, line: 1, most: cmp.Or(r.opt.Most, maxDocument)}, layout: seen.layout, member: seen.member}
	if seen.layout == lines && (seen.format == Plain || seen.format == Own) && len(r.opt.Rename) == 0 && len(r.opt.Drop) == 0 {
		r.plain = in
	}
	return nil
}

// unreadable returns an Invalid for a stream that cannot be read, and the error of one that says itself what is wrong.
func unreadable(err error) error {
	if known := (*fanfold.Error)(nil); errors.As(err, &known) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fanfold.Wrap(err, fanfold.Invalid, "the file ends within what is compressed: it was cut; export it again")
	}
	return fanfold.Wrap(err, fanfold.Invalid, "%v", err)
}

// Plain returns the text of an export whose lines the server takes as they are; nil of another one. It lacks what Next
// has read.
func (r *Reader) Plain() *bufio.Reader { return r.plain }

// Next returns the next document, which is good until the next call. The error is io.EOF at the end, a *Refusal for a document that
// cannot be had, after which reading goes on, and Invalid where nothing more can be read.
func (r *Reader) Next() (doc *Document, err error) {
	for {
		if len(r.more) > 0 {
			doc, r.more = r.more[0], r.more[1:]
			if doc.refused != nil {
				doc.refused.Place.File = r.file()
				return nil, doc.refused
			}
			r.count(doc)
			return doc, nil
		}
		if r.in == nil {
			if err := r.nextFile(); err != nil {
				return nil, err
			}
		}
		text, line, err := r.in.next()
		if errors.Is(err, io.EOF) && r.files != nil {
			r.in = nil
			if err := r.files.close(); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil && len(text) > 0 {
			doc, err = r.convert(text, line)
		}
		if refused := (*Refusal)(nil); errors.As(err, &refused) {
			refused.Place.File = r.file()
			return nil, refused
		}
		if err != nil {
			return nil, err
		}
		if len(text) == 0 || doc == nil && len(r.more) == 0 { // an empty line, or one that was left out
			continue
		}
		if doc != nil {
			doc.Place = Place{File: r.file(), Line: line}
			r.count(doc)
			return doc, nil
		}
	}
}

// file returns the name of the file of a directory that is being read.
func (r *Reader) file() string {
	if r.files == nil {
		return ""
	}
	return r.files.name
}

// Report returns what was read so far. It may be called while Next is.
func (r *Reader) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.report
	out.Collections, out.Dropped, out.Left = maps.Clone(out.Collections), maps.Clone(out.Dropped), maps.Clone(out.Left)
	return out
}

// count counts a document that is given.
func (r *Reader) count(doc *Document) {
	switch {
	case r.opt.Collection != "":
		doc.Collection = r.opt.Collection
	case r.files != nil && doc.Collection == "":
		doc.Collection = r.files.collection
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if doc.Body != nil {
		r.report.Documents++
		more(r.report.Collections, doc.Collection)
	}
}

// drop counts a member that is left out, and leave a document.
func (r *Reader) drop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	more(r.report.Dropped, name)
}

// leave counts a document that is left out.
func (r *Reader) leave(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	more(r.report.Left, why)
}

// more counts one more of a name.
func more(counts map[string]int, name string) {
	if _, known := counts[name]; !known && (len(counts) >= maxCounted || len(name) > maxName) {
		name = "others"
	}
	counts[name]++
}
