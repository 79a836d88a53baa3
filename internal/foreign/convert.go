package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// meta are the members with _ at the top level that a format adds to documents. They are left out, and counted.
var meta = map[string][]string{
	Plain:     {"_meta", "_expanded"},
	Cosmos:    {"_rid", "_self", "_etag", "_ts", "_attachments"},
	Mongo:     {"__v", "_class"},
	Couch:     {"_rev", "_attachments", "_revisions", "_revs_info", "_conflicts", "_deleted_conflicts", "_local_seq"},
	Firestore: nil,
}

// convert returns the document of a text; nil where it is left out, or where r.more has what it gives. The error is a *Refusal.
func (r *Reader) convert(text []byte, line int) (*Document, error) {
	if r.opt.Parsing != nil {
		defer r.opt.Parsing(text)()
	}
	if err := jsondoc.Check(text, maxDepth); err != nil {
		at, _ := jsondoc.PlaceOf(text, err)
		return nil, refuse(line+max(at, 1)-1, "%v", err)
	}
	t := &r.tree
	t.Reset(text)
	if len(text) > maxTree {
		defer func() { r.tree = jsondoc.Tree{} }()
	}
	root := jsondoc.Root
	if kind := t.Kind(root); kind != jsondoc.Object {
		return nil, refuse(line, "it is %s; a document is an object", kindText(kind))
	}
	r.made = r.made[:0]
	c := &converter{r: r, t: t, line: line, out: r.made}
	doc, err := c.document(root)
	r.made = c.out
	if err != nil {
		r.more = nil
		return nil, err
	}
	return doc, nil
}

// refuse returns a *Refusal.
func refuse(line int, format string, args ...any) error {
	return &Refusal{Place: Place{Line: line}, Reason: fmt.Sprintf(format, args...)}
}

// kindText names a kind for people.
func kindText(k jsondoc.Kind) string {
	return map[jsondoc.Kind]string{jsondoc.Null: "null", jsondoc.False: "false", jsondoc.True: "true", jsondoc.Number: "a number", jsondoc.String: "a string",
		jsondoc.Array: "a list", jsondoc.Object: "an object"}[k]
}

// converter makes one document.
type converter struct {
	r    *Reader
	t    *jsondoc.Tree
	line int
	out  []byte

	below int // bytes of the documents of a tree that are made
}

// refuse returns a *Refusal for the value at a node.
func (c *converter) refuse(n jsondoc.Node, format string, args ...any) error {
	start, _ := c.t.Span(n)
	lines := bytes.Count(c.t.Raw(jsondoc.Root)[:max(start-c.start(), 0)], []byte{'\n'})
	return refuse(c.line+lines, "member %.120s: %s", c.t.Pointer(n), fmt.Sprintf(format, args...))
}

// start returns where the root begins.
func (c *converter) start() int {
	start, _ := c.t.Span(jsondoc.Root)
	return start
}

// document makes the document of an object, by the format. The error is a *Refusal.
func (c *converter) document(n jsondoc.Node) (*Document, error) {
	switch c.r.format {
	case Own:
		return c.own(n)
	case Couch:
		if row := c.t.Member(n, "doc"); row != jsondoc.None && c.t.Member(n, "_id") == jsondoc.None {
			if n = row; c.t.Kind(n) != jsondoc.Object {
				c.r.leave("deleted")
				return nil, nil
			}
		} else if c.t.Member(n, "key") != jsondoc.None && c.t.Member(n, "value") != jsondoc.None && c.t.Member(n, "_id") == jsondoc.None {
			return nil, refuse(c.line, "the row has no doc: export with include_docs=true")
		}
		if c.t.Kind(c.t.Member(n, "_deleted")) == jsondoc.True {
			c.r.leave("deleted")
			return nil, nil
		}
		if strings.HasPrefix(c.t.Text(c.t.Member(n, "_id")), "_design/") {
			c.r.leave("design documents")
			return nil, nil
		}
	case Firestore:
		if c.r.in.layout == tree {
			return nil, c.branch(c.r.in.group, c.r.in.id, "", n)
		}
		return c.firestore(n)
	}
	err := c.members(n)
	return &Document{Body: c.out}, err
}

// own makes the document of a line of this store's export. The error is a *Refusal.
func (c *converter) own(n jsondoc.Node) (*Document, error) {
	doc := &Document{Collection: c.t.Text(c.t.Member(n, "collection"))}
	if body := c.t.Member(n, "doc"); body != jsondoc.None {
		doc.Body = c.oneLine(body)
	} else if text := c.t.Member(n, "text"); text != jsondoc.None {
		body := []byte(c.t.Text(text))
		if jsondoc.Check(body, maxDepth) != nil {
			return nil, c.refuse(text, "the text is no JSON")
		}
		inner := &converter{r: c.r, t: jsondoc.MustParse(body)}
		doc.Body = inner.oneLine(jsondoc.Root)
	}
	doc.Line = c.oneLine(n)
	return doc, nil
}

// oneLine returns a value as it is, on one line.
func (c *converter) oneLine(n jsondoc.Node) []byte {
	raw := c.t.Raw(n)
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	before := len(c.out)
	_ = c.plain(n) // which refuses nothing
	return c.out[before:]
}

