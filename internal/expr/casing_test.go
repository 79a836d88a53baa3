package expr

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestCasing: lower and upper give for every character what they always gave.
func TestCasing(t *testing.T) {
	var all []byte
	for r := rune(0); r <= unicode.MaxRune; r++ {
		lower, upper := changeCase(toLower, r), changeCase(toUpper, r)
		if unicode.Version == "15.0.0" && (lower != unicode.ToLower(r) || upper != unicode.ToUpper(r)) {
			t.Fatalf("%q: lower %q, upper %q", r, lower, upper)
		}
		all = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(all, uint32(lower)), uint32(upper))
	}
	const want = "6b9021d8b61e186887e76d3aca5868045e5cdc96912acb84fbc1682bb8b49680"
	if got := fmt.Sprintf("%x", sha256.Sum256(all)); got != want {
		t.Errorf("the tables are others (%s): what expressions give belongs to a version of the fold", got)
	}
}

// TestLowerAndUpper: they are functions of a text, and cost by its length.
func TestLowerAndUpper(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"email":"Ann@Example.ORG","name":"ÉMILE Straße ΣΊΣΥΦΟΣ","n":5,"long":"` + strings.Repeat("Long", 3<<20) + `"}`))
	for source, want := range map[string]string{
		`lower(doc.email)`: `"ann@example.org"`,
		`lower(doc.name)`:  `"émile straße σίσυφοσ"`,
		`upper(doc.name)`:  `"ÉMILE STRAßE ΣΊΣΥΦΟΣ"`,
		`lower(doc.n)`:     ``,
		`lower(doc.none)`:  `none`,
		`lower(doc.long)`:  ``,
	} {
		p, err := Compile(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		got, err := p.Eval(doc)
		switch {
		case want == "none" && errors.Is(err, ErrNoValue), want == "" && err != nil && !errors.Is(err, ErrNoValue), err == nil && string(got) == want:
		default:
			t.Errorf("%s = %.100s, %v; want %s", source, got, err, want)
		}
	}
	if _, err := Compile(`lower(1)`); err == nil {
		t.Error("lower(1) compiled")
	}
}
