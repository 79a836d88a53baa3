package sortkey

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// compare is the order as the package's comment has it, the slow way.
func compare(t rapid.TB, a, b string) int {
	classA, numberA, textA := explain(t, a)
	classB, numberB, textB := explain(t, b)
	return cmp.Or(cmp.Compare(classA, classB), numberA.Cmp(numberB), strings.Compare(textA, textB))
}

// explain returns the place of a value's class in the order, and what it is ordered by within the class. "" is an absent value.
func explain(t rapid.TB, value string) (class int, number *big.Rat, text string) {
	number = new(big.Rat)
	switch {
	case value == "":
		class = -2
	case value == "null":
		class = -1
	case value == "false":
		class = 1
	case value == "true":
		class = 2
	case value != "" && strings.ContainsAny(value[:1], "-0123456789"):
		if _, err := decimal.Parse(value); err != nil {
			break
		}
		class = 3
		if _, ok := number.SetString(value); !ok {
			t.Fatalf("%s is no number", value)
		}
	case strings.HasPrefix(value, `"`):
		class = 4
		tree := jsondoc.MustParse([]byte(value))
		if text = tree.Text(jsondoc.Root); len(text) > 1024 {
			text = text[:1024]
		}
	}
	return class, number, text
}

// node returns a value as it is given to the package.
func node(value string) (*jsondoc.Tree, jsondoc.Node) {
	if value == "" {
		return jsondoc.MustParse([]byte("{}")), jsondoc.None
	}
	return jsondoc.MustParse([]byte(value)), jsondoc.Root
}

// appendKey appends the key of one value.
func appendKey(dst []byte, value string, descending bool) []byte {
	t, n := node(value)
	if descending {
		return AppendDescending(dst, t, n)
	}
	return Append(dst, t, n)
}

// check compares the joined keys of several values, some of them descending, with other ones as the values compare, and takes
// them apart again.
func check(t rapid.TB, left, right []string, descending uint8) {
	t.Helper()
	want := 0
	var a, b []byte
	for i := range left {
		down := descending>>(i%8)&1 == 1
		a, b = appendKey(a, left[i], down), appendKey(b, right[i], down)
		if order := compare(t, left[i], right[i]); want == 0 && down {
			want = -order
		} else if want == 0 {
			want = order
		}
	}
	if got := bytes.Compare(a, b); got != want {
		t.Fatalf("the keys of %q and %q, %08b of them descending, compare as %d, want %d:\n%x\n%x", left, right, descending, got, want, a, b)
	}
	for i := range left {
		n, err := KeyLength(a)
		if key := appendKey(nil, left[i], descending>>(i%8)&1 == 1); err != nil || !bytes.Equal(a[:n], key) {
			t.Fatalf("of the keys of %q number %d is read as %x, %v, and is %x", left, i, a[:n], err, key)
		}
		for short := range a[:n] {
			if n, err := KeyLength(a[:short]); err == nil {
				t.Fatalf("the first %d bytes of the key of %q are read as a key of %d", short, left[i], n)
			}
		}
		a = a[n:]
	}
	if len(a) > 0 {
		t.Fatalf("the keys of %q have %x after them", left, a)
	}
	refines(t, left, right)
}

// refines checks that the stored keys of values are the same as before, and order no two values otherwise than the others do.
func refines(t rapid.TB, left, right []string) {
	t.Helper()
	for i := range left {
		a, b := OrderBy(node(left[i])), OrderBy(node(right[i]))
		if was := storedBefore(left[i]); !bytes.Equal(a, was) {
			t.Fatalf("%q is stored as %x, and was as %x", left[i], a, was)
		}
		if coarse, fine := bytes.Compare(a, b), compare(t, left[i], right[i]); coarse != 0 && coarse != fine {
			t.Fatalf("the stored keys of %q and %q compare as %d, the others as %d", left[i], right[i], coarse, fine)
		}
		if Orders(node(left[i])) != (a[0] != classNothing) {
			t.Fatalf("%q is stored as %x, and Orders says otherwise", left[i], a)
		}
	}
}

// storedBefore returns the key that a value had when Recents with orderBy were first stored.
func storedBefore(value string) []byte {
	switch t, n := node(value); {
	case n == jsondoc.None:
	case t.Kind(n) == jsondoc.String:
		text := t.Text(n)
		return append([]byte{2}, text[:min(len(text), 1024)]...)
	case t.Kind(n) == jsondoc.Number:
		if d, err := decimal.Parse(t.Text(n)); err == nil {
			return AppendNumber([]byte{1}, d)
		}
	}
	return []byte{0}
}