// nameOf returns how the document has a member at the top level; "" for one that is left out. Members that a format adds are left out and
// counted. The error is a *Refusal for another one that begins with _.
func (c *converter) nameOf(n jsondoc.Node) (string, error) {
	name := c.t.Key(n)
	format := c.r.format
	if to, renamed := c.r.opt.Rename[name]; renamed {
		return to, nil
	}
	if slices.Contains(c.r.opt.Drop, name) || slices.Contains(meta[format], name) || slices.Contains(meta[Plain], name) {
		c.r.drop(name)
		return "", nil
	}
	if name == "_id" && (format == Mongo || format == Couch) {
		return "id", nil
	}
	if strings.HasPrefix(name, "_") {
		short := strings.TrimLeft(name, "_")
		return "", c.refuse(n, "names that begin with _ are the store's own: give --rename %.80s=%.80s, or --drop %.80s", name, short, name)
	}
	return name, nil
}

// members writes an object as a document. The error is a *Refusal.
func (c *converter) members(object jsondoc.Node) error {
	c.out = append(c.out, '{')
	some := false
	for n := c.t.First(object); n != jsondoc.None; n = c.t.Next(n) {
		name, err := c.nameOf(n)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := c.onlyOne(object, n, name); err != nil {
			return err
		}
		if some {
			c.out = append(c.out, ',')
		}
		some = true
		if name == c.t.Key(n) {
			c.out = append(c.out, c.t.RawKey(n)...)
		} else {
			c.out = jsondoc.AppendQuote(c.out, name)
		}
		c.out = append(c.out, ':')
		before := len(c.out)
		if err := c.value(n); err != nil {
			return err
		}
		if name == "id" && name != c.t.Key(n) && c.out[before] != '"' && !isNumber(c.out[before]) {
			return c.refuse(n, "it is no text and no number, as an id has to be: with --rename %.80s=key the document gets a new id", c.t.Key(n))
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// onlyOne refuses a member that would have the name of another one.
func (c *converter) onlyOne(object, n jsondoc.Node, name string) error {
	if name == c.t.Key(n) {
		return nil
	}
	other := c.t.Member(object, name)
	if _, renamed := c.r.opt.Rename[name]; renamed || slices.Contains(c.r.opt.Drop, name) {
		other = jsondoc.None
	}
	for from, to := range c.r.opt.Rename {
		if to == name && from != c.t.Key(n) && other == jsondoc.None {
			other = c.t.Member(object, from)
		}
	}
	if other == jsondoc.None {
		return nil
	}
	return c.refuse(n, "it would be called %.80q, and so is the member %.80q: give --rename or --drop for one of them", name, c.t.Key(other))
}

// isNumber tells whether a byte begins a number.
func isNumber(b byte) bool { return b == '-' || b >= '0' && b <= '9' }

// value writes a value, on one line, and every other byte as it is; extended JSON becomes what it means. The error is a *Refusal.
func (c *converter) value(n jsondoc.Node) error {
	extended := c.r.format == Mongo
	if raw := c.t.Raw(n); c.t.Kind(n) < jsondoc.Array || !bytes.ContainsAny(raw, "\r\n") && (!extended || !bytes.Contains(raw, []byte(`"$`))) {
		c.out = append(c.out, raw...)
		return nil
	}
	if c.t.Kind(n) == jsondoc.Object && extended {
		done, err := c.extended(n)
		if done || err != nil {
			return err
		}
	}
	return c.each(n, c.value)
}

// each writes a list or an object whose values are written by a function. The error is the function's.
func (c *converter) each(n jsondoc.Node, value func(jsondoc.Node) error) error {
	open, end := byte('['), byte(']')
	if c.t.Kind(n) == jsondoc.Object {
		open, end = '{', '}'
	}
	c.out = append(c.out, open)
	for e := c.t.First(n); e != jsondoc.None; e = c.t.Next(e) {
		if e != c.t.First(n) {
			c.out = append(c.out, ',')
		}
		if open == '{' {
			c.out = append(append(c.out, c.t.RawKey(e)...), ':')
		}
		if err := value(e); err != nil {
			return err
		}
	}
	c.out = append(c.out, end)
	return nil
}

// without refuses a value that JSON has no form for, or writes it as it is where that is asked for.
func (c *converter) without(n jsondoc.Node, what string) error {
	if !c.r.opt.KeepExtended {
		return c.refuse(n, "it is %s, for which JSON has no form: --keep-extended keeps it as the export has it", what)
	}
	return c.plain(n)
}

// plain writes a value as it is, on one line.
func (c *converter) plain(n jsondoc.Node) error {
	if c.t.Kind(n) < jsondoc.Array {
		c.out = append(c.out, c.t.Raw(n)...)
		return nil
	}
	return c.each(n, c.plain)
}

// errNoNumber says that a text is no number of JSON.
var errNoNumber = errors.New("no number")

// number writes a text as a number, digit for digit. The error is errNoNumber.
func (c *converter) number(text string) error {
	raw := []byte(text)
	if len(raw) == 0 || !isNumber(raw[0]) || bytes.ContainsAny(raw, " \t\r\n") || jsondoc.Check(raw, 1) != nil {
		return errNoNumber
	}
	c.out = append(c.out, raw...)
	return nil
}
