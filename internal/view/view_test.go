package view

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
)

// library is what is viewed: notes are open to everyone, books to those who read, and vault to admin alone.
const library = `collections:
  books:
    relations: { note: { path: note, to: notes }, secret: { path: secret, to: vault } }
    derive: { title: { copy: note, value: doc.title }, code: { copy: secret, value: doc.code }, loud: { value: doc.title } }
  notes: { access: { read: [everyone] }, derive: { countOfBooks: { count: books.note }, codes: { count: vault.note } } }
  vault: { access: {}, relations: { note: { path: note, to: notes } } }
`

// keyless knows nobody.
type keyless struct{ access.Everybody }

// rightsOf returns what roles may do in the library.
func rightsOf(t *testing.T, p *access.Principal) *access.Rights {
	t.Helper()
	m, err := modelfile.Parse([]byte(library))
	if err != nil {
		t.Fatal(err)
	}
	return access.NewJudge(keyless{}, func() *model.Model { return m }).Of(p)
}

// shelf holds documents of three collections in turn, by number, and collections that nobody declares.
type shelf struct {
	query.Snapshot
	asked int
}

var shelves = []string{"books", "notes", "vault"}

func document(n int64) *fanfold.Document {
	return &fanfold.Document{Key: fanfold.Key{Collection: shelves[n%3], ID: fmt.Sprint(n)}, Number: n, Body: []byte("{}")}
}

const documents = 40

func (s *shelf) At() fanfold.Position { return 1 }
func (s *shelf) HasCollection(string) (bool, error) {
	s.asked++
	return true, nil
}

func (s *shelf) SequencesAfter(string, fanfold.Counter, int) ([]fanfold.Counter, bool, error) {
	return nil, false, nil
}

func (s *shelf) CollectionsBehind(after string, limit int) (list []fanfold.CollectionCount, more bool, err error) {
	for _, name := range []string{"a", "books", "notes", "vault", "vault2", "z"} {
		if name > after && len(list) == limit {
			return list, true, nil
		}
		if name > after {
			list = append(list, fanfold.CollectionCount{Name: name})
		}
	}
	return list, false, nil
}

func (s *shelf) EachIndex(string, func(model.StoredIndex) error) error { return nil }

func (s *shelf) EachByID(model.IDRange, func(doc *fanfold.Document) (bool, error)) error {
	s.asked++
	return nil
}

func (s *shelf) GetWithin(fanfold.Key, fanfold.View, int) (*fanfold.Document, int, error) {
	s.asked++
	return document(0), 2, nil
}

func (s *shelf) Time() time.Time                                  { return time.Time{} }
func (s *shelf) Oldest() (fanfold.Position, error)                { return 0, nil }
func (s *shelf) Resolve(fanfold.Moment) (fanfold.Position, error) { return 1, nil }
func (s *shelf) ModelAt(fanfold.Position) ([]byte, uint64, error) { return nil, 0, nil }

func (s *shelf) GetAt(fanfold.Position, fanfold.Key, fanfold.View, int) (*fanfold.Document, int, error) {
	s.asked++
	return document(0), 2, nil
}

func (s *shelf) EachListedAt(fanfold.Position, string, string, int, fanfold.View, func(doc *fanfold.Document) (bool, error)) (string, bool, error) {
	s.asked++
	return "", false, nil
}

func (s *shelf) EachReferringAt(fanfold.Position, string, string, int64, int, fanfold.View, func(doc *fanfold.Document) (bool, error)) (int64, bool, error) {
	s.asked++
	return 0, false, nil
}

func (s *shelf) EachOnPageAt(fanfold.Position, model.PageQuery, func(page, pages int64) error, func(doc *fanfold.Document) (bool, error)) error {
	s.asked++
	return nil
}

func (s *shelf) StoredModelAt(fanfold.Position) (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	return []byte(library), nil, nil, nil
}

func (s *shelf) CreatedAt(_ fanfold.Position, after int64, limit int) ([]*fanfold.Document, int64, bool, error) {
	docs, more, err := s.All(after, limit)
	return docs, after + int64(len(docs)), more, err
}

func (s *shelf) ChangesBetween(fanfold.Position, fanfold.Position) (int64, error) { return 3, nil }

func (s *shelf) ChangedKeys(_, to fanfold.Position, _ bool, keep func(fanfold.Key)) (fanfold.Position, error) {
	for n := range int64(3) {
		keep(document(n).Key)
	}
	return to, nil
}

