package jsondoc

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestContains: a text is found within strings, names and numbers, and not across them.
func TestContains(t *testing.T) {
	for _, c := range []struct {
		src, text string
		want      bool
	}{
		{`{"a":"Ada Lovelace"}`, "Lovelace", true},
		{`{"a":"\u0041da"}`, "Ada", true},
		{`{"a":"x\"y"}`, `x"y`, true},
		{`{"a":"x\\"}`, `x\`, true},
		{`{"a":"x\\n"}`, "\n", false},
		{`{"a":"\ud83d\ude00"}`, "😀", true},
		{`{"Ada":1}`, "Ada", true},
		{`{"a":["b","Ada"]}`, "Ada", true},
		{`{"a":49123456}`, "912", true},
		{`{"a":-1.50e+3}`, "1.50e+3", true},
		{`{"a":1,"b":2}`, "1,", false},
		{`{"a":"x","b":"y"}`, `x","b":"y`, false},
		{`{"a":true}`, "true", false},
		{`"Ada"`, "Ada", true},
		{`12`, "12", true},
		{`{}`, "a", false},
	} {
		if got := Contains([]byte(c.src), c.text); got != c.want {
			t.Errorf("%s in %s: %v", c.text, c.src, got)
		}
	}
}

// TestContainsAsDecoded: what is found is what is found in the decoded strings.
func TestContainsAsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune(`ab"\é😀<`))), 0, 5).Draw(t, "parts")
		text := rapid.StringOfN(rapid.SampledFrom([]rune(`ab"\é😀<`)), 1, 3, -1).Draw(t, "text")
		src, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		want := false
		for _, p := range parts {
			want = want || strings.Contains(p, text)
		}
		if got := Contains(src, text); got != want {
			t.Fatalf("%q in %s: %v", text, src, got)
		}
	})
}
