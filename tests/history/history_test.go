package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// shortHistories are run on whole nodes, and longHistories under -full. Under -soak there is no end to them but the time.
// TestFoldedHistories runs many more without nodes: foldedHistories, and longFolded under -full.
const (
	shortHistories  = 24
	longHistories   = 2000
	foldedHistories = 360
	longFolded      = 4000
	lanes           = 6 // at a time: much of a history is waiting
)

// TestRandomHistories folds random histories and compares every view and every row of the feed
// with what the oracle makes of the same history.
func TestRandomHistories(t *testing.T) {
	suite.Parallel(t)
	checks := suite.Amount(shortHistories, longHistories) / lanes
	if testing.Short() {
		checks = 2
	}
	checkInLanes(t, checks, suite.ShareHistories, "random histories", randomHistory)
}

// rapidFlags guards the flags of package rapid, which all tests of this package share: one test at a time goes by them.
var rapidFlags sync.Mutex

// checkInLanes checks a property in lanes beside each other, checks times in each; under -soak until its share of the
// time is used. Tests that call it run one after the other.
func checkInLanes(t *testing.T, checks int, share suite.Share, what string, property func(*rapid.T)) {
	rapidFlags.Lock()
	t.Cleanup(rapidFlags.Unlock)
	t.Cleanup(suite.SetFlag("rapid.nofailfile", "true"))
	s := suite.Begin(t, share)
	for round := 0; s.GoesOn(round, 1) && !t.Failed(); round++ {
		if s.Long > 0 { // a lane checks a few a second, so that a round takes a part of what is left
			checks = max(1, int(s.Left().Seconds()))
		}
		back := suite.SetFlag("rapid.checks", strconv.Itoa(checks))
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			for lane := range lanes {
				t.Run(strconv.Itoa(lane), func(t *testing.T) {
					t.Parallel()
					rapid.Check(commanded{t}, func(t *rapid.T) {
						property(t)
						suite.Done(1, what)
					})
				})
			}
		})
		back()
	}
}

// commanded is a test whose failure prints the command by which the history that failed runs again.
type commanded struct{ *testing.T }

// seeded is what package rapid says of the seed of what failed.
var seeded = regexp.MustCompile(`-rapid\.seed=\d+`)

// Errorf fails the test. A message of a seed begins with the command.
func (c commanded) Errorf(format string, args ...any) {
	c.Helper()
	text := fmt.Sprintf(format, args...)
	if seed := seeded.FindString(text); seed != "" {
		full, tags := "", ""
		if suite.Amount(0, 1) == 1 {
			full = " -full"
		}
		if fold.LatestVersion > fold.OldestVersion {
			tags = " -tags=nextfold"
		}
		text = fmt.Sprintf("to run it again: go test%s ./tests/history -count=1 -run='^%s$' %s%s\n%s", tags, strings.ReplaceAll(c.Name(), "/", "$/^"), seed, full, text)
	}
	c.Error(text)
}

var (
	collections = []string{"Ds", "as", "bs", "cs"} // in order; the first is declared once the version of the fold takes capitals: see omodel.collections
	ids         = []string{"1", "2", "x"}
)

// copyPath is a relation's path with the fields that may be copied along it.
type copyPath struct {
	path   string
	fields []string
}

var relationPaths = []copyPath{
	{"pub-id", []string{"pubName", "stats.pub", "stats.deep.pub"}},
	{"tags[]", []string{"tagNames", "stats.tags"}},
	{"authors[].id", []string{"authors[].name", "authors[].more.name", "authorNames"}},
	{"sections[].items[].ref", []string{"sections[].items[].title", "sections[].titles", "sections[].sum.titles", "refTitles"}},
	{"up.id", []string{"up.label", "Upper"}},
	{"grid[][]", []string{"gridNames"}},
}

