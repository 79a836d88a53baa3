package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// eraseDone asks for an erasure, and waits until it is done.
func eraseDone(t *testing.T, s *harness.Store, path, body string) {
	t.Helper()
	harness.Await(t, "an erasure to begin", time.Minute, func() bool {
		r, err := s.Do(http.MethodPost, path, []byte(body), "Content-Type", "application/json")
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Status == http.StatusOK:
			return true
		case r.Status == http.StatusAccepted:
			s.Erased(r.Header.Get("Location"))
			return true
		case r.Status != http.StatusConflict && r.Status != http.StatusServiceUnavailable:
			t.Fatalf("%s %s: %d %s", path, body, r.Status, r.Body)
		}
		return false
	})
}

// findText returns the documents that erase --find names.
func findText(t *testing.T, s *harness.Store, text string) (found []string) {
	t.Helper()
	var out struct {
		Found []struct{ Collection, ID string }
	}
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_find", fmt.Sprintf(`{"text":%q}`, text), "Content-Type", "application/json")
	if err := json.Unmarshal(r.Body, &out); err != nil {
		t.Fatal(err)
	}
	for _, f := range out.Found {
		found = append(found, f.Collection+"/"+f.ID)
	}
	return found
}

// wantNowhere wants a text in no file, and in no backup that is made now.
func wantNowhere(t *testing.T, s *harness.Store, dir string, texts ...string) {
	t.Helper()
	backup := s.Want(http.StatusOK, http.MethodGet, "/v1/_backup", "").Body
	for _, text := range texts {
		if found := filesWith(t, dir, text); len(found) > 0 {
			t.Errorf("%s is in %s", text, strings.Join(found, ", "))
		}
		if hasText(backup, text) {
			t.Errorf("%s is in a backup", text)
		}
		if found := findText(t, s, text); len(found) > 0 {
			t.Errorf("%s is found in %v", text, found)
		}
	}
}

// TestErasedTwiceIsNowhere: what the list of one erasure keeps of a document goes with the next one.
func TestErasedTwiceIsNowhere(t *testing.T) {
	for name, second := range map[string]string{"whole": `{}`, "another member": `{"members":["/name"]}`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := harness.Open(t, harness.Options{Dir: dir, Configure: quickPurge})
			defer func() { s.Close() }()
			s.Put("customers", "c1", `{"name":"SECRETNAME","email":"SECRETMAIL","n":1}`)
			s.Put("customers", "c2", `{"name":"OTHERNAME","email":"OTHERMAIL"}`)
			eraseDone(t, s, "/v1/_erase", `{"documents":[{"collection":"customers","id":"c1"},{"collection":"customers","id":"c2"}],"members":["/email"]}`)
			wantNowhere(t, s, dir, "SECRETMAIL", "OTHERMAIL")
			if len(filesWith(t, dir, "SECRETNAME")) == 0 {
				t.Fatal("what is not erased is gone")
			}
			eraseDone(t, s, "/v1/customers/c1/_erase", second)
			wantNowhere(t, s, dir, "SECRETNAME", "SECRETMAIL", "OTHERMAIL")
			s = s.Reopen()
			s.CatchUp()
			requireSame(t, s)
			wantNowhere(t, s, dir, "SECRETNAME", "SECRETMAIL", "OTHERMAIL")
			if text := string(s.Want(http.StatusOK, http.MethodGet, "/v1/customers/c2?at=3", "").Body); !strings.Contains(text, "OTHERNAME") {
				t.Errorf("c2 is %s", text)
			}
			wantCounts(t, s, 2, 2)
			s.Verify()
			eraseDone(t, s, "/v1/customers/c2/_erase", `{}`)
			s = s.Reopen()
			s.CatchUp()
			wantNowhere(t, s, dir, "SECRETNAME", "SECRETMAIL", "OTHERNAME", "OTHERMAIL")
			s.Verify()
		})
	}
}

