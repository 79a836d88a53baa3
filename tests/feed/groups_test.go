package feed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// inBackOff tells whether the back-off of a group's only partition is not over; a busy machine may take longer than it lasts.
func inBackOff(t *testing.T, s *harness.Client, group string) bool {
	t.Helper()
	until := harness.DescribeGroup(t, s, group).Parts[0].NotBefore
	return until != nil && time.Now().Before(*until)
}

// TestGroup goes through a group's life: every change is given to one member, acknowledgements hold, and nobody who has lost
// a lease acknowledges.
func TestGroup(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	for i := range 40 {
		s.Put("books", fmt.Sprint("b", i), `{}`)
	}
	s.Put("others", "o", `{}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":4,"collections":["books"],"lease":"1m"}`)
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", `{"partitions":4,"collections":["books"],"lease":"1h"}`)
	if d := harness.DescribeGroup(t, s.Client, "g"); *d.Lag.Changes != 40 || len(d.Parts) != 4 || d.Parts[0].Checkpoint != "0-0" {
		t.Fatalf("a new group is %+v", d)
	}
	one := harness.Lease(t, s.Client, "g", "one")
	if len(one) != 4 {
		t.Fatalf("the only member has %v", one)
	}
	var seen []string
	for _, l := range one {
		ids, last := harness.GroupChanges(t, s.Client, "g", l, "&limit=3")
		again, _ := harness.GroupChanges(t, s.Client, "g", l, "&limit=3")
		if len(ids) != 3 || !slices.Equal(ids, again) {
			t.Fatalf("partition %d gives %v, then %v", l.Partition, ids, again)
		}
		harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", l, last)
		harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", l, "1-0")
		rest, last := harness.GroupChanges(t, s.Client, "g", l, "")
		seen = append(append(seen, ids...), rest...)
		harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", l, last)
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 40 || len(seen) != 40 {
		t.Fatalf("given were %v", seen)
	}
	if d := harness.DescribeGroup(t, s.Client, "g"); *d.Lag.Changes != 0 || *d.Lag.Seconds != 0 || len(d.Members) != 1 {
		t.Fatalf("a group that is through is %+v", d)
	}
	if two := harness.Lease(t, s.Client, "g", "two"); len(two) != 0 {
		t.Fatalf("a second member has %v at once", two)
	}
	kept := harness.Lease(t, s.Client, "g", "one")
	if len(kept) != 2 {
		t.Fatalf("the first of two members keeps %v", kept)
	}
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_release", fmt.Sprintf(`{"partition":%d,"token":%q}`, one[3].Partition, one[3].Token))
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_release", fmt.Sprintf(`{"partition":%d,"member":"one"}`, one[2].Partition))
	two := harness.Lease(t, s.Client, "g", "two")
	if len(two) != 2 || two[1].Token == one[3].Token {
		t.Fatalf("the second member has %v after the first one's release", two)
	}
	for _, how := range []string{"_ack", "_nack"} {
		if r := harness.Settle(s.Client, http.StatusConflict, how, "g", one[3], "1-0"); !strings.HasSuffix(r.Problem(), "lease-lost") {
			t.Errorf("%s of a lost lease is %s", how, r.Body)
		}
	}
	s.Want(http.StatusConflict, "GET", fmt.Sprintf("/v1/_groups/g/_changes?partition=%d&token=%s", one[3].Partition, one[3].Token), "")
	s.Want(http.StatusConflict, "POST", "/v1/_groups/g/_reset", `{"to":"0"}`)
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_release", `{"member":"one"}`)
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_release", `{"member":"two"}`)
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_reset", `{"to":"0"}`)
	if d := harness.DescribeGroup(t, s.Client, "g"); *d.Lag.Changes != 40 || len(d.Members) != 0 {
		t.Fatalf("a group that was reset is %+v", d)
	}
	s.Want(http.StatusNoContent, "DELETE", "/v1/_groups/g", "")
	s.Want(http.StatusNotFound, "GET", "/v1/_groups/g", "")
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"since":"now"}`)
	if d := harness.DescribeGroup(t, s.Client, "g"); *d.Lag.Changes != 0 {
		t.Fatalf("a group of the name of one that was deleted is %+v", d)
	}
}

// TestGroupParks: a batch that fails comes again after a back-off, is parked after its attempts, is listed, given again, and
// dropped; the partition goes on after it.
func TestGroupParks(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	for i := range 4 {
		s.Put("books", fmt.Sprint("b", i), `{}`)
	}
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"maxAttempts":2}`)
	l := harness.Lease(t, s.Client, "g", "m")[0]
	parked := func() (list []struct {
		ID, From, To, Error, Member string
		Attempts                    int
		Retry                       bool
	}) {
		var out struct{ Parked json.RawMessage }
		if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_groups/g/_parked", "").Body, &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Parked, &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	harness.Settle(s.Client, http.StatusNoContent, "_nack", "g", l, "2-0")
	if ids, last := harness.GroupChanges(t, s.Client, "g", l, ""); inBackOff(t, s.Client, "g") && (len(ids) != 0 || last != "0-0") {
		t.Fatalf("before its back-off is over the batch has %v up to %s", ids, last)
	}
	if d := harness.DescribeGroup(t, s.Client, "g").Parts[0]; d.Attempts != 1 || d.Error != "it broke" || d.NotBefore == nil {
		t.Fatalf("after an attempt the partition is %+v", d)
	}
	if ids, _ := harness.GroupChanges(t, s.Client, "g", l, "&feed=longpoll&limit=2"); !slices.Equal(ids, []string{"b0", "b1"}) {
		t.Fatalf("after the back-off come %v", ids)
	}
	harness.Settle(s.Client, http.StatusNoContent, "_nack", "g", l, "2-0")
	list := parked()
	if len(list) != 1 || list[0].ID != "0-1" || harness.Bare(list[0].From) != "0-0" || harness.Bare(list[0].To) != "2-0" || list[0].Error != "it broke" || list[0].Attempts != 2 || list[0].Member != "m" {
		t.Fatalf("parked is %+v", list)
	}
	ids, last := harness.GroupChanges(t, s.Client, "g", l, "")
	if !slices.Equal(ids, []string{"b2", "b3"}) {
		t.Fatalf("behind the parked batch come %v", ids)
	}
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_parked/0-1/_retry", "")
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", l, last) // of what was read before
	if ids, last = harness.GroupChanges(t, s.Client, "g", l, ""); !slices.Equal(ids, []string{"b0", "b1"}) || last != "2-0" {
		t.Fatalf("the parked batch is given again as %v up to %s", ids, last)
	}
	harness.Settle(s.Client, http.StatusNoContent, "_nack", "g", l, last)
	if list = parked(); list[0].Retry || list[0].Attempts != 3 {
		t.Fatalf("after it failed again, parked is %+v", list)
	}
	if ids, _ = harness.GroupChanges(t, s.Client, "g", l, ""); len(ids) != 0 {
		t.Fatalf("after that come %v", ids)
	}
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_parked/0-1/_retry", "")
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", l, "1-0")
	if ids, last = harness.GroupChanges(t, s.Client, "g", l, ""); !slices.Equal(ids, []string{"b1"}) {
		t.Fatalf("of a batch of which a part is acknowledged come %v", ids)
	}
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", l, last)
	if list = parked(); len(list) != 0 {
		t.Fatalf("a batch that was acknowledged is still parked: %+v", list)
	}
	s.Want(http.StatusNotFound, "DELETE", "/v1/_groups/g/_parked/0-1", "")
	if d := harness.DescribeGroup(t, s.Client, "g").Parts[0]; d.Checkpoint != "4-0" {
		t.Fatalf("the checkpoint is %s", d.Checkpoint)
	}
}