// derivedPaths lead to members that rules may give.
var derivedPaths = []copyPath{
	{"pubName", []string{"viaName", "stats.via"}},
	{"pubName[]", []string{"viaNames"}},
	{"pubName.id", []string{"viaID", "stats.via"}},
	{"own", []string{"viaOwn"}},
	{"own[]", []string{"viaOwns"}},
	{"own.id", []string{"viaOwn", "up.via"}},
	{"tagNames[]", []string{"viaTags"}},
	{"authors[].name", []string{"authors[].via", "viaAuthors"}},
	{"authorNames[]", []string{"viaAuthors"}},
	{"sections[].titles[]", []string{"sections[].via", "viaTitles"}},
	{"sections[].items[].title", []string{"sections[].items[].via", "sections[].via"}},
	{"up.label", []string{"up.via", "Via"}},
	{"z-list[]", []string{"viaList"}},
	{"A", []string{"viaA"}},
}

// holderFields are where counts and id lists may stand.
var holderFields = []string{"count", "z-list", "stats.count", "stats.list", "up.count", "A"}

// plainMembers are members of documents that expressions may read.
var plainMembers = []string{"name", "n", "a", "b", "flag"}

// upTo draws 0 to n, all alike: rapid's own ranges prefer small numbers, and histories in which
// nothing meets anything.
func upTo(t *rapid.T, n int) int {
	v := 0
	for range 8 {
		v <<= 1
		if rapid.Bool().Draw(t, "bit") {
			v++
		}
	}
	return v * (n + 1) >> 8
}

func draw[T any](t *rapid.T, from ...T) T { return from[upTo(t, len(from)-1)] }

// chance is true in the given percentage of cases.
func chance(t *rapid.T, percent int) bool { return upTo(t, 99) >= 100-percent }

// history is one run: the store, the oracle, and the changes the feed should tell.
type history struct {
	t      *rapid.T
	s      *harness.Store
	folds  *foldedStore // in place of s, which is nil then
	o      *oracle
	views  map[okey]string // before the next event
	expect []expected

	hold     *harness.ActivationHold
	proposed uint64 // the event that announces a model to come; 0 for none
	coming   *omodel
	upgrades bool // what is to come is the next version of the fold

	horizon fanfold.Position             // the oldest position that is kept; 0 for the log's beginning
	gone    map[string][]json.RawMessage // by view, the rows of the feed up to it

	until  uint64          // the last event whose past is read, while others are stored; 0 for the log's last
	half   string          // the key of a principal who writes half of the collections; "" in an open store
	sender *harness.Client // of the next write; nil for the store's own

	refreshed []string                   // frozen fields that the write which is noted next takes anew
	relations map[string]map[string]bool // by collection: the paths of all relations that there were
	lineages  []toldLineage              // what the store told while it was the present, and has to tell of it later
	models    int                        // how many models were applied, or folded anew
	erased    bool                       // something was erased, so that rows from before the horizon say what is no more
}

// mayUpgrade tells whether the version of the fold can be changed: in a program that knows two, once.
func (h *history) mayUpgrade() bool {
	return fold.LatestVersion > fold.OldestVersion && !h.o.newest && h.proposed == 0
}

func randomHistory(t *rapid.T) { historyIn(t, false) }

// historyIn is one random history, in an open store or a closed one, in which some requests are by a principal who writes half of
// the collections.
func historyIn(t *rapid.T, closed bool) {
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}()
	h := &history{t: t, o: newOracle(), views: map[okey]string{}, hold: harness.NewActivationHold()}
	h.s = harness.Open(t, harness.Options{KeepFold: true, Dir: dir, SetOrientedFrom: draw(t, -1, 1), Writer: writer.Options{BeforeActivate: h.hold.Wait}, Configure: purgingSoon})
	defer func() { h.s.Close() }()
	if closed {
		h.closeHouse()
	}
	h.runAll(9)
	h.check()
	h.checkIndexes()
	h.checkPages()
	h.checkFeed()
	h.checkFollowers()
	h.checkOmissions()
	h.checkCollections()
	h.checkKept()
	h.checkLineages()
	besides := chance(t, 50) // the past is read beside writes, at the end
	if chance(t, 30) {
		h.checkPast()
	}
	h.s.Verify()
	h.checkReplay()
	h.check()
	h.checkFollowers()
	if !besides {
		h.checkPast()
	}
	if chance(t, 25) {
		h.exportAndImport()
	}
	if chance(t, 25) {
		h.checkExportAt()
	}
	if !closed && chance(t, 25) { // a backup has no keys
		h.checkRestored()
	}
	if besides {
		h.checkPastBesideWrites(h.s)
		h.s.Verify()
	}
}