// valueOf draws a value that is likely to be near another one.
func valueOf(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "null", "[]", `{"a":1}`, "false", "true", "0", "-0.0", "1e1001", "-1e1001", `""`, `"\u0000"`, `"\u0000\u0000"`, `"\u0000\u0001"`, `"\ud800"`}),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?`),
		rapid.Custom(func(t *rapid.T) string {
			text := strings.Repeat("é", rapid.SampledFrom([]int{0, 0, 0, 511, 512, 513}).Draw(t, "repeated"))
			text += string(rapid.SliceOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 0xff, '😀'}), 0, 4).Draw(t, "runes"))
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			return string(quoted)
		}),
	).Draw(t, "value")
}

func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "n")
		var left, right []string
		for range n {
			left = append(left, valueOf(t))
			if rapid.Bool().Draw(t, "same") {
				right = append(right, left[len(left)-1])
			} else {
				right = append(right, valueOf(t))
			}
		}
		check(t, left, right, rapid.Uint8().Draw(t, "descending"))
	})
}

// TestStoredKeys: these bytes are in read models, and no program may write others.
func TestStoredKeys(t *testing.T) {
	for value, want := range map[string]string{
		"": "\x00", "null": "\x00", "true": "\x00", "[1]": "\x00", "1e2000": "\x00", "0": "\x01\x02", "-0": "\x01\x02", "12.50": "\x01\x03\x80\x01125",
		"-12.5": "\x01\x01\x7f\xfe\xce\xcd\xca\xff", "1e-7": "\x01\x03\x7f\xf91", `""`: "\x02", `"a\u0000b"`: "\x02a\x00b", `"é"`: "\x02é",
		`"` + strings.Repeat("x", 2000) + `"`: "\x02" + strings.Repeat("x", 1024),
	} {
		if got := OrderBy(node(value)); string(got) != want {
			t.Errorf("%q is stored as %q, want %q", value, got, want)
		}
	}
}

// TestNumbers compares keys of numbers with math/big's fractions, and reads them.
func TestNumbers(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		x, y := number.Draw(t, "x"), number.Draw(t, "y")
		a, b := numberOf(t, x), numberOf(t, y)
		if got, want := bytes.Compare(AppendNumber(nil, a), AppendNumber(nil, b)), compare(t, x, y); got != want {
			t.Fatalf("the keys of %s and %s compare as %d, want %d", x, y, got, want)
		}
		if back, err := Number(AppendNumber(nil, a)); err != nil || back.String() != a.String() {
			t.Fatalf("the key of %s gives %s, %v", x, back, err)
		}
	})
}

func numberOf(t rapid.TB, text string) decimal.Decimal {
	d, err := decimal.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// FuzzOrder takes two arrays as the values to be compared; where one is shorter its values are absent.
func FuzzOrder(f *testing.F) {
	for _, seed := range [][2]string{{`[1,"a"]`, `[1,"b"]`}, {`[null]`, `[false]`}, {`[true,-1.5e3,"\u0000"]`, `[true,-1501,"a"]`}, {`["a"]`, `["a\u0000"]`},
		{`[0,0]`, `[0]`}, {`[-1]`, `[-10]`}, {`[12]`, `[123]`}, {`["",1]`, `["\u0000",1]`}, {`[{},[]]`, `[1e1001,null]`}} {
		f.Add([]byte(seed[0]), []byte(seed[1]), uint8(0))
		f.Add([]byte(seed[0]), []byte(seed[1]), uint8(0b01))
	}
	f.Fuzz(func(t *testing.T, left, right []byte, descending uint8) {
		a, b := valuesOf(left), valuesOf(right)
		if a == nil || b == nil {
			return
		}
		for len(a) < len(b) {
			a = append(a, "")
		}
		for len(b) < len(a) {
			b = append(b, "")
		}
		check(t, a, b, descending)
	})
}

// valuesOf returns the first values of an array, nil where it is none.
func valuesOf(text []byte) []string {
	if len(text) > 4096 || jsondoc.Check(text, 16) != nil {
		return nil
	}
	t := jsondoc.MustParse(text)
	if t.Kind(jsondoc.Root) != jsondoc.Array {
		return nil
	}
	values := []string{}
	for n := t.First(jsondoc.Root); n != jsondoc.None && len(values) < 8; n = t.Next(n) {
		values = append(values, string(t.Raw(n)))
	}
	return values
}

// FuzzBytes: whatever the bytes, nothing panics, and no key is longer than what it is read from.
func FuzzBytes(f *testing.F) {
	for _, value := range []string{"", "true", "0", "-12.5", "3", `"a\u0000b"`} {
		f.Add(appendKey(nil, value, false))
		f.Add(appendKey(nil, value, true))
		f.Add(OrderBy(node(value)))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if n, err := KeyLength(key); err == nil && (n < 2 || n > len(key)) {
			t.Fatalf("%x begins with a key of %d bytes", key, n)
		}
		_, _ = Number(key)
	})
}
