package forget

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/sqlite/basefile"
)

// Finder finds documents by what was ever written of them.
type Finder struct {
	*shared
	finding sync.Mutex // held while a text is searched for, which reads the whole log
}

// FindText returns the documents with a written version that has a text, in order of their keys. The text may be in a string, a member's name or a number. Versions in erase events count,
// too. It returns at most limit of them, and wire.MaxFound, and whether there are more. Copies that the store makes do not count. It reads the base and the log through, and blocks for as
// long as that takes. It returns Invalid for a text that cannot be, Busy while another search runs, and the errors of ctx and the log.
func (g *Finder) FindText(ctx context.Context, text string, limit int) (found []wire.Found, more bool, err error) {
	if text == "" || len(text) > wire.MaxFindText || !utf8.ValidString(text) {
		return nil, false, fanfold.Errorf(fanfold.Invalid, "the text to find has 1 to %d bytes of UTF-8, not %d", wire.MaxFindText, len(text))
	}
	if !g.finding.TryLock() {
		return nil, false, fanfold.Errorf(fanfold.Busy, "another text is being searched for: try again later")
	}
	defer g.finding.Unlock()
	var f *textFinder
	if err := g.log.Outlast(ctx, func(context.Context) error { // what it reads outlasts it by itself
		f = &textFinder{text: text, limit: min(max(limit, 1), wire.MaxFound), writes: map[fanfold.Key]map[uint64]bool{}, decoder: events.NewDecoder("")}
		return f.readLog(ctx, g.log)
	}); err != nil {
		return nil, false, err
	}
	err = g.store.Read(func(s *sqlite.Snapshot) (err error) {
		found, err = f.found(s)
		return err
	})
	return found, f.more, err
}

// readLog looks at the base and the log, until enough is found.
func (f *textFinder) readLog(ctx context.Context, log *events.Log) error {
	last, err := log.LastSeq(ctx)
	if err == nil {
		err = f.readBase(ctx, NewSource(log))
	}
	if err == nil {
		err = log.Messages(ctx, 1, last, f.message)
	}
	if errors.Is(err, errEnoughFound) {
		return nil
	}
	return err
}

// textFinder counts the writes of each document that have a text.
type textFinder struct {
	text    string
	limit   int
	writes  map[fanfold.Key]map[uint64]bool // the sequences of those with the text; 0 for that in the base
	more    bool
	decoder *events.Decoder
	read    int // messages
}

// errEnoughFound ends a search.
var errEnoughFound = errors.New("enough documents are found")

// note takes note of a write that has the text, once. The error is errEnoughFound for a document that is one too many.
func (f *textFinder) note(key fanfold.Key, seq uint64) error {
	if _, known := f.writes[key]; !known && len(f.writes) == f.limit {
		f.more = true
		return errEnoughFound
	}
	if f.writes[key] == nil {
		f.writes[key] = map[uint64]bool{}
	}
	f.writes[key][seq] = true
	return nil
}

// readBase looks at the documents of the base at which the log begins, if there is one.
func (f *textFinder) readBase(ctx context.Context, source Source) error {
	base, err := source.Base(ctx)
	if err != nil || base == nil {
		return err
	}
	file, err := base.Open(ctx)
	if err != nil {
		return err
	}
	r, err := basefile.NewReader(file)
	if err == nil {
		err = f.rows(ctx, r)
		r.Close()
	}
	return errors.Join(err, file.Close())
}

// rows looks at the rows of a base.
func (f *textFinder) rows(ctx context.Context, r *basefile.Reader) error {
	table := slices.IndexFunc(r.Header.Tables, func(t basefile.Table) bool { return t.Name == "document" })
	if table < 0 {
		return fanfold.Errorf(fanfold.LogDamaged, "the base has no documents; %s", events.Repair)
	}
	column := func(row []any, name string) any {
		if i := slices.Index(r.Header.Tables[table].Columns, name); i >= 0 {
			return row[i]
		}
		return nil
	}
	for {
		which, row, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case err != nil:
			return err
		case which > table:
			return ctx.Err()
		case which < table:
			continue
		}
		if jsondoc.Contains(sqlite.BaseBody(column(row, "body"), column(row, "source")), f.text) {
			collection, _ := column(row, "collection").(string)
			id, _ := column(row, "id").(string)
			err = f.note(fanfold.Key{Collection: collection, ID: id}, 0)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// message looks at a message of the log.
func (f *textFinder) message(m *events.Message) error {
	if f.read++; f.read%32 == 0 {
		runtime.Gosched() // requests come first
	}
	if !strings.Contains(m.Subject, ".doc.") && !strings.HasSuffix(m.Subject, ".erase") {
		return nil
	}
	ev, err := f.decoder.Decode(*m)
	if err != nil || !ev.Loss.Lists() {
		if err != nil {
			return err
		}
		return f.event(ev)
	}
	for i := range ev.Loss.List.Messages {
		s := &ev.Loss.List.Messages[i]
		if !strings.Contains(s.Subject, ".doc.") {
			continue
		}
		stands, err := f.decoder.Decode(events.Message{Subject: s.Subject, Data: s.Payload, Seq: s.Seq, Time: s.Time})
		if err == nil {
			err = f.event(stands)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// event looks at an event of the log, or at what stands for one.
func (f *textFinder) event(ev *fanfold.Event) error {
	has := false
	switch {
	case ev.Kind == fanfold.KindPut, ev.Kind == fanfold.KindPatch && ev.Merges():
		has = jsondoc.Contains(ev.Body, f.text)
	case ev.Kind == fanfold.KindPatch:
		has = patchContains(ev.Body, f.text)
	}
	if !has {
		return nil
	}
	return f.note(ev.Key, ev.Seq)
}

// patchContains tells whether a JSON Patch writes a text.
func patchContains(patch []byte, text string) bool {
	t := jsondoc.MustParse(patch)
	for op := t.First(jsondoc.Root); op != jsondoc.None; op = t.Next(op) {
		value, path := t.Member(op, "value"), t.Member(op, "path")
		if value != jsondoc.None && jsondoc.Contains(t.Raw(value), text) ||
			path != jsondoc.None && slices.ContainsFunc(jsondoc.PointerTokens(t.Text(path)), func(name string) bool { return strings.Contains(name, text) }) {
			return true
		}
	}
	return false
}

// found returns the documents in order of their keys, and which of them are deleted.
func (f *textFinder) found(s *sqlite.Snapshot) ([]wire.Found, error) {
	keys := slices.SortedFunc(maps.Keys(f.writes), func(a, b fanfold.Key) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.ID, b.ID))
	})
	out := make([]wire.Found, len(keys))
	for i, key := range keys {
		number, err := s.NumberOf(key)
		if err != nil {
			return nil, err
		}
		out[i] = wire.Found{Collection: key.Collection, ID: key.ID, Versions: len(f.writes[key]), Deleted: number == 0}
	}
	return out, nil
}