// runAll applies a model and does random operations, at least as many as said.
func (h *history) runAll(least int) {
	h.run(rapid.Custom(func(t *rapid.T) operation {
		return operation{kind: "model", model: h.nextModel(t)}
	}).Draw(h.t, "0"))
	if h.mayUpgrade() && chance(h.t, 40) {
		h.run(operation{kind: "upgrade"})
	}
	length := rapid.Custom(func(t *rapid.T) int { return least + upTo(t, 16) }).Draw(h.t, "length")
	for i := range length {
		h.run(rapid.Custom(h.operation).Draw(h.t, strconv.Itoa(i+1)))
		h.checkIndexes()
		h.noteLineages()
	}
	if h.proposed != 0 {
		h.activate()
	}
}

// checkReplay wants a replay to make the same rows: it puts them in place, or compares them with those that are there.
func (h *history) checkReplay() {
	h.t.Helper()
	before := h.s.Digest()
	if chance(h.t, 25) { // set-oriented SQL gives what goes document by document
		h.s = h.s.Otherwise()
	}
	if chance(h.t, 25) {
		found, err := harness.CheckReplay(h.t.Context(), h.s.Node.Projector)
		if err != nil || found.Different != 0 || found.First != nil || found.Compared != found.Rows {
			h.t.Fatalf("replay --check says %+v, %v", found, err)
		}
	} else {
		h.s.Replay()
	}
	if h.s.Digest() != before {
		h.t.Fatal("the replay's rows differ")
	}
}

// operation is one step of a history.
type operation struct {
	kind  string // put, delete, merge-patch, json-patch, increment, update, transaction, model, prepare, activate, withdraw, replay, restart, compact, erase, upgrade or prepare-upgrade
	key   okey
	body  string
	model *omodel
	// refresh are frozen fields that a put or merge-patch takes anew
	refresh []string
	members []string    // of erase: those that go; none for the whole document
	share   int         // of compact: where the horizon is among the events that are kept, in percent
	parts   []operation // of a transaction: put, delete and merge-patch
	below   string      // a number that the document's n has to be less than, by a condition; "" for none
	half    bool        // the principal who writes half of the collections asks for it
}

// GoString is how rapid prints the operation.
func (op operation) GoString() string {
	switch op.kind {
	case "model", "prepare":
		return op.kind + " " + op.model.String()
	case "replay", "restart", "activate", "withdraw", "upgrade", "prepare-upgrade":
		return op.kind
	case "transaction":
		return fmt.Sprintf("transaction %#v", op.parts)
	case "compact":
		return fmt.Sprintf("compact %d%%", op.share)
	case "erase":
		return fmt.Sprintf("erase %s %v", op.key, op.members)
	}
	if op.half {
		op.kind = "half's " + op.kind
	}
	return op.kind + " " + op.key.String() + op.query() + " " + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(op.body)
}

