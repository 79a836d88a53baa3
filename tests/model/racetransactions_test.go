package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// raceModel has what races are about: a unique member, and a strict reference.
const raceModel = "collections: {as: {}, bs: {unique: [u], relations: {a: {path: a, to: as, strict: true}}}, cs: {}}"

// TestRacesOfTransactions: transactions of 2 to 1,000 documents and single writes want one unique value, and refer to a target that others
// delete. One side wins each race, and of the other nothing is there, nor shown meanwhile. On a node with an embedded log, and
// on two with outside servers.
func TestRacesOfTransactions(t *testing.T) {
	suite.Concurrent(t)
	for _, replicas := range []int{embedded, 1} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			suite.Parallel(t)
			nodes := cluster(t, replicas, 2)
			nodes[0].Model(raceModel)
			nodes[1].CatchUp()
			const lanes = 4
			var wg, watching sync.WaitGroup
			var ended atomic.Bool
			for _, s := range nodes {
				watching.Go(func() {
					for since := "0"; ; {
						last := ended.Load()
						n, next := requireWholePage(t, s, since)
						if n == 0 && last {
							return
						}
						since = next
					}
				})
			}
			for lane := range lanes {
				wg.Go(func() {
					for i, size := range raceSizes(lane) {
						r := race{t: t, nodes: nodes, name: fmt.Sprintf("%d-%d", lane, i), size: size}
						if err := r.run(lane + i); err != nil {
							t.Errorf("race %s of transactions of %d: %v", r.name, size, err)
							return
						}
					}
				})
			}
			wg.Wait()
			ended.Store(true)
			watching.Wait()
			nodes[0].CatchUp()
			checkStrict(t, nodes[0])
			nodes[0].WantSameDigest(nodes[1])
		})
	}
}

// raceSizes returns how many documents the transactions of a lane's races have. The largest are as many messages as a transaction may have,
// with a claim or a link.
func raceSizes(lane int) []int {
	largest := [][]int{{999}, {300}, {60}, {20}}[lane]
	sizes := []int{2, 3, 2, 10, 1, 2, 30, 3}
	return append(sizes, append(largest, sizes[:suite.Amount(2, 8)]...)...)
}

// race is one race of several writers.
type race struct {
	t     *testing.T
	nodes []*harness.Store
	name  string
	size  int // documents of a transaction
}

// racer is what a writer of a race sends, and the documents that are there if it wins.
type racer struct {
	method, path, body string
	ids                []string // in bs, or in cs what begins with c
	status             int
}

// transaction returns a transaction of the race's size, of documents in cs and, in the middle, one other operation on bs or as.
func (r *race) transaction(writer int, op string, ids ...string) *racer {
	out := &racer{method: http.MethodPost, path: "/v1/_transactions", ids: ids}
	var ops []string
	for i := range r.size {
		if i == r.size/2 {
			ops = append(ops, op)
			continue
		}
		id := fmt.Sprintf("c%s-%d-%d", r.name, writer, i)
		ops = append(ops, fmt.Sprintf(`{"op":"create","collection":"cs","id":%q,"body":{}}`, id))
		out.ids = append(out.ids, id)
	}
	out.body = `{"operations":[` + strings.Join(ops, ",") + `]}`
	return out
}

// run has writers race for a unique value, or for and against a target.
func (r *race) run(kind int) error {
	if kind%2 == 0 {
		return r.forValue()
	}
	return r.aboutTarget()
}

// forValue has two transactions and a single write want one value: one of the three gets it.
func (r *race) forValue() error {
	var racers []*racer
	for w := range 3 {
		id := fmt.Sprintf("b%s-%d", r.name, w)
		if w == 2 {
			racers = append(racers, &racer{method: http.MethodPut, path: "/v1/bs/" + id, body: fmt.Sprintf(`{"u":%q}`, r.name), ids: []string{id}})
			continue
		}
		racers = append(racers, r.transaction(w, fmt.Sprintf(`{"op":"put","collection":"bs","id":%q,"body":{"u":%q}}`, id, r.name), id))
	}
	if err := r.send(racers, http.StatusConflict); err != nil {
		return err
	}
	won := 0
	for _, x := range racers {
		if x.status < 300 {
			won++
		}
	}
	if won != 1 {
		return fmt.Errorf("%d of 3 writers have one value: %d, %d, %d", won, racers[0].status, racers[1].status, racers[2].status)
	}
	return nil
}