// wantCounts wants erasures to tell of at least so many events each.
func wantCounts(t *testing.T, s *harness.Store, counts ...int) {
	t.Helper()
	var list struct{ Erasures []struct{ Events int } }
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/_erasures", "").Body, &list); err != nil {
		t.Fatal(err)
	}
	for i, want := range counts {
		if len(list.Erasures) != len(counts) || list.Erasures[i].Events < want || list.Erasures[i].Events > 2*want {
			t.Fatalf("the erasures are %+v, want about %v events", list.Erasures, counts)
		}
	}
}

// eraser makes erasures upon erasures by chance, and knows which texts must be nowhere.
type eraser struct {
	t      *testing.T
	rng    *rand.Rand
	dir    string
	s      *harness.Store
	number int
	living map[string]map[string][]string // the texts of each member that were ever written, by document
	gone   []string
}

// canary returns a new text of a member of a document.
func (e *eraser) canary(id, member string) string {
	e.number++
	text := fmt.Sprintf("canary%dx%sx%s", e.number, id, member)
	if e.living[id] == nil {
		e.living[id] = map[string][]string{}
	}
	e.living[id][member] = append(e.living[id][member], text)
	return text
}

// write writes something of a customer, in one of all ways.
func (e *eraser) write(id string) {
	path, member := "/v1/customers/"+id, []string{"name", "email", "city"}[e.rng.IntN(3)]
	whole := func() string {
		return fmt.Sprintf(`{"name":%q,"email":%q,"city":%q}`, e.canary(id, "name"), e.canary(id, "email"), e.canary(id, "city"))
	}
	switch e.rng.IntN(12) {
	case 0:
		e.s.Put("customers", id, whole())
	case 1, 2:
		e.patch(path, fmt.Sprintf(`{%q:%q}`, member, e.canary(id, member)), harness.MergeType)
	case 3:
		e.patch(path, fmt.Sprintf(`[{"op":"add","path":"/%s","value":%q}]`, member, e.canary(id, member)), "application/json-patch+json")
	case 4: // a transaction under a key, whose first event is of another document
		other := "k" + id
		e.s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", fmt.Sprintf(`{"operations":[{"op":"put","collection":"customers","id":%q,"body":{"name":%q}},`+
			`{"op":"put","collection":"customers","id":%q,"body":%s}]}`, other, e.canary(other, "name"), id, whole()), "Content-Type", "application/json", "Idempotency-Key", fmt.Sprint("key ", e.number))
	case 5: // under a key, on a condition, and once more
		for range 2 {
			if r, err := e.s.Do(http.MethodPut, path, []byte(whole()), "If-Match", "*", "Idempotency-Key", fmt.Sprint("put ", e.number)); err != nil || r.Status >= http.StatusInternalServerError {
				e.t.Fatalf("put %s: %v, %+v", path, err, r)
			}
		}
	case 6: // its orders keep what they have of it
		if r, err := e.s.Do(http.MethodDelete, path, nil); err != nil || r.Status != http.StatusNoContent && r.Status != http.StatusNotFound {
			e.t.Fatalf("delete %s: %v, %+v", path, err, r)
		}
	case 7: // an order that has kept values of it, and frozen ones
		e.importKept(id)
	case 8:
		e.park(id)
	case 9: // an older version
		if r, err := e.s.Do(http.MethodPost, path+"/_revert", []byte(fmt.Sprintf(`{"at":"%d"}`, 1+e.rng.Uint64N(e.s.Node.Store.Applied.Seq()))), "Content-Type", "application/json"); err != nil || r.Status >= http.StatusInternalServerError {
			e.t.Fatalf("revert %s: %v, %d %s", path, err, r.Status, r.Body)
		}
	case 10: // in the background, whose answer stays for a while
		e.s.Want(http.StatusAccepted, http.MethodPost, "/v1/_verify", "", "Prefer", "respond-async, wait=0")
	default:
		e.s.Put("orders", fmt.Sprint("o", e.number), fmt.Sprintf(`{"customerId":%q,"total":1}`, id))
	}
}

// importKept imports an order that has kept and frozen values of a customer.
func (e *eraser) importKept(id string) {
	harness.ImportText(e.t, e.s.Client, "", fmt.Sprintf(`{"collection":"orders","doc":{"id":"i%d","customerId":%q,"total":2},"kept":{"orders.customerName":{%q:%q},"orders.billedTo":{%q:%q}}}`+"\n",
		e.number, id, id, e.canary(id, "name"), id, e.canary(id, "name")))
}

