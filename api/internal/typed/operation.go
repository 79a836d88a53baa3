package typed

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/modeltypes"
	"github.com/fanfold/fanfold/model"
)

// The names of a collection and its types, and of a child collection, have these in their place in the text of an operation. openapi.json has no such text.
const (
	typeName       = "@Type@"
	collectionName = "@collection@"
	childType      = "@Child@"
	childName      = "@child@"
)

// template says how an operation about any collection becomes one about a named one. It leaves out what makes an answer another one than documents: the
// operation about any collection has it.
type template struct {
	path, method string
	writes       bool
	drops        []string          // parameters, by name
	answers      map[string]string // schemas of answers in JSON, by status; "" for an answer that does not come
	asks         string            // the schema of the body in JSON; "" for the same
}

// dry are the parameters of dry runs.
var dry = []string{"dryRun", "examples"}

// templates has the operations whose requests or answers have whole documents.
var templates = []template{
	{"/v1/{collection}", "get", false, ofGroups, map[string]string{"200": typeName + "DocumentList"}, ""},
	{"/v1/{collection}", "post", true, dry, map[string]string{"200": "", "201": typeName + "Document"}, typeName + "DocumentIn"},
	{"/v1/{collection}/_query", "post", false, nil, map[string]string{"200": typeName + "DocumentList"}, "DocumentQuery"},
	{"/v1/{collection}/{id}", "get", false, []string{"fields"}, map[string]string{"200": typeName + "Document"}, ""},
	{"/v1/{collection}/{id}", "put", true, dry, map[string]string{"200": typeName + "Document", "201": typeName + "Document"}, typeName + "DocumentIn"},
	{"/v1/{collection}/{id}", "patch", true, dry, map[string]string{"200": typeName + "Document"}, ""},
	{"/v1/{collection}/{id}/_revert", "post", true, dry, map[string]string{"200": typeName + "Document", "201": typeName + "Document"}, ""},
	{"/v1/{collection}/{id}/{child}", "get", false, append([]string{"page"}, ofGroups...), map[string]string{"200": childType + "DocumentList"}, ""},
}

// operation is the text of an operation, with places for names.
type operation struct {
	path, method, text string
	id                 string // which stands in the text
	writes, children   bool
}

// of returns the operation that a template makes, with the paths of openapi.json.
func (t template) of(paths map[string][]byte) operation {
	var item map[string]map[string]any
	must(json.Unmarshal(paths[t.path], &item))
	op := item[t.method]
	children := strings.Contains(t.path, "{child}")
	id := op["operationId"].(string) + "Of" + typeName
	if children {
		id += "In" + childType
	}
	op["operationId"] = id
	var left []any
	drops := append([]string{"collection", "child"}, t.drops...)
	for _, p := range op["parameters"].([]any) {
		if !slices.Contains(drops, parameterName(p)) {
			left = append(left, p)
		}
	}
	if op["parameters"] = left; left == nil {
		delete(op, "parameters")
	}
	responses := op["responses"].(map[string]any)
	for status, schema := range t.answers {
		if schema == "" {
			delete(responses, status)
		} else {
			typeOf(responses[status], schema)
		}
	}
	if t.asks != "" {
		typeOf(op["requestBody"], t.asks)
	}
	path := strings.NewReplacer("{collection}", collectionName, "{child}", childName).Replace(t.path)
	return operation{path, t.method, string(marshalled(op)), id, t.writes, children}
}

// parameterName returns the name of a parameter that is a reference. Parameters of one name with different words have a dash after it.
func parameterName(p any) string {
	key := strings.TrimPrefix(p.(map[string]any)["$ref"].(string), "#/components/parameters/")
	name, _, _ := strings.Cut(strings.TrimSuffix(key, "Parameter"), "-")
	if name == "dry" {
		name = "dryRun"
	}
	return name
}

// typeOf gives a request or an answer in JSON another schema, by its name.
func typeOf(of any, schema string) {
	of.(map[string]any)["content"] = map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": strings.Trim(ref(schema), `"`)}}}
}

// known says what operations may tell.
type known struct {
	Reader
	model *model.Model
	names map[string]string // of types, by those collections that are read
	ids   map[string]bool   // of operations, in lower case, whose names have two types
}

// only returns an id of an operation that no other one has.
func (k *known) only(id string) string {
	made := id
	for n := 2; k.ids[strings.ToLower(made)]; n++ {
		made = id + strconv.Itoa(n)
	}
	k.ids[strings.ToLower(made)] = true
	return made
}

// filled returns the texts of an operation about a collection by their paths: none where the reader may not do it, and several for children.
func (o operation) filled(of modeltypes.Types, known *known) map[string]string {
	reads := known.Reads(of.Collection)
	if o.writes && !known.Writes(of.Collection) || !o.writes && !reads {
		return nil
	}
	text := o.text
	if !reads { // what was written does not come back
		text = strings.ReplaceAll(text, ref(typeName+"Document"), ref("Document"))
	}
	fill := func(child string) (path, filled string) {
		names := strings.NewReplacer(typeName, of.Name, collectionName, of.Collection, childType, known.names[child], childName, child)
		return names.Replace(o.path), names.Replace(text)
	}
	all := map[string]string{}
	if !o.children {
		path, filled := fill("")
		all[path] = filled
		return all
	}
	for _, r := range known.model.RelationsTo(of.Collection) {
		if known.names[r.Collection] != "" && known.Follows(r.FullName()) {
			path, filled := fill(r.Collection)
			if all[path] != "" { // by another relation
				continue
			}
			id := strings.NewReplacer(typeName, of.Name, childType, known.names[r.Collection]).Replace(o.id)
			all[path] = strings.Replace(filled, `"operationId":"`+id+`"`, `"operationId":"`+known.only(id)+`"`, 1)
		}
	}
	return all
}
