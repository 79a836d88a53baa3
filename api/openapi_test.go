package api

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api/internal/described"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/writer"
)

var rewrite = flag.Bool("rewrite", false, "write openapi.json")

const schemasPath = "#/components/schemas/"

// schemaTypes lists the types of answers and bodies by the names of their schemas. A type that only these lead to has its own name.
var schemaTypes = map[string]any{
	"Status": wire.Status{}, "Work": wire.Work{}, "Verified": wire.Verified{}, "LogReport": wire.LogReport{}, "Lineage": wire.Lineage{}, "Node": wire.Node{}, "Sequences": wire.Range{}, "Counters": wire.Counters{},
	"Replicas": wire.Replicas{}, "Snapshot": wire.Snapshot{}, "QueryShape": wire.QueryShape{}, "Front": wire.Front{}, "Simple": wire.Alive{},
	"CompactPlan": wire.CompactPlan{}, "Compaction": wire.Compaction{}, "Erasure": wire.Erasure{}, "ErasureResidue": wire.ErasureResidue{}, "ErasurePlan": wire.ErasurePlan{}, "Erasures": wire.Erasures{}, "FoundList": wire.FoundList{},
	"Problem": wire.Problem{}, "ProblemItem": fanfold.Problem{}, "Accepted": wire.Accepted{}, "DeleteStep": wire.DeleteStep{}, "Fanout": dryRunResult{}, "UpdateTrial": updateTrial{}, "RefusedDocument": wire.RefusedDocument{}, "Collections": wire.Collections{},
	"Transaction": wire.Transaction{}, "Operation": wire.Operation{}, "TransactionResult": wire.TransactionResult{}, "OperationResult": wire.OperationResult{}, "Function": wire.Function{}, "FunctionList": wire.FunctionList{}, "CallResult": wire.CallResult{}, "CallTrial": dryCall{}, "ImportProgress": writer.ImportProgress{},
	"ImportRefusal": wire.ImportRefusal{}, "ImportState": wire.ImportState{}, "ImportSummary": wire.ImportSummary{}, "ImportReport": wire.ImportReport{}, "DriftReport": wire.DriftReport{}, "DriftRule": wire.DriftRule{}, "DriftDifference": wire.DriftDifference{}, "UpdateState": wire.UpdateState{}, "UpdateSummary": wire.UpdateSummary{},
	"Meta": wire.Meta{}, "List": wire.List{}, "Query": wire.Query{}, "Groups": wire.Groups{}, "Explained": wire.Explained{}, "Plan": query.Plan{}, "PatchOperation": wire.PatchOperation{}, "DeltaOperation": wire.DeltaOperation{},
	"History": wire.DocumentHistory{}, "Version": wire.Version{}, "DocumentDifference": wire.DocumentDifference{}, "DocumentDifferences": wire.DocumentDifferences{},
	"Cause": wire.Cause{}, "Change": wire.Change{}, "Changes": wire.Changes{}, "Heartbeat": wire.Heartbeat{}, "End": wire.End{},
	"ModelCollection": wire.ModelCollection{}, "ModelRelation": wire.ModelRelation{}, "ModelRule": wire.ModelRule{}, "ModelCheck": wire.ModelCheck{}, "ModelFunction": wire.ModelFunction{}, "ModelFlows": wire.ModelFlows{}, "LargestTargets": wire.LargestTargets{},
	"Preview": wire.Preview{}, "ModelSummary": wire.ModelSummary{}, "Counted": wire.Counts{}, "Difference": wire.Difference{}, "RulePreview": wire.RulePreview{}, "Evaluation": wire.Evaluation{},
	"KeptPreview": wire.KeptValuesPreview{}, "Misfits": wire.Misfits{}, "FoldChange": wire.FoldChange{},
	"Group": wire.Group{}, "GroupSummary": wire.GroupSummary{}, "GroupSettings": wire.GroupSettings{}, "GroupLag": wire.GroupLag{}, "GroupPartition": wire.GroupPartition{}, "Push": wire.Push{}, "PushSecret": wire.PushSecret{}, "PushState": wire.PushState{}, "PushAnswer": wire.PushAnswer{}, "Lease": wire.Lease{}, "ParkedBatch": wire.ParkedBatch{},
	"GroupList": wire.GroupList{}, "LeaseList": wire.LeaseList{}, "ParkedList": wire.ParkedList{},
	"Key": wire.Key{}, "MadeKey": wire.MadeKey{}, "RotatedKey": wire.RotatedKey{}, "KeyList": wire.KeyList{}, "Principal": wire.Principal{}, "CollectionRights": wire.CollectionRights{},
	"LeaseBody": wire.LeaseBody{}, "AckBody": wire.AckBody{}, "NackBody": wire.NackBody{}, "ResetBody": wire.ResetBody{}, "LeaveBody": wire.LeaveBody{}, "ReleaseBody": wire.ReleaseBody{}, "RevertBody": wire.RevertBody{}, "FoldBody": wire.FoldBody{}, "ReplicasBody": wire.ReplicasBody{}, "ReplayBody": wire.ReplayBody{}, "CompactBody": wire.CompactBody{}, "FindBody": wire.FindBody{}, "AccessExplainBody": wire.AccessExplainBody{}, "AccessExplained": wire.AccessExplained{}, "RevokeTokensBody": wire.RevokeTokensBody{}, "Actor": wire.Actor{}, "TicketBody": wire.TicketBody{}, "Ticket": wire.Ticket{}, "NewKeyBody": wire.NewKeyBody{}, "KeyPatchBody": wire.KeyPatchBody{},
	"RotateBody": wire.RotateBody{}, "EraseBody": wire.EraseBody{}, "EraseOneBody": wire.EraseOneBody{}, "ErasedKey": wire.ErasedKey{},
	"Position": fanfold.Bookmark{}, "Revision": fanfold.Revision(0),
}

