package fold_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/skeleton"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/sqlite/basefile"
)

// keptIDs are the ids at relations of historyModels.
var keptIDs = map[string][]string{"bs": {"a", "cs[].id"}}

// randomErasure erases about half of the documents of a random history.
func randomErasure(rng *rand.Rand) *fanfold.Erasure {
	e := &fanfold.Erasure{Keep: keptIDs}
	for _, collection := range []string{"as", "bs", "cs"} {
		for id := range 4 {
			d := fanfold.ErasedDocument{Key: fanfold.Key{Collection: collection, ID: fmt.Sprint(id)}}
			switch rng.IntN(4) {
			case 0:
				d.Members = []string{"/name", "/u"}
			case 1:
				d.Members = []string{"/x"}
				if collection == "as" { // what removed rules read is not known
					d.Members = append(d.Members, "/name")
				}
			case 2:
			default:
				continue
			}
			if d.Members == nil || rng.IntN(2) == 0 {
				e.Documents = append(e.Documents, d)
			}
		}
	}
	return e
}

// erasedFrom returns a history in which the documents were written as what an erasure leaves of them.
func erasedFrom(t *testing.T, events []*fanfold.Event, e *fanfold.Erasure) (out []*fanfold.Event) {
	t.Helper()
	for _, ev := range events {
		copied := *ev
		if i := slices.IndexFunc(e.Documents, func(d fanfold.ErasedDocument) bool { return d.Key == ev.Key }); i >= 0 && ev.Kind == fanfold.KindPut {
			paths, err := skeleton.Paths(e.Keep[ev.Key.Collection])
			if err != nil {
				t.Fatal(err)
			}
			if copied.Body = skeleton.Of(ev.Body, paths); e.Documents[i].Members != nil {
				copied.Body = skeleton.Without(ev.Body, e.Documents[i].Members)
			}
		}
		out = append(out, &copied)
	}
	return out
}

// baseRows returns the rows of a generation's base as text, without what an amended one is to have otherwise: positions, the digests of
// requests, and values that nobody claims.
func baseRows(t *testing.T, db *sqlite.DB) string {
	t.Helper()
	var file, out bytes.Buffer
	if _, err := db.WriteBase(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	r, err := basefile.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		n, values, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		table := r.Header.Tables[n]
		if table.Name == "claim" && values[3] == nil {
			continue
		}
		fmt.Fprintf(&out, "%s:", table.Name)
		for i, column := range table.Columns {
			if table.Name == "document" && column == "position" || table.Name == "once" && column == "digest" {
				continue
			}
			fmt.Fprintf(&out, " %v", values[i])
		}
		out.WriteByte('\n')
	}
}

