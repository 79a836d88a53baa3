package faults_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// besideRestarts are requests that ask the log's server something, or have it changed. %d stands for a number that is another one each time.
var besideRestarts = []struct {
	method, path, body string
	other              int // a status besides 2xx that says no more than that an erasure, or the request before, is under way
}{
	{"POST", "/v1/_replay", `{}`, http.StatusConflict},
	{"POST", "/v1/_replay", `{"check":true}`, http.StatusConflict},
	{"POST", "/v1/_verify", "", http.StatusTooManyRequests},
	{"POST", "/v1/_verify?log=true", "", http.StatusTooManyRequests},
	{"GET", "/v1/_backup", "", http.StatusConflict},
	{"GET", "/v1/_export", "", 0},
	{"GET", "/v1/_export?at=9", "", http.StatusGone},
	{"GET", "/v1/_diff?from=8&to=9", "", http.StatusGone},
	{"POST", "/v1/_snapshot", "", http.StatusConflict},
	{"POST", "/v1/_compact", `{"before":"9","dryRun":true}`, http.StatusConflict},
	{"POST", "/v1/_compact", `{"before":"1"}`, http.StatusConflict},
	{"POST", "/v1/_find", `{"text":"mark"}`, http.StatusConflict},
	{"GET", "/v1/_erasures", "", 0},
	{"GET", "/v1/_status", "", 0},
	{"GET", "/v1/_replicas", "", 0},
	{"GET", "/v1/orders/bob-0?consistency=strong", "", 0},
	{"GET", "/v1/orders/bob-0/_history", "", http.StatusNotFound},
	{"GET", "/v1/orders/bob-0/_lineage", "", 0},
	{"GET", "/v1/_changes?since=0&limit=5", "", http.StatusGone},
	{"PUT", "/v1/orders/beside", `{"customerId":"bob","total":%d}`, 0},
	{"PUT", "/v1/customers/new%d", `{"email":"e%d"}`, 0},
	{"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"t","body":{"total":%d}},{"op":"put","collection":"orders","id":"u","body":{}}]}`, 0},
	{"POST", "/v1/_import", `{"collection":"orders","id":"i","body":{"total":%d}}`, 0},
	{"PUT", "/v1/_model?dryRun=true", forgetModel, 0},
	{"PUT", "/v1/_model?background=true&allowRemoval=true", forgetModel + "  other%d: {}", http.StatusConflict},
	{"PUT", "/v1/_groups/g%d", `{"since":"now"}`, 0},
	{"GET", "/v1/_groups", "", 0},
	{"POST", "/v1/_groups/g/_lease", `{"member":"m"}`, 0},
	{"POST", "/v1/_groups/g/_reset", `{"to":"now"}`, http.StatusConflict},
	{"GET", "/v1/_keys", "", 0},
	{"POST", "/v1/_keys", `{"roles":["monitor"],"name":"k%d"}`, 0},
}

// TestRequestsOutlastRestarts: whatever asks the log while its server is started again as planned, without what was erased, has its answer.
func TestRequestsOutlastRestarts(t *testing.T) {
	var r restartAsker
	r.s = harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
		quickPurge(cfg)
		cfg.Steps.Erase = func(step string) error {
			switch step {
			case forget.StepEraseSwitched:
				r.begin(t)
			case forget.StepDeleted:
				r.over.Store(true)
			}
			return nil
		}
	}})
	defer r.s.Close()
	r.s.CloseHouse()
	r.s.Model(forgetModel)
	whose := []string{"ann", "bob"}
	for _, who := range whose {
		writeCustomer(r.s, who)
	}
	r.s.CatchUp()
	r.s.Compact(r.s.Node.Store.Applied.Seq()) // so that there is a base, with which a replay and a backup begin
	awaitPurged(t, r.s)
	r.s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/g", `{"since":"now"}`)
	for _, who := range whose {
		restarts := r.s.Node.Log.Recovery().Restarts()
		eraseDone(t, r.s, "/v1/customers/"+who+"/_erase", `{}`)
		r.asking.Wait()
		if r.s.Node.Log.Recovery().Restarts() == restarts {
			t.Error("the server was not started again")
		}
	}
}

// restartAsker asks everything of besideRestarts again and again while a server is started again.
type restartAsker struct {
	s      *harness.Store
	asking sync.WaitGroup
	over   atomic.Bool
	number atomic.Int64
}

// begin returns once all requests have been sent.
func (r *restartAsker) begin(t *testing.T) {
	r.over.Store(false)
	var begun sync.WaitGroup
	begun.Add(len(besideRestarts))
	for _, ask := range besideRestarts {
		var headers []string
		switch {
		case strings.HasSuffix(ask.path, "_import"):
			headers = []string{"Content-Type", harness.NDJSON}
		case strings.HasPrefix(ask.path, "/v1/_model"):
			headers = []string{"Content-Type", harness.YAMLType}
		}
		r.asking.Go(func() {
			for first := true; first || !r.over.Load(); first = false {
				if first {
					begun.Done()
				}
				number := strings.NewReplacer("%d", strconv.FormatInt(r.number.Add(1), 10))
				answer, err := r.s.Do(ask.method, number.Replace(ask.path), []byte(number.Replace(ask.body)), headers...)
				switch {
				case err != nil:
					t.Errorf("%s %s: %v", ask.method, ask.path, err)
				case answer.Status >= http.StatusMultipleChoices && answer.Status != ask.other:
					t.Errorf("%s %s: %d %s", ask.method, ask.path, answer.Status, answer.Body)
				}
				if p := r.s.Node.Projector.Status(); p.Replay != nil && p.Replay.Error != "" || p.Preparing != nil && p.Preparing.Phase == "failed" {
					t.Errorf("a replay or a preparation: %+v, %+v", p.Replay, p.Preparing)
				}
			}
		})
	}
	begun.Wait()
}