// TestGroupOnTwoNodes: what one node was told of a group the other one knows, and an acknowledged position outlives both.
func TestGroupOnTwoNodes(t *testing.T) {
	t.Parallel()
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	for _, s := range []*harness.Store{a, b} {
		harness.AwaitReady(t, s, http.StatusOK)
	}
	last := a.Put("books", "b", `{}`).Header.Get("Fanfold-Position")
	a.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":2,"lease":"1h"}`)
	one, two := harness.Lease(t, a.Client, "g", "one"), harness.Lease(t, b.Client, "g", "two")
	if len(one) != 2 || len(two) != 0 {
		t.Fatalf("the members have %v and %v", one, two)
	}
	harness.Settle(b.Client, http.StatusNoContent, "_ack", "g", one[0], last)
	a, b = a.Reopen(), b.Reopen()
	defer a.Close()
	defer b.Close()
	for _, s := range []*harness.Store{a, b} {
		if d := harness.DescribeGroup(t, s.Client, "g").Parts[0]; d.Checkpoint != harness.Bare(last) || d.Owner != "one" {
			t.Errorf("the partition is %+v", d)
		}
	}
}

// TestGroupStream: an event stream of a group gives what comes, and ends when its lease is lost.
func TestGroupStream(t *testing.T) {
	suite.Concurrent(t)
	t.Parallel()
	s := harness.OpenTemp(t, "")
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1}`)
	l := harness.Lease(t, s.Client, "g", "m")[0]
	ended := make(chan *harness.Response, 1)
	go func() {
		r, err := s.Do("GET", fmt.Sprintf("/v1/_groups/g/_changes?partition=0&token=%s&feed=eventsource&heartbeat=100", l.Token), nil)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	s.Put("books", "b", `{}`)
	if ids, _ := harness.GroupChanges(t, s.Client, "g", l, "&feed=longpoll"); !slices.Equal(ids, []string{"b"}) {
		t.Fatalf("the long poll has %v", ids)
	}
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_reset", `{"to":"0","force":true}`)
	if r := <-ended; !strings.Contains(string(r.Body), "id: 1-0-") || !strings.Contains(string(r.Body), "event: change") {
		t.Errorf("the stream had %s", r.Body)
	}
	harness.Settle(s.Client, http.StatusConflict, "_ack", "g", l, "1-0")
}

// TestGroupRefusals: what is past a bound, or cannot be understood, is refused and changes nothing.
func TestGroupRefusals(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":2}`)
	l := harness.Lease(t, s.Client, "g", "m")[0]
	many, _ := json.Marshal(slices.Repeat([]string{"books"}, 101))
	for body, status := range map[string]int{
		`{"partitions":0}`: 400, `{"partitions":1001}`: 400, `{"partitions":1.5}`: 400, `{"partitions":"1"}`: 400, `{"partitions":3}`: 409,
		`{"since":"1-0"}`: 409, `{"since":"x"}`: 400, `{"since":"9-0"}`: 504, `{"mode":"some"}`: 400, `{"view":"x"}`: 400, `{"derived":""}`: 400, `{"filter":"doc."}`: 400, `{"filter":"` + strings.Repeat("x", 1025) + `"}`: 400, `{"since":"1-0-aaaaaaaa"}`: 410, `{"mode":null}`: 400, `{"lease":"1ms"}`: 400, `{"lease":"2h"}`: 400, `{"lease":5}`: 400, `{"lease":"x"}`: 400,
		`{"maxAttempts":0}`: 400, `{"maxAttempts":1001}`: 400, `{"x":1}`: 400, `[]`: 400, `{`: 400, `{"mode":"all","mode":"all"}`: 400, `{"collections":["1a"]}`: 400, `{"collections":[[[[[]]]]]}`: 422,
		`{"collections":` + string(many) + `}`: 400, `{"mode":"` + strings.Repeat("x", 40<<10) + `"}`: 413} {
		if !strings.Contains(body, "partitions") {
			body = strings.Replace(body, "{", `{"partitions":2,`, 1)
			body = strings.Replace(body, ",}", "}", 1)
		}
		if r, err := s.Do("PUT", "/v1/_groups/g", []byte(body), "Fanfold-Timeout", "1"); err != nil || r.Status != status {
			t.Errorf("%.200s: %v, want %d: %+v", body, err, status, r)
		}
	}
	for _, name := range []string{"G", "g.x", strings.Repeat("g", 65), "%2A"} {
		s.Want(http.StatusBadRequest, "PUT", "/v1/_groups/"+name, `{}`)
		s.Want(http.StatusBadRequest, "GET", "/v1/_groups/"+name, ``)
	}
	for path, bodies := range map[string][]string{
		"_lease":   {`{}`, `{"member":""}`, `{"member":"a b"}`, `{"member":"` + strings.Repeat("m", 129) + `"}`, `{"member":"m","max":0}`, `{"member":"m","max":1001}`, `{"member":"m","max":-1}`},
		"_ack":     {`{}`, `{"partition":0,"token":"` + l.Token + `","position":"now"}`, `{"partition":0,"token":"` + l.Token + `","position":"2026-01-01T00:00:00Z"}`, `{"partition":0,"token":"` + l.Token + `","position":"x"}`, `{"partition":0,"token":"x","position":"1-0","error":""}`},
		"_nack":    {`{"partition":0,"token":"` + l.Token + `"}`},
		"_release": {`{}`, `{"partition":0}`, `{"member":"m","token":"x"}`},
		"_reset":   {`{}`, `{"to":"x"}`, `{"to":"0","force":1}`},
	} {
		for _, body := range bodies {
			s.Want(http.StatusBadRequest, "POST", "/v1/_groups/g/"+path, body)
		}
	}
	s.Want(http.StatusNotFound, "POST", "/v1/_groups/g/_ack", `{"partition":2,"token":"x","position":"1-0"}`)
	s.Want(http.StatusNotFound, "POST", "/v1/_groups/g/_unknown", `{}`)
	s.Want(http.StatusNotFound, "GET", "/v1/_groups/g/_unknown", ``)
	for _, query := range []string{"", "partition=0", "partition=x&token=y", "partition=0&token=" + l.Token + "&since=0", "partition=0&token=" + l.Token + "&feed=x"} {
		s.Want(http.StatusBadRequest, "GET", "/v1/_groups/g/_changes?"+query, "")
	}
	for body, want := range map[string]string{
		`{"partitions":"8"}`: `member \"partitions\" has a string where it wants a whole number`, `{"partitions":1.5}`: `has a number 1.5 where it wants a whole number`,
		`{"lease":30}`: `member \"lease\" has a number where it wants a text`, `{"lease":"30"}`: `\"30\" is not a time with its unit`,
		`{"collections":"books"}`: `has a string where it wants a list of texts`, `{"collections":[1]}`: `member \"collections\" has a number where it wants a text`,
	} {
		if r := s.Want(http.StatusBadRequest, "PUT", "/v1/_groups/h", body); !strings.Contains(string(r.Body), want) {
			t.Errorf("%s is answered with %s, want %s", body, r.Body, want)
		}
	}
	s.Want(http.StatusNotFound, "POST", "/v1/_groups/none/_lease", `{"member":"m"}`)
	if again := harness.Lease(t, s.Client, "g", "m"); len(again) != 2 || again[0].Token != l.Token || again[0].Checkpoint != "0-0" {
		t.Errorf("after all these the member has %+v", again)
	}
}

