package fanfold

import "testing"

// folds says which version folds which events in a test: version 9 from event 5 on, version 8 before it. Event 6 is a model's, and events
// from 100 on are not folded yet.
type folds struct{}

// FoldOf implements Folds.
func (folds) FoldOf(seq uint64) (version int, model bool) {
	switch {
	case seq >= 100:
		return 0, false
	case seq >= 5:
		return 9, seq == 6
	}
	return 8, false
}

// TestResolve: a store goes on from positions of its own, and of nobody else's; one inside an event that another fold
// version folded stands for the event's start.
func TestResolve(t *testing.T) {
	mine := Issuer{Store: "abcdefgh", Folds: folds{}}
	before := At(5, 0) - 1
	for text, want := range map[string]Position{
		"5-0": At(5, 0), "5-3": At(5, 3), "5": At(5, MaxChanges), "5-0-abcdefgh": At(5, 0), "5-3-abcdefgh": At(5, 3),
		"5-3-abcdefgh-9": At(5, 3), "5-3-abcdefgh-8": before, "5-0-abcdefgh-8": before, "0-0-abcdefgh-9": 0,
		"4-3-abcdefgh-8": At(4, 3), "4-3-abcdefgh-9": At(4, 0) - 1, "100-3-abcdefgh-9": At(100, 3),
	} {
		if got, err := resolve(mine, text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"5-0-bcdefgha", "5-3-bcdefgha-9", "0-0-bcdefgha"} {
		_, err := resolve(mine, text)
		e, ok := err.(*Error) //nolint:errorlint // it is not wrapped
		if !ok || e.Code != StoreChanged || e.Oldest == nil || e.Oldest.String() != "0-0-abcdefgh" {
			t.Errorf("%s: %v", text, err)
		}
	}
	for at, want := range map[Position]string{At(4, 1): "4-1-abcdefgh-8", At(5, 0): "5-0-abcdefgh", At(5, 1): "5-1-abcdefgh-9",
		At(6, 0): "6-0-abcdefgh-9", At(6, 1): "6-1-abcdefgh-9", At(100, 1): "100-1-abcdefgh"} {
		if got := mine.Mark(at).String(); got != want {
			t.Errorf("the position %s is given out as %s, want %s", at, got, want)
		}
	}
}

// resolve returns the position at which a client goes on that has the text of a bookmark.
func resolve(i Issuer, text string) (Position, error) {
	b, err := ParseBookmark(text)
	if err != nil {
		return 0, err
	}
	return i.Resolve(b)
}

// TestFitsReader: a position goes on for a reader who has one of the two keys with which it was given, and one without a mark for everybody.
func TestFitsReader(t *testing.T) {
	const all, asked, other = "all collections", "those asked for", "something else"
	given := Issuer{Reader: ReaderMark(all, asked)}.Mark(At(7, 0))
	b, err := ParseBookmark(given.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		all, asked string
		want       bool
	}{{all, asked, true}, {all, other, true}, {all, "", true}, {other, asked, true}, {other, other, false}, {other, "", false}, {"", "", false}, {asked, all, false}} {
		if got := b.FitsReader(c.all, c.asked); got != c.want {
			t.Errorf("%s fits %q, %q: %t", b, c.all, c.asked, got)
		}
	}
	if plain := (Bookmark{Position: At(7, 0)}); !plain.FitsReader(other, other) || !plain.FitsReader("", "") {
		t.Error("a position without a mark does not fit everybody")
	}
	if ReaderMark(all, "") != "" {
		t.Error("who reads all that it asks for gets a mark")
	}
}