// aboutTarget has a transaction and a single write refer to a target, and another transaction delete it. Either the target is gone
// and neither holder is there, or the target is there and so is one holder at least.
func (r *race) aboutTarget() error {
	target := "a" + r.name
	if made, err := r.nodes[0].Do(http.MethodPut, "/v1/as/"+target, []byte("{}"), "Fanfold-Timeout", "60"); err != nil || made.Status != http.StatusCreated {
		return fmt.Errorf("%w %+v", err, made)
	}
	holder, single := fmt.Sprintf("b%s-h", r.name), fmt.Sprintf("b%s-s", r.name)
	racers := []*racer{
		r.transaction(0, fmt.Sprintf(`{"op":"put","collection":"bs","id":%q,"body":{"a":%q}}`, holder, target), holder),
		r.transaction(1, fmt.Sprintf(`{"op":"delete","collection":"as","id":%q}`, target)),
		{method: http.MethodPut, path: "/v1/bs/" + single, body: fmt.Sprintf(`{"a":%q}`, target), ids: []string{single}},
	}
	if err := r.send(racers, http.StatusConflict, http.StatusUnprocessableEntity); err != nil {
		return err
	}
	held, deleted := racers[0].status < 300 || racers[2].status < 300, racers[1].status < 300
	if held == deleted {
		return fmt.Errorf("the holders' writes %d and %d, the target's delete %d", racers[0].status, racers[2].status, racers[1].status)
	}
	return nil
}

// send sends what the writers of a race have, all at once, and again where the log does not answer. It compares what is there afterwards
// with the answers. The losers' answers are told. The error says what does not fit.
func (r *race) send(racers []*racer, losers ...int) error {
	errs := make([]error, len(racers))
	var wg sync.WaitGroup
	for i, x := range racers {
		wg.Go(func() { errs[i] = r.sendOne(i, x, losers) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, x := range racers {
		if err := r.requireWhole(x); err != nil {
			return err
		}
	}
	return nil
}

// sendOne sends what one writer has, under a key.
func (r *race) sendOne(writer int, x *racer, losers []int) error {
	headers := []string{"Fanfold-Timeout", "60", "Idempotency-Key", fmt.Sprintf("race-%s-%d", r.name, writer)}
	for range 10 {
		answer, err := r.nodes[writer%2].Do(x.method, x.path, []byte(x.body), headers...)
		if err != nil {
			return err
		}
		switch x.status = answer.Status; {
		case x.status == http.StatusServiceUnavailable || x.status == http.StatusGatewayTimeout:
			continue // a busy machine
		case x.status < 300:
			return nil
		}
		for _, loser := range losers {
			if x.status == loser {
				return nil
			}
		}
		return fmt.Errorf("writer %d is answered %d %s", writer, x.status, answer.Body)
	}
	return fmt.Errorf("writer %d is answered %d, again and again", writer, x.status)
}

// requireWhole fails unless a writer's documents are all there, where it has won, or none of them.
func (r *race) requireWhole(x *racer) error {
	there := 0
	for _, collection := range []string{"bs", "cs"} {
		var ids []string
		for _, id := range x.ids {
			if strings.HasPrefix(id, collection[:1]) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		answer, err := r.nodes[0].Do(http.MethodGet, "/v1/"+collection+"?consistency=strong&ids="+strings.Join(ids, ","), nil, "Fanfold-Timeout", "60")
		if err != nil || answer.Status != http.StatusOK {
			return fmt.Errorf("%w %+v", err, answer)
		}
		var list struct{ Items []struct{ ID string } }
		if err := json.Unmarshal(answer.Body, &list); err != nil {
			return err
		}
		there += len(list.Items)
	}
	if want := map[bool]int{true: len(x.ids)}[x.status < 300]; there != want {
		return fmt.Errorf("a write was answered %d, and %d of its %d documents are there", x.status, there, len(x.ids))
	}
	return nil
}

// requireWholePage reads an answer of the feed, and fails the test where it has a part of a transaction. Documents in cs come with an
// operation on bs or as. It returns how many changes there are, and where the next answer begins.
func requireWholePage(t *testing.T, s *harness.Store, since string) (n int, next string) {
	r, err := s.Do(http.MethodGet, "/v1/_changes?mode=all&limit=20&feed=longpoll&timeout=100&since="+since, nil)
	var page struct {
		Results []harness.Change
		LastSeq string `json:"last_seq"`
	}
	if err == nil && r.Status == http.StatusOK {
		err = json.Unmarshal(r.Body, &page)
	}
	if err != nil || r.Status != http.StatusOK {
		t.Errorf("the feed: %v %+v", err, r)
		return 0, since
	}
	others := map[string]int{}
	for _, row := range page.Results {
		if row.Collection == "cs" {
			others[row.Tx] += 0
		} else {
			others[row.Tx]++
		}
	}
	for tx, n := range others {
		if tx != "" && n != 1 {
			t.Errorf("an answer of the feed has a part of transaction %s", tx)
		}
	}
	return len(page.Results), page.LastSeq
}