// TestGroupSelects: a group gives what its settings ask for, with the documents as they are to look.
func TestGroupSelects(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, harness.CrashModel)
	s.Put("authors", "a", `{"name":"A","n":1}`)
	s.Put("books", "b", `{"authors":[{"id":"a"}]}`)
	s.Put("authors", "a", `{"name":"B","n":2}`)
	s.Put("authors", "c", `{"name":"C","n":3}`)
	for name, want := range map[string]struct {
		settings string
		ids      []string
	}{
		"all":     {`{}`, []string{"a", "b", "a", "a", "b", "c"}},
		"direct":  {`{"derived":"exclude"}`, []string{"a", "b", "a", "c"}},
		"latest":  {`{"mode":"latest"}`, []string{"a", "b", "c"}},
		"filter":  {`{"filter":"doc.n > 1"}`, []string{"a", "c"}},
		"authors": {`{"collections":["authors"],"derived":"exclude"}`, []string{"a", "a", "c"}},
	} {
		s.Want(http.StatusCreated, "PUT", "/v1/_groups/"+name, strings.Replace(strings.Replace(want.settings, "{", `{"partitions":1,`, 1), ",}", "}", 1))
		d := harness.DescribeGroup(t, s.Client, name)
		ids, _ := harness.GroupChanges(t, s.Client, name, harness.Lease(t, s.Client, name, "m")[0], "")
		slices.Sort(ids)
		slices.Sort(want.ids)
		if !slices.Equal(ids, want.ids) || d.Lag.Changes == nil || *d.Lag.Changes != int64(len(ids)) {
			t.Errorf("group %s gives %v, and its lag is %+v; want %v", name, ids, d.Lag, want.ids)
		}
	}
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/written", `{"partitions":1,"view":"referenced"}`)
	l := harness.Lease(t, s.Client, "written", "m")[0]
	r := s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/_groups/written/_changes?partition=0&token=%s&include_docs=true", l.Token), "")
	if strings.Contains(string(r.Body), `"countOfBooks":`) {
		t.Errorf("with view=referenced come %s", r.Body)
	}
}

