package schema

import (
	"encoding/json"
	"os"
	"testing"
)

// TestFormatsOfTheSuite: the cases in testdata/formats.json, facts of the JSON Schema test suite and of the RFCs, hold.
func TestFormatsOfTheSuite(t *testing.T) {
	text, err := os.ReadFile("testdata/formats.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct{ Valid, Invalid []string }
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for format, all := range cases {
		source := []byte(`{"properties":{"v":{"format":"` + format + `"}}}`)
		if err := CheckNew(source); err != nil {
			t.Fatal(err)
		}
		s, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		check := func(values []string, valid bool) {
			for _, v := range values {
				doc, err := json.Marshal(map[string]string{"v": v})
				if err != nil {
					t.Fatal(err)
				}
				if problems := s.Check(doc); (len(problems) == 0) != valid {
					t.Errorf("%s: %q is %v, valid: %v", format, v, problems, valid)
				}
			}
		}
		check(all.Valid, true)
		check(all.Invalid, false)
		if problems := s.Check([]byte(`{"v":12}`)); len(problems) > 0 {
			t.Errorf("%s: a number is %v", format, problems)
		}
	}
}

// TestEnumOfReferences: a value is compared as it is, whatever its members are called.
func TestEnumOfReferences(t *testing.T) {
	for source, docs := range map[string][2]string{
		`{"$defs":{"s":{"type":"string"}},"enum":[{"$ref":"#/$defs/s"}]}`:                    {`{"$ref":"#/$defs/s"}`, `{"$ref":"#/$defs/t"}`},
		`{"properties":{"a":{"enum":[{"$ref":"#/nowhere","b":1}]}}}`:                         {`{"a":{"$ref":"#/nowhere","b":1}}`, `{"a":"x"}`},
		`{"properties":{"a":{"const":{"$ref":true,"$id":"x","$anchor":"y"}}}}`:               {`{"a":{"$ref":true,"$id":"x","$anchor":"y"}}`, `{"a":1}`},
		`{"properties":{"a":{"enum":[{"$ref":"#/$defs/s"}]}},"$defs":{"s":{"type":"null"}}}`: {`{"a":{"$ref":"#/$defs/s"}}`, `{"a":null}`},
	} {
		if err := CheckNew([]byte(source)); err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		s, err := Compile([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		if p := s.Check([]byte(docs[0])); p != nil {
			t.Errorf("%s refuses %s: %v", source, docs[0], p)
		}
		if p := s.Check([]byte(docs[1])); p == nil {
			t.Errorf("%s takes %s", source, docs[1])
		}
	}
}
