package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// parentMember names in a document of a subcollection the document that it stands below.
const parentMember = "parentId"

// firestore makes the document of one of Firestore's API. The error is a *Refusal.
func (c *converter) firestore(n jsondoc.Node) (*Document, error) {
	if inner := c.t.Member(n, "document"); inner != jsondoc.None {
		if n = inner; c.t.Kind(n) != jsondoc.Object {
			return nil, c.refuse(n, "it is %s; a document is an object", kindText(c.t.Kind(n)))
		}
	} else if c.t.Member(n, "name") == jsondoc.None && c.t.Member(n, "readTime") != jsondoc.None {
		c.r.leave("answers without a document")
		return nil, nil
	}
	_, path, ok := strings.Cut(c.t.Text(c.t.Member(n, "name")), "/documents/")
	parts := strings.Split(path, "/")
	if !ok || len(parts)%2 != 0 {
		return nil, refuse(c.line, "its name is not projects/.../documents/COLLECTION/ID, as a document of Firestore has it")
	}
	var ids []string
	for i := 1; i < len(parts); i += 2 {
		ids = append(ids, parts[i])
	}
	for e := c.t.First(n); e != jsondoc.None; e = c.t.Next(e) {
		if name := c.t.Key(e); name == "createTime" || name == "updateTime" {
			c.r.drop(name)
		}
	}
	err := c.fields(strings.Join(ids, "/"), strings.Join(ids[:len(ids)-1], "/"), c.t.Member(n, "fields"), c.typed)
	return &Document{Collection: parts[len(parts)-2], Body: c.out}, err
}