// Versions has two versions; a document of notes and a delete of one of vault are their causes.
func (s *shelf) Versions(fanfold.VersionQuery) (fanfold.VersionPage, error) {
	s.asked++
	derived := fanfold.Version{ChangeRow: fanfold.ChangeRow{Change: &fanfold.Change{Op: fanfold.OpDerive}, Cause: &fanfold.Key{Collection: "notes", ID: "x"}}}
	deleted := fanfold.Version{ChangeRow: fanfold.ChangeRow{Change: &fanfold.Change{Op: fanfold.OpDelete, ByDelete: &fanfold.ByDelete{Key: fanfold.Key{Collection: "vault", ID: "x"}}}}}
	return fanfold.VersionPage{Known: true, Versions: []fanfold.Version{derived, deleted}}, nil
}

func (s *shelf) EachListed(string, string, int, fanfold.View, func(doc *fanfold.Document) (bool, error)) (bool, error) {
	s.asked++
	return false, nil
}

func (s *shelf) EachReferring(string, string, int64, int, fanfold.View, func(doc *fanfold.Document) (bool, error)) (bool, error) {
	s.asked++
	return false, nil
}

func (s *shelf) EachOnPage(model.PageQuery, func(page, pages int64) error, func(doc *fanfold.Document) (bool, error)) error {
	s.asked++
	return nil
}

func (s *shelf) Get(fanfold.Key, fanfold.View) (*fanfold.Document, fanfold.Position, error) {
	s.asked++
	return document(0), 1, nil
}

func (s *shelf) Read(fn func(s Snapshot) error) error { return fn(s) }

func (s *shelf) ReadLong(fn func(s Snapshot) error) error { return fn(s) }

func (s *shelf) LargestTargets(context.Context, []*model.Relation, int) ([]wire.LargestTarget, fanfold.Position, error) {
	s.asked++
	return nil, 1, nil
}

func (s *shelf) Scan(context.Context) (Scan, error) { return s, nil }

func (s *shelf) Model() (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	return []byte(library), nil, nil, nil
}

func (s *shelf) All(after int64, limit int) (docs []*fanfold.Document, more bool, err error) {
	for n := after + 1; n <= documents; n++ {
		if len(docs) == limit {
			return docs, true, nil
		}
		docs = append(docs, document(n))
	}
	return docs, false, nil
}

func (s *shelf) EachKept(int64, func(rule, target string, value []byte) error) error {
	s.asked++
	return nil
}

func (s *shelf) Close() error { return nil }

func (s *shelf) EventAt(context.Context, uint64) (*fanfold.Event, error) {
	return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "vault", ID: "2"}}, nil
}

func (s *shelf) Outcome(uint64) (fanfold.Op, int64, bool) { return fanfold.OpCreate, 7, true }

func (s *shelf) Outcomes(first uint64, _ int) ([]*fanfold.Change, int64, error) {
	return []*fanfold.Change{nil, {Key: document(int64(first)).Key}}, 7, nil
}

func (s *shelf) LineageAt(ctx context.Context, key fanfold.Key, _ fanfold.Moment) (*wire.Lineage, error) {
	report, err := s.Lineage(ctx, key)
	for i, from := range []string{"notes", "vault", "books", "vault"} {
		report.Derived[i].From = from
	}
	// The rule books.title was made of another collection's documents then.
	report.Derived = append(report.Derived, report.Derived[1])
	report.Derived[4].Rule = "books.title"
	return report, err
}

func (s *shelf) Lineage(context.Context, fanfold.Key) (*wire.Lineage, error) {
	s.asked++
	of := func(rule, collection string) wire.DerivedValue {
		return wire.DerivedValue{Rule: rule, Reason: "says " + collection + "/x", Sources: []wire.ValueSource{{Collection: collection, ID: "x"}}, Documents: 9,
			Event: &wire.Origin{Op: fanfold.OpDerive, Collection: collection, ID: "x"}}
	}
	return &wire.Lineage{Derived: []wire.DerivedValue{of("books.title", "notes"), of("books.code", "vault"), of("books.loud", "books"), of("books.gone", "vault")},
		Copies: []wire.Copies{{Rule: "notes.countOfBooks", Documents: 1}, {Rule: "vault.copy", Documents: 1}}}, nil
}

func viewOf(t *testing.T, p *access.Principal) (View, *shelf) {
	t.Helper()
	s := &shelf{}
	var rights *access.Rights
	if p != nil {
		rights = rightsOf(t, p)
	}
	return New(Dependencies{Reader: s, Outcomes: s, Tracer: s, Keys: s}).Open(rights), s
}

