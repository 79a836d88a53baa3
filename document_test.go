package fanfold

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func FuzzCheckCollection(f *testing.F) {
	for _, s := range []string{"", "a", "books", "a-b_9", "9a", "_a", "-a", "A", "aB", "a\n", "\na", "\u00e9", "a\xff", "a.b", "a b", strings.Repeat("a", MaxCollectionLen),
		strings.Repeat("a", MaxCollectionLen+1)} {
		f.Add(s)
	}
	valid := regexp.MustCompile(`\A[a-z][a-z0-9_-]*\z`)
	f.Fuzz(func(t *testing.T, s string) {
		if err := CheckCollection(s); (err == nil) != (len(s) <= MaxCollectionLen && valid.MatchString(s)) || err != nil && CodeOf(err) != Invalid {
			t.Fatalf("CheckCollection(%q) is %v", s, err)
		}
	})
}

func FuzzETag(f *testing.F) {
	for _, s := range []string{`"1042.1050-3.1"`, `W/"7.7-0.1"`, `"7"`, `"7.7-0.1.00ff"`, `*`, `"`, `"01"`, `"1.2"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tag, err := ParseETag(s)
		if err != nil {
			if CodeOf(err) != Invalid {
				t.Fatal(err)
			}
			if TagRevision(s) != NoRevision {
				t.Fatalf("%q names a revision", s)
			}
			return
		}
		if tags, err := SplitETags(s); err == nil && (len(tags) != 1 || tags[0] != s || TagRevision(tags[0]) != tag.Revision) {
			t.Fatalf("%q lists %q", s, tags)
		}
		back, err := ParseETag(tag.String())
		if err != nil || back != tag {
			t.Fatalf("%q is %+v and comes back as %+v, %v", s, tag, back, err)
		}
	})
}

// FuzzETags: what lists entity tags is nothing else, and a list of the same tags again.
func FuzzETags(f *testing.F) {
	for _, s := range []string{`"a"`, `W/"a", "b"`, `,"a,b" ,,W/""`, `"a" "b"`, `"a`, `a`, ``, `*`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tags, err := SplitETags(s)
		if err != nil {
			if CodeOf(err) != Invalid || tags != nil {
				t.Fatal(err)
			}
			return
		}
		again, err := SplitETags(strings.Join(tags, ", "))
		if err != nil || len(tags) == 0 || !slices.Equal(again, tags) {
			t.Fatalf("%q lists %q and then %q, %v", s, tags, again, err)
		}
		for _, tag := range tags {
			inner := strings.TrimPrefix(tag, "W/")
			if len(inner) < 2 || inner[0] != '"' || strings.Count(tag, `"`) != 2 || inner[len(inner)-1] != '"' || strings.ContainsAny(tag, " \t") {
				t.Fatalf("%q lists %q", s, tag)
			}
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
	for s, want := range map[string]Bookmark{"7-0-abcdefgh": {Position: At(7, 0), Store: "abcdefgh"}, "7-2-234567zz-9": {At(7, 2), "234567zz", 9}} {
		if b, err := ParseBookmark(s); err != nil || b != want || b.String() != s {
			t.Errorf("%s is %v, %v", s, b, err)
		}
	}
	if At(1042, 17).String() != "1042-17" || At(1042, 17) >= At(1042, 18) || At(1042, MaxChanges) >= At(1043, 0) {
		t.Error("positions do not order as they should")
	}
}