// mayBeNil are types with an embedded pointer that may be nil.
var mayBeNil = map[reflect.Type]bool{reflect.TypeFor[wire.ParkedBatch](): true}

// TestOpenAPIIsCurrent: openapi.json is what the table of routes, the types of answers and their descriptions say. With -rewrite it is
// written.
func TestOpenAPIIsCurrent(t *testing.T) {
	d := &drawing{t: t, names: map[reflect.Type]string{}, doc: &openapi3.T{OpenAPI: "3.1.0", Paths: openapi3.NewPaths(), Servers: openapi3.Servers{{URL: "http://127.0.0.1:8080"}},
		Info: &openapi3.Info{Title: "Fanfold", Version: "1", Description: described.Title, License: &openapi3.License{Name: described.License, URL: "https://www.apache.org/licenses/LICENSE-2.0"}, Contact: &openapi3.Contact{Name: "Fanfold", URL: described.Contact}}, Components: &openapi3.Components{Schemas: openapi3.Schemas{}}}}
	d.security()
	d.schemas()
	d.components()
	s := New(Dependencies{Writer: &writer.Writer{}}, Options{Metrics: http.NotFoundHandler(), Console: noConsole{}})
	rights := map[string]right{}
	for _, r := range s.routes.rows {
		rights[r.method+" "+inBraces(r.path)] = r.right
	}
	for _, o := range described.Operations() {
		d.operation(o, rights)
	}
	text, err := json.Marshal(d.doc)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.NewBuffer(finished(t, text))
	if *rewrite {
		if err := os.WriteFile("openapi.json", out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(out.Bytes(), openAPI) {
		t.Error("openapi.json is another one: go generate ./api/... writes it")
	}
}

// drawing is a document of OpenAPI that is being made.
type drawing struct {
	t     *testing.T
	doc   *openapi3.T
	names map[reflect.Type]string // of schemas
}

// security says how requests name their sender.
func (d *drawing) security() {
	d.doc.Security = openapi3.SecurityRequirements{{}, {"bearer": {}}, {"basic": {}}}
	d.doc.Components.SecuritySchemes = openapi3.SecuritySchemes{}
	for scheme, text := range described.Security {
		d.doc.Components.SecuritySchemes[scheme] = &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{Type: "http", Scheme: scheme, Description: text}}
	}
}

// schemas adds the schemas of the types, and those without a type.
func (d *drawing) schemas() {
	for name, value := range schemaTypes {
		d.names[reflect.TypeOf(value)] = name
	}
	all := d.doc.Components.Schemas
	for name, s := range described.Schemas {
		if s.Free != "" {
			all[name] = openapi3.NewSchemaRef("", d.parsed(s.Free))
		}
	}
	for name, value := range schemaTypes {
		if all[name] != nil {
			continue
		}
		// Each generator makes the schema of one type whole. Whatever has a name inside becomes a reference.
		g := openapi3gen.NewGenerator(openapi3gen.SchemaCustomizer(d.customize))
		ref, err := g.GenerateSchemaRef(reflect.TypeOf(value))
		if err != nil {
			d.t.Fatalf("%s: %v", name, err)
		}
		more := described.Schemas[name]
		ref.Value.Description = more.Text
		if more.Open {
			ref.Value.AdditionalProperties = openapi3.AdditionalProperties{}
		}
		all[name] = openapi3.NewSchemaRef("", d.merged(ref.Value, more.More))
	}
	for _, code := range slices.Sorted(maps.Keys(titleOf)) {
		problemType := all["Problem"].Value.Properties["type"].Value
		problemType.Enum = append(problemType.Enum, ProblemType(code))
	}
}

// customize makes of the schema of a type what JSON has. It does so for a struct with all its members, whose tags it reads.
func (d *drawing) customize(_ string, of reflect.Type, _ reflect.StructTag, s *openapi3.Schema) error {
	s.Nullable, s.Format = false, strings.TrimSuffix(strings.TrimSuffix(s.Format, "int64"), "double")
	if s.Max = nil; s.Type != nil && s.Type.Is("integer") || s.Type != nil && s.Type.Is("number") {
		s.Min = openapi3.Ptr(0.0)
	}
	switch {
	case s.Format == "date-time" || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Marshaler]()):
		return nil
	case of == reflect.TypeFor[json.Number]():
		*s = openapi3.Schema{Type: &openapi3.Types{"number"}}
		return nil
	case reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		*s = *openapi3.NewStringSchema()
		return nil
	case of.Kind() != reflect.Struct:
		return nil
	}
	always, sometimes := map[string]reflect.StructField{}, map[string]reflect.StructField{}
	collectMembers(of, always, sometimes)
	for name, f := range always {
		s.Properties[name] = d.member(f, s.Properties[name], f.Type.Kind() == reflect.Pointer && !strings.HasSuffix(of.Name(), "Body")) // no member of a body is null
		s.Required = append(s.Required, name)
	}
	for name, f := range sometimes {
		s.Properties[name] = d.member(f, s.Properties[name], false)
	}
	slices.Sort(s.Required)
	s.AdditionalProperties = openapi3.AdditionalProperties{Has: openapi3.Ptr(false)}
	return nil
}