// readers are principals and the collections of the library that they read.
var readers = []struct {
	name  string
	who   *access.Principal
	reads []string
}{
	{"nobody", nil, nil},
	{"anonymous", access.Anonymous, []string{"notes"}},
	{"reader", access.OfRole(model.RoleRead), []string{"books", "notes"}},
	{"writer", access.OfRole(model.RoleWrite), []string{"books", "notes"}},
	{"stranger", access.OfRole("stranger"), []string{"notes"}},
	{"admin", access.OfRole(model.RoleAdmin), shelves},
	{"open", access.Open, shelves},
}

// TestViewAsks: each reading of a collection needs the right to read it, and reads nothing without.
func TestViewAsks(t *testing.T) {
	for _, r := range readers {
		for _, collection := range shelves {
			for name, read := range readings(collection) {
				v, s := viewOf(t, r.who)
				err := read(v)
				if may := slices.Contains(r.reads, collection); may && (err != nil || s.asked != 1) || !may && (fanfold.CodeOf(err) != fanfold.Forbidden || s.asked != 0) {
					t.Errorf("%s reads %s by %s: asked %d times, %v", r.name, collection, name, s.asked, err)
				}
			}
		}
	}
}

// readings returns the ways to read a collection.
func readings(collection string) map[string]func(v View) error {
	key := fanfold.Key{Collection: collection, ID: "x"}
	within := func(fn func(p *Prefix) error) func(v View) error {
		return func(v View) error { return v.Read(fn) }
	}
	return map[string]func(v View) error{
		"Get":     func(v View) error { _, _, err := v.Get(key, fanfold.Embedded); return err },
		"Lineage": func(v View) error { _, err := v.Lineage(context.Background(), key); return err },
		"LineageAt": func(v View) error {
			_, err := v.LineageAt(context.Background(), key, fanfold.Moment{})
			return err
		},
		"Versions": within(func(p *Prefix) error {
			_, err := p.Versions(fanfold.VersionQuery{Key: key})
			return err
		}),
		"EachListed of the past": within(func(p *Prefix) error {
			_, _, err := p.AsOf(1).EachListed(collection, "", 9, fanfold.Embedded, nil)
			return err
		}),
		"EachReferring of the past": within(func(p *Prefix) error {
			_, _, err := p.AsOf(1).EachReferring(collection+".note", "x", 0, 1, fanfold.Embedded, nil)
			return err
		}),
		"EachOnPage of the past": within(func(p *Prefix) error {
			return p.AsOf(1).EachOnPage(model.PageQuery{Relation: collection + ".note"}, nil, nil)
		}),
		"GetWithin of the past": within(func(p *Prefix) error {
			_, _, err := p.AsOf(1).GetWithin(key, fanfold.Embedded, 9)
			return err
		}),
		"GetWithin": within(func(p *Prefix) error {
			_, _, err := p.GetWithin(key, fanfold.Embedded, 10)
			return err
		}),
		"HasCollection": within(func(p *Prefix) error { _, err := p.HasCollection(collection); return err }),
		"EachListed": within(func(p *Prefix) error {
			_, err := p.EachListed(collection, "", 1, fanfold.Embedded, nil)
			return err
		}),
		"EachReferring": within(func(p *Prefix) error {
			_, err := p.EachReferring(collection+".note", "x", 0, 1, fanfold.Embedded, nil)
			return err
		}),
		"Query": within(func(p *Prefix) error {
			_, err := p.Query(context.Background(), queryOf(collection), nil)
			return err
		}),
		"EachOnPage": within(func(p *Prefix) error {
			return p.EachOnPage(model.PageQuery{Relation: collection + ".note"}, nil, nil)
		}),
	}
}

// queryOf returns a query for all documents of a collection.
func queryOf(collection string) *query.Query {
	q, err := query.Compile(query.Request{Collection: collection, Limit: 1}, model.Empty())
	if err != nil {
		panic(err)
	}
	return q
}

// TestViewOfEvents: the events of collections that may not be read, and the number of derived changes, are not told.
func TestViewOfEvents(t *testing.T) {
	for _, r := range readers {
		v, _ := viewOf(t, r.who)
		all := slices.Contains(r.reads, "vault")
		if key, err := v.KeyAt(context.Background(), 1); (err == nil) != all || (key.ID != "") != all {
			t.Errorf("%s is told of event 1: %s, %v", r.name, key, err)
		}
		if _, derived, ok := v.Outcome(1); !ok || (derived == 7) != all || (derived == Untold) == all {
			t.Errorf("%s is told of %d derived changes", r.name, derived)
		}
		for n, collection := range shelves {
			may := slices.Contains(r.reads, collection)
			changes, derived, err := v.Outcomes(uint64(n), 2)
			if (err == nil) != may || (len(changes) == 2) != may || may && (derived == 7) != all {
				t.Errorf("%s is told of a change of %s: %v, %d, %v", r.name, collection, changes, derived, err)
			}
		}
	}
}

