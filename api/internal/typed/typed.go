// Package typed makes openapi.json with the types of a model's documents.
package typed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/modeltypes"
	"github.com/fanfold/fanfold/model"
)

// Reader says what somebody may know of a model and do with documents.
type Reader interface {
	modeltypes.Reader
	// Writes tells whether documents of a collection may be created or changed, or some of them.
	Writes(collection string) bool
	// Follows tells whether a relation, by its full name, may be known.
	Follows(relation string) bool
}

// Description is openapi.json, made ready to be told of models. It may be used from many goroutines.
type Description struct {
	top        map[string][]byte
	components map[string][]byte
	schemas    map[string][]byte // and those that all typed operations have
	paths      map[string][]byte
	operations []operation
	list       string // the schema of a page of documents
}

// New returns the description that a text of openapi.json makes. It panics where the text lacks an operation that it looks for: the text is the
// program's own.
func New(text []byte) *Description {
	d := &Description{top: membersOf(text)}
	d.components = membersOf(d.top["components"])
	d.schemas, d.paths = membersOf(d.components["schemas"]), membersOf(d.top["paths"])
	d.schemas["DocumentQuery"] = queryOf(d.schemas["Query"])
	d.list = strings.ReplaceAll(string(d.schemas["List"]), ref("DocumentWithMeta"), ref(typeName+"DocumentWithMeta"))
	for _, made := range templates {
		d.operations = append(d.operations, made.of(d.paths))
	}
	return d
}

// must panics for an error.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err))
	}
}

// membersOf returns the members of an object without white space.
func membersOf(object []byte) map[string][]byte {
	var members map[string]json.RawMessage
	must(json.Unmarshal(object, &members))
	out := map[string][]byte{}
	for name, text := range members {
		out[name] = marshalled(text)
	}
	return out
}

// ref returns a reference to a schema, as its text stands in JSON.
func ref(name string) string { return `"#/components/schemas/` + name + `"` }

// ofGroups are the members of a query, and parameters of a list, with which the answer is no page of whole documents.
var ofGroups = []string{"fields", "group", "compute", "explain"}

// queryOf returns the schema of queries whose answer is a page of whole documents.
func queryOf(query []byte) []byte {
	var schema map[string]any
	must(json.Unmarshal(query, &schema))
	for _, name := range ofGroups {
		delete(schema["properties"].(map[string]any), name)
	}
	schema["description"] = "A query whose answer is a page of whole documents. " + schema["description"].(string)
	return marshalled(schema)
}

// marshalled returns a value as JSON.
func marshalled(v any) []byte {
	text, err := json.Marshal(v)
	must(err)
	return text
}

// MaxBytes is more than a description with types has.
const MaxBytes = 64 << 20

// suffixes are the ends of the names of a collection's schemas.
var suffixes = []string{"Document", "DocumentIn", "DocumentReferenced", "DocumentWithMeta", "DocumentList"}

// With returns the description with the types of the documents of those collections that a reader may know: schemas, and operations below the paths of the
// collections. It is JSON without white space, and the same for the same model and knowledge.
func (d *Description) With(m *model.Model, reader Reader) []byte {
	schemas, paths := maps.Clone(d.schemas), maps.Clone(d.paths)
	free := func(name string) bool {
		return !slices.ContainsFunc(suffixes, func(suffix string) bool { return d.schemas[name+suffix] != nil })
	}
	known := &known{Reader: reader, model: m, names: map[string]string{}, ids: map[string]bool{}}
	all := modeltypes.JSONSchemas(m, reader, free)
	for _, of := range all {
		if reader.Reads(of.Collection) {
			known.names[of.Collection] = of.Name
		}
	}
	var read [][]byte
	for _, of := range all {
		d.addSchemas(schemas, of, reader)
		d.addPaths(paths, of, known)
		if reader.Reads(of.Collection) {
			read = append(read, fmt.Appendf(nil, `%s:{"x-go-name":"%sDocument","allOf":[{"$ref":%s}]}`, marshalled(of.Collection), of.Name, ref(of.Name+"Document")))
		}
	}
	schemas["Documents"] = slices.Concat([]byte(`{"type":"object","description":"The types of documents, by the names of their collections. No answer has this form.","properties":{`),
		bytes.Join(read, []byte(",")), []byte(`}}`))
	return d.text(schemas, paths)
}

// addSchemas adds the schemas of one collection.
func (d *Description) addSchemas(schemas map[string][]byte, of modeltypes.Types, reader Reader) {
	if reader.Writes(of.Collection) {
		schemas[of.Name+"DocumentIn"] = of.In
	}
	if reader.Reads(of.Collection) {
		document := of.Name + "Document"
		schemas[document], schemas[document+"Referenced"] = of.Embedded, of.Referenced
		schemas[document+"WithMeta"] = []byte(strings.ReplaceAll(string(d.schemas["DocumentWithMeta"]), ref("Document"), ref(document)))
		schemas[document+"List"] = []byte(strings.ReplaceAll(d.list, typeName, of.Name))
	}
}

// addPaths adds the operations about one collection.
func (d *Description) addPaths(paths map[string][]byte, of modeltypes.Types, known *known) {
	items := map[string]map[string]string{}
	for _, op := range d.operations {
		for path, text := range op.filled(of, known) {
			if items[path] == nil {
				items[path] = map[string]string{}
			}
			items[path][op.method] = text
		}
	}
	for path, item := range items {
		var methods []string
		for _, method := range slices.Sorted(maps.Keys(item)) {
			methods = append(methods, `"`+method+`":`+item[method])
		}
		paths[path] = []byte("{" + strings.Join(methods, ",") + "}")
	}
}

// text returns all of a description, with these schemas and paths.
func (d *Description) text(schemas, paths map[string][]byte) []byte {
	var out bytes.Buffer
	out.Grow(len(d.top["components"]) + sizeOf(schemas) + sizeOf(paths))
	out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(d.top)) {
		begin(&out, i, name)
		switch name {
		case "paths":
			writeObject(&out, paths)
		case "components":
			out.WriteByte('{')
			for i, room := range slices.Sorted(maps.Keys(d.components)) {
				if begin(&out, i, room); room == "schemas" {
					writeObject(&out, schemas)
				} else {
					out.Write(d.components[room])
				}
			}
			out.WriteByte('}')
		default:
			out.Write(d.top[name])
		}
	}
	out.WriteByte('}')
	return out.Bytes()
}

// sizeOf returns about how many bytes members have.
func sizeOf(members map[string][]byte) (n int) {
	for name, text := range members {
		n += len(name) + len(text) + 4
	}
	return n
}

// begin writes what stands before the value of a member.
func begin(out *bytes.Buffer, i int, name string) {
	if i > 0 {
		out.WriteByte(',')
	}
	out.Write(marshalled(name))
	out.WriteByte(':')
}

// writeObject writes an object, by the names of its members.
func writeObject(out *bytes.Buffer, members map[string][]byte) {
	out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		begin(out, i, name)
		out.Write(members[name])
	}
	out.WriteByte('}')
}