// collectMembers adds the members that a struct's JSON has always, and those that may be absent.
func collectMembers(of reflect.Type, always, sometimes map[string]reflect.StructField) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			if inner := f.Type; inner.Kind() == reflect.Pointer && mayBeNil[of] {
				collectMembers(inner.Elem(), sometimes, sometimes)
			} else if inner.Kind() == reflect.Pointer {
				collectMembers(inner.Elem(), always, sometimes)
			} else {
				collectMembers(inner, always, sometimes)
			}
		case option == "":
			always[name] = f
		default:
			sometimes[name] = f
		}
	}
}

// keywords are the tags that are keywords of JSON Schema.
var keywords = []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "format", "const", "default", "uniqueItems"}

// member returns the schema of a struct's member, by its type and tags. These are doc, nullable, the keywords, and enum with | between its
// values. The tags ref and items name schemas, of the member and of what is in it. The tag schema is JSON with ' in place of ".
func (d *drawing) member(f reflect.StructField, ref *openapi3.SchemaRef, nullable bool) *openapi3.SchemaRef {
	ref = d.reference(f.Type, ref)
	if name := f.Tag.Get("ref"); name != "" {
		ref = openapi3.NewSchemaRef(schemasPath+name, nil)
	}
	s := ref.Value
	if ref.Ref != "" {
		if _, found := f.Tag.Lookup("doc"); !found {
			return ref
		}
		s = &openapi3.Schema{AllOf: openapi3.SchemaRefs{ref}}
	}
	s.Description = f.Tag.Get("doc")
	if name := f.Tag.Get("items"); name != "" {
		s.Items = openapi3.NewSchemaRef(schemasPath+name, nil)
	}
	if list := f.Tag.Get("enum"); list != "" {
		for value := range strings.SplitSeq(list, "|") {
			s.Enum = append(s.Enum, value)
		}
	}
	if nullable || f.Tag.Get("nullable") != "" {
		s.Type = &openapi3.Types{(*s.Type)[0], "null"}
	}
	more := map[string]json.RawMessage{}
	for _, keyword := range keywords {
		if value, found := f.Tag.Lookup(keyword); found {
			if more[keyword] = json.RawMessage(value); !json.Valid(more[keyword]) || s.Type.Is("string") && keyword == "default" {
				more[keyword], _ = json.Marshal(value)
			}
		}
	}
	text, err := json.Marshal(more)
	if err != nil {
		d.t.Fatal(err)
	}
	out := d.merged(d.merged(s, string(text)), strings.ReplaceAll(f.Tag.Get("schema"), "'", `"`))
	if out.Default != nil { // openapi-typescript requires a member that has a default itself
		inner := *out
		inner.Description = ""
		out = &openapi3.Schema{Description: out.Description, AllOf: openapi3.SchemaRefs{openapi3.NewSchemaRef("", &inner)}}
	}
	return openapi3.NewSchemaRef("", out)
}