// park has a member fail with a batch, and quote a customer.
func (e *eraser) park(id string) {
	e.s.CatchUp()
	for _, l := range harness.Lease(e.t, e.s.Client, "g", "m") {
		if ids, last := harness.GroupChanges(e.t, e.s.Client, "g", l, "&limit=1"); len(ids) > 0 {
			e.s.Want(http.StatusNoContent, http.MethodPost, "/v1/_groups/g/_nack", harness.BatchOf(l, last, fmt.Sprintf(`,"error":"nobody is called %s"`, e.canary(id, "name"))))
		}
	}
}

// compact takes away what is before now. The group begins anew at the end then, and keeps what it has parked.
func (e *eraser) compact() {
	e.s.CatchUp()
	r, err := e.s.Do(http.MethodPost, "/v1/_compact", fmt.Appendf(nil, `{"before":"%d","force":true}`, e.s.Node.Store.Applied.Seq()), "Content-Type", "application/json")
	switch {
	case err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusOK:
		e.t.Fatalf("compact: %v, %+v", err, r)
	case r.Status == http.StatusAccepted:
		e.s.Compacted()
	}
	awaitPurged(e.t, e.s)
	e.s.Want(http.StatusNoContent, http.MethodPost, "/v1/_groups/g/_reset", `{"to":"now","force":true}`)
}

// patch patches a customer that may be gone.
func (e *eraser) patch(path, body, contentType string) {
	r, err := e.s.Do(http.MethodPatch, path, []byte(body), "Content-Type", contentType)
	if err != nil || r.Status != http.StatusNoContent && r.Status != http.StatusNotFound {
		e.t.Fatalf("patch %s: %v, %+v", path, err, r)
	}
}

// erase erases one to three documents, or members of them.
func (e *eraser) erase(ids []string) {
	var documents []string
	members := [][]string{nil, {"name"}, {"email"}, {"city"}, {"name", "city"}}[e.rng.IntN(5)]
	for _, i := range e.rng.Perm(len(ids))[:1+e.rng.IntN(3)] {
		if e.living[ids[i]] == nil {
			continue
		}
		documents = append(documents, fmt.Sprintf(`{"collection":"customers","id":%q}`, ids[i]))
		gone := members
		if members == nil {
			gone = []string{"name", "email", "city"}
		}
		for _, member := range gone {
			e.gone = append(e.gone, e.living[ids[i]][member]...)
			e.living[ids[i]][member] = nil
		}
	}
	if len(documents) == 0 {
		return
	}
	body := `{"documents":[` + strings.Join(documents, ",") + `]`
	if members != nil {
		body += `,"members":["/` + strings.Join(members, `","/`) + `"]`
	}
	eraseDone(e.t, e.s, "/v1/_erase", body+"}")
}

// TestErasuresUponErasures: whatever the order of writes, erasures, compactions, starts and backups, nothing of what was ever erased is in any file.
func TestErasuresUponErasures(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := &eraser{t: t, rng: rand.New(rand.NewPCG(seed, 48)), dir: t.TempDir(), living: map[string]map[string][]string{}}
			e.s = harness.Open(t, harness.Options{Dir: e.dir, Configure: quickPurge})
			defer func() { e.s.Close() }()
			e.s.Model(forgetModel)
			e.s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/g", `{"partitions":1,"maxAttempts":1}`)
			ids := []string{"a", "b", "c", "d", "ka", "kb", "kc", "kd"}
			for _, id := range ids {
				e.s.Put("customers", id, fmt.Sprintf(`{"name":%q}`, e.canary(id, "name")))
			}
			for range 5 {
				for range 12 {
					e.write(ids[e.rng.IntN(4)])
				}
				for range 1 + e.rng.IntN(3) {
					e.erase(ids)
				}
				if e.rng.IntN(3) == 0 {
					e.compact()
				}
				if e.rng.IntN(2) == 0 {
					e.s = e.s.Reopen()
				}
				e.s.AllErased()
				awaitPurged(t, e.s)
				wantNowhere(t, e.s, e.dir, e.gone...)
				if t.Failed() {
					return
				}
			}
			for id, members := range e.living { // none of what lives goes with it
				r, err := e.s.Do(http.MethodGet, "/v1/customers/"+id, nil)
				if err != nil || r.Status != http.StatusOK {
					continue
				}
				for member, texts := range members {
					if n := len(texts); n > 0 && strings.Contains(string(r.Body), `"`+member+`"`) && !strings.Contains(string(r.Body), "canary") {
						t.Errorf("%s is %s", id, r.Body)
					}
				}
			}
			requireSame(t, e.s)
			e.s.Verify()
			if _, err := os.Stat(filepath.Join(e.dir, "nats")); err != nil {
				t.Error("the log's files are elsewhere: ", err)
			}
		})
	}
}

