package api

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestOperationCounter: whatever the pieces in which a body comes, it is taken or refused as a whole would be.
func TestOperationCounter(t *testing.T) {
	long := `{"a":"` + string(bytes.Repeat([]byte("x"), maxEnvelope+100)) + `"}`
	const spaced = ` { "operations" : [ {"a":[1,"]}\\",{"b":"\""}]} , {} ] } `
	many := `{"operations":[` + string(bytes.Repeat([]byte(`{},`), 1000)) + `{}]}`
	for text, want := range map[string]fanfold.Code{
		spaced: "", `{"operations":[]}`: "", `{"operations":[{}`: "", ``: "", `{"oper`: "", "{\"operations\":[{}]}\n": "",
		many[:len(many)-5] + "]}": "", many: fanfold.Unprocessable, `{"operations":[{},` + long + `]}`: fanfold.TooLarge,
		`[{}]`: fanfold.Invalid, `{"operation":[]}`: fanfold.Invalid, `{"operations":{}}`: fanfold.Invalid, `{"operations":[],"x":1}`: fanfold.Invalid, `{"operations":[]}}`: fanfold.Invalid, `null`: fanfold.Invalid,
	} {
		for _, size := range []int{1, 3, 1000, len(text) + 1} {
			o, got := newOperationCounter(0), error(nil)
			for rest := []byte(text); len(rest) > 0 && got == nil; {
				n := min(size, len(rest))
				got = o.watch(rest[:n])
				rest = rest[n:]
			}
			var e *fanfold.Error
			if errors.As(got, &e); (e == nil) != (want == "") || e != nil && e.Code != want {
				t.Errorf("%.60s in pieces of %d: %v, want %q", text, size, got, want)
			} else if want == fanfold.TooLarge && (e.Operation == nil || *e.Operation != 1) {
				t.Errorf("%.60s: the operation is %v", text, e.Operation)
			}
		}
	}
	o := newOperationCounter(1 << 40)
	if err := o.watch([]byte(`{"operations":[[` + string(bytes.Repeat([]byte(`0,`), maxValues)) + `0`)); fanfold.CodeOf(err) != fanfold.TooLarge {
		t.Errorf("so many values are answered with %v", err)
	}
}