func (h *history) operation(t *rapid.T) operation {
	op := operation{key: h.key(t)}
	n := upTo(t, 99)
	if h.o.events < 7 {
		n = 0 // nothing happens to an empty store
	}
	switch {
	case n < 47:
		op.kind, op.body, op.refresh = "put", document(t, op.key, h.o.model), h.refresh(t, op.key)
	case n < 55:
		op.kind, op.parts = "transaction", h.parts(t)
	case n < 64:
		op.kind, op.body = "merge-patch", memberPatch(t)
		op.key = h.there(t, op.key)
		op.refresh = h.refresh(t, op.key)
		if chance(t, 15) {
			op.kind, op.below = "update", draw(t, "", "2", "1e3")
		}
	case n < 73:
		op.kind, op.body = "json-patch", patchText(t)
		if chance(t, 20) {
			op.kind, op.body = "increment", draw(t, "1", "-0.25", "1e2")
			if chance(t, 30) {
				op.kind, op.below = "update-increment", draw(t, "", "2", "1e3")
			}
		}
		op.key = h.there(t, op.key)
	case n < 84:
		op.kind, op.key = "delete", h.there(t, op.key)
		if chance(t, 8) {
			op.kind, op.below = "update-delete", draw(t, "-1", "2", "1e3")
		}
	case n < 85 && h.proposed == 0:
		op.kind, op.share = "compact", upTo(t, 100)
	case n < 87 && h.proposed == 0:
		op.kind, op.key = "erase", h.known(t)
		if chance(t, 40) {
			op.members = []string{draw(t, plainMembers...)}
		}
	case n < 89 && h.mayUpgrade():
		op.kind = draw(t, "upgrade", "prepare-upgrade")
	case n < 96 && h.proposed != 0:
		op.kind = draw(t, "activate", "activate", "activate", "withdraw")
	case n < 96:
		op.kind, op.model = draw(t, "model", "prepare"), h.nextModel(t)
	case n < 98:
		op.kind = "replay"
	default:
		op.kind = "restart"
	}
	if slices.Contains([]string{"put", "merge-patch", "json-patch", "increment", "delete"}, op.kind) && chance(t, 20) {
		op.below = draw(t, "-1", "2", "1e3", "1e3")
	}
	op.half = n < 84 && !op.updates() && h.half != "" && chance(t, 50)
	return op
}

// updates tells whether the operation writes all documents that a filter matches.
func (op operation) updates() bool { return strings.HasPrefix(op.kind, "update") }

