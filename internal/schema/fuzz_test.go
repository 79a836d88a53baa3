package schema

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// FuzzSchema: any text is a schema or is refused, and any document is checked with it in bounded time.
func FuzzSchema(f *testing.F) {
	f.Add(bookSchema, `{"id":"b1","title":"Emma","pages":474,"tags":["novel","irony","novel"]}`)
	f.Add(chain(20, 2, "allOf"), `{}`)
	f.Add(chain(9, 2, "dependentSchemas"), `{"a":1,"b":2}`)
	f.Add(`{"additionalProperties":{"oneOf":[{"$ref":"#"},{"$ref":"#"}]}}`, strings.Repeat(`{"a":`, 40)+`{}`+strings.Repeat(`}`, 40))
	f.Add(`{"$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"},"unevaluatedProperties":false}}}`, `[[],{"a":1}]`)
	f.Add(`{"if":{"contains":{"const":1}},"then":{"uniqueItems":true},"else":{"prefixItems":[true,false]}}`, `[1,1e0,-1,"x",[[],[[]]]]`)
	f.Add(`{"patternProperties":{"^(a+)+$":{"multipleOf":0.01}},"propertyNames":{"maxLength":3},"enum":[{"a":1e999}]}`, `{"aaa":1e-999}`)
	f.Fuzz(func(t *testing.T, source, doc string) {
		if jsondoc.Check([]byte(source), 64) != nil || jsondoc.Check([]byte(doc), 64) != nil || len(doc) > 64<<10 {
			return
		}
		began := time.Now()
		err := CheckNew([]byte(source))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("to be taken it took %v", took)
		}
		s, err2 := Compile([]byte(source))
		if err == nil && err2 != nil {
			t.Fatalf("taken, and then: %v", err2)
		}
		if err2 != nil {
			return
		}
		began = time.Now()
		problems := s.Check([]byte(doc))
		if took := time.Since(began); took > 10*time.Second || len(problems) > maxProblems {
			t.Errorf("%d problems took %v", len(problems), took)
		}
	})
}