// reference returns the schema of a type, with references to those that have a name.
func (d *drawing) reference(of reflect.Type, ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if name := d.names[of]; name != "" {
		return openapi3.NewSchemaRef(schemasPath+name, nil)
	}
	ref.Ref = "" // the generator names types that have no schema of their own
	switch of.Kind() {
	case reflect.Slice:
		if ref.Value.Items != nil {
			ref.Value.Items = d.reference(of.Elem(), ref.Value.Items)
		}
	case reflect.Array: // of numbers
		ref.Value = openapi3.NewArraySchema().WithItems(openapi3.NewIntegerSchema().WithMin(0))
	case reflect.Map:
		ref.Value.AdditionalProperties.Schema = d.reference(of.Elem(), ref.Value.AdditionalProperties.Schema)
	}
	return ref
}

// merged returns a schema with the members of another one, which is JSON.
func (d *drawing) merged(s *openapi3.Schema, more string) *openapi3.Schema {
	if more == "" || more == "{}" {
		return s
	}
	text, err := json.Marshal(s)
	if err != nil {
		d.t.Fatal(err)
	}
	members := map[string]json.RawMessage{}
	for _, part := range []string{string(text), more} {
		if err := json.Unmarshal([]byte(part), &members); err != nil {
			d.t.Fatalf("%s: %v", part, err)
		}
	}
	if text, err = json.Marshal(members); err != nil {
		d.t.Fatal(err)
	}
	return d.parsed(string(text))
}

// parsed returns a schema that is JSON.
func (d *drawing) parsed(text string) *openapi3.Schema {
	out := &openapi3.Schema{}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
	return out
}

// components adds the parameters, the headers and the problems.
func (d *drawing) components() {
	c := d.doc.Components
	c.Parameters, c.Headers, c.Responses = openapi3.ParametersMap{}, openapi3.Headers{}, openapi3.ResponseBodies{}
	for key, p := range described.Parameters {
		c.Parameters[key+"Parameter"] = &openapi3.ParameterRef{Value: &openapi3.Parameter{Name: cmp.Or(p.Name, key), In: p.In, Required: p.Required || p.In == "path", Description: p.Text, Schema: openapi3.NewSchemaRef("", d.parsed(p.Schema))}}
	}
	for key, h := range described.Headers {
		c.Headers[key] = &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{Description: h.Text, Required: h.Required, Schema: openapi3.NewSchemaRef("", d.parsed(h.Schema))}}}
	}
	for key, a := range described.Problems {
		a.Content = described.Content{typeProblem[0]: d.problem(a.Status)}
		c.Responses[key+"Problem"] = &openapi3.ResponseRef{Value: d.answer(a)}
	}
}