// TestGroupRetryLeavesNothing: a parked batch in which the group's filter leaves nothing by now holds up nothing when it is
// given again. An answer of a retry, or of a back-off, does not say that nothing is to come.
func TestGroupRetryLeavesNothing(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	s.Put("books", "poison", `{}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"maxAttempts":2}`)
	l := harness.Lease(t, s.Client, "g", "m")[0]
	harness.Settle(s.Client, http.StatusNoContent, "_nack", "g", l, "1-0")
	changes := fmt.Sprintf("/v1/_groups/g/_changes?partition=0&token=%s", l.Token)
	if body := string(s.Want(http.StatusOK, "GET", changes, "").Body); inBackOff(t, s.Client, "g") && (strings.Contains(body, `"pending"`) || strings.Contains(body, "poison")) {
		t.Errorf("in the back-off comes %s", body)
	}
	harness.Settle(s.Client, http.StatusNoContent, "_nack", "g", l, "1-0")
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", `{"partitions":1,"maxAttempts":2,"filter":"change.id != 'poison'"}`)
	s.Put("books", "b", `{}`)
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_parked/0-1/_retry", "")
	if body := string(s.Want(http.StatusOK, "GET", changes, "").Body); strings.Contains(body, `"pending"`) || strings.Contains(body, `"b"`) {
		t.Errorf("of the batch comes %s", body)
	}
	if ids, _ := harness.GroupChanges(t, s.Client, "g", l, ""); !slices.Equal(ids, []string{"b"}) {
		t.Errorf("behind the batch come %v", ids)
	}
	if d := harness.DescribeGroup(t, s.Client, "g").Parts[0]; d.Parked != 0 {
		t.Errorf("%d batches are parked", d.Parked)
	}
}
