package openapi

import (
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestNulls: a document may have null as a member.
func TestNulls(t *testing.T) {
	text, err := os.ReadFile("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Document", "DocumentIn", "MergePatch"} {
		if err := c.Doc.Components.Schemas[name].Value.VisitJSON(map[string]any{"id": "a", "t": nil, "n": 1.0}, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
