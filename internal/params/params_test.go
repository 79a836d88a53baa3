package params

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
)

func TestParse(t *testing.T) {
	for raw, valid := range map[string]bool{"": true, "a=1": true, "a=1&b=": false, "a": false, "cursor=": true, "a=1&a=2": false, "c=1": false, "a=%zz": false} {
		if _, err := Parse(raw, "a", "b", "cursor"); (err == nil) != valid || err != nil && fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestParseRepeated(t *testing.T) {
	for raw, valid := range map[string]bool{"id=1&id=2&a=1": true, "id=": false, "id=1&id=": false, "a=1&a=2": false, "b=1": false} {
		if _, err := ParseRepeated(raw, "id", "a"); (err == nil) != valid {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// TestParseNamesTheSameMistake: of several mistakes the same one is named each time.
func TestParseNamesTheSameMistake(t *testing.T) {
	for range 50 {
		if _, err := Parse("z=1&b=1&x=&c=1&c=2&a=", "a", "c"); err == nil || !strings.Contains(err.Error(), `"a" has no value`) {
			t.Fatal(err)
		}
	}
}

func TestValues(t *testing.T) {
	q, err := Parse("yes=true&no=false&odd=1&n=7&list=as,bs&bad=9s", "yes", "no", "odd", "n", "list", "bad")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"yes": true, "no": false, "absent": false} {
		if v, err := Bool(q, name); v != want || err != nil {
			t.Errorf("%s is %v, %v", name, v, err)
		}
	}
	if n, err := Int(q, "n", 1, 0, 7); n != 7 || err != nil {
		t.Errorf("n is %d, %v", n, err)
	}
	if n, err := Int(q, "absent", 3, 0, 7); n != 3 || err != nil {
		t.Errorf("an absent number is %d, %v", n, err)
	}
	if list, err := Collections(q, "list"); !slices.Equal(list, []string{"as", "bs"}) || err != nil {
		t.Errorf("the list is %v, %v", list, err)
	}
	_, odd := Bool(q, "odd")
	_, large := Int(q, "n", 1, 0, 6)
	_, bad := Collections(q, "bad")
	for _, err := range []error{odd, large, bad} {
		if fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%v is not refused", err)
		}
	}
}
