package jsondoc

import (
	"errors"
	"testing"
)

// TestIncrement: what an increment comes to is added exactly, and stored as an add or a replace.
func TestIncrement(t *testing.T) {
	const doc = `{"n":1.50,"big":9007199254740993,"o":{},"text":"1","list":[1,2],"nul":null}`
	for patch, want := range map[string][2]string{
		`[{"op":"increment","path":"/n","value":0.1}]`:              {`{"n":1.60,"big":9007199254740993,"o":{},"text":"1","list":[1,2],"nul":null}`, `[{"op":"replace","path":"/n","value":1.60}]`},
		`[{"op":"increment","path":"/big","value":1}]`:              {`{"n":1.50,"big":9007199254740994,"o":{},"text":"1","list":[1,2],"nul":null}`, `[{"op":"replace","path":"/big","value":9007199254740994}]`},
		`[{"op":"increment","path":"/o/a~1b","value":-2,"min":-2}]`: {`{"n":1.50,"big":9007199254740993,"o":{"a/b":-2},"text":"1","list":[1,2],"nul":null}`, `[{"op":"add","path":"/o/a~1b","value":-2}]`},
		`[{"op":"increment","path":"/list/1","value":1e20}]`:        {`{"n":1.50,"big":9007199254740993,"o":{},"text":"1","list":[1,100000000000000000002],"nul":null}`, `[{"op":"replace","path":"/list/1","value":100000000000000000002}]`},
		`[{"op":"test","path":"/n","value":1.5},{"op":"increment","path":"/x","value":1},{"op":"increment","path":"/x","value":2,"max":3}]`: {
			`{"n":1.50,"big":9007199254740993,"o":{},"text":"1","list":[1,2],"nul":null,"x":3}`, `[{"op":"test","path":"/n","value":1.5},{"op":"add","path":"/x","value":1},{"op":"replace","path":"/x","value":3}]`},
	} {
		patched, stored, err := PatchedWithin(t.Context(), []byte(doc), []byte(patch), false, Bounds{Size: 1000, Budget: &Budget{Left: 1 << 20}})
		if got := [2]string{string(patched), string(stored)}; got != want || err != nil {
			t.Errorf("%s makes %s (%v)\nwant %s", patch, got, err, want)
		}
		if again, err := Patched([]byte(doc), stored, false); string(again) != string(patched) || err != nil {
			t.Errorf("what is stored of %s makes %s (%v)", patch, again, err)
		}
		if _, err := Patched([]byte(doc), []byte(patch), false); err == nil {
			t.Errorf("%s is taken for a stored patch", patch)
		}
	}
	for patch, want := range map[string]PatchError{
		`[{"op":"increment","path":"/n","value":-2,"min":0}]`: {Passed: true}, `[{"op":"increment","path":"/n","value":1,"max":2.49}]`: {Passed: true},
		`[{"op":"increment","path":"/text","value":1}]`: {Unfit: true}, `[{"op":"increment","path":"/nul","value":1}]`: {Unfit: true}, `[{"op":"increment","path":"","value":1}]`: {Unfit: true},
		`[{"op":"increment","path":"/a/b","value":1}]`: {Unfit: true}, `[{"op":"increment","path":"/n/b","value":1}]`: {Unfit: true}, `[{"op":"increment","path":"/list/7","value":1}]`: {Unfit: true}, `[{"op":"increment","path":"/list/-","value":1}]`: {Unfit: true},
		`[{"op":"increment","path":"/n","value":1e1001}]`: {Unfit: true}, `[{"op":"increment","path":"/o/x","value":9e1000},{"op":"increment","path":"/o/x","value":9e1000}]`: {Unfit: true},
		`[{"op":"increment","path":"/n","value":"1"}]`: {}, `[{"op":"increment","path":"/n"}]`: {}, `[{"op":"increment","path":"/n","value":1,"min":"0"}]`: {}, `[{"op":"increment","value":1}]`: {},
	} {
		_, _, err := PatchedWithin(t.Context(), []byte(doc), []byte(patch), false, Bounds{Size: 1000, Budget: &Budget{Left: 1 << 20}})
		var got *PatchError
		if !errors.As(err, &got) || got.Passed != want.Passed || got.Unfit != want.Unfit {
			t.Errorf("%s: %v", patch, err)
		}
	}
}
