package fanfold

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestOrigin: predecessors of predecessors count up to the lesser of both ends, and the last of 16 stands for those before.
func TestOrigin(t *testing.T) {
	var o Origin
	for i, last := range []uint64{100, 120, 80} {
		o = o.After(storeNamed(i), last)
	}
	if want := "aaaaaaac:80 aaaaaaab:80 aaaaaaaa:80"; o.String() != want {
		t.Fatalf("the origin is %s, want %s", o, want)
	}
	if o = (Origin{}).After(storeNamed(0), 100).After(storeNamed(1), 120); o.String() != "aaaaaaab:120 aaaaaaaa:100" || o.Common() != 100 {
		t.Fatalf("the origin is %s", o)
	}
	o = nil
	for i := range 20 {
		o = o.After(storeNamed(i), uint64(1000+i))
	}
	if len(o) != MaxPredecessors || o.Common() != 1000 || len(o.String()) > 464 {
		t.Fatalf("the origin is %s, of %d bytes", o, len(o.String()))
	}
	if last, known := o.Last(storeNamed(19)); last != 1019 || !known {
		t.Fatalf("the last store has %d events here", last)
	}
	if _, known := o.Last(storeNamed(3)); known {
		t.Fatal("a store is known that was before 16 others")
	}
	longest := slices.Repeat([]string{"aaaaaaaa:" + fmt.Sprint(uint64(maxSeq))}, MaxPredecessors)
	if len(strings.Join(longest, " ")) > 464 {
		t.Fatalf("predecessors may have %d bytes", len(strings.Join(longest, " ")))
	}
	for _, bad := range []string{" ", "a", "aaaaaaaa", "aaaaaaaa:", "aaaaaaaa:01", "aaaaaaaa:-1", "aaaaaaaa:1 ", "aaaaaaaa:1  aaaaaaab:1", "aaaaaaaa:1 aaaaaaab:2",
		"aaaaaaaa:1 aaaaaaaa:1", "AAAAAAAA:1", "aaaaaaaa:8796093022208", strings.Join(longest, " ") + " aaaaaaab:1"} {
		if got, err := ParseOrigin(bad); CodeOf(err) != Invalid {
			t.Errorf("%q is read as %v, %v", bad, got, err)
		}
	}
}

// storeNamed returns one of 32 ids.
func storeNamed(i int) StoreID {
	return StoreID("aaaaaaa" + string("abcdefghijklmnopqrstuvwxyz234567"[i]))
}

func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"", "aaaaaaab:120 aaaaaaaa:100", "aaaaaaaa:0", "aaaaaaaa:01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseOrigin(s)
		if err == nil && o.String() != s {
			t.Fatalf("%q came back as %q", s, o)
		}
		if again, err2 := ParseOrigin(o.After("zzzzzzzz", 5).String()); err == nil && err2 != nil {
			if _, known := o.Last("zzzzzzzz"); !known {
				t.Fatalf("%q after a restore is %q, %v", s, again, err2)
			}
		}
	})
}

// TestResolvePredecessors: positions of a predecessor are good up to the last event that both stores have.
func TestResolvePredecessors(t *testing.T) {
	mine := Issuer{Store: "abcdefgh", Folds: folds{}, Origin: Origin{{"bbbbbbbb", 50}, {"cccccccc", 4}}}
	for text, want := range map[string]Position{"50-0-bbbbbbbb": At(50, 0), "50-3-bbbbbbbb-9": At(50, 3), "50-3-bbbbbbbb-8": At(50, 0) - 1, "50-1048575-bbbbbbbb": EndOf(50),
		"4-7-cccccccc": At(4, 7), "70-0-abcdefgh": At(70, 0), "70-0": At(70, 0)} {
		if got, err := resolve(mine, text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, oldest := range map[string]string{"51-0-bbbbbbbb": "50-1048575-abcdefgh-9", "5-0-cccccccc": "4-1048575-abcdefgh-8", "1-0-dddddddd": "0-0-abcdefgh"} {
		_, err := resolve(mine, text)
		e, ok := err.(*Error) //nolint:errorlint // it is not wrapped
		if !ok || e.Code != StoreChanged || e.Oldest == nil || e.Oldest.String() != oldest {
			t.Errorf("%s: %+v", text, err)
		} else if at, err := mine.Resolve(*e.Oldest); err != nil || at != e.Oldest.Position {
			t.Errorf("%s is not taken back: %v, %v", oldest, at, err)
		}
	}
	for _, c := range []struct {
		store    StoreID
		revision Revision
		want     bool
	}{{"", 4, true}, {"", 5, false}, {"bbbbbbbb", 50, true}, {"bbbbbbbb", 51, false}, {"cccccccc", 5, false}, {"abcdefgh", 99, true}, {"dddddddd", 1, false}} {
		if mine.IssuedTag(c.store, c.revision) != c.want {
			t.Errorf("a tag of %q and revision %d: want %v", c.store, c.revision, c.want)
		}
	}
	if plain := (Issuer{Store: "abcdefgh"}); !plain.IssuedTag("", 99) || plain.IssuedTag("bbbbbbbb", 1) || plain.NamesStore(99) {
		t.Error("a store that was not restored has tags without a store")
	}
}
