package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// hold holds erasures at a step, the first time that one comes there, until it is released.
type hold struct {
	step              string
	reached, released chan struct{}
	reach, release    sync.Once
}

// holdAt returns a hold at a step.
func holdAt(step string) *hold {
	return &hold{step: step, reached: make(chan struct{}), released: make(chan struct{})}
}

// wait is node.Config.Steps.Erase.
func (h *hold) wait(step string) error {
	if step == h.step {
		h.reach.Do(func() { close(h.reached) })
		<-h.released
	}
	return nil
}

// end releases what is held.
func (h *hold) end() { h.release.Do(func() { close(h.released) }) }

// openHeld starts a node whose erasures are held.
func openHeld(t *testing.T, h *hold, models *harness.ActivationHold) *harness.Store {
	t.Helper()
	opt := harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait, cfg.Steps.Erase = time.Millisecond, h.wait }}
	if models != nil {
		opt.Writer = writer.Options{BeforeActivate: models.Wait}
	}
	s := harness.Open(t, opt)
	t.Cleanup(func() { h.end(); s.Close() })
	return s
}

// await waits until an erasure is held.
func (h *hold) await(t *testing.T) {
	t.Helper()
	select {
	case <-h.reached:
	case <-time.After(suite.Deadline(time.Minute)):
		t.Fatalf("no erasure comes to %q", h.step)
	}
}

// wantNowhere fails the test where a text is in anything that a store shows, now or as of any of its changes.
func wantNowhere(t *testing.T, s *harness.Store, text string) {
	t.Helper()
	s.CatchUp()
	var status struct{ History struct{ Oldest string } }
	harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status)
	since := url.QueryEscape(status.History.Oldest)
	var feed struct{ Results []harness.Change }
	harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?mode=all&since="+since, "").Body, &feed)
	paths := []string{"/v1/_export", "/v1/_diff?from=" + since}
	known := map[string]bool{}
	for _, view := range []string{"embedded", "referenced"} {
		paths = append(paths, "/v1/_changes?mode=all&include_docs=true&since="+since+"&view="+view, "/v1/_changes?include_docs=true&since="+since+"&view="+view)
		for _, row := range feed.Results {
			path := harness.Path(row.Collection, row.ID)
			paths = append(paths, path+"?view="+view+"&at="+row.Seq)
			if !known[view+path] {
				known[view+path] = true
				paths = append(paths, path+"?view="+view, path+"/_history?include_docs=true&view="+view, path+"/_lineage")
			}
		}
	}
	for _, path := range paths {
		r, err := s.Do(http.MethodGet, path, nil)
		if err != nil || r.Status != http.StatusOK && r.Status != http.StatusNotFound {
			t.Errorf("%s: %v, %+v", path, err, r)
			continue
		}
		if i := strings.Index(string(r.Body), text); i >= 0 {
			t.Errorf("%s has it: %s", path, r.Body[max(0, i-200):min(len(r.Body), i+200)])
		}
	}
	if found := string(s.Want(http.StatusOK, http.MethodPost, "/v1/_find", `{"text":"`+text+`"}`).Body); strings.Contains(found, `"id"`) {
		t.Errorf("found %s", found)
	}
}

// wantReplayed wants the read model to have a replay's rows, and every derived value to be right.
func wantReplayed(t *testing.T, s *harness.Store) {
	t.Helper()
	s.Verify()
	before := s.Digest()
	s.Replay()
	if after := s.Digest(); after != before {
		t.Errorf("a replay gives %s, and %s was there", after, before)
	}
}

// richModel shows more of customers than ordersModel does, and has relations that it has not.
const richModel = ordersModel + `    indexes:
      byName: [name]
  letters:
    relations:
      to: {path: address.customer, to: customers}
      order: {path: order, to: orders}
    derive:
      dear: {copy: to, value: doc.name}
      city: {copy: to, value: doc.city, frozen: true}
      billed: {copy: order, value: doc.billedTo}
`

// letterOfAnn shows by richModel what an order has frozen of ann.
const letterOfAnn = `{"address":{"customer":"ann"},"order":"of-ann"}`

