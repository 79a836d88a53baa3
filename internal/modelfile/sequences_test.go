package modelfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
)

// TestSequenceBounds: a collection has up to 8 sequences, whose paths and expressions meet neither each other nor what is derived.
func TestSequenceBounds(t *testing.T) {
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("n%d: {}", i))
		}
		return "sequences: {" + strings.Join(all, ", ") + "}"
	}
	for declaration, mistake := range map[string]string{
		many(8): "",
		many(9): "at most 8 sequences",
		`sequences: {a.b: {per: doc.x, start: 9007199254740991, format: "` + strings.Repeat("x", 252) + `{n}"}}`: "",
		`sequences: {n: {format: "` + strings.Repeat("x", 253) + `{n}"}}`:                                        "at most 255",
		`sequences: {n: {format: "{n:19}"}}`:                                                                     "{n:18}",
		`sequences: {n: {start: 9007199254740992}}`:                                                              "from 1 to",
		`sequences: {n: {start: 0}}`:                                                                             "from 1 to",
		`sequences: {id: {}}`:                                                                                    "cannot hold a number",
		`sequences: {_n: {}}`:                                                                                    "cannot hold a number",
		`sequences: {"l[].n": {}}`:                                                                               "cannot hold a number",
		`sequences: {n: 7}`:                                                                                      "must be a mapping",
		`sequences: {n: {format: "{per}-{n}"}}`:                                                                  "has no per",
		`sequences: {n: {}, n.m: {}}`:                                                                            "overlaps",
		`sequences: {n: {per: doc}}`:                                                                             "as a whole",
		`sequences: {n: {per: doc.m}, m: {}}`:                                                                    "writes its number",
		`sequences: {n: {per: doc.v}}, derive: {v: {value: doc.x}}`:                                              "is derived",
		`sequences: {v: {}}, derive: {v: {value: doc.x}}`:                                                        "stands in the way",
		`sequences: {n: {per: "doc.("}}`:                                                                         "collections.a.sequences",
	} {
		_, err := modelfile.Parse([]byte("{collections: {a: {" + declaration + "}}}"))
		text, e := "", (*fanfold.Error)(nil)
		if errors.As(err, &e) {
			text = fmt.Sprintf("%+v", e.Problems)
		}
		if (mistake == "") != (err == nil) || !strings.Contains(text, mistake) {
			t.Errorf("%.80s: %v %s, want %q", declaration, err, text, mistake)
		}
	}
}
