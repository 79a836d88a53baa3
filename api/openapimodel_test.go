package api

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
)

// modelSchemas has the schemas of openapi.json for the parts of a model, by their names in the JSON Schema of model files.
var modelSchemas = map[string]string{"collection": "ModelCollection", "relation": "ModelRelation", "rule": "ModelRule", "check": "ModelCheck", "function": "ModelFunction"}

// TestOpenAPIHasTheWholeModel: openapi.json has each member that a model may have, and no other.
func TestOpenAPIHasTheWholeModel(t *testing.T) {
	type object struct {
		Properties map[string]json.RawMessage
	}
	var described struct {
		Components struct{ Schemas map[string]object }
	}
	var declared struct {
		object
		Definitions map[string]object
	}
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(modelfile.JSONSchema(), &declared); err != nil {
		t.Fatal(err)
	}
	same := func(name string, of object) {
		got, want := slices.Sorted(maps.Keys(described.Components.Schemas[name].Properties)), slices.Sorted(maps.Keys(of.Properties))
		if !slices.Equal(got, want) {
			t.Errorf("openapi.json has %v of a %s, and a model may have %v", got, name, want)
		}
	}
	same("Model", declared.object)
	for definition, name := range modelSchemas {
		same(name, declared.Definitions[definition])
	}
}