// TestModelsDuringErasure: a model is applied at once, and another one prepared, while an erasure is under way. Both apply, and nothing of what is erased
// comes back with them.
func TestModelsDuringErasure(t *testing.T) {
	suite.Parallel(t)
	for _, step := range []string{forget.StepErasurePrepared, forget.StepCompared, forget.StepErased, forget.StepEraseSwitched} {
		t.Run(step, func(t *testing.T) {
			held, models := holdAt(step), harness.NewActivationHold()
			s := openHeld(t, held, models)
			s.Model(ordersModel)
			writeOrders(s)
			s.Put("letters", "ann", letterOfAnn)
			s.Put("letters", "bob", `{"address":{"customer":"bob"}}`)
			location := erase(s, "/v1/customers/ann/_erase", "{}")
			held.await(t)
			atOnce := strings.Replace(ordersModel, "value: doc.customerName", "value: \"'to ' + doc.customerName\"", 1)
			s.Want(http.StatusOK, http.MethodPut, "/v1/_model?background=false&allowRemoval=true", atOnce, "Content-Type", harness.YAMLType, "Fanfold-Timeout", "60")
			seq := s.Propose(richModel)
			if seq == 0 {
				t.Fatal("the model is not prepared")
			}
			s.Prepared()
			s.Put("totals", "late", `{"order":"of-ann"}`)
			s.Put("letters", "late", `{"address":{"customer":"bob"}}`)
			held.end()
			s.Erased(location)
			models.Release()
			s.Activated(seq)
			s.WantDoc("letters", "late", `{"id":"late","address":{"customer":"bob"},"city":"kept city","dear":"kept name 2"}`)
			wantErased(t, s)
			wantNowhere(t, s, secret)
			wantReplayed(t, s)
		})
	}
}

// TestModelAppliesDuringErasure: a model that was prepared beside a held erasure applies before that is in force, and shows what goes for as long. The feed says
// of whom it does not any more.
func TestModelAppliesDuringErasure(t *testing.T) {
	suite.Parallel(t)
	held := holdAt(forget.StepCompared)
	s := openHeld(t, held, nil)
	s.Model(ordersModel)
	writeOrders(s)
	s.Put("letters", "ann", letterOfAnn)
	location := erase(s, "/v1/customers/ann/_erase", "{}")
	held.await(t)
	s.Activated(s.Propose(richModel))
	s.Put("letters", "late", letterOfAnn)
	for _, id := range []string{"ann", "late"} {
		if doc := s.Get("letters", id); !strings.Contains(doc, secret) {
			t.Errorf("letters/%s is %s before the erasure is in force", id, doc)
		}
	}
	held.end()
	at := s.Erased(location)
	harness.Await(t, "rows of the letters", time.Minute, func() bool {
		told := map[string]bool{}
		rows, _ := s.Changes("mode=all&since=" + at.String())
		for _, row := range rows {
			told[row.Collection+"/"+row.ID] = row.Op == "derive"
		}
		return told["letters/ann"] && told["letters/late"]
	})
	wantErased(t, s)
	wantNowhere(t, s, secret)
	wantReplayed(t, s)
}

// TestErasureWhileModelIsPrepared: an erasure waits for the end of a model that is prepared, whether it applies or is withdrawn.
func TestErasureWhileModelIsPrepared(t *testing.T) {
	suite.Parallel(t)
	for _, withdrawn := range []bool{false, true} {
		t.Run(fmt.Sprint("withdrawn ", withdrawn), func(t *testing.T) {
			models := harness.NewActivationHold()
			s := openHeld(t, holdAt(""), models)
			s.Model(ordersModel)
			writeOrders(s)
			s.Put("letters", "ann", letterOfAnn)
			seq := s.Propose(richModel)
			s.Prepared()
			for _, query := range []string{"", "?dryRun=true"} {
				r := s.Want(http.StatusConflict, http.MethodPost, "/v1/customers/ann/_erase"+query, "{}")
				if !strings.Contains(string(r.Body), "a model is being prepared") {
					t.Errorf("it is refused with %s", r.Body)
				}
			}
			if doc := s.Get("customers", "ann"); !strings.Contains(doc, secret) {
				t.Errorf("it was refused, and the document is %s", doc)
			}
			if withdrawn {
				s.Want(http.StatusNoContent, http.MethodDelete, "/v1/_model/_pending", "")
			} else {
				models.Release()
				s.Activated(seq)
			}
			s.Erased(erase(s, "/v1/customers/ann/_erase", "{}"))
			wantErased(t, s)
			wantNowhere(t, s, secret)
			wantReplayed(t, s)
		})
	}
}

