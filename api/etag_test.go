package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer"
)

// TestParseETag checks that tags are read as they were given out, and which texts are none of this store.
func TestParseETag(t *testing.T) {
	tag := entityTag{Revision: 1042, Position: fanfold.At(1050, 3), Fold: 6}
	if got := tag.String(); got != `"1042.1050-3.6"` {
		t.Errorf("a tag is given out as %s", got)
	}
	for text, want := range map[string]entityTag{
		`"1042.1050-3.6"`: tag, `W/"1042.1050-3.6"`: tag, `"1042.1050-3.6-gzip"`: tag,
		`"1042"`:           {Revision: 1042}, // a condition on a write needs the revision alone
		`"0.1050-3"`:       {Position: fanfold.At(1050, 3)},
		`"1.1-0-abcdefgh"`: {Revision: 1, Position: fanfold.At(1, 0), Store: "abcdefgh"},
		`"1.1-0.6.ab"`:     {Revision: 1, Position: fanfold.At(1, 0), Fold: 6, Suffix: "ab"},
	} {
		if got, err := parseETag(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `1042`, `""`, `"+1"`, `"01"`, `"-1"`, `"a"`, `"9223372036854775808"`, `"1.1"`, `"1.1-0-abcdefgh"x`, `"1.1-0-abcdefgh-9"`, `"1.1-0.2147483648"`, `"1.1-0.06"`, `"1" `} {
		if got := (positions{}).revision(text); got != writer.NoRevision {
			t.Errorf("%s is read as revision %d", text, got)
		}
	}
}

func FuzzETag(f *testing.F) {
	for _, s := range []string{`"1042.1050-3.1"`, `W/"7.7-0.1"`, `"7"`, `"7.7-0.1.00ff"`, `*`, `"`, `"01"`, `"1.2"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tag, err := parseETag(s)
		if err != nil {
			if fanfold.CodeOf(err) != fanfold.Invalid {
				t.Fatal(err)
			}
			if (positions{}).revision(s) != writer.NoRevision {
				t.Fatalf("%q names a revision", s)
			}
			return
		}
		if tags, err := splitETags(s); err == nil && (len(tags) != 1 || tags[0] != s || (positions{}).revision(tags[0]) != tag.Revision) {
			t.Fatalf("%q lists %q", s, tags)
		}
		back, err := parseETag(tag.String())
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
		tags, err := splitETags(s)
		if err != nil {
			if fanfold.CodeOf(err) != fanfold.Invalid || tags != nil {
				t.Fatal(err)
			}
			return
		}
		again, err := splitETags(strings.Join(tags, ", "))
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