// query asks for the refresh, and has the condition.
func (op operation) query() string {
	values := url.Values{}
	if len(op.refresh) > 0 {
		values.Set("refresh", strings.Join(op.refresh, ","))
	}
	if op.updates() {
		values.Set("filter", "true")
	}
	if op.below != "" {
		values.Set(map[bool]string{false: "if", true: "filter"}[op.updates()], "doc.n < params.most")
		values.Set("params", `{"most":`+op.below+"}")
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// holds tells whether the operation's condition is true of a document that is there: whether n is a number, and less.
func (o *oracle) holds(op operation) bool {
	d := o.docs[op.key]
	if d == nil || d.body.Get("n") == nil || d.body.Get("n").Kind != '0' {
		return false
	}
	n, ok := new(big.Rat).SetString(d.body.Get("n").Text)
	most, _ := new(big.Rat).SetString(op.below)
	return ok && n.Cmp(most) < 0
}

// refusesCondition sends an operation whose condition does not hold, and wants it to change nothing; else it is false.
func (h *history) refusesCondition(op operation) bool {
	h.t.Helper()
	if op.below == "" || op.updates() || h.o.holds(op) {
		return false
	}
	want, method, contentType := http.StatusPreconditionFailed, http.MethodPatch, "application/"+op.kind+"+json"
	switch op.kind {
	case "put":
		method, contentType = http.MethodPut, "application/json"
		if h.o.tooLongBefore(op.key, op.body) {
			want = http.StatusUnprocessableEntity
		}
	case "delete":
		method = http.MethodDelete
	case "increment":
		op.body, contentType = `[{"op":"increment","path":"/n","value":`+op.body+`}]`, "application/json-patch+json"
	}
	before := h.lastSeq()
	h.write(want, method, harness.Path(op.key.collection, op.key.id)+op.query(), op.body, "Content-Type", contentType)
	h.wantFencesFrom(before + 1)
	return true
}

// refresh is mostly nothing, else some of the frozen fields of the document's collection.
func (h *history) refresh(t *rapid.T, key okey) (paths []string) {
	for _, r := range h.o.model.rules {
		if r.frozen && r.collection == key.collection && chance(t, 25) {
			paths = append(paths, r.path)
		}
	}
	return paths
}

// nextModel is a new model; some release what earlier rules reserved. TestReleaseAtOnce is about
// those that release what they remove.
func (h *history) nextModel(t *rapid.T) *omodel {
	m := randomModel(t, h.o.model, h.o.newest)
	if chance(t, 40) {
		m.bringBack(t, h.o)
	}
	if !chance(t, 20) {
		h.o.releaseLost(m)
		return m
	}
	m.release = map[string][]string{}
	for c, paths := range h.o.owned {
		reserved := maps.Clone(paths)
		for _, r := range h.o.model.rules {
			for _, f := range r.fields() {
				if r.collection == c {
					delete(reserved, f)
				}
			}
		}
		m.release[c] = slices.Sorted(maps.Keys(reserved))
	}
	h.o.releaseLost(m)
	return m
}

// key is mostly of a collection that a relation comes from or leads to.
func (h *history) key(t *rapid.T) okey {
	c := draw(t, h.o.model.collections()...)
	if rels := h.o.model.rels; len(rels) > 0 && chance(t, 90) {
		rel := draw(t, rels...)
		c = draw(t, rel.to, rel.collection)
	}
	return okey{c, draw(t, ids...)}
}

// there is mostly the key of a document that is there.
func (h *history) there(t *rapid.T, key okey) okey {
	var keys []okey
	for _, c := range h.o.model.collections() {
		for _, id := range ids {
			if h.o.docs[okey{c, id}] != nil {
				keys = append(keys, okey{c, id})
			}
		}
	}
	if len(keys) == 0 || !chance(t, 90) {
		return key
	}
	return draw(t, keys...)
}

func (h *history) run(op operation) {
	h.o.actor = actorOf(h.s.Key)
	if op.half {
		if h.refusesHalf(op) {
			return
		}
		h.sender, h.o.actor = h.s.With(h.half), actorOf(h.half)
		defer func() { h.sender = nil }()
	}
	if h.refusesCondition(op) {
		return
	}
	switch op.kind {
	case "model", "prepare", "upgrade", "prepare-upgrade", "activate", "withdraw":
		h.models++
	case "erase":
		h.lineages = nil // what was erased is in no past
	}
	switch op.kind {
	case "put":
		h.put(op)
	case "merge-patch":
		h.patch(op, func(doc *jsonvalue.Value) bool {
			jsonvalue.MergePatch(doc, jsonvalue.Parse(op.body))
			return true
		})
	case "json-patch":
		h.patch(op, func(doc *jsonvalue.Value) bool { return jsonvalue.ApplyPatch(doc, op.body) })
	case "increment":
		h.increment(op)
	case "update", "update-increment":
		h.update(op)
	case "update-delete":
		h.deleteMatching(op)
	case "delete":
		h.delete(op)
	case "transaction":
		h.transaction(op.parts)
	case "model":
		h.refuseLoss(op.model)
		previewed := h.preview(op.model)
		r := h.s.Model(op.model.String())
		h.o.apply(op.model)
		h.accepted(r, "", okey{})
		h.wantPreviewed(previewed, r)
	case "prepare":
		h.refuseLoss(op.model)
		if h.proposed = h.s.Propose(op.model.String()); h.proposed == 0 { // only at once
			h.run(operation{kind: "model", model: op.model})
			return
		}
		h.coming, h.upgrades = op.model, false
		h.s.Prepared()
	case "upgrade":
		h.o.newest = true
		h.o.apply(h.o.model)
		h.stored(h.s.SetFold(fold.LatestVersion), "", okey{})
	case "prepare-upgrade":
		if h.proposed = h.s.ProposeFold(fold.LatestVersion); h.proposed == 0 { // only at once
			h.run(operation{kind: "upgrade"})
			return
		}
		h.coming, h.upgrades = h.o.model, true
		h.s.Prepared()
	case "activate":
		h.activate()
	case "withdraw":
		h.s.Want(http.StatusNoContent, http.MethodDelete, "/v1/_model/_pending", "")
		h.proposed = 0
	case "compact":
		h.mayLose()
		h.compact(op.share)
	case "erase":
		h.mayLose()
		h.erase(op)
	case "replay":
		h.s.Replay()
		h.check()
	case "restart":
		h.s = h.s.Otherwise()
		h.s.CatchUp()
		h.check()
	}
}

// preview returns what applying a model would change.
func (h *history) preview(m *omodel) (p model.Preview) {
	h.t.Helper()
	r := h.s.Want(http.StatusOK, http.MethodPut, "/v1/_model?dryRun=true", m.String(), "Content-Type", "application/yaml")
	if err := json.Unmarshal(r.Body, &p); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// wantPreviewed fails the test unless a model's preview has said what the model has changed: as many documents, and by each rule as many.
// A preview looks at nothing that the model does not concern.
func (h *history) wantPreviewed(p model.Preview, applied *harness.Response) {
	h.t.Helper()
	if len(p.Differences) == 0 { // it applies since another event
		return
	}
	seq, _ := strconv.ParseUint(applied.Header.Get("Fanfold-Revision"), 10, 64)
	rules, changed := map[string]int64{}, int64(0)
	if err := h.s.Node.Store.Read(func(snap *sqlite.Snapshot) error {
		page, err := snap.Changes(fanfold.ChangeQuery{After: fanfold.At(seq, 0) - 1, Limit: 10_000})
		for _, row := range page.Rows {
			changed++
			for _, name := range row.Rules {
				rules[name]++
			}
		}
		return err
	}); err != nil {
		h.t.Fatal(err)
	}
	if p.Changes != changed {
		h.t.Errorf("the preview tells %d documents that change, and %d have", p.Changes, changed)
	}
	for _, r := range p.Rules {
		if r.Documents != rules[r.Rule] {
			h.t.Errorf("the preview tells %d documents of rule %s, and %d have changed", r.Documents, r.Rule, rules[r.Rule])
		}
	}
}

// activate lets the model that is to come apply.
func (h *history) activate() {
	if chance(h.t, 50) {
		h.s.Prepared()
	}
	h.hold.Release()
	applied := h.s.Activated(h.proposed)
	h.hold.Renew()
	h.proposed = 0
	h.o.newest = h.o.newest || h.upgrades
	h.o.apply(h.coming)
	h.stored(applied, "", okey{})
}

// accepted notes what the event should change.
func (h *history) accepted(r *harness.Response, op string, key okey) {
	h.t.Helper()
	seq, err := strconv.ParseUint(r.Header.Get("Fanfold-Revision"), 10, 64)
	if err != nil {
		h.t.Fatalf("Fanfold-Revision: %v", err)
	}
	h.stored(seq, op, key)
}

// stored notes an event that the oracle has applied.
func (h *history) stored(seq uint64, op string, key okey) {
	if h.o.times != nil {
		h.o.times[h.o.events] = foldedTime(seq)
	}
	after := h.o.views()
	if n := len(h.expect); op == "" && n > 0 && seq < h.expect[n-1].seq && maps.Equal(after, h.views) {
		return // the model applies already, by an earlier event
	}
	h.expect = append(h.expect, expected{seq: seq, op: op, key: key, before: h.views, after: after, written: h.o.written(), links: h.o.expectedLinks(), oracle: h.o.clone(), refresh: h.refreshed})
	h.noteRelations()
	h.views = after
}

func (h *history) put(op operation) {
	what, want := "create", http.StatusCreated
	if h.o.docs[op.key] != nil {
		what, want = "replace", http.StatusNoContent
	}
	path := harness.Path(op.key.collection, op.key.id) + op.query()
	was := h.asWritten(op.key)
	if was.text != "" && chance(h.t, 15) {
		op.body = was.text
	}
	if h.o.tooLong(op.key, op.body) {
		h.s.Want(http.StatusUnprocessableEntity, http.MethodPut, path, op.body)
		return
	}
	before := h.o.clone()
	r := h.write(want, http.MethodPut, path, op.body)
	h.o.put(op.key, op.body, op.refresh...)
	if h.leftAsItWas(r, op, was, before) {
		return
	}
	h.refreshed = op.refresh
	h.accepted(r, what, op.key)
	h.refreshed = nil
}

func (h *history) delete(op operation) {
	key := op.key
	path := harness.Path(key.collection, key.id) + op.query()
	if h.o.docs[key] == nil {
		h.s.Want(http.StatusNotFound, http.MethodDelete, path, "")
		return
	}
	gone, edits, held, _ := h.o.removal([]okey{key}, nil)
	if held {
		h.s.Want(http.StatusConflict, http.MethodDelete, path, "")
		return
	}
	r := h.write(http.StatusNoContent, http.MethodDelete, path, "")
	h.o.remove(key)
	h.accepted(r, "delete", key)
	delete(gone, key)
	h.removed(gone, edits, []okey{key})
}

// removed applies what the deletes of roots brought with them, in the order in which the feed has it.
func (h *history) removed(gone map[okey]bool, edits map[okey]*jsonvalue.Value, roots []okey) {
	if len(gone)+len(edits) == 0 {
		return
	}
	rows, _ := h.s.Changes("mode=all&since=" + h.since())
	after := h.expect[len(h.expect)-1].seq
	for _, row := range rows {
		key := okey{row.Collection, row.ID}
		switch {
		case row.Op == "derive" || row.Op == "erase" || row.Rev <= after:
		case row.Op == "delete" && gone[key]:
			delete(gone, key)
			h.o.remove(key)
			h.stored(row.Rev, "delete", key)
		case row.Op == "patch" && edits[key] != nil:
			h.o.write(key, edits[key], "")
			h.stored(row.Rev, "patch", key)
			delete(edits, key)
		default:
			h.t.Fatalf("the delete brought %+v with it", row)
		}
		if row.Op != "derive" && row.Op != "erase" && row.Rev > after && !slices.Contains(roots, key) {
			policy := map[string]string{"delete": "cascade", "patch": "unlink"}[row.Op]
			if row.Cause == nil || !slices.ContainsFunc(h.o.model.rels, func(r *orel) bool { return r.onDelete == policy && r.collection+"."+r.name == row.Cause.Rule }) {
				h.t.Fatalf("%+v has the cause %+v, which names no relation with %s", row, row.Cause, policy)
			}
			h.expect[len(h.expect)-1].roots = roots
		}
	}
	if len(gone)+len(edits) > 0 {
		h.t.Fatalf("the delete did not delete %v and not edit %v", gone, edits)
	}
}

// increment sends a patch that adds to n.
func (h *history) increment(op operation) {
	stored, ok := incremented(h.o.docs[op.key], op.body)
	op.kind, op.body = "json-patch", `[{"op":"increment","path":"/n","value":`+op.body+`}]`
	if !ok {
		h.write(http.StatusUnprocessableEntity, http.MethodPatch, harness.Path(op.key.collection, op.key.id), op.body, "Content-Type", "application/json-patch+json")
		return
	}
	h.patch(op, func(doc *jsonvalue.Value) bool { return jsonvalue.ApplyPatch(doc, stored) })
}

// incremented is the JSON Patch that adding to a document's n comes to; ok is false where n is no number.
func incremented(d *odoc, by string) (patch string, ok bool) {
	sum, _ := new(big.Rat).SetString(by)
	op, scale := "add", scaleOf(by)
	if d != nil && d.body.Get("n") != nil {
		n, ok := new(big.Rat).SetString(d.body.Get("n").Text)
		if !ok {
			return "", false
		}
		sum.Add(sum, n)
		op, scale = "replace", max(scale, scaleOf(d.body.Get("n").Text))
	}
	return `[{"op":"` + op + `","path":"/n","value":` + sum.FloatString(scale) + `}]`, true
}

// scaleOf is how many digits a number has after the point.
func scaleOf(number string) int {
	_, fraction, _ := strings.Cut(number, ".")
	return len(fraction)
}

// patch sends a patch; fits applies it to the oracle's document and tells whether it could.
func (h *history) patch(op operation, fits func(doc *jsonvalue.Value) bool) {
	want := http.StatusNoContent
	var body *jsonvalue.Value
	if d := h.o.docs[op.key]; d == nil {
		want = http.StatusNotFound
	} else if body = d.body.Clone(); !fits(body) {
		want = http.StatusConflict
	} else if h.o.longBody(body) {
		want = http.StatusUnprocessableEntity
	}
	was, before := h.asWritten(op.key), h.o.clone()
	r := h.write(want, http.MethodPatch, harness.Path(op.key.collection, op.key.id)+op.query(), op.body, "Content-Type", "application/"+op.kind+"+json")
	if want == http.StatusNoContent {
		h.o.write(op.key, body, "", op.refresh...)
		if h.leftAsItWas(r, op, was, before) {
			return
		}
		h.refreshed = op.refresh
		h.accepted(r, "patch", op.key)
		h.refreshed = nil
	}
}
