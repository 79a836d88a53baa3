package feed_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// receiver takes the posts of groups, and answers as do says.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	posts []received
	do    func(w http.ResponseWriter, r *http.Request) // nil: 204
}

// received is one post.
type received struct {
	header http.Header
	body   []byte
	ids    []string
}

// newReceiver starts a receiver.
func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// ServeHTTP takes a post.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var in struct{ Results []harness.Change }
	if err != nil || json.Unmarshal(body, &in) != nil {
		http.Error(w, "not a batch", http.StatusBadRequest)
		return
	}
	got := received{header: req.Header.Clone(), body: body}
	for _, row := range in.Results {
		got.ids = append(got.ids, row.ID)
	}
	r.mu.Lock()
	r.posts = append(r.posts, got)
	do := r.do
	r.mu.Unlock()
	if do != nil {
		do(w, req)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// answers makes the receiver answer by do from now on, and returns what came so far.
func (r *receiver) answers(do func(w http.ResponseWriter, r *http.Request)) []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.do = do
	return slices.Clone(r.posts)
}

// all returns what came so far.
func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.posts)
}

// await waits until the receiver has had so many posts, and returns them.
func (r *receiver) await(t *testing.T, n int) (posts []received) {
	t.Helper()
	harness.Await(t, fmt.Sprint(n, " posts"), time.Minute, func() bool {
		posts = r.all()
		return len(posts) >= n
	})
	return posts
}

// loopback lets batches be posted to this machine.
func loopback(cfg *node.Config) {
	cfg.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// openPushing starts a node that posts to this machine.
func openPushing(t *testing.T) *harness.Store {
	t.Helper()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: loopback})
	t.Cleanup(func() { s.Close() })
	harness.AwaitReady(t, s, http.StatusOK)
	return s
}

// made puts a group with push and more settings, and returns the secret that the answer has.
func made(t *testing.T, s *harness.Client, name, url, settings string) string {
	t.Helper()
	r := s.Want(http.StatusOK, "PUT", "/v1/_groups/"+name, fmt.Sprintf(`{"push":{"url":%q}%s}`, url, settings))
	var out struct{ Secret string }
	if err := json.Unmarshal(r.Body, &out); err != nil || !strings.HasPrefix(out.Secret, "whsec_") {
		t.Fatalf("the answer is %s", r.Body)
	}
	return out.Secret
}

// verifies reports whether a post is signed by a secret.
func verifies(t *testing.T, secret string, p received) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return hook.Verify(p.body, p.header) == nil
}

// pushed is what a group tells of its posts.
type pushed struct {
	Push *struct {
		URL     string
		Headers []string
		Former  *time.Time
	}
	Partitions []struct {
		Answer *struct {
			Outcome string
			Status  int
		}
		Error    string
		Attempts int
		Parked   int
	}
	Lag harness.GroupLag
}