// planOf returns the plan of a generation.
func planOf(t *testing.T, db *sqlite.DB) (plan *fold.Plan) {
	t.Helper()
	if err := db.ReadUnshared(func(s *sqlite.Snapshot) (err error) {
		plan, err = fold.PlanOf(s)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return plan
}

// amended returns a generation with the base of another one, amended.
func amended(t *testing.T, store *sqlite.Store, from *sqlite.DB, erasures ...*fanfold.Erasure) *sqlite.DB {
	t.Helper()
	db, moved := build(t, store), build(t, store)
	h, err := from.MoveBase(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	f := fold.New(planOf(t, db), fold.Options{})
	given := fanfold.Digest{7}
	got, err := db.Amend(sqlite.Amendment{AsOf: 1000, Digest: given, ForgetEvent: true}, func(tx *sqlite.Tx) error { return f.Amend(tx, erasures) })
	if h.Digest, h.Event = (fanfold.Digest{}).Followed(given), (fanfold.Digest{}); err != nil || got != h {
		t.Fatalf("the horizon is %+v, %v; want %+v", got, err, h)
	}
	if again, err := db.MoveBase(t.Context(), moved); err != nil || again != h {
		t.Fatalf("the horizon of what was moved is %+v, %v; want %+v", again, err, h)
	}
	if err := moved.ReadUnshared(func(s *sqlite.Snapshot) error {
		if cp := s.Checkpoint; cp.AsOf != 1000 || cp.Seq != h.Seq || cp.Digest != h.Digest || cp.Position != h.Position || cp.Changes != h.Changes {
			t.Errorf("the checkpoint is %+v", cp)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Discard(db); err != nil {
		t.Fatal(err)
	}
	return moved
}

// openStore opens a store that is closed when the test ends.
func openStore(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// replaceModels has each model keep the same values. Values of removed rules are dropped whatever they are made of, and so are values that are made of
// others.
func replaceModels(t *testing.T, events []*fanfold.Event) {
	t.Helper()
	const born = "derive: {born: {copy: a, value: doc.name, frozen: true}, name: {"
	source := func(text string) string {
		m, err := modelfile.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(m.Source)
	}
	to := map[string]string{}
	for _, text := range historyModels {
		to[source(text)] = source(strings.NewReplacer("derive: {name: {", born, "value: doc.m}", "value: doc.name}", "value: doc.n}", "value: doc.name}", "to: as}", "to: as, onDelete: keep}").Replace(text))
	}
	for _, ev := range events {
		if ev.Kind == fanfold.KindModel {
			ev.Body = []byte(to[string(ev.Body)])
		}
	}
}

// TestAmendedBases: an amended base has the rows of a store in which the erased documents were written as their skeletons. So has all that is
// folded on it.
func TestAmendedBases(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			store := openStore(t)
			rng := rand.New(rand.NewPCG(seed, 3))
			events := randomHistory(t, seed, 60)
			replaceModels(t, events)
			e := randomErasure(rng)
			skeletal := erasedFrom(t, events, e)
			for range 3 {
				n := wholeBefore(events, 10+rng.IntN(len(events)-10))
				whole, want := build(t, store), build(t, store)
				chained(t, whole, events[:n])
				chained(t, want, skeletal[:n])
				got := amended(t, store, whole, e)
				requireSameRows(t, fmt.Sprintf("cut after %d, %+v", n, e.Documents), baseRows(t, got), baseRows(t, want))
				chained(t, got, skeletal[n:])
				chained(t, want, skeletal[n:])
				requireSameRows(t, fmt.Sprintf("cut after %d, to the end, %+v", n, e.Documents), baseRows(t, got), baseRows(t, want))
				for _, db := range []*sqlite.DB{whole, want, got} {
					if err := store.Discard(db); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// requireSameRows checks that rows are those that are wanted.
func requireSameRows(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %s", what, firstDifference(got, want))
	}
}

// chainModel has values that stay on documents and are made of others that show an erased one.
const chainModel = `
collections:
  people: {derive: {titles: {recent: posts.by, max: 3, fields: [title]}}}
  posts:
    relations: {by: {path: by, to: people, onDelete: keep}}
    derive: {author: {copy: by, value: doc.name}, own: {value: "doc.title + '?'"}}
  notes:
    relations: {post: {path: post, to: posts}, person: {path: person, to: people}}
    derive: {author: {copy: post, value: doc.author, frozen: true}, title: {copy: post, value: doc.title, frozen: true}, titles: {copy: person, value: doc.titles, frozen: true}}
`

// TestAmendedChains: values that stay on documents two steps away from an erased one go, and values of others stay.
func TestAmendedChains(t *testing.T) {
	m, err := modelfile.Parse([]byte(chainModel))
	if err != nil {
		t.Fatal(err)
	}
	events := []*fanfold.Event{{Kind: fanfold.KindModel, Body: m.Source}}
	put := func(collection, id, members string) {
		events = append(events, &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: id}, Body: fmt.Appendf(nil, `{"id":%q,%s}`, id, members)})
	}
	put("people", "ann", `"name":"MARK-ann"`)
	put("people", "bob", `"name":"bob"`)
	put("posts", "1", `"by":"ann","title":"first"`)
	put("posts", "2", `"by":"bob","title":"MARK-second"`)
	put("notes", "1", `"post":"1","person":"ann"`)
	put("notes", "2", `"post":"2","person":"bob"`)
	put("posts", "1", `"by":"ann","title":"later"`)
	put("people", "ann", `"name":"MARK-other"`)
	events = append(events, &fanfold.Event{Kind: fanfold.KindDelete, Key: fanfold.Key{Collection: "people", ID: "ann"}})
	for i, ev := range events {
		ev.Seq = uint64(i + 1)
	}
	store := openStore(t)
	whole := build(t, store)
	chained(t, whole, events)
	e := &fanfold.Erasure{Keep: map[string][]string{"posts": {"by"}}, Documents: []fanfold.ErasedDocument{
		{Key: fanfold.Key{Collection: "people", ID: "ann"}}, {Key: fanfold.Key{Collection: "posts", ID: "2"}, Members: []string{"/title"}}}}
	got := amended(t, store, whole, e)
	rows := baseRows(t, got)
	if strings.Contains(rows, "MARK") || !strings.Contains(baseRows(t, whole), "MARK") {
		t.Errorf("the rows have what is erased:\n%s", rows)
	}
	for _, want := range []string{"name: 4 notes.title\n", `kept: 4 1 6 "first"`, "name: 1 notes.author\n", `kept: 1 2 7 "bob"`, `"title":"later"`} {
		if !strings.Contains(rows, want) {
			t.Errorf("%s is missing in\n%s", want, rows)
		}
	}
	for _, db := range []*sqlite.DB{whole, got} {
		if err := store.Discard(db); err != nil {
			t.Fatal(err)
		}
	}
}
