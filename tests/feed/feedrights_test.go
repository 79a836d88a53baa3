package feed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// closed is a store that lets nobody in without a key.
type closed struct {
	*harness.Store
	t    *testing.T
	keys *keys.Store
}

// openClosed starts a store, applies a model, has more done in the open store, and closes it. The store's client is an administrator
// then.
func openClosed(t *testing.T, model string, opened ...func(s *harness.Store)) *closed {
	t.Helper()
	s := harness.OpenTemp(t, model)
	for _, do := range opened {
		do(s)
	}
	store, err := keys.Open(t.Context(), buckets.NewKeyValue(s.Node.Log, "keys"), keys.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &closed{s, t, store}
	c.key("admin").use(s.Client)
	return c
}

// key is a key of a store.
type key struct{ id, text string }

// key makes a key with roles, and returns once the node lets it in.
func (c *closed) key(roles ...string) key {
	c.t.Helper()
	return c.keyUntil(nil, roles...)
}

// keyUntil is key for one that expires.
func (c *closed) keyUntil(expires *time.Time, roles ...string) key {
	c.t.Helper()
	e, k, err := c.keys.Create(c.t.Context(), keys.Settings{Name: "of a test", Roles: roles, Expires: expires})
	if err != nil {
		c.t.Fatal(err)
	}
	out := key{e.ID, k.Text()}
	for {
		r, err := c.Do(http.MethodGet, "/v1/_me", nil, out.header()...)
		if err != nil {
			c.t.Fatal(err)
		}
		if strings.Contains(string(r.Body), e.ID) {
			return out
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// header is the header of requests with the key.
func (k key) header() []string { return []string{"Authorization", "Bearer " + k.text} }

// use has all requests of a client that have no key of their own sent with this one.
func (k key) use(c *harness.Client) { c.HTTP.Transport = &keyed{c.HTTP.Transport.(*http.Transport), k} }

// client returns a client of the store with the key.
func (k key) client(s *closed) *harness.Client {
	c := harness.NewClient(s.t, s.URL)
	k.use(c)
	return c
}

// keyed sends a key with each request that has none.
type keyed struct {
	*http.Transport
	key key
}

// RoundTrip implements http.RoundTripper.
func (k *keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", k.key.header()[1])
	}
	return k.Transport.RoundTrip(r)
}

// TestFeedByRights: the feed of a reader is an administrator's without the rows of other collections. The rest does not
// tell of their documents. It is so in both modes and views, with a filter, of one partition, and in pages.
func TestFeedByRights(t *testing.T) {
	t.Parallel()
	s := openClosed(t, strings.NewReplacer("posts: {rel", "posts: {access: {read: [reader]}, rel", "comments: {", "comments: {access: {read: [others], write: [reader]}, ", "value: doc.title}", "value: doc.title, publish: true}", "count: posts.author}", "count: posts.author, publish: true}").Replace(causeModel))
	fillCauses(s.Client)
	s.Put("comments", "c", `{"post":"p","v":1}`)
	s.Merge("posts", "q", `{"title":"New"}`)
	s.Delete("users", "u")
	s.Delete("tags", "t")
	reader := s.key("reader").client(s)
	reads := func(collection string) bool { return collection == "posts" || collection == "comments" }
	for _, query := range []string{"mode=all", "mode=latest", "mode=all&view=referenced&include_docs=true", "mode=all&include_docs=true&partition=0/2", "mode=latest&include_docs=true&filter=change.collection!='tags'",
		"mode=all&derived=exclude", "mode=latest&cascades=exclude&derived=exclude", "mode=all&filter=change.op!='derive'", "mode=all&filter=change.op!='create'&view=referenced"} {
		all, end := s.Changes(query)
		mine, last := reader.Changes(query)
		var want []harness.Change
		for _, row := range all {
			if !reads(row.Collection) {
				continue
			}
			if row.Cause != nil && !reads(row.Cause.Collection) {
				row.Cause.Collection, row.Cause.ID = "", ""
			}
			want = append(want, row)
		}
		if a, b := asJSON(t, want), asJSON(t, mine); a != b || last != end || len(want) == len(all) || len(want) == 0 {
			t.Errorf("%s: %d rows of %d, up to %s of %s:\n%s\nwant\n%s", query, len(mine), len(all), last, end, b, a)
		}
		var paged []harness.Change
		for since, before := "0", ""; since != before; {
			var page []harness.Change
			before = since
			page, since = reader.Changes(query + "&limit=1&since=" + since)
			paged = append(paged, page...)
		}
		if a, b := asJSON(t, want), asJSON(t, paged); a != b && !strings.Contains(query, "filter") { // who begins elsewhere is told what leaves
			t.Errorf("%s, in pages:\n%s\nwant\n%s", query, b, a)
		}
	}
	r := reader.Want(http.StatusOK, "GET", "/v1/_changes?mode=all&include_docs=true", "")
	if text := string(r.Body); strings.Contains(text, "pending") || strings.Contains(text, "users\",") || strings.Contains(text, "tags\",") {
		t.Errorf("a reader is told %s", text)
	}
	if text := string(s.Want(http.StatusOK, "GET", "/v1/_changes?mode=all", "").Body); !strings.Contains(text, `"pending":0`) {
		t.Errorf("an administrator is told %s", text)
	}
	reader.Want(http.StatusForbidden, "GET", "/v1/_changes?collections=posts,users", "")
	reader.Want(http.StatusForbidden, "GET", "/v1/_changes?collections=unknown", "")
	if rows, _ := s.key("stranger").client(s).Changes("mode=all"); len(rows) > 0 {
		t.Errorf("who reads nothing is told %+v", rows)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLeavesByRights: the document that leaves a filter is told of where its collection may be read, and nowhere else.
func TestLeavesByRights(t *testing.T) {
	t.Parallel()
	s := openClosed(t, `collections: {a: {access: {read: [reader]}}, b: {access: {read: [other]}}}`)
	for _, collection := range []string{"a", "b"} {
		s.Put(collection, "1", `{"v":1}`)
		s.Put(collection, "1", `{"v":2}`)
	}
	for _, mode := range []string{"all", "latest"} {
		rows, _ := s.key("reader").client(s).Changes("since=2-0&filter=doc.v==1&mode=" + mode)
		if len(rows) != 1 || rows[0].Op != "leave" || rows[0].Collection != "a" {
			t.Errorf("mode=%s: a reader is told %+v", mode, rows)
		}
	}
}

// TestTransportsEndWithRights: by every transport an answer ends within a second once its key is revoked, expires or changes,
// or the access to a collection does. A change is of roles, subject or claims. Whoever reads with another key goes on.
func TestTransportsEndWithRights(t *testing.T) {
	suite.Concurrent(t)
	t.Parallel()
	s := openClosed(t, `collections: {a: {access: {read: [reader]}}}`)
	s.Put("a", "1", `{}`)
	_, last := s.Changes("since=now")
	opens := map[string]bool{"reader": true, "admin": true}
	change := map[string]func(k key){
		"revoked": func(k key) {
			if err := s.keys.Revoke(context.Background(), k.id); err != nil {
				t.Error(err)
			}
		},
		"re-roled": func(k key) {
			if _, err := s.keys.Change(context.Background(), k.id, keys.Patch{Roles: &[]string{"monitor"}}); err != nil {
				t.Error(err)
			}
		},
		"other subject": func(k key) {
			sub := "u1"
			if _, err := s.keys.Change(context.Background(), k.id, keys.Patch{Sub: &sub}); err != nil {
				t.Error(err)
			}
		},
		"other claims": func(k key) {
			if _, err := s.keys.Change(context.Background(), k.id, keys.Patch{Claims: json.RawMessage(`{"tenant":"a"}`)}); err != nil {
				t.Error(err)
			}
		},
		"expired": func(k key) {
			soon := time.Now().Add(2 * time.Second)
			expires := &soon
			if _, err := s.keys.Change(context.Background(), k.id, keys.Patch{Expires: &expires}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Until(soon))
		},
		"access": func(key) { s.Model(`collections: {a: {access: {read: [others]}}}`) },
	}
	for _, name := range []string{"revoked", "re-roled", "other subject", "other claims", "expired", "access"} { // the last ends every stream
		for role := range opens {
			k := s.key(role)
			other := harness.OpenSSE(t, s.Store, "feed=eventsource&since=now", s.key("reader").header()...)
			ends := map[string]func() (string, error){}
			for _, kind := range []string{"longpoll", "continuous", "eventsource", "websocket"} {
				ends[kind] = s.follow(kind, "mode=all&since="+last, k)
			}
			change[name](k)
			begun := time.Now()
			_, changed := s.Changes("since=now") // a feed may have come to the model's event before it ends
			for kind, end := range ends {
				text, err := end()
				want := func(last string) string {
					return map[string]string{
						"longpoll":    `{"results":[` + "\n" + `],"last_seq":"` + last + `"}` + "\n",
						"continuous":  `{"end":"rights-changed","last_seq":"` + last + `"}` + "\n",
						"eventsource": "event: end\ndata: " + `{"end":"rights-changed","last_seq":"` + last + `"}` + "\n\n",
						"websocket":   `{"end":"rights-changed","last_seq":"` + last + `"}`,
					}[kind]
				}
				whole := strings.HasSuffix(text, want(last)) || strings.HasSuffix(text, want(changed))
				if !whole || err != nil || strings.Count(text, "rights-changed") != strings.Count(want(last), "rights-changed") {
					t.Errorf("%s, %s of %s ends with %q, %v", name, kind, role, text, err)
				}
			}
			if took := time.Since(begun); took > 3*time.Second/2 { // of a machine with other tests
				t.Errorf("%s: the answers end after %v", name, took)
			}
			if name == "access" {
				break
			}
			s.Put("a", name+role, `{}`)
			for {
				_, event, row, ok := other.Next()
				if !ok || event == "end" {
					t.Fatalf("%s: another stream ended", name)
				}
				if row.ID == name+role {
					break
				}
			}
			_, last = s.Changes("since=now")
		}
	}
}

// follow opens the feed by a transport, and returns what waits for its end and returns all of it. The error is one that it should
// not end with.
func (c *closed) follow(kind, query string, k key) (end func() (string, error)) {
	c.t.Helper()
	query = "feed=" + kind + "&" + query
	if kind == "websocket" {
		conn, _, err := harness.DialFeed(c.t, c.Store, query, k.header()...)
		if err != nil {
			c.t.Fatal(err)
		}
		return func() (text string, err error) {
			for {
				_, message, err := conn.Read(context.Background())
				if websocket.CloseStatus(err) == websocket.StatusPolicyViolation {
					return text, nil
				}
				if text += string(message); err != nil {
					return text, err
				}
			}
		}
	}
	req, err := http.NewRequest(http.MethodGet, c.URL+"/v1/_changes?"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", k.header()[1])
	answered := make(chan *http.Response, 1)
	ask := func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			c.t.Errorf("%s: %v, %+v", kind, err, resp)
		}
		answered <- resp
	}
	if kind == "longpoll" {
		before := c.metric("longpoll")
		go ask()
		for c.metric("longpoll") == before {
			time.Sleep(time.Millisecond)
		}
	} else {
		ask()
	}
	return func() (string, error) {
		resp := <-answered
		if resp == nil {
			return "", errors.New("no answer")
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
}

// metric returns how many answers of a transport are under way, as the node's metrics say it.
func (c *closed) metric(kind string) string {
	text := string(c.Want(http.StatusOK, "GET", "/metrics", "").Body)
	at := strings.Index(text, fmt.Sprintf(`transport=%q} `, kind))
	if at < 0 {
		c.t.Fatalf("the metrics have no transport %s", kind)
	}
	line, _, _ := strings.Cut(text[at:], "\n")
	return line
}

// TestFollowersOfDifferentRights: two who follow one node by the same transport get what each may read, as it happens.
func TestFollowersOfDifferentRights(t *testing.T) {
	t.Parallel()
	s := openClosed(t, `collections: {a: {access: {read: [ra]}}, b: {access: {read: [rb]}, relations: {a: {path: a, to: a}}, derive: {v: {copy: a, value: doc.v, publish: true}}}}`)
	a, b := harness.OpenSSE(t, s.Store, "feed=eventsource&mode=all&include_docs=true", s.key("ra").header()...), harness.OpenSSE(t, s.Store, "feed=eventsource&mode=all&include_docs=true", s.key("rb").header()...)
	s.Put("b", "b1", `{"a":"a1"}`)
	want := map[*harness.SSE][]string{b: {"create b1"}}
	for i := range 20 {
		s.Put("a", "a1", fmt.Sprintf(`{"v":%d}`, i))
		op := "replace a1"
		if i == 0 {
			op = "create a1"
		}
		want[a], want[b] = append(want[a], op), append(want[b], fmt.Sprint("derive b1 ", i))
	}
	for stream, rows := range want {
		var got []string
		for len(got) < len(rows) {
			_, event, row, ok := stream.Next()
			if !ok {
				t.Fatal("a stream ended")
			}
			if event != "change" {
				continue
			}
			text := row.Op + " " + row.ID
			if row.Op == "derive" {
				var doc struct{ V int }
				if err := json.Unmarshal(row.Doc, &doc); err != nil || row.Cause.ID != "" || row.Cause.Collection != "" || row.Cause.Rule != "b.v" || row.Cause.Seq == "" {
					t.Fatalf("a row has the cause %+v, %v", row.Cause, err)
				}
				text += fmt.Sprint(" ", doc.V)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, rows) {
			t.Errorf("a follower got %q, want %q", got, rows)
		}
	}
}

// TestClientWithoutRights: a loop of the client ends with the refusal once its key is revoked.
func TestClientWithoutRights(t *testing.T) {
	t.Parallel()
	s := openClosed(t, `collections: {a: {access: {read: [reader]}}}`)
	s.Put("a", "1", `{}`)
	k := s.key("reader")
	transport := &keyed{http.DefaultTransport.(*http.Transport).Clone(), k}
	defer transport.CloseIdleConnections()
	c, err := client.New(s.URL, client.Options{HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), suite.Deadline(30*time.Second))
	defer cancel()
	rows := 0
	for change, err := range c.Changes(ctx, client.ChangesOptions{}) {
		if err != nil {
			var failure *client.Error
			if !errors.As(err, &failure) || failure.Status != http.StatusUnauthorized {
				t.Errorf("the loop ends with %v", err)
			}
			break
		}
		if rows++; change.ID == "1" {
			if err := s.keys.Revoke(t.Context(), k.id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rows != 1 {
		t.Errorf("the loop had %d rows", rows)
	}
}