// describePushed describes a group with push.
func describePushed(t *testing.T, s *harness.Client, name string) (out pushed) {
	t.Helper()
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_groups/"+name, "").Body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// awaitDone waits until a group has nothing to give.
func awaitDone(t *testing.T, s *harness.Client, name string) {
	t.Helper()
	harness.Await(t, "the group's end", time.Minute, func() bool {
		lag := describePushed(t, s, name).Lag.Changes
		return lag != nil && *lag == 0
	})
}

// TestWebhook: the changes of a group are posted with a signature, as a member that asks gets them, and what is answered 2xx does not
// come again. The secret and the values of headers are in no answer.
func TestWebhook(t *testing.T) {
	t.Parallel()
	s, to := openPushing(t), newReceiver(t)
	for i := range 3 {
		s.Put("books", fmt.Sprint("b", i), `{"n":1}`)
	}
	secret := made(t, s.Client, "g", to.URL+"/hook?x=1", `,"partitions":1,"collections":["books"]`)
	posts := to.await(t, 1)
	awaitDone(t, s.Client, "g")
	first := posts[0]
	if !slices.Equal(first.ids, []string{"b0", "b1", "b2"}) || !verifies(t, secret, first) || first.header.Get("Content-Type") != "application/json" ||
		first.header.Get("Fanfold-Group") != "g" || first.header.Get("Fanfold-Partition") != "0" || first.header.Get("Fanfold-Epoch") == "" {
		t.Fatalf("posted is %s with %v", first.body, first.header)
	}
	if other := made(t, s.Client, "other", to.URL, `,"partitions":1,"since":"now"`); verifies(t, other, first) {
		t.Fatal("the secret of another group fits")
	}
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/asked", `{"partitions":1,"collections":["books"]}`)
	l := harness.Lease(t, s.Client, "asked", "m")[0]
	var asked, got struct{ Results []json.RawMessage }
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/_groups/asked/_changes?partition=0&token=%s&include_docs=true", l.Token), "").Body, &asked); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(first.body, &got); err != nil || fmt.Sprintf("%s", got.Results) != fmt.Sprintf("%s", asked.Results) {
		t.Fatalf("posted is %s, a member gets %s", got.Results, asked.Results)
	}
	s.Put("books", "b3", `{}`)
	if posts = to.await(t, 2); !slices.Equal(posts[1].ids, []string{"b3"}) || posts[1].header.Get("webhook-id") == first.header.Get("webhook-id") {
		t.Fatalf("the second post is %s", posts[1].body)
	}
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", fmt.Sprintf(`{"push":{"url":%q,"headers":{"Authorization":"Bearer much-hidden"}},"partitions":1,"collections":["books"]}`, to.URL))
	n := 0
	harness.Await(t, "a post by the new settings", time.Minute, func() bool { // the node looks for them every second
		n++
		s.Put("books", "b4", fmt.Sprintf(`{"n":%d}`, n))
		awaitDone(t, s.Client, "g")
		posts := to.all()
		last := posts[len(posts)-1]
		return last.header.Get("Authorization") == "Bearer much-hidden" && verifies(t, secret, last)
	})
	for _, path := range []string{"/v1/_groups", "/v1/_groups/g", "/v1/_groups/g/_parked", "/v1/_status", "/metrics"} {
		text := s.Want(http.StatusOK, "GET", path, "").Body
		if bytes.Contains(text, []byte("much-hidden")) || bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte("whsec_")) {
			t.Errorf("%s tells a secret: %s", path, text)
		}
	}
	if err := filepath.WalkDir(harness.BackUp(t, s), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte("much-hidden")) {
			t.Errorf("%s has a secret", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if d := describePushed(t, s.Client, "g"); d.Push == nil || d.Push.URL != to.URL || !slices.Equal(d.Push.Headers, []string{"Authorization"}) || d.Partitions[0].Answer == nil ||
		d.Partitions[0].Answer.Outcome != "delivered" || d.Partitions[0].Answer.Status != 204 {
		t.Fatalf("the group tells %+v", d)
	}
	if n := harness.MetricOf(t, s.Client, `fanfold_webhook_posts_total{outcome="delivered"}`); n < 3 {
		t.Errorf("the metrics tell of %v posts", n)
	}
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", `{"partitions":1,"collections":["books"],"lease":"20s"}`)
	if d := describePushed(t, s.Client, "g"); d.Push == nil || d.Push.URL != to.URL {
		t.Fatalf("after settings without push the group tells %+v", d)
	}
	s.Want(http.StatusBadRequest, "PUT", "/v1/_groups/g", `{"partitions":1,"push":{"url":"","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}`)
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", `{"partitions":1,"collections":["books"],"push":{"url":""}}`)
	if d := describePushed(t, s.Client, "g"); d.Push != nil {
		t.Fatalf("without a URL the group tells %+v", d)
	}
	harness.Await(t, "the node leaves", time.Minute, func() bool { return len(harness.DescribeGroup(t, s.Client, "g").Members) == 0 })
}

// TestWebhookFails: whatever is not 2xx in time comes again as it was, with the same id, is parked after its attempts, and comes again
// where somebody asks. An answer without an end is cut.
func TestWebhookFails(t *testing.T) {
	t.Parallel()
	s, to, elsewhere := openPushing(t), newReceiver(t), newReceiver(t)
	for _, c := range []struct {
		name, outcome string
		status        int
		do            func(w http.ResponseWriter, r *http.Request)
	}{
		{"fails", "answered", 500, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "secret of the receiver", http.StatusInternalServerError)
		}},
		{"redirects", "redirected", 307, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}},
		{"dies", "unreachable", 0, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"headers", "unreachable", 0, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 80<<10)) }},
		{"hangs", "timeout", 0, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		before := len(to.answers(c.do))
		s.Put(c.name, "d", `{}`)
		made(t, s.Client, c.name, to.URL, fmt.Sprintf(`,"partitions":1,"maxAttempts":2,"collections":[%q]`, c.name))
		to.await(t, before+1)
		s.Put(c.name, "later", `{}`) // the batch that failed comes as it was
		harness.Await(t, "parked", 2*time.Minute, func() bool { return describePushed(t, s.Client, c.name).Partitions[0].Parked > 0 })
		posts := to.answers(nil)[before:]
		if len(posts) < 2 || posts[0].header.Get("webhook-id") != posts[1].header.Get("webhook-id") || !bytes.Equal(posts[0].body, posts[1].body) || !slices.Equal(posts[0].ids, []string{"d"}) {
			t.Fatalf("%s: posted are %+v", c.name, posts)
		}
		awaitDone(t, s.Client, c.name)
		text := string(s.Want(http.StatusOK, "GET", "/v1/_groups/"+c.name+"/_parked", "").Body)
		if !strings.Contains(text, "the receiver") || strings.Contains(text, "secret of the receiver") {
			t.Errorf("%s: parked is %s", c.name, text)
		}
		s.Want(http.StatusNoContent, "POST", "/v1/_groups/"+c.name+"/_parked/0-1/_retry", "")
		harness.Await(t, "given again", time.Minute, func() bool { return describePushed(t, s.Client, c.name).Partitions[0].Parked == 0 })
		if posts := to.all(); posts[len(posts)-1].header.Get("webhook-id") != posts[before].header.Get("webhook-id") {
			t.Errorf("%s: the parked batch came as another one", c.name)
		}
		if n := harness.MetricOf(t, s.Client, `fanfold_webhook_posts_total{outcome="`+c.outcome+`"}`); n < 2 {
			t.Errorf("%s: %v posts are %s", c.name, n, c.outcome)
		}
		s.Want(http.StatusNoContent, "DELETE", "/v1/_groups/"+c.name, "")
	}
	if n := len(elsewhere.all()); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
	ended := make(chan int64, 1)
	to.answers(func(w http.ResponseWriter, _ *http.Request) {
		n := int64(0)
		for piece := make([]byte, 1<<20); n < 1<<30; {
			wrote, err := w.Write(piece)
			if n += int64(wrote); err != nil {
				break
			}
		}
		ended <- n
	})
	made(t, s.Client, "much", to.URL, `,"partitions":1,"collections":["fails"]`)
	if n := <-ended; n >= 1<<30 {
		t.Error("an answer of 1 GiB was read")
	}
	awaitDone(t, s.Client, "much") // the status says that it was handled
}

