// Package described has the words of openapi.json about routes, parameters, headers and problems. The types of answers have theirs in
// tags, and the table of routes has the rights. A test of package api makes the document from all three.
package described

import "slices"

//go:generate go test ../.. -run TestOpenAPIIsCurrent -rewrite

// Operation describes a route. Names of parameters, headers and problems are separated by spaces.
type Operation struct {
	Route    string // its method and path
	Tag      string // the room that it belongs to
	ID       string
	Summary  string
	Text     string
	Takes    string // parameters, by their keys in Parameters
	Body     *Body  // nil for none
	Answers  []Answer
	Problems string // by their keys in Problems, which have the statuses
}

// Body describes the body of a request.
type Body struct {
	Text     string
	Optional bool
	Content  Content
}

// Answer describes answers with some statuses.
type Answer struct {
	Status  string // one, or several with spaces between them
	Text    string
	Headers string // by their keys in Headers; ETag=ListETag is the header ETag as ListETag describes it
	Content Content
}

// Content has by media type the name of a schema, of several with | between them, text, or a schema as JSON.
type Content map[string]string

// is returns the content of a body of JSON.
func is(schema string) Content { return Content{"application/json": schema} }

// tried returns the content of an answer to a write, whose body is JSON of a schema, or to a dry run of it. "" is for one that has no body but for a dry run.
func tried(schema string) Content {
	of := Content{DryRunType: "Fanout"}
	if schema != "" {
		of["application/json"] = schema
	}
	return of
}

// DryRunType is the media type of what a dry run tells: a document may have any members, and so no client could tell it from one.
const DryRunType = "application/vnd.fanfold.dry-run+json"

// Parameter describes a parameter. Its name is its key where it says no other.
type Parameter struct {
	Name     string
	In       string // path, query or header
	Required bool   // a parameter of a path always is
	Schema   string // as JSON
	Text     string
}

// Header describes a header of answers.
type Header struct {
	Required bool
	Schema   string // as JSON
	Text     string
}

// Schema describes what no tag of a type can.
type Schema struct {
	Text string
	Open bool   // it may have members that the type does not have
	More string // JSON that is merged into the type's schema
	Free string // all of the schema as JSON, where no type has its form
}

// Operations returns all operations, each with its tag.
func Operations() (all []Operation) {
	for _, room := range []struct {
		tag  string
		rows []Operation
	}{{"documents", ofDocuments}, {"feed", ofFeed}, {"groups", ofGroups}, {"model", ofModel}, {"keys", ofKeys}, {"operation", ofOperation}} {
		for _, o := range slices.Clone(room.rows) {
			o.Tag = room.tag
			all = append(all, o)
		}
	}
	return all
}

// Title says what the API is.
const Title = "A JSON document store that keeps declared copies right. Metadata is in headers. Errors are RFC 9457 problems, but for what cannot be read as a request of HTTP, which is refused in plain text; a method that a path does not take is a 405 with Allow. HEAD is answered wherever GET is, with the headers of the answer to GET as it is without gzip. A query parameter that is not listed is a 400. One without a value, or given twice, is too. Bodies may be sent with Content-Encoding: gzip, within the same bounds; answers of 1 KiB and more come as gzip where Accept-Encoding asks for it, with an ETag of their own that conditions take like the plain one."

// License is whose words the store and this document come under, as SPDX names it, and Contact is where its makers are asked.
const (
	License = "Apache-2.0"
	Contact = "https://github.com/fanfold/fanfold/issues"
)

// Security says how a request names its sender, by scheme.
var Security = map[string]string{
	"bearer": "A key: fan_<id>_<secret>_<checksum>. In an open store, where no key was ever made, nobody needs one.",
	"basic":  "Any user, and a key as the password.",
}