// fields writes a document with an id, and below another one where parent is not "". fields may be None. The error is a *Refusal.
func (c *converter) fields(id, parent string, fields jsondoc.Node, value func(jsondoc.Node) error) error {
	if err := c.want(fields, jsondoc.Object); err != nil {
		return err
	}
	c.out = jsondoc.AppendQuote(append(c.out, `{"id":`...), id)
	if parent != "" && c.t.Member(fields, parentMember) == jsondoc.None {
		c.out = jsondoc.AppendQuote(append(c.out, `,"`+parentMember+`":`...), parent)
	}
	for n := c.t.First(fields); n != jsondoc.None; n = c.t.Next(n) {
		if c.t.KeyIs(n, treeMember) {
			continue
		}
		name, err := c.nameOf(n)
		if err != nil {
			return err
		}
		if name == "id" {
			if same := c.t.Text(c.t.Member(n, "stringValue")) == id || c.t.Text(n) == id; same {
				continue
			}
			return c.refuse(n, "the document is called %.80q, and has an id of its own: give --rename id=NAME for that one", id)
		}
		if name == "" {
			continue
		}
		if err := c.onlyOne(fields, n, name); err != nil {
			return err
		}
		c.out = append(jsondoc.AppendQuote(append(c.out, ','), name), ':')
		if err := value(n); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// typed writes the value of an object that names its type, such as {"integerValue":"7"}. The error is a *Refusal.
func (c *converter) typed(n jsondoc.Node) error {
	v := c.t.First(n)
	if c.t.Kind(n) != jsondoc.Object || v == jsondoc.None || c.t.Next(v) != jsondoc.None {
		return c.refuse(n, "it is no value of Firestore, such as {\"stringValue\":\"a\"}")
	}
	kind, text := c.t.Kind(v), c.t.Text(v)
	switch name := c.t.Key(v); {
	case name == "nullValue", name == "booleanValue" && kind < jsondoc.Number, name == "stringValue" && kind == jsondoc.String:
		c.out = append(c.out, c.t.Raw(v)...)
	case name == "timestampValue":
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return c.refuse(v, "%.80q is no time of RFC 3339", text)
		}
		c.out = jsondoc.AppendQuote(c.out, at.Format(time.RFC3339Nano))
	case name == "integerValue", name == "doubleValue":
		if c.number(text) != nil {
			return c.without(n, strings.TrimSuffix(name, "Value")+" "+strconv.Quote(clip(text)))
		}
	case name == "referenceValue":
		c.out = jsondoc.AppendQuote(c.out, idOfPath(text))
	case name == "geoPointValue":
		return c.plain(v)
	case name == "arrayValue":
		list := c.t.Member(v, "values")
		if list == jsondoc.None {
			c.out = append(c.out, "[]"...)
			return nil
		}
		if err := c.want(list, jsondoc.Array); err != nil {
			return err
		}
		return c.each(list, c.typed)
	case name == "mapValue":
		fields := c.t.Member(v, "fields")
		if fields == jsondoc.None {
			c.out = append(c.out, "{}"...)
			return nil
		}
		if err := c.want(fields, jsondoc.Object); err != nil {
			return err
		}
		return c.each(fields, c.typed)
	case name == "bytesValue":
		return c.without(n, "binary")
	default:
		return c.refuse(v, "it is no type of Firestore's that is known")
	}
	return nil
}

// idOfPath returns the id of the document at a path, with the ids of those that it stands below.
func idOfPath(path string) string {
	if _, after, ok := strings.Cut(path, "/documents/"); ok {
		path = after
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var ids []string
	for i := 1; i < len(parts); i += 2 {
		ids = append(ids, parts[i])
	}
	if len(ids) == 0 {
		return path
	}
	return strings.Join(ids, "/")
}

// want refuses a value of another kind than the export has there. A value that is not there is none.
func (c *converter) want(n jsondoc.Node, kind jsondoc.Kind) error {
	if n == jsondoc.None || c.t.Kind(n) == kind {
		return nil
	}
	return c.refuse(n, "it is %s, and has to be %s", kindText(c.t.Kind(n)), kindText(kind))
}

// Bounds of the documents that stand below another one.
const (
	maxBelow   = 32  // subcollections that stand in one another
	timesBelow = 2   // times the longest document, in bytes, for all of them
	besideBody = 128 // bytes that one takes besides its text
)

// branch makes the documents of one in a tree of collections: it, and all below it. One that cannot be had is refused by itself. The error is
// a *Refusal of all.
func (c *converter) branch(collection, id, parent string, n jsondoc.Node) error {
	if strings.Count(parent, "/") > maxBelow {
		return c.refuse(n, "it stands below more than %d others", maxBelow)
	}
	made := &Document{Collection: collection, Place: Place{File: c.r.file(), Line: c.line}}
	before := len(c.out)
	if err := c.fields(id, parent, n, c.dated); !errors.As(err, &made.refused) {
		made.Body = bytes.Clone(c.out[before:])
	}
	c.out = c.out[:before]
	c.r.more = append(c.r.more, made)
	if c.below += len(made.Body) + besideBody; c.below > timesBelow*c.r.in.sc.most {
		return c.refuse(n, "it and the documents beside it have more than %d MiB with the paths that are their ids", timesBelow*c.r.in.sc.most>>20)
	}
	if c.t.Kind(n) != jsondoc.Object {
		return nil
	}
	below := c.t.Member(n, treeMember)
	if err := c.want(below, jsondoc.Object); err != nil || below == jsondoc.None {
		return err
	}
	for group := c.t.First(below); group != jsondoc.None; group = c.t.Next(group) {
		if err := c.want(group, jsondoc.Object); err != nil {
			return err
		}
		for doc := c.t.First(group); doc != jsondoc.None; doc = c.t.Next(doc) {
			if err := c.branch(c.t.Key(group), id+"/"+c.t.Key(doc), id, doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// dated writes a value in which objects with __datatype__ stand for what JSON has no form for. The error is a *Refusal.
func (c *converter) dated(n jsondoc.Node) error {
	kind := c.t.Kind(n)
	if kind < jsondoc.Array {
		return c.plain(n)
	}
	is := c.t.Text(c.t.Member(n, "__datatype__"))
	value := c.t.Member(n, "value")
	switch is {
	case "":
		return c.each(n, c.dated)
	case "timestamp":
		seconds, err := strconv.ParseInt(c.t.Text(c.t.Member(value, "_seconds")), 10, 64)
		nanos, err2 := strconv.ParseInt(c.t.Text(c.t.Member(value, "_nanoseconds")), 10, 64)
		if err != nil || err2 != nil {
			return c.refuse(n, "it is no time: want _seconds and _nanoseconds")
		}
		return c.time(n, time.Unix(seconds, nanos))
	case "geopoint":
		latitude, longitude := c.t.Member(value, "_latitude"), c.t.Member(value, "_longitude")
		if latitude == jsondoc.None || longitude == jsondoc.None {
			return c.refuse(n, "it is no place: want _latitude and _longitude")
		}
		c.out = fmt.Appendf(c.out, `{"latitude":%s,"longitude":%s}`, c.t.Raw(latitude), c.t.Raw(longitude))
		return nil
	case "documentReference":
		c.out = jsondoc.AppendQuote(c.out, idOfPath(c.t.Text(value)))
		return nil
	}
	return c.without(n, "of the type "+strconv.Quote(clip(is)))
}
