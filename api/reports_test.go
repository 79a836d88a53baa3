package api

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// answered lists the types with which the API answers, by the schemas that openapi.json has of them.
var answered = map[string]any{
	"Status": wire.Status{}, "Work": wire.Work{}, "Verified": wire.Verified{}, "LogReport": wire.LogReport{}, "Lineage": wire.Lineage{},
	"Replicas": wire.Replicas{}, "CompactPlan": wire.CompactPlan{}, "Compaction": wire.Compaction{}, "Erasure": wire.Erasure{}, "ErasurePlan": wire.ErasurePlan{}, "Erasures": wire.Erasures{}, "FoundList": wire.FoundList{}, "Snapshot": wire.Snapshot{}, "Front": wire.Front{}, "Collections": wire.Collections{}, "Problem": wire.Problem{},
	"Accepted": wire.Accepted{}, "DeleteStep": wire.DeleteStep{}, "Fanout": dryRunResult{}, "TransactionResult": wire.TransactionResult{},
	"Preview": model.Preview{}, "ModelSummary": model.Summary{}, "FoldChange": wire.FoldChange{}, "ImportProgress": writer.ImportProgress{},
	"Group": group.Description{}, "GroupSummary": group.Summary{}, "Lease": group.Lease{}, "ParkedBatch": group.Parked{},
	"MadeKey": wire.MadeKey{}, "Key": wire.Key{}, "RotatedKey": wire.RotatedKey{}, "Principal": wire.Principal{},
}

// listed are the answers whose schemas stand at their routes.
var listed = map[string]any{"GET /v1/_groups": groupList{}, "GET /v1/_keys": wire.KeyList{}, "POST /v1/_groups/{name}/_lease": leaseList{}, "GET /v1/_groups/{name}/_parked": parkedList{}}

// alsoTaken are types whose schemas are also bodies' schemas, in which members may be left out.
var alsoTaken = []reflect.Type{reflect.TypeFor[group.Settings]()}

// mayBeNil are types with an embedded pointer that may be nil.
var mayBeNil = map[reflect.Type]bool{reflect.TypeFor[group.Parked](): true}

// schemaOfType is a schema as far as it says which members there are.
type schemaOfType struct {
	Ref                  string `json:"$ref"`
	Type                 any
	AllOf, AnyOf, OneOf  []*schemaOfType
	Properties           map[string]*schemaOfType
	Required             []string
	Items                *schemaOfType
	AdditionalProperties json.RawMessage
}

// schemaCheck compares types with schemas.
type schemaCheck struct {
	t       *testing.T
	schemas map[string]*schemaOfType
	seen    map[reflect.Type]bool
}

// compare compares a type's members with a schema's, and those of what is in it.
func (c *schemaCheck) compare(at string, of reflect.Type, s *schemaOfType) {
	for ; s.Ref != "" || len(s.AllOf) == 1; s = c.next(s) {
	}
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && s.Items != nil {
		if of.Kind() == reflect.Slice {
			s = s.Items
			for ; s.Ref != "" || len(s.AllOf) == 1; s = c.next(s) {
			}
		}
		of = of.Elem()
	}
	isText := reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextMarshaler]()) || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Marshaler]())
	if of.Kind() != reflect.Struct || isText || c.seen[of] {
		return
	}
	c.seen[of] = true
	always, sometimes := map[string]reflect.Type{}, map[string]reflect.Type{}
	collectMembers(of, always, sometimes)
	for name, member := range always {
		if s.Properties[name] == nil || !slices.Contains(s.Required, name) && !slices.Contains(alsoTaken, of) {
			c.t.Errorf("%s: %s always has %q; openapi.json has it %v, requires it %v", at, of, name, s.Properties[name] != nil, slices.Contains(s.Required, name))
			continue
		}
		c.compare(at+"."+name, member, s.Properties[name])
	}
	for name, member := range sometimes {
		if s.Properties[name] == nil || slices.Contains(s.Required, name) {
			c.t.Errorf("%s: %s may have %q; openapi.json has it %v, requires it %v", at, of, name, s.Properties[name] != nil, slices.Contains(s.Required, name))
			continue
		}
		c.compare(at+"."+name, member, s.Properties[name])
	}
	for name := range s.Properties {
		if always[name] == nil && sometimes[name] == nil {
			c.t.Errorf("%s: openapi.json has %q, which %s has not", at, name, of)
		}
	}
}

// next returns the schema that a schema stands for.
func (c *schemaCheck) next(s *schemaOfType) *schemaOfType {
	if s.Ref == "" {
		return s.AllOf[0]
	}
	return c.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
}

// collectMembers adds the members that a struct's JSON has always, and those that may be absent.
func collectMembers(of reflect.Type, always, sometimes map[string]reflect.Type) {
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
			always[name] = f.Type
		default:
			sometimes[name] = f.Type
		}
	}
}

// TestReportsAreDescribed: the types with which the API answers have the members that openapi.json says, and those always that
// it requires.
func TestReportsAreDescribed(t *testing.T) {
	var doc struct {
		Components struct{ Schemas map[string]*schemaOfType }
	}
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	check := &schemaCheck{t: t, schemas: doc.Components.Schemas, seen: map[reflect.Type]bool{}}
	for name, value := range answered {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("openapi.json has no schema %s", name)
			continue
		}
		check.compare(name, reflect.TypeOf(value), doc.Components.Schemas[name])
	}
	operations := described(t)
	for name, value := range listed {
		var schema schemaOfType
		text := strings.ReplaceAll(string(operations[name].Responses["200"].Content["application/json"].Schema), `"ref"`, `"$ref"`)
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check.compare(name, reflect.TypeOf(value), &schema)
	}
	if len(check.seen) < 40 {
		t.Errorf("%d types were compared, want more", len(check.seen))
	}
}
