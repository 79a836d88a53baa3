package fanfold

import (
	"encoding/base32"
	"regexp"
	"strconv"
	"strings"
)

// StoreID names a store, so that a position of one is not taken for a position of another. It has eight characters of
// lower-case base32 (a-z2-7). It is drawn when the log is made, and stays with the log.
type StoreID string

var storeIDRE = regexp.MustCompile(`^[a-z2-7]{8}$`)

// Valid reports whether the id has the form of one.
func (id StoreID) Valid() bool { return storeIDRE.MatchString(string(id)) }

// Issuer turns the positions of a store into bookmarks for clients, and bookmarks that come back into positions. It refuses
// bookmarks of another store. The zero value adds nothing to a position, and takes every bookmark.
type Issuer struct {
	Store StoreID
	// Origin has the stores before, whose positions are taken up to the last event that the store has of them.
	Origin Origin
	// Folds knows by which version of the fold events are folded. The log says it, so that it is the same on every node. nil for
	// no knowledge: positions are given out without a fold version.
	Folds interface {
		// FoldOf returns the fold version of the event at seq, 0 where the event is not folded here yet. model tells whether it
		// is a model's event, whose first change is a derived one.
		FoldOf(seq uint64) (version int, model bool)
	}
	// Reader marks the positions that are given to a reader for whom rules decide about single documents: see ReaderMark.
	Reader string
}

// readerMarkBytes is how much of each of a reader's keys a position carries.
const readerMarkBytes = 5

// readerMarkLen is the length of a mark: a letter, and of each key as many in base 32.
const readerMarkLen = 1 + 2*readerMarkBytes*8/5

var readerMarkRE = regexp.MustCompile(`^r[a-z2-7]{16}$`)

// ReaderMark returns what positions carry for a reader's keys, to all documents and to those that were asked for. It is "" where the second one is. Readers
// with other keys see other documents.
func ReaderMark(all, asked string) string {
	if all == "" || asked == "" {
		return ""
	}
	return "r" + readerText(all) + readerText(asked)
}

// readerText returns what a mark has of one key.
func readerText(key string) string {
	return strings.ToLower(base32.StdEncoding.EncodeToString([]byte(key[:readerMarkBytes])))
}

// MayHaveReader tells whether the text of a bookmark may end with a ReaderMark. Of most without one it says so.
func MayHaveReader(text string) bool {
	at := len(text) - readerMarkLen - 1
	return at > 0 && text[at] == '-' && text[at+1] == 'r'
}

// FitsReader tells whether a reader with these keys sees what the reader saw to whom the position was given. One of the two keys has to be the same. A
// position without a mark fits everybody.
func (b Bookmark) FitsReader(all, asked string) bool {
	if b.Reader == "" {
		return true
	}
	half := 1 + (len(b.Reader)-1)/2
	return all != "" && b.Reader[1:half] == readerText(all) || asked != "" && b.Reader[half:] == readerText(asked)
}

// FoldOf returns what Folds says of the event at seq, and 0 without Folds.
func (i Issuer) FoldOf(seq uint64) (version int, model bool) {
	if i.Folds == nil {
		return 0, false
	}
	return i.Folds.FoldOf(seq)
}

// Bookmark is a position as a client keeps it, to go on from there days later and on another node. Its text is
// "<sequence>-<n>-<store>". Inside an event it ends with "-<fold version>", because the version of the fold decides which
// changes the event has. For a reader for whom rules decide about single documents it ends with a mark. Clients send it back as they got it.
type Bookmark struct {
	Position
	Store  StoreID // "" for none
	Fold   int     // the fold version of the event; 0 for none
	Reader string  // the ReaderMark; "" for none
}

// Mark returns the position as the store gives it out. A direct change is the first of its event under every fold version, so
// its bookmark names none. A model's event has derived changes alone.
func (i Issuer) Mark(p Position) Bookmark {
	b := Bookmark{Position: p, Store: i.Store, Reader: i.Reader}
	if version, model := i.FoldOf(p.Seq()); model || p.N() > 0 {
		b.Fold = version
	}
	return b
}

// Unmarked returns an issuer that gives all readers the same positions.
func (i Issuer) Unmarked() Issuer {
	i.Reader = ""
	return i
}

// String returns the bookmark's text.
func (b Bookmark) String() string { return string(b.Append(make([]byte, 0, 40))) }

