package api_test

import (
	"io"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/writer"
)

// anyKeys lets in whoever is said to be there.
type anyKeys struct{ access.Keys }

func (anyKeys) Valid(*access.Principal) bool { return true }
func (anyKeys) Version() uint64              { return 0 }

// rightsWith returns the rights of a key with an id and roles in a store, or of an open store for no id.
func rightsWith(s *harness.Store, id string, roles ...string) *access.Rights {
	p := access.Open
	if id != "" {
		p = &access.Principal{ID: id, Roles: roles}
	}
	return access.NewJudge(anyKeys{}, func() *model.Model {
		m, _, _ := s.Node.Projector.Model()
		return m
	}).Of(p)
}

// TestActorOfWrites: the events of a request carry its actor, and two actors may use one Idempotency-Key. Requests that name
// nobody have the keys that they had before there were actors.
func TestActorOfWrites(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	w := s.Node.Writer()
	put := func(id string, by *access.Rights) *writer.Operation {
		op := &writer.Operation{Kind: writer.Put, Key: fanfold.Key{Collection: "books", ID: id}, Content: []byte(`{}`)}
		if err := w.Prepare(t.Context(), op, by); err != nil {
			t.Fatal(err)
		}
		return op
	}
	by := func(id string) *access.Rights { return rightsWith(s, id, model.RoleAdmin) }
	write := func(id string) uint64 {
		t.Helper()
		res, err := w.Write(t.Context(), put("b", by(id)), writer.Request{Key: fanfold.IdempotencyKey{Hash: "hash", Digest: "digest"}, Intent: writer.Intent{By: by(id)}})
		if err == nil {
			err = s.Node.Store.Applied.Wait(t.Context(), res.First)
		}
		if err != nil {
			t.Fatal(err)
		}
		return res.First
	}
	nobody, ann, bob := write(""), write("ann"), write("bob")
	if nobody == ann || ann == bob || write("") != nobody || write("ann") != ann || write("bob") != bob {
		t.Errorf("one key leads to the events %d, %d and %d", nobody, ann, bob)
	}
	several, err := w.Transact(t.Context(), []*writer.Operation{put("c", by("ann")), put("d", by("ann"))}, writer.Request{Intent: writer.Intent{By: by("ann")}})
	if err != nil {
		t.Fatal(err)
	}
	im, err := w.NewImport(t.Context(), writer.ImportOptions{ID: "load", Collection: "books", By: by("bob")})
	if err != nil {
		t.Fatal(err)
	}
	if err := im.Run(t.Context(), &someLines{left: []string{`{"id":"e"}`}}, func(writer.ImportReport) error { return nil }); err != nil {
		t.Fatal(err)
	}
	applied, err := w.PutModel(t.Context(), writer.ModelRequest{Source: []byte(`{"collections":{"books":{}}}`), By: by("ann")})
	if err != nil {
		t.Fatal(err)
	}
	wantActors(t, s, map[uint64]string{applied.Applied: "key:ann", nobody: "", ann: "key:ann", bob: "key:bob", several.First: "key:ann", several.First + 1: "key:ann",
		im.Report().Last - 1: "key:bob", im.Report().Last: "key:bob"})
}

// wantActors reads the log and checks the actors of some events, by their sequences, and that the key of a request that names
// nobody is as it came.
func wantActors(t *testing.T, s *harness.Store, want map[uint64]string) {
	t.Helper()
	r, err := s.Node.Log.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for found := 0; found < len(want); {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		actor, known := want[ev.Seq]
		if !known {
			continue
		}
		found++
		if ev.Actor != actor {
			t.Errorf("the actor of event %d is %q, want %q", ev.Seq, ev.Actor, actor)
		}
		if hash := ev.IdempotencyKey.Hash; hash != "" && (hash == "hash") != (actor == "") {
			t.Errorf("the key of %q is %q", actor, hash)
		}
	}
}

// someLines gives the lines of an import.
type someLines struct{ left []string }

func (l *someLines) Next() ([]byte, error) {
	if len(l.left) == 0 {
		return nil, io.EOF
	}
	line := l.left[0]
	l.left = l.left[1:]
	return []byte(line), nil
}

func (l *someLines) Stop() {}