// problem adds the schema of the problems that have a status, with their types, and returns its name.
func (d *drawing) problem(status string) string {
	var types []string
	for _, code := range slices.Sorted(maps.Keys(titleOf)) {
		if strconv.Itoa(cmp.Or(statusOf[code], http.StatusInternalServerError)) == status {
			types = append(types, ProblemType(code))
		}
	}
	list, err := json.Marshal(types)
	if err != nil || types == nil {
		d.t.Fatalf("no problem has the status %s: %v", status, err)
	}
	name := "Problem" + status
	d.doc.Components.Schemas[name] = openapi3.NewSchemaRef("", d.parsed(`{"allOf": [{"$ref": "`+schemasPath+`Problem"}, {"type": "object", "required": ["type", "status"], "properties": {"type": {"type": "string", "enum": `+string(list)+`}, "status": {"type": "integer", "const": `+status+`}}}]}`))
	return name
}

// answer returns a description of answers.
func (d *drawing) answer(a described.Answer) *openapi3.Response {
	out := openapi3.NewResponse().WithDescription(a.Text)
	for header := range strings.FieldsSeq(a.Headers) {
		name, key, other := strings.Cut(header, "=")
		if !other {
			key = name
		}
		if out.Headers == nil {
			out.Headers = openapi3.Headers{}
		}
		out.Headers[name] = &openapi3.HeaderRef{Ref: "#/components/headers/" + key}
	}
	out.Content = d.content(a.Content)
	return out
}

// content returns the schemas of bodies.
func (d *drawing) content(of described.Content) openapi3.Content {
	if of == nil {
		return nil
	}
	out := openapi3.Content{}
	for mediaType, name := range of {
		ref := &openapi3.SchemaRef{}
		switch names := strings.Split(name, "|"); {
		case strings.HasPrefix(name, "{"):
			ref.Value = d.parsed(name)
		case name == "text":
			ref.Value = openapi3.NewStringSchema()
		case len(names) > 1:
			ref.Value = &openapi3.Schema{}
			for _, one := range names {
				ref.Value.AnyOf = append(ref.Value.AnyOf, openapi3.NewSchemaRef(schemasPath+one, nil))
			}
		default:
			ref.Ref = schemasPath + name
		}
		out[mediaType] = openapi3.NewMediaType().WithSchemaRef(ref)
	}
	return out
}

// operation adds an operation, with the right that its route needs. HEAD needs that for GET.
func (d *drawing) operation(o described.Operation, rights map[string]right) {
	method, path, _ := strings.Cut(o.Route, " ")
	needs, found := rights[strings.Replace(o.Route, "HEAD ", "GET ", 1)]
	if !found {
		d.t.Fatalf("no route is %s", o.Route)
	}
	op := &openapi3.Operation{OperationID: o.ID, Tags: []string{o.Tag}, Summary: o.Summary, Description: o.Text, Extensions: map[string]any{"x-right": needs}}
	if needs == rightOpen && !strings.Contains(o.Problems, "Unauthenticated") {
		op.Security = openapi3.NewSecurityRequirements()
	}
	for key := range strings.FieldsSeq(o.Takes) {
		op.Parameters = append(op.Parameters, &openapi3.ParameterRef{Ref: "#/components/parameters/" + key + "Parameter"})
	}
	if b := o.Body; b != nil {
		op.RequestBody = &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Description: b.Text, Required: !b.Optional, Content: d.content(b.Content)}}
	}
	op.Responses = openapi3.NewResponsesWithCapacity(0)
	for _, a := range o.Answers {
		for status := range strings.FieldsSeq(a.Status) {
			op.Responses.Set(status, &openapi3.ResponseRef{Value: d.answer(a)})
		}
	}
	for key := range strings.FieldsSeq(o.Problems) {
		op.Responses.Set(described.Problems[key].Status, &openapi3.ResponseRef{Ref: "#/components/responses/" + key + "Problem"})
	}
	if !slices.ContainsFunc(d.doc.Tags, func(t *openapi3.Tag) bool { return t.Name == o.Tag }) {
		d.doc.Tags = append(d.doc.Tags, &openapi3.Tag{Name: o.Tag})
	}
	d.doc.AddOperation(path, method, op)
}
