package skeleton_test

import (
	"encoding/json"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/skeleton"
)

func TestOf(t *testing.T) {
	paths, err := skeleton.Paths([]string{"author", "lines[].product.id", "tags[]", "home.city", "nested[][]"})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"id":"a","name":"Ann"}`: `{"id":"a"}`,
		"\t{ \"name\" : \"Ann\", \"author\" : \"b1\", \"id\" : \"a\" }": `{"author":"b1","id":"a"}`,
		`{"id":1.0,"author":12}`:                                      `{"id":1.0,"author":12}`,
		`{"id":"a","author":{"x":1}}`:                                 `{"id":"a"}`,
		`{"id":"a","author":""}`:                                      `{"id":"a"}`,
		`{"id":"a","author":null}`:                                    `{"id":"a"}`,
		`{"id":"a","lines":[{"n":1,"product":{"id":"p"}},{"n":2},7]}`: `{"id":"a","lines":[{"product":{"id":"p"}},{},null]}`,
		`{"id":"a","lines":{"product":{"id":"p"}}}`:                   `{"id":"a"}`,
		`{"id":"a","tags":["x",true,"y",{"id":"z"}]}`:                 `{"id":"a","tags":["x",null,"y",{}]}`,
		`{"id":"a","tags":[1.0,true,[]],"lines":[{"n":{}}]}`:          `{"id":"a","tags":[1.0,null,null]}`,
		`{}`: `{}`,
		`{"id":"a","home":{"city":"c","street":"s"},"street":"t"}`:     `{"id":"a","home":{"city":"c"}}`,
		`{"id":"a","home":{"street":{"id":"no"}}}`:                     `{"id":"a"}`,
		`{"id":"a","nested":[["x","y"],"z",[]],"other":[["x"]]}`:       `{"id":"a","nested":[["x","y"],null,null]}`,
		`{"\u0069d":"a","auth\u006fr":"b\u0031","secret":"\u0041"}`:    `{"\u0069d":"a","auth\u006fr":"b\u0031"}`,
		`{"id":"a","author":"` + string(make([]byte, 0)) + `","x":[]}`: `{"id":"a"}`,
	} {
		if have := string(skeleton.Of([]byte(body), paths)); have != want {
			t.Errorf("%s: %s, want %s", body, have, want)
		}
	}
}

func TestWithout(t *testing.T) {
	pointers := []string{"/email", "/home/street", "/a~1b", "/list/1"}
	for body, want := range map[string]string{
		`{"id":"a","email":"x"}`:                              `{"id":"a"}`,
		` { "email" : "x" , "id" : "a" } `:                    ` { "id" : "a" } `,
		`{"email":{"deep":[1]}}`:                              `{}`,
		`{"id":"a","home":{"street":"s","city":"c"},"z":1}`:   `{"id":"a","home":{"city":"c"},"z":1}`,
		`{"id":"a","home":{"city":"c", "street":"s" },"z":1}`: `{"id":"a","home":{"city":"c" },"z":1}`,
		`{"a/b":1,"a":{"b":2}}`:                               `{"a":{"b":2}}`,
		`{"list":[1, "x",3]}`:                                 `{"list":[1, null,3]}`,
		`{"id":"a","home":[{"street":1}]}`:                    `{"id":"a","home":[{"street":1}]}`,
	} {
		have := skeleton.Without([]byte(body), pointers)
		if string(have) != want || skeleton.Has(have, pointers) {
			t.Errorf("%s: %s, want %s", body, have, want)
		}
		if has := skeleton.Has([]byte(body), pointers); has != (body != want) {
			t.Errorf("%s: Has tells %t", body, has)
		}
	}
}

// FuzzWithout compares what is cut with what encoding/json decodes.
func FuzzWithout(f *testing.F) {
	f.Add(`{"id":"a", "email" : "x", "home":{"street":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if jsondoc.Check([]byte(text), 64) != nil {
			return
		}
		var want map[string]any
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return
		}
		delete(want, "email")
		if home, ok := want["home"].(map[string]any); ok {
			delete(home, "street")
		}
		var have map[string]any
		cut := skeleton.Without([]byte(text), []string{"/email", "/home/street"})
		if err := json.Unmarshal(cut, &have); err != nil {
			t.Fatalf("%s: %s: %v", text, cut, err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(have)
		if string(a) != string(b) {
			t.Fatalf("%s: %s, want %s", text, b, a)
		}
		paths, _ := skeleton.Paths([]string{"a", "b[].c"})
		if !json.Valid(skeleton.Of([]byte(text), paths)) {
			t.Fatalf("%s: no JSON", text)
		}
	})
}