// TestWebhookNeedsAllowance: without --webhook-allow nothing is posted to this machine, by no name and in no form, and the answer says why.
func TestWebhookNeedsAllowance(t *testing.T) {
	t.Parallel()
	s, to := harness.OpenTemp(t, ""), newReceiver(t)
	s.Put("a", "1", `{}`)
	port := to.URL[strings.LastIndex(to.URL, ":"):]
	for i, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.1"} {
		for _, scheme := range []string{"http", "https"} {
			name := fmt.Sprint("g", i, scheme)
			made(t, s.Client, name, scheme+"://"+host+port+"/", `,"partitions":1,"maxAttempts":1`)
			harness.Await(t, "parked", time.Minute, func() bool { return describePushed(t, s.Client, name).Partitions[0].Parked == 1 })
			if d := describePushed(t, s.Client, name); d.Partitions[0].Answer.Outcome != "forbidden" && host != "127.1" { // which is no name everywhere
				t.Errorf("%s: %+v", host, d.Partitions[0].Answer)
			}
		}
	}
	if n := len(to.all()); n > 0 {
		t.Fatalf("%d posts came", n)
	}
}

// TestWebhookRotation: after a rotation posts have two signatures, and without an overlap one; only an administrator rotates.
func TestWebhookRotation(t *testing.T) {
	t.Parallel()
	s, to := openPushing(t), newReceiver(t)
	first := made(t, s.Client, "g", to.URL, `,"partitions":1`)
	s.Want(http.StatusBadRequest, "POST", "/v1/_groups/g/_rotate", `{"overlap":"721h"}`)
	s.Want(http.StatusNotFound, "POST", "/v1/_groups/none/_rotate", `{}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/plain", `{}`)
	s.Want(http.StatusConflict, "POST", "/v1/_groups/plain/_rotate", `{}`)
	rotate := func(body string) string {
		var out struct{ Secret string }
		if err := json.Unmarshal(s.Want(http.StatusOK, "POST", "/v1/_groups/g/_rotate", body).Body, &out); err != nil {
			t.Fatal(err)
		}
		return out.Secret
	}
	sees := func(id string, want map[string]bool) {
		t.Helper()
		n := 0
		harness.Await(t, "posts by these secrets", time.Minute, func() bool { // the node looks for other settings every second
			n++
			s.Put("a", fmt.Sprint(id, n), `{}`)
			awaitDone(t, s.Client, "g")
			posts := to.all()
			last := posts[len(posts)-1]
			for secret, fits := range want {
				if verifies(t, secret, last) != fits {
					return false
				}
			}
			return true
		})
	}
	sees("one", map[string]bool{first: true})
	second := rotate(`{}`)
	sees("two", map[string]bool{first: true, second: true})
	if d := describePushed(t, s.Client, "g"); d.Push.Former == nil {
		t.Errorf("the group tells %+v", d.Push)
	}
	third := rotate(`{}`)
	sees("three", map[string]bool{first: false, second: true, third: true})
	fourth := rotate(`{"overlap":"0s"}`)
	sees("four", map[string]bool{first: false, second: false, third: false, fourth: true})
	given := "whsec_" + strings.Repeat("QUJD", 8)
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", fmt.Sprintf(`{"partitions":1,"push":{"url":%q,"secret":%q}}`, to.URL, given))
	sees("five", map[string]bool{fourth: false, given: true})
}

// TestWebhookRights: who has the role of a group makes one with push, and its posts have what the role reads. Only an administrator changes or
// rotates it. Its posts outlive the key that made it.
func TestWebhookRights(t *testing.T) {
	t.Parallel()
	s, to := openPushing(t), newReceiver(t)
	s.Model(groupModel)
	s.CloseHouse()
	insider, outsider := s.As("ra"), s.As("rb")
	s.Put("a", "1", `{}`)
	s.Put("b", "2", `{}`)
	body := fmt.Sprintf(`{"role":"ra","partitions":1,"push":{"url":%q}}`, to.URL)
	outsider.Want(http.StatusForbidden, "PUT", "/v1/_groups/g", body)
	insider.Want(http.StatusOK, "PUT", "/v1/_groups/g", body)
	awaitDone(t, s.Client, "g")
	for _, p := range to.await(t, 1) {
		if slices.Contains(p.ids, "2") {
			t.Fatalf("the role ra is told of b: %s", p.body)
		}
	}
	insider.Want(http.StatusForbidden, "PUT", "/v1/_groups/g", body)
	insider.Want(http.StatusForbidden, "POST", "/v1/_groups/g/_rotate", `{}`)
	outsider.Want(http.StatusForbidden, "POST", "/v1/_groups/g/_rotate", `{}`)
	s.Want(http.StatusOK, "POST", "/v1/_groups/g/_rotate", `{}`)
	insider.Want(http.StatusOK, "GET", "/v1/_groups/g", "")
	s.Want(http.StatusNoContent, "DELETE", "/v1/_keys/"+strings.Split(insider.Key, "_")[1], "")
	insider.Want(http.StatusUnauthorized, "GET", "/v1/_groups/g", "")
	s.Put("a", "3", `{}`)
	if posts := to.await(t, 2); !slices.Contains(posts[1].ids, "3") {
		t.Errorf("once the key is revoked, %q come", posts[1].ids)
	}
}

// TestWebhookOnTwoNodes: two nodes share the partitions of a group, each change comes, and a document's in order; once one of them is gone, the other
// has all.
func TestWebhookOnTwoNodes(t *testing.T) {
	suite.Parallel(t)
	nats, to := natsserver.Start(t, 1)[0], newReceiver(t)
	open := func() *harness.Store {
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: nats, Configure: loopback})
		harness.AwaitReady(t, s, http.StatusOK)
		return s
	}
	one, two := open(), open()
	defer two.Close()
	made(t, one.Client, "g", to.URL, `,"partitions":8,"lease":"2s"`)
	harness.Await(t, "both to share", time.Minute, func() bool {
		d := harness.DescribeGroup(t, one.Client, "g")
		owners := map[string]int{}
		for _, p := range d.Parts {
			owners[p.Owner]++
		}
		return len(d.Members) == 2 && len(owners) == 2 && owners[""] == 0
	})
	write := func(from int) {
		for i := range 40 {
			two.Put("docs", fmt.Sprint(i%10), fmt.Sprintf(`{"n":%d}`, from+i))
		}
	}
	write(0)
	two.CatchUp()
	awaitDone(t, two.Client, "g")
	one.Close()
	write(40)
	two.CatchUp()
	awaitDone(t, two.Client, "g")
	last, seen := map[string]int{}, 0
	for _, p := range to.all() {
		if p.header.Get("Fanfold-Group") != "g" {
			t.Errorf("a post of %s", p.header.Get("Fanfold-Group"))
		}
		var in struct {
			Results []struct {
				ID  string
				Doc struct{ N int }
			}
		}
		if err := json.Unmarshal(p.body, &in); err != nil {
			t.Fatal(err)
		}
		for _, row := range in.Results {
			if at, known := last[row.ID]; !known || row.Doc.N > at {
				last[row.ID] = row.Doc.N
				seen++
			}
		}
	}
	if seen != 80 {
		t.Errorf("%d changes came in order, want 80", seen)
	}
}