// TestReplayDuringErasure: a compaction that is asked for during an erasure is refused, and a replay while the read model is built anew. The answer says why, and
// both go after it.
func TestReplayDuringErasure(t *testing.T) {
	suite.Parallel(t)
	for _, step := range []string{forget.StepErasurePrepared, forget.StepErased, forget.StepDeleted} {
		t.Run(step, func(t *testing.T) {
			held := holdAt(step)
			s := openHeld(t, held, nil)
			s.Model(ordersModel)
			writeOrders(s)
			location := erase(s, "/v1/customers/ann/_erase", "{}")
			held.await(t)
			for _, asked := range []struct{ path, body string }{{"/v1/_replay", "{}"}, {"/v1/_replay", `{"check":true}`}, {"/v1/_compact", fmt.Sprintf(`{"before":"%d"}`, s.Node.Store.Applied.Seq()-2)}} {
				r, err := s.Do(http.MethodPost, asked.path, []byte(asked.body))
				if err != nil || r.Status != http.StatusConflict && (r.Status != http.StatusAccepted || step == forget.StepErasurePrepared || asked.path == "/v1/_compact") {
					t.Errorf("%s %s: %v, %+v", asked.path, asked.body, err, r)
				} else if r.Status == http.StatusConflict && !strings.Contains(string(r.Body), "erasure") {
					t.Errorf("%s %s is refused with %s", asked.path, asked.body, r.Body)
				}
			}
			held.end()
			s.Erased(location)
			harness.Await(t, "the replay to end", time.Minute, func() bool {
				p := s.Node.Projector.Status().Replay
				return p == nil || !p.Running
			})
			wantReplayed(t, s)
			s.Compact(s.Node.Store.Applied.Seq())
			awaitPurged(t, s)
			wantErased(t, s)
			wantNowhere(t, s, secret)
			wantReplayed(t, s)
		})
	}
}

// keptLine is a line of an import: an order with values that it keeps of ann.
func keptLine(id string) string {
	return fmt.Sprintf(`{"collection":"orders","doc":{"id":%q,"customer":"ann"},"kept":{"orders.customerName":{"ann":"%s kept"},"orders.billedTo":{"ann":"%s kept"}}}`, id, secret, secret) + "\n"
}

// TestImportDuringErasure: values that an import brought of an erased document are gone. A line that comes after the request brings them anew. The next erasure
// takes them away.
func TestImportDuringErasure(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	for _, step := range []string{forget.StepCollected, forget.StepEraseAppended, forget.StepErasurePrepared, forget.StepCompared, forget.StepErased, forget.StepEraseSwitched} {
		t.Run(step, func(t *testing.T) {
			held := holdAt(step)
			s := openHeld(t, held, nil)
			s.Model(ordersModel)
			writeOrders(s)
			s.Delete("customers", "ann")
			const resumed = "id=resumed&resume=true"
			lines := keptLine("before")
			harness.ImportText(t, s.Client, resumed, lines)
			s.WantDoc("orders", "before", `{"id":"before","customer":"ann","billedTo":"geheim kept","customerName":"geheim kept"}`)
			asked := make(chan string, 1)
			go func() { asked <- erase(s, "/v1/customers/ann/_erase", "{}") }()
			held.await(t)
			lines += keptLine("during") + `{"collection":"orders","doc":{"id":"plain","customer":"bob"}}` + "\n"
			harness.ImportText(t, s.Client, resumed, lines)
			held.end()
			s.Erased(<-asked)
			s.WantDoc("orders", "before", `{"id":"before","customer":"ann"}`)
			s.WantDoc("orders", "plain", `{"id":"plain","customer":"bob","billedTo":"kept city","customerName":"kept name 2"}`)
			if step != forget.StepCollected {
				s.Erased(erase(s, "/v1/customers/ann/_erase", "{}"))
			}
			s.Want(http.StatusOK, http.MethodPost, "/v1/customers/ann/_erase", "{}")
			s.WantDoc("orders", "during", `{"id":"during","customer":"ann"}`)
			wantErased(t, s)
			wantNowhere(t, s, secret)
			lines += `{"collection":"orders","doc":{"id":"resumed","customer":"bob"}}` + "\n"
			if said := harness.ImportText(t, s.Client, resumed, lines); !strings.Contains(said, `"written":4`) {
				t.Errorf("the import that goes on after the erasure says %s", said)
			}
			s.WantDoc("orders", "during", `{"id":"during","customer":"ann"}`)
			wantNowhere(t, s, secret)
			wantReplayed(t, s)
		})
	}
}
