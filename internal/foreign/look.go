package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// treeMember has the collections in what some of Firestore's tools print.
const treeMember = "__collections__"

// sight says what a stream was taken for.
type sight struct {
	format string
	layout layout
	member string // of a wrapped list
}

// headOf reads the beginning of a stream, as far as it takes to see its first value and whether another one follows, or maxHead bytes. It
// does not wait for more, for a stream may be slow. whole says that this is all of it.
func headOf(in io.Reader) (head []byte, whole bool, err error) {
	const spaces = " \t\r\n"
	var first extent
	at, begun := 0, false
	for head = make([]byte, 0, 8<<10); len(head) < maxHead; {
		head = slices.Grow(head, max(1, min(len(head), maxHead-len(head))))
		n, err := in.Read(head[len(head):min(cap(head), maxHead)])
		head = head[:len(head)+n]
		if errors.Is(err, io.EOF) {
			return head, true, nil
		} else if err != nil {
			return head, false, err
		}
		for ; !begun && at < len(head); at++ {
			if begun = head[at] < 0x80 && strings.IndexByte("[,"+spaces, head[at]) < 0; begun { // no byte order mark
				break
			}
		}
		if begun && !first.ended {
			at += first.scan(head[at:])
		}
		if first.ended && len(bytes.TrimLeft(head[at:], spaces)) > 0 {
			break
		}
	}
	return head, false, nil
}

