package sortkey

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// key returns the key of a value.
func key(value string) []byte { return appendKey(nil, value, false) }

// TestRanges: each range has the values of its class alone, and a point one value.
func TestRanges(t *testing.T) {
	values := []string{"", "null", "[]", "1e1001", "false", "true", "-1e1000", "-1", "0", "1", "1.5", "1e1000", `""`, `"\u0000"`, `"a"`, `"a\u0000"`, `"a\uffff"`, `"ab"`, `"b"`, `"` + strings.Repeat("x", 1024) + `"`}
	for _, c := range []struct {
		name  string
		r     Range
		holds string // a letter for each value: + for one in the range
		point bool
	}{
		{"numbers", Numbers, "------++++++--------", false},
		{"texts", Texts, "------------++++++++", false},
		{"bools", Bools, "----++--------------", false},
		{"present", Present, "-+++++++++++++++++++", false},
		{"null", Null, "-+------------------", true},
		{"composites", Composites, "--++----------------", true},
		{"a number", PointOf(key("1.0")), "---------+----------", true},
		{"one byte less of a key", PointOf(key("1")[:4]), "---------++---------", false},
	} {
		for i, value := range values {
			if got, want := c.r.Holds(key(value)), c.holds[i] == '+'; got != want {
				t.Errorf("%s has %.20s: %v, want %v", c.name, value, got, want)
			}
			if k := appendKey(nil, value, true); c.r.Descending().Holds(k) != c.r.Holds(key(value)) {
				t.Errorf("%s descending has %.20s: %v", c.name, value, !c.r.Holds(key(value)))
			}
		}
		if c.r.Point() != c.point {
			t.Errorf("%s is a point: %v", c.name, c.r.Point())
		}
	}
	prefix, exact := Prefixed("a")
	if !exact || prefix.Point() || !prefix.Holds(key(`"a\u0000"`)) || !prefix.Holds(key(`"a"`)) || prefix.Holds(key(`"b"`)) {
		t.Errorf("the texts that begin with a are those from %x to %x, %v", prefix.Low, prefix.High, exact)
	}
	if r, exact := Prefixed(strings.Repeat("x", 1024)); !exact || !r.Holds(key(values[len(values)-1])) {
		t.Errorf("a prefix of 1,024 bytes is from %x on, %v", r.Low, exact)
	}
	if r, exact := Prefixed(strings.Repeat("x", 1025)); exact || !r.Holds(key(values[len(values)-1])) || !r.Point() {
		t.Errorf("a prefix of 1,025 bytes is from %x on, %v", r.Low, exact)
	}
}

// TestExact: a value whose key others have is not exact.
func TestExact(t *testing.T) {
	for value, want := range map[string]bool{"": true, "null": true, "true": true, "[]": false, "{}": false, "1e1000": true, "1e1001": false, `"x"`: true,
		`"` + strings.Repeat("x", 1023) + `"`: true, `"` + strings.Repeat("x", 1024) + `"`: false, `"` + strings.Repeat("x", 1025) + `"`: false} {
		if got := Exact(node(value)); got != want {
			t.Errorf("%.20s is exact: %v", value, got)
		}
	}
}

// TestAppendInt: the key of a whole number is its text's.
func TestAppendInt(t *testing.T) {
	for text, n := range map[string]int64{"0": 0, "-1": -1, "1000": 1000, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63} {
		if got := AppendInt(nil, n); !bytes.Equal(got, key(text)) {
			t.Errorf("%s has the key %x, and by its text %x", text, got, key(text))
		}
	}
}

// TestRangesOfRandomKeys compares unions and intersections with their definition.
func TestRangesOfRandomKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (all []Range) {
			for range rapid.IntRange(0, 4).Draw(t, name) {
				r := Range{Low: key(valueOf(t)), High: key(valueOf(t))}
				switch rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					r = PointOf(r.Low)
				case 1:
					r.High = nil
				}
				all = append(all, r)
			}
			return all
		}
		holds := func(all []Range, k []byte) bool {
			return slices.ContainsFunc(all, func(r Range) bool { return r.Holds(k) })
		}
		a, b := draw("a"), draw("b")
		union, left, right := Union(slices.Concat(a, b)), Union(a), Union(b)
		both := Intersect(left, right)
		for _, all := range [][]Range{union, left, right, both} {
			for i := range all {
				if i > 0 && (all[i-1].High == nil || bytes.Compare(all[i-1].High, all[i].Low) > 0) {
					t.Fatalf("%x are not sorted and disjoint", all)
				}
			}
		}
		value := valueOf(t)
		k := key(value)
		if got, want := holds(union, k), holds(a, k) || holds(b, k); got != want {
			t.Fatalf("%x holds %s: %v", union, value, got)
		}
		if got, want := holds(both, k), holds(a, k) && holds(b, k); got != want {
			t.Fatalf("%x of %x and %x holds %s: %v", both, left, right, value, got)
		}
		more := append(slices.Clone(k), key(valueOf(t))...) // what follows a key decides nothing
		down := appendKey(nil, value, true)
		for _, r := range union {
			if r.Holds(more) != r.Holds(k) || r.Descending().Holds(down) != r.Holds(k) || r.Descending().Holds(append(down, k...)) != r.Holds(k) {
				t.Fatalf("%x and %x hold %s otherwise", r, r.Descending(), value)
			}
		}
	})
}