// Append appends the bookmark's text to dst.
func (b Bookmark) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, b.Seq(), 10)
	dst = strconv.AppendInt(append(dst, '-'), int64(b.N()), 10)
	if b.Store != "" {
		dst = append(append(dst, '-'), b.Store...)
		if b.Fold != 0 {
			dst = strconv.AppendInt(append(dst, '-'), int64(b.Fold), 10)
		}
	}
	if b.Reader != "" {
		dst = append(append(dst, '-'), b.Reader...)
	}
	return dst
}

// MarshalText returns the bookmark's text.
func (b Bookmark) MarshalText() ([]byte, error) { return b.Append(nil), nil }

// UnmarshalText reads a bookmark as ParseBookmark does. The error is Invalid.
func (b *Bookmark) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBookmark(string(text))
	return err
}

// ParseBookmark reads a bookmark. The store, the fold version and the reader's mark may be missing, and the number as in ParsePosition. The
// error is Invalid.
func ParseBookmark(s string) (b Bookmark, err error) {
	parts := strings.Split(s, "-")
	if last := len(parts) - 1; last > 0 && readerMarkRE.MatchString(parts[last]) {
		b.Reader, parts = parts[last], parts[:last]
	}
	if len(parts) > 4 {
		return b, badPosition(s)
	}
	if len(parts) > 2 {
		if b.Store = StoreID(parts[2]); !b.Store.Valid() {
			return b, badPosition(s)
		}
	}
	if len(parts) > 3 {
		fold, err := parseDecimal(parts[3], 1<<31-1)
		if err != nil || fold == 0 {
			return b, badPosition(s)
		}
		b.Fold = int(fold)
	}
	b.Position, err = parseBare(s, parts[:min(2, len(parts))])
	return b, err
}

// Resolve returns the position at which a client that has a bookmark goes on. A bookmark inside an event stands for the event's
// start if its fold version is not the one that the log says. Nothing is missed then, and some changes may come again. One of an
// event that is not folded here yet is taken as it is. The error is StoreChanged for a bookmark of another store, and for one of a
// predecessor after what this store has of it. Its Oldest says where to go on.
func (i Issuer) Resolve(b Bookmark) (Position, error) {
	if !i.issued(b.Store, b.Seq()) {
		return 0, i.errChanged(b)
	}
	if version, _ := i.FoldOf(b.Seq()); b.Fold != 0 && version != 0 && b.Fold != version && b.Seq() > 0 {
		return At(b.Seq(), 0) - 1, nil
	}
	return b.Position, nil
}

// issued returns whether a store's bookmark about the event at seq holds here. It does if it is this store's, or a predecessor's
// and this store has the event. "" is this store.
func (i Issuer) issued(store StoreID, seq uint64) bool {
	if store == "" || i.Store == "" || store == i.Store {
		return true
	}
	last, known := i.Origin.Last(store)
	return known && seq <= last
}

// errChanged returns the error for a bookmark that says nothing here.
func (i Issuer) errChanged(b Bookmark) error {
	last, known := i.Origin.Last(b.Store)
	if !known {
		err := Errorf(StoreChanged, "position %s is of store %s, and this is store %s: what follows it here has nothing to do with what was read there; begin anew at the oldest position, or from an export", b, b.Store, i.Store)
		err.Oldest = &Bookmark{Store: i.Store}
		return err
	}
	oldest := i.Mark(EndOf(last))
	err := Errorf(StoreChanged, "position %s is of store %s, from which this store %s was restored up to event %d: what came later is lost, and other events have its place; go on at %s", b, b.Store, i.Store, last, oldest)
	err.Oldest = &oldest
	return err
}

// EndOf returns the position of the last change that the event at seq can have, 0 for no event.
func EndOf(seq uint64) Position {
	if seq == 0 {
		return 0
	}
	return At(seq, MaxChanges)
}

// IssuedTag returns whether an entity tag that names a revision was given out by this store, or by a predecessor that has the
// revision in common with it. A tag that names no store may be of any store before. It counts up to the last revision that all of
// them have in common: a later number may have been given anew to another write.
func (i Issuer) IssuedTag(store StoreID, revision Revision) bool {
	if store == "" {
		return !i.NamesStore(uint64(revision))
	}
	return i.issued(store, uint64(revision))
}

// NamesStore returns whether a tag about the event at seq names its store. Without a restore none does.
func (i Issuer) NamesStore(seq uint64) bool { return len(i.Origin) > 0 && seq > i.Origin.Common() }
