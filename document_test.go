package fanfold

import (
	"regexp"
	"strings"
	"testing"
)

func FuzzCheckCollection(f *testing.F) {
	for _, s := range []string{"", "a", "books", "a-b_9", "9a", "_a", "-a", "A", "aB", "Zz", "[", "@", "`", "{", "aZ[", "a\n", "\na", "\u00e9", "a\xff", "a.b", "a b", strings.Repeat("a", MaxCollectionLen),
		strings.Repeat("a", MaxCollectionLen+1)} {
		f.Add(s)
	}
	valid := regexp.MustCompile(`\A[a-zA-Z][a-zA-Z0-9_-]*\z`)
	f.Fuzz(func(t *testing.T, s string) {
		if err := CheckCollection(s); (err == nil) != (len(s) <= MaxCollectionLen && valid.MatchString(s)) || err != nil && CodeOf(err) != Invalid {
			t.Fatalf("CheckCollection(%q) is %v", s, err)
		}
	})
}

func TestPosition(t *testing.T) {
	for s, want := range map[string]Position{"0-0": 0, "1042-17": At(1042, 17), "8796093022207-1048575": At(1<<43-1, MaxChanges), "5": At(5, MaxChanges)} {
		if p, err := ParsePosition(s); err != nil || p != want {
			t.Errorf("%s is %v, %v", s, p, err)
		}
	}
	for _, s := range []string{"", "-", "1-", "-1", "a-b", "1-2-3", "1-2-ABCDEFGH", "1-2-abcdefg", "1-2-abcdefg1", "1-2-abcdefgh-0", "1-2-abcdefgh-01", "1-2-abcdefgh-1-1", "1-2-abcdefgh-2147483648", "+1-0", "01-0", "1-01", "8796093022208-0", "1-1048576", " 1-0"} {
		if p, err := ParsePosition(s); err == nil {
			t.Errorf("%q is read as %v", s, p)
		}
	}
	for s, want := range map[string]Bookmark{"7-0-abcdefgh": {Position: At(7, 0), Store: "abcdefgh"}, "7-2-234567zz-9": {Position: At(7, 2), Store: "234567zz", Fold: 9}, "7-0-abcdefgh-rabcdefghij234567": {Position: At(7, 0), Store: "abcdefgh", Reader: "rabcdefghij234567"}, "7-2-abcdefgh-9-rabcdefghij234567": {Position: At(7, 2), Store: "abcdefgh", Fold: 9, Reader: "rabcdefghij234567"}} {
		if b, err := ParseBookmark(s); err != nil || b != want || b.String() != s {
			t.Errorf("%s is %v, %v", s, b, err)
		}
	}
	if At(1042, 17).String() != "1042-17" || At(1042, 17) >= At(1042, 18) || At(1042, MaxChanges) >= At(1043, 0) {
		t.Error("positions do not order as they should")
	}
}