// TestViewOfChangedKeys: keys are told of collections that may be read.
func TestViewOfChangedKeys(t *testing.T) {
	for _, r := range readers {
		v, _ := viewOf(t, r.who)
		var told []string
		_ = v.Read(func(p *Prefix) error {
			_, err := p.ChangedKeys(0, 9, false, func(key fanfold.Key) { told = append(told, key.Collection) })
			return err
		})
		if slices.Sort(told); !slices.Equal(told, r.reads) {
			t.Errorf("%s is told of changes in %v, want %v", r.name, told, r.reads)
		}
	}
}

// TestViewOfVersions: causes are named that may be read.
func TestViewOfVersions(t *testing.T) {
	for _, r := range readers {
		v, _ := viewOf(t, r.who)
		_ = v.Read(func(p *Prefix) error {
			page, err := p.Versions(fanfold.VersionQuery{Key: fanfold.Key{Collection: "notes", ID: "x"}})
			if err != nil {
				if slices.Contains(r.reads, "notes") {
					t.Errorf("%s: %v", r.name, err)
				}
				return nil
			}
			if note, vault := page.Versions[0].Cause != nil, page.Versions[1].ByDelete.Key.ID == "x"; !note || vault != slices.Contains(r.reads, "vault") {
				t.Errorf("%s is told of a cause in notes: %t, in vault: %t", r.name, note, vault)
			}
			return nil
		})
	}
}