// TestErasedIsCreatedInATransaction: an erased document is no longer there, so that a transaction that wants it absent creates it. A batch of
// one operation is tried again as others are.
func TestErasedIsCreatedInATransaction(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: quickPurge})
	defer func() { s.Close() }()
	transact := func(operations string) {
		t.Helper()
		s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[`+operations+`]}`, "Content-Type", "application/json")
	}
	s.Put("customers", "c1", `{"name":"one"}`)
	s.Put("customers", "c2", `{"name":"two"}`)
	eraseDone(t, s, "/v1/_erase", `{"documents":[{"collection":"customers","id":"c1"},{"collection":"customers","id":"c2"}]}`)
	transact(`{"op":"put","collection":"customers","id":"c1","body":{"name":"anew"},"ifNoneMatch":"*"}`)
	transact(`{"op":"create","collection":"customers","id":"c2","body":{"name":"anew"}}`)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/customers/c1", "")
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/customers/c2", "")
	transact(`{"op":"create","collection":"customers","id":"c1","body":{}},{"op":"put","collection":"customers","id":"c2","body":{},"ifNoneMatch":"*"}`)
}

// TestErasedTogetherAfterCompaction: of documents that are erased at once, none keeps what another was, in the state at which the log begins. A
// holder of a frozen value may be erased before its target.
func TestErasedTogetherAfterCompaction(t *testing.T) {
	const frozen = `{"collections":{"customers":{},"orders":{"relations":{"c":{"path":"c","to":"customers"}},
		"derive":{"who":{"copy":"c","value":"doc.name","frozen":true},"where":{"copy":"c","value":"doc.town","frozen":true}}}}}`
	for name, request := range map[string]string{
		"holder first": `{"documents":[{"collection":"orders","id":"o1"},{"collection":"customers","id":"c1"}]}`,
		"target first": `{"documents":[{"collection":"customers","id":"c1"},{"collection":"orders","id":"o1"}]}`,
		"members":      `{"documents":[{"collection":"orders","id":"o1"},{"collection":"customers","id":"c1"}],"members":["/name"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := harness.Open(t, harness.Options{Dir: dir, Configure: quickPurge})
			defer func() { s.Close() }()
			s.Want(http.StatusOK, http.MethodPut, "/v1/_model", frozen, "Content-Type", "application/json")
			s.Put("customers", "c1", `{"name":"SECRETNAME","town":"Bath"}`)
			s.Put("orders", "o1", `{"c":"c1","name":"SECRETTOO","n":1}`)
			s.Put("orders", "o2", `{"c":"c1","n":2}`)
			s.Compact(4)
			eraseDone(t, s, "/v1/_erase", request)
			for _, text := range []string{"SECRETNAME", "SECRETTOO"} {
				if found := filesWith(t, filepath.Join(dir, "readmodel"), text); len(found) > 0 {
					t.Errorf("%s is in %s", text, strings.Join(found, ", "))
				}
				if r := s.Want(http.StatusOK, http.MethodGet, "/v1/orders?at=4-0", ""); strings.Contains(string(r.Body), text) {
					t.Errorf("%s is at the horizon: %s", text, r.Body)
				}
			}
			if r := s.Want(http.StatusOK, http.MethodGet, "/v1/orders/o2?at=4-0", ""); name == "members" && !strings.Contains(string(r.Body), `"where":"Bath"`) {
				t.Errorf("what is left of the target is gone from %s", r.Body)
			}
		})
	}
}