// lookAt tells what a stream is by its beginning; whole says that this is all of it. Errors are Invalid.
func lookAt(head []byte, whole bool, name string, opt Options) (s sight, err error) {
	if err := refuseBinary(head, name); err != nil {
		return s, err
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	sc := &scanner{in: bufio.NewReader(bytes.NewReader(text)), line: 1, most: len(text)}
	if len(text) > 0 && text[0] == '[' {
		s.layout = array
		_ = sc.take('[') // which is there
	}
	first := outlineOf(sc)
	if s.layout != array {
		rest := bytes.TrimSpace(text[min(first.size, len(text)):])
		alone := !first.ended || whole && len(rest) == 0
		if bytes.IndexByte(text[:min(first.size, len(text))], '\n') >= 0 && first.object {
			s.layout = values
		}
		if s, err = first.around(s, alone, name, opt); err != nil {
			return s, err
		}
	}
	if s.format == "" {
		s.format = first.format()
	}
	if opt.From != "" && opt.From != Auto {
		s.format = opt.From
	} else if s.format == Own && opt.Collection != "" {
		s.format = Plain
	}
	if s.format == Firestore && first.has(treeMember) {
		s.layout = tree
	}
	return s, nil
}

// outline is what is seen of an object.
type outline struct {
	members []seenMember
	object  bool
	ended   bool // its end was seen
	size    int  // bytes that were looked at
}

// seenMember is a member of an object, as far as it was seen.
type seenMember struct {
	name string
	text []byte
}

// maxSeen bounds how many members are looked at.
const maxSeen = 1000

// outlineOf returns what a scanner sees of the next value.
func outlineOf(sc *scanner) (o outline) {
	if c, err := sc.peek(); err != nil || c != '{' {
		return o
	}
	text, err := sc.value()
	if o.ended = err == nil; err != nil {
		text = sc.text
	}
	o.object, o.size = true, len(text)
	in := &scanner{in: bufio.NewReader(bytes.NewReader(text[1:])), line: 1, most: len(text)}
	w := &walker{sc: in}
	for len(o.members) < maxSeen {
		c, err := in.peek()
		if err != nil || c == '}' {
			return o
		}
		if c == ',' && in.take(',') != nil {
			return o
		}
		name, err := w.name()
		if err != nil {
			return o
		}
		_, err = in.value()
		o.members = append(o.members, seenMember{name, bytes.Clone(in.text)})
		if err != nil {
			return o
		}
	}
	return o
}

// text returns what was seen of a member; nil where there is none.
func (o outline) text(name string) []byte {
	for _, m := range o.members {
		if m.name == name {
			return m.text
		}
	}
	return nil
}

// has tells whether there are all of some members.
func (o outline) has(names ...string) bool {
	for _, name := range names {
		if o.text(name) == nil {
			return false
		}
	}
	return true
}

// only tells whether there are no other members than these.
func (o outline) only(names ...string) bool {
	return !slices.ContainsFunc(o.members, func(m seenMember) bool { return !slices.Contains(names, m.name) })
}

// elementOf returns what is seen of the first element of a list that a member has; nothing where it has none.
func (o outline) elementOf(name string) (first outline) {
	text := o.text(name)
	if len(text) == 0 || text[0] != '[' {
		return first
	}
	return outlineOf(&scanner{in: bufio.NewReader(bytes.NewReader(text[1:])), line: 1, most: len(text)})
}

// format returns whose document it is.
func (o outline) format() string {
	switch {
	case o.has("collection") && (o.has("doc") || o.has("text") || o.has("path")) || bytes.Contains(o.text("model"), []byte(`"collections"`)):
		return Own
	case o.has(treeMember), o.isFirestore():
		return Firestore
	case o.has("_rid") && (o.has("_self") || o.has("_etag") || o.has("_ts")):
		return Cosmos
	case o.has("_id", "_rev"), o.has("key", "value", "doc") && o.only("id", "key", "value", "doc"):
		return Couch
	case o.has("_id"):
		return Mongo
	}
	return Plain
}

// isFirestore tells whether it is a document of Firestore's API, or one in the answer to a query.
func (o outline) isFirestore() bool {
	if o.has("document") && o.only("document", "readTime", "transaction", "skippedResults", "done") {
		o = outlineOf(&scanner{in: bufio.NewReader(bytes.NewReader(o.text("document"))), line: 1, most: maxHead})
	}
	return bytes.Contains(o.text("name"), []byte("/documents/")) && o.only("name", "fields", "createTime", "updateTime")
}

// around returns the sight with the list that the object is around, where it is around one. The error is Invalid where that is not sure: the
// object is alone in its file, has no id, and one of its members has a list of objects.
func (o outline) around(s sight, alone bool, name string, opt Options) (sight, error) {
	wraps := func(member, format string) (sight, error) {
		return sight{format: format, layout: wrapped, member: member}, nil
	}
	switch {
	case opt.List == ".":
		return s, nil
	case opt.List != "":
		return wraps(opt.List, o.elementOf(opt.List).format())
	case o.has("docs") && o.only("docs", "new_edits") && o.elementOf("docs").object:
		return wraps("docs", Couch)
	case o.has("rows") && o.only("rows", "total_rows", "offset", "update_seq") && o.elementOf("rows").has("key", "value"):
		return wraps("rows", Couch)
	case o.has("Documents") && o.only("Documents", "_rid", "_count"):
		return wraps("Documents", Cosmos)
	case o.has("documents") && o.only("documents", "nextPageToken") && o.elementOf("documents").isFirestore():
		return wraps("documents", Firestore)
	case !alone || o.has("id") || o.has("_id") || o.format() == Own || o.format() == Firestore:
		return s, nil
	}
	for _, m := range o.members {
		if first := o.elementOf(m.name); first.object {
			return s, fanfold.Errorf(fanfold.Invalid, "%s is one object, and its member %.80q has a list of objects: to load these, give --list %s; to load the object itself as one document, --list .",
				name, m.name, fanfold.Clip(m.name))
		}
	}
	return s, nil
}

// refuseBinary returns an Invalid for text that is none, which says what it is where that can be told.
func refuseBinary(head []byte, name string) error {
	for _, is := range []struct{ magic, what, do string }{
		{"PK\x03\x04", "a zip archive", "unpack it, and import what is in it"},
		{"BZh", "compressed by bzip2", "give bunzip2 -c FILE | fanfold import -"},
		{"\xfd7zXZ", "compressed by xz", "give xz -dc FILE | fanfold import -"},
		{"SQLite format 3", "a SQLite file", "export its tables as JSON: sqlite3 -json FILE 'select * from t'"},
		{"PAR1", "a Parquet file", "export JSON instead"},
		{"PGDMP", "a dump of PostgreSQL", "export JSON instead: COPY (SELECT row_to_json(t) FROM t) TO STDOUT"},
	} {
		if bytes.HasPrefix(head, []byte(is.magic)) {
			return fanfold.Errorf(fanfold.Invalid, "%s is %s: %s", name, is.what, is.do)
		}
	}
	if strings.HasSuffix(name, ".bson") {
		return fanfold.Errorf(fanfold.Invalid, "%s is BSON, as mongodump writes it: give bsondump FILE | fanfold import -, or export with mongoexport", name)
	}
	if strings.HasSuffix(name, "export_metadata") || strings.HasPrefix(name, "output-") {
		return fanfold.Errorf(fanfold.Invalid, "%s is Firestore's own export, which is no text: print the documents by its REST API, or by a tool such as node-firestore-import-export", name)
	}
	if n := bytes.IndexByte(head[:min(len(head), 4096)], 0); n >= 0 {
		return fanfold.Errorf(fanfold.Invalid, "%s is no text: byte %d of it is 0; JSON in UTF-8 is taken, as it is or compressed by gzip or zstd", name, n)
	}
	return nil
}

// stringOf returns what a JSON string means; ok is false for what is none.
func stringOf(text []byte) (s string, ok bool) {
	if len(text) == 0 || text[0] != '"' || jsondoc.Check(text, 1) != nil {
		return "", false
	}
	return jsondoc.MustParse(text).Text(jsondoc.Root), true
}