// TestViewOfCollections: lists have the collections that may be read, and go on page by page to the last of them.
func TestViewOfCollections(t *testing.T) {
	for _, r := range readers {
		want := slices.Clone(r.reads)
		if slices.Contains(want, "books") { // so are those that nobody declares
			want = append(want, "a", "vault2", "z")
		}
		slices.Sort(want)
		for limit := 1; limit < 7; limit++ {
			v, _ := viewOf(t, r.who)
			got, after, pages := []string(nil), "", 0
			for more := true; more; pages++ {
				if err := v.Read(func(p *Prefix) (err error) {
					var list []fanfold.CollectionCount
					list, more, err = p.Collections(after, limit)
					for _, c := range list {
						got, after = append(got, c.Name), c.Name
					}
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) || pages != max(1, (len(want)+limit-1)/limit) {
				t.Errorf("%s lists %v in %d pages of %d, want %v", r.name, got, pages, limit, want)
			}
		}
	}
}

// TestViewOfExport: an export has the documents of the collections that may be read, each once, with what stays on them, and goes
// on over pages that have none. Only whoever reads all exports all.
func TestViewOfExport(t *testing.T) {
	for _, r := range readers {
		for limit := 1; limit < 9; limit++ {
			v, s := viewOf(t, r.who)
			p, err := v.Scan(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			after := int64(0)
			for more := true; more; {
				var docs []*fanfold.Document
				if docs, more, err = p.All(after, limit); err != nil || more && len(docs) == 0 {
					t.Fatalf("%d documents, %v", len(docs), err)
				}
				for _, doc := range docs {
					got, after = append(got, doc.Number), doc.Number
					if err := p.EachKept(doc.Number, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			var want []int64
			for n := int64(1); n <= documents; n++ {
				if slices.Contains(r.reads, shelves[n%3]) {
					want = append(want, n)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s exports %v, want %v", r.name, got, want)
			}
			kept := s.asked
			if err := p.EachKept(2, nil); (err == nil) != slices.Contains(r.reads, "vault") || err != nil && s.asked != kept {
				t.Errorf("%s reads what stays on a document of vault: %v", r.name, err)
			}
		}
		v, _ := viewOf(t, r.who)
		_ = v.Read(func(p *Prefix) error {
			past := p.AsOf(1)
			docs, _, _, _ := past.Created(0, documents)
			for _, doc := range docs {
				if !slices.Contains(r.reads, doc.Key.Collection) {
					t.Errorf("%s exports %s of the past", r.name, doc.Key)
				}
			}
			if err := past.CheckExport(nil); (err == nil) != slices.Contains(r.reads, "vault") {
				t.Errorf("%s exports everything of the past: %v", r.name, err)
			}
			return nil
		})
		p, _ := v.Scan(context.Background())
		if err := p.CheckExport(nil); (err == nil) != slices.Contains(r.reads, "vault") {
			t.Errorf("%s exports everything: %v", r.name, err)
		}
		for _, collection := range shelves {
			if err := p.CheckExport([]string{collection}); (err == nil) != slices.Contains(r.reads, collection) {
				t.Errorf("%s exports %s: %v", r.name, collection, err)
			}
		}
	}
}

// TestViewOfLineage: a lineage says of sources, causes and copies that may not be read neither which nor how many they are.
func TestViewOfLineage(t *testing.T) {
	books := fanfold.Key{Collection: "books", ID: "x"}
	for _, who := range []*access.Principal{access.Open, access.OfRole(model.RoleAdmin)} {
		v, s := viewOf(t, who)
		whole, _ := s.Lineage(context.Background(), books)
		if got, err := v.Lineage(context.Background(), books); err != nil || !reflect.DeepEqual(got, whole) {
			t.Errorf("a lineage is %+v, want %+v, %v", got, whole, err)
		}
	}
	v, s := viewOf(t, access.OfRole(model.RoleRead))
	whole, _ := s.Lineage(context.Background(), books)
	got, err := v.Lineage(context.Background(), books)
	if err != nil || strings.Contains(fmt.Sprintf("%+v %+v", got.Derived, got.Copies), "vault/") {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, d := range got.Derived {
		may := d.Rule == "books.title" || d.Rule == "books.loud"
		if may && !reflect.DeepEqual(d, whole.Derived[i]) || !may && (!d.Hidden || len(d.Sources)+int(d.Documents)+len(d.Reason) > 0 || d.Event.Collection+d.Event.ID != "" || d.Event.Op != fanfold.OpDerive) {
			t.Errorf("a lineage tells of %s: %+v, %+v", d.Rule, d, d.Event)
		}
	}
	if len(got.Copies) != 1 || got.Copies[0].Rule != "notes.countOfBooks" {
		t.Errorf("a lineage tells of the copies %+v", got.Copies)
	}
	then, err := v.LineageAt(context.Background(), books, fanfold.Moment{})
	if err != nil || strings.Contains(fmt.Sprintf("%+v %+v", then.Derived, then.Copies), "vault/") || !reflect.DeepEqual(then.Derived[0].Sources, whole.Derived[0].Sources) {
		t.Fatalf("a lineage of then is %+v, %v", then, err)
	}
	if last := then.Derived[4]; !last.Hidden || len(last.Sources)+int(last.Documents)+len(last.Reason) > 0 {
		t.Errorf("a rule that was another one tells %+v", last)
	}
	if from, own := sourceOf(v.Rights().Model(), "notes", "notes.codes"); from != "vault" || own {
		t.Errorf("the numbers in notes come from %s", from)
	}
}

// TestViewOfStatus: whoever sees how a node stands is not told of documents that they do not read, nor of what work found.
func TestViewOfStatus(t *testing.T) {
	status := func() wire.Status {
		return wire.Status{Indexes: []wire.Index{{Collection: "vault", Name: "byCode"}, {Collection: "notes", Name: "byX"}},
			Queries:    []wire.QueryShape{{Collection: "vault", Filter: "doc.code == ?"}, {Collection: "notes", Filter: "doc.x == ?"}},
			Work:       []wire.Work{{ID: "w", Headers: map[string]string{"a": "b"}, Summary: []byte(`"vault/2"`), Result: []byte("1")}},
			Projection: wire.Projection{RuleErrors: []wire.RuleError{{Rule: "books.code", Document: "vault/2", Error: "vault/2"}, {Rule: "notes.x", Document: "notes/1", Error: "e"}}}}
	}
	text := func(s wire.Status) string {
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	parked := []wire.Need{{What: "1 parked batch of vaults", Role: model.RoleAdmin}, {What: "1 parked batch of mail", Role: model.RoleEveryone}}
	for _, r := range readers {
		v, _ := viewOf(t, r.who)
		whole := status()
		seen := v.Status(whole, fanfold.Errorf(fanfold.Unavailable, "stopped"), parked)
		if needs := fmt.Sprint(seen.Needs); r.who != nil && (!strings.Contains(needs, "stopped") || !strings.Contains(needs, "parked batch of mail") || !strings.Contains(needs, "/notes/1")) || !slices.Contains(r.reads, "vault") && strings.Contains(needs, "vault") {
			t.Errorf("%s is told that %s needs attention", r.name, needs)
		}
		seen.Needs = nil
		got := text(seen)
		switch {
		case text(whole) != text(status()):
			t.Fatal("the node's own report has changed")
		case slices.Contains(r.reads, "vault") && got != text(status()), r.who != nil && !strings.Contains(got, "notes/1"),
			!slices.Contains(r.reads, "vault") && strings.Contains(got, "vault"):
			t.Errorf("%s is told %s", r.name, got)
		}
	}
}
