package history_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/suite"
)

// TestVersionsOfErasedTransactions reads the versions of an erased document whose oldest kept ones are a derived change and a write of one
// transaction. The version before that transaction is before the horizon, and what is left of it leads to both.
func TestVersionsOfErasedTransactions(t *testing.T) {
	rapidFlags.Lock()
	t.Cleanup(rapidFlags.Unlock)
	t.Cleanup(suite.SetFlag("rapid.nofailfile", "true"))
	t.Cleanup(suite.SetFlag("rapid.checks", "8")) // in both views, and both orders
	up := &orel{collection: "cs", name: "r1", path: "up.id", to: "bs"}
	m := &omodel{rels: []*orel{up}, rules: []*orule{{collection: "cs", path: "up.label", kind: "copy", rel: up, expr: oexpr{kind: "member", names: []string{"flag"}}}}}
	b, x := okey{"bs", "1"}, okey{"cs", "x"}
	rapid.Check(t, func(r *rapid.T) {
		f := &folded{history{t: r, o: newOracle(), views: map[okey]string{}}}
		f.folds = openFolded(r, t.TempDir(), draw(r, -1, 1))
		defer func() { f.folds.close() }()
		f.run(operation{kind: "model", model: m})
		if f.mayUpgrade() {
			f.run(operation{kind: "upgrade"})
		}
		f.run(operation{kind: "put", key: b, body: `{"id":"1","flag":false}`})
		f.run(operation{kind: "put", key: x, body: `{"id":"x","up":{"id":"1"},"n":7}`})
		first := f.folds.log.last() + 1
		f.run(operation{kind: "transaction", parts: []operation{
			{kind: "put", key: b, body: `{"id":"1","flag":true}`},
			{kind: "put", key: x, body: `{"id":"x","up":{"id":"1"},"n":8}`},
		}})
		f.run(operation{kind: "compact", share: int(100*(first-1)/f.folds.log.last()) + 1})
		if got := f.horizon.Seq(); got != first-1 {
			r.Fatalf("the history begins at %d, want %d", got, first-1)
		}
		f.run(operation{kind: "erase", key: x})
		f.checkPastNow()
	})
}

// TestErasedValuesInFrozenOnes erases a document from before the horizon that another one has frozen, which a third has frozen in turn.
func TestErasedValuesInFrozenOnes(t *testing.T) {
	rapidFlags.Lock()
	t.Cleanup(rapidFlags.Unlock)
	t.Cleanup(suite.SetFlag("rapid.nofailfile", "true"))
	t.Cleanup(suite.SetFlag("rapid.checks", "8"))
	up, tags := &orel{collection: "bs", name: "r1", path: "up.id", to: "as"}, &orel{collection: "cs", name: "r1", path: "tags[]", to: "bs"}
	frozen := func(rel *orel, path, member string) *orule {
		return &orule{collection: rel.collection, path: path, kind: "copy", rel: rel, frozen: true, expr: oexpr{kind: "member", names: []string{member}}}
	}
	m := &omodel{rels: []*orel{up, tags}, rules: []*orule{frozen(up, "up.label", "a"), frozen(tags, "tagNames", "up")}}
	a, b, c := okey{"as", "1"}, okey{"bs", "1"}, okey{"cs", "1"}
	rapid.Check(t, func(r *rapid.T) {
		f := &folded{history{t: r, o: newOracle(), views: map[okey]string{}}}
		f.folds = openFolded(r, t.TempDir(), draw(r, -1, 1))
		defer func() { f.folds.close() }()
		f.run(operation{kind: "model", model: m})
		if f.mayUpgrade() {
			f.run(operation{kind: "upgrade"})
		}
		if chance(r, 50) { // the last holder is the oldest
			f.run(operation{kind: "put", key: c, body: `{"id":"1"}`})
		}
		f.run(operation{kind: "put", key: a, body: `{"id":"1","a":"secret"}`})
		f.run(operation{kind: "put", key: b, body: `{"id":"1","up":{"id":"1"}}`})
		f.run(operation{kind: "put", key: c, body: `{"id":"1","tags":["1"]}`})
		f.run(operation{kind: "compact", share: 100})
		f.run(operation{kind: "put", key: a, body: `{"id":"1","n":1}`})
		if f.run(operation{kind: "erase", key: a}); !f.erased {
			r.Fatal("nothing was erased")
		}
		f.checkAll()
		if body, _ := f.folds.document(c, "embedded", ""); strings.Contains(body, "secret") {
			r.Fatalf("%s is %s", c, body)
		}
	})
}

// TestActorsOfErasedDocuments erases members of a document from before the horizon. The rest of it has the same writers as before.
func TestActorsOfErasedDocuments(t *testing.T) {
	rapidFlags.Lock()
	t.Cleanup(rapidFlags.Unlock)
	t.Cleanup(suite.SetFlag("rapid.nofailfile", "true"))
	t.Cleanup(suite.SetFlag("rapid.checks", "8"))
	m := &omodel{rules: []*orule{{collection: "as", path: "own", kind: "value", expr: oexpr{kind: "writer"}}, {collection: "as", path: "A", kind: "value", expr: oexpr{kind: "creator"}}}}
	a := okey{"as", "1"}
	rapid.Check(t, func(r *rapid.T) {
		f := &folded{history{t: r, o: newOracle(), views: map[okey]string{}}}
		f.folds = openFolded(r, t.TempDir(), draw(r, -1, 1))
		defer func() { f.folds.close() }()
		if f.mayUpgrade() {
			f.run(operation{kind: "model", model: &omodel{}})
			f.run(operation{kind: "upgrade"})
		}
		f.run(operation{kind: "model", model: m})
		for i := range 1 + upTo(r, 2) {
			f.run(operation{kind: "put", key: a, body: fmt.Sprintf(`{"id":"1","a":"secret","n":%d}`, i)})
		}
		f.run(operation{kind: "compact", share: 100})
		f.run(operation{kind: "put", key: okey{"as", "2"}, body: `{"id":"2"}`})
		if f.run(operation{kind: "erase", key: a, members: []string{"a"}}); !f.erased {
			r.Fatal("nothing was erased")
		}
		f.checkAll()
		f.checkPastNow()
		f.folds.replay()
		f.check()
	})
}
