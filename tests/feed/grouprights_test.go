package feed_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// as returns a client with a new key that has roles.
func (c *closed) as(roles ...string) *member {
	c.t.Helper()
	k := c.key(roles...)
	return &member{k.client(c), k.id}
}

// member is a client with a key.
type member struct {
	*harness.Client
	id string
}

// leaseOne returns the only lease that a member of a group has.
func (m *member) leaseOne(t *testing.T, group, name string) harness.GroupLease {
	t.Helper()
	var out struct{ Leases []harness.GroupLease }
	body := m.Want(http.StatusOK, "POST", "/v1/_groups/"+group+"/_lease", fmt.Sprintf(`{"member":%q,"max":1}`, name)).Body
	if err := json.Unmarshal(body, &out); err != nil || len(out.Leases) != 1 {
		t.Fatalf("%s has the leases %s, %v", name, body, err)
	}
	return out.Leases[0]
}

// groupModel has a collection for each of two roles, and one that nobody declares.
const groupModel = `collections: {a: {access: {read: [ra]}}, b: {access: {read: [rb]}, relations: {a: {path: a, to: a}}, derive: {v: {copy: a, value: doc.v, publish: true}}}}`

// TestGroupSeesByItsRole: the members of a group, whatever else they may read, share the changes that its role reads.
func TestGroupSeesByItsRole(t *testing.T) {
	t.Parallel()
	s := openClosed(t, groupModel, func(*harness.Store) {})
	few, many := s.as("ra"), s.as("ra", "rb", "read")
	few.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"role":"ra","partitions":2}`)
	var want []string
	for i := range 30 {
		id := fmt.Sprint(i)
		s.Put("a", id, `{"v":1}`)
		s.Put("b", id, `{"a":"1"}`)
		s.Put("c", id, `{}`)
		want = append(want, id)
	}
	var got []string
	read := func(m *member, name string) {
		l := m.leaseOne(t, "g", name)
		ids, last := harness.GroupChanges(t, m.Client, "g", l, "&include_docs=true")
		got = append(got, ids...)
		harness.Settle(m.Client, http.StatusNoContent, "_ack", "g", l, last)
		if again, _ := harness.GroupChanges(t, m.Client, "g", l, ""); len(again) > 0 || len(ids) == 0 {
			t.Errorf("%s has %v, and after its acknowledgement %v", name, ids, again)
		}
	}
	read(few, "few")
	read(many, "many")
	slices.SortFunc(got, func(a, b string) int { return len(a)*100 - len(b)*100 + strings.Compare(a, b) })
	if !slices.Equal(got, want) {
		t.Errorf("the members have got %v, want %v", got, want)
	}
}

// TestGroupsByRights: each route of a group needs its role, or admin, and tells nobody else whether it exists.
func TestGroupsByRights(t *testing.T) {
	t.Parallel()
	s := openClosed(t, groupModel, func(s *harness.Store) {
		s.Want(http.StatusCreated, "PUT", "/v1/_groups/old", `{"partitions":1}`)
		if text := string(s.Want(http.StatusOK, "GET", "/v1/_groups/old", "").Body); strings.Contains(text, "role") {
			t.Errorf("an open store tells a role: %s", text)
		}
	})
	insider, outsider := s.as("ra"), s.as("rb", "read", "write", "monitor")
	outsider.Want(http.StatusForbidden, "PUT", "/v1/_groups/g", `{"role":"ra"}`)
	outsider.Want(http.StatusForbidden, "PUT", "/v1/_groups/g", `{}`)
	outsider.Want(http.StatusForbidden, "PUT", "/v1/_groups/g", `{"role":"admin"}`)
	outsider.Want(http.StatusForbidden, "PUT", "/v1/_groups/g", `{"role":"rb","collections":["b","a"]}`)
	insider.Want(http.StatusBadRequest, "PUT", "/v1/_groups/g", `{"role":"Ra"}`)
	insider.Want(http.StatusBadRequest, "PUT", "/v1/_groups/g", `{"role":""}`)
	insider.Want(http.StatusBadRequest, "PUT", "/v1/_groups/g", fmt.Sprintf(`{"role":%q}`, strings.Repeat("a", 65)))
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"role":"ra","partitions":1,"collections":["a"]}`) // who makes a group may delete it
	insider.Want(http.StatusForbidden, "PUT", "/v1/_groups/g", `{"role":"ra","partitions":1,"collections":["a"]}`)
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", `{"partitions":1,"maxAttempts":1}`) // it keeps its role
	s.Put("a", "1", `{}`)
	l := harness.Lease(t, insider.Client, "g", "m")[0]
	harness.Settle(insider.Client, http.StatusNoContent, "_nack", "g", l, "2-0") // which parks it
	for client, knows := range map[*harness.Client]bool{s.as("ra", "monitor").Client: true, outsider.Client: false, s.Client: true} {
		if text := string(client.Want(http.StatusOK, "GET", "/v1/_status", "").Body); strings.Contains(text, `{"what":"1 parked batch of g","detail":"They failed as often as the group allows.","place":"/_groups/g"}`) != knows || !knows && strings.Contains(text, "parked") {
			t.Errorf("the status tells %s", text)
		}
	}
	routes := []struct {
		method, path, body string
		status             int // for who has the role; 403 where it takes an administrator
	}{
		{"GET", "", "", 200},
		{"POST", "/_lease", `{"member":"m"}`, 200},
		{"GET", "/_changes?partition=0&token=" + l.Token, "", 200},
		{"POST", "/_ack", harness.BatchOf(l, "2-0", ""), 204},
		{"POST", "/_nack", harness.BatchOf(l, "2-0", ""), 204},
		{"GET", "/_parked", "", 200},
		{"POST", "/_release", `{"member":"n"}`, 204},
		{"PUT", "", `{"role":"rb"}`, 403},
		{"POST", "/_parked/0-1/_retry", "{}", 403},
		{"DELETE", "/_parked/0-1", "", 403},
		{"POST", "/_reset", `{"to":"0","force":true}`, 403},
		{"DELETE", "", "", 403},
	}
	for _, r := range routes {
		insider.Want(r.status, r.method, "/v1/_groups/g"+r.path, r.body)
		outside := outsider.Want(http.StatusForbidden, r.method, "/v1/_groups/g"+r.path, r.body).Body
		insider.Want(http.StatusForbidden, r.method, "/v1/_groups/old"+r.path, r.body)
		if r.method == "PUT" {
			continue // who has a role may make a group of it
		}
		unknown := outsider.Want(http.StatusForbidden, r.method, "/v1/_groups/x"+r.path, r.body).Body
		if a := bytes.ReplaceAll(outside, []byte("group g "), []byte("group x ")); !bytes.Equal(a, unknown) {
			t.Errorf("%s %s tells whether a group is there: %s, %s", r.method, r.path, outside, unknown)
		}
		s.Want(http.StatusNotFound, r.method, "/v1/_groups/x"+r.path, r.body)
	}
	for client, want := range map[*harness.Client]string{insider.Client: "g", outsider.Client: "", s.Client: "g,old"} {
		var list struct {
			Groups []struct {
				Name     string
				Settings struct{ Role string }
			}
		}
		if err := json.Unmarshal(client.Want(http.StatusOK, "GET", "/v1/_groups", "").Body, &list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, g := range list.Groups {
			names = append(names, g.Name)
			if role := map[string]string{"g": "ra", "old": "admin"}[g.Name]; g.Settings.Role != role {
				t.Errorf("group %s has the role %q", g.Name, g.Settings.Role)
			}
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("the list has %q, want %q", got, want)
		}
	}
	for _, r := range routes[7:] {
		s.Want(map[bool]int{true: 204, false: 200}[r.method != "GET"], r.method, "/v1/_groups/g"+r.path, strings.Replace(r.body, `{"role":"rb"}`, `{"role":"rb","partitions":1}`, 1))
		if r.path == "/_parked/0-1/_retry" {
			insider.Want(http.StatusForbidden, "GET", "/v1/_groups/g", "") // it has the other role
		}
	}
}

// TestRefusedMembersSendNoBody: who has no right to a group is refused before the body comes.
func TestRefusedMembersSendNoBody(t *testing.T) {
	t.Parallel()
	s := openClosed(t, groupModel, func(*harness.Store) {})
	outsider := s.as("rb")
	outsider.HTTP.Transport.(*keyed).ExpectContinueTimeout = time.Minute // before a connection reads it
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"role":"ra"}`)
	for _, path := range []string{"/v1/_groups/g/_ack", "/v1/_groups/g/_lease", "/v1/_groups/g"} {
		body := &watched{}
		method := http.MethodPost
		if strings.HasSuffix(path, "g") {
			method = http.MethodPut
		}
		req, err := http.NewRequest(method, s.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = 1 << 10
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Expect", "100-continue")
		resp, err := outsider.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden || body.read.Load() {
			t.Errorf("%s: %d, the body was read: %v", path, resp.StatusCode, body.read.Load())
		}
	}
}

// watched is a body that says whether it was read.
type watched struct{ read atomic.Bool }

func (w *watched) Read([]byte) (int, error) {
	w.read.Store(true)
	return 0, io.ErrUnexpectedEOF
}

// TestMemberStreamsEndWithTheirKeys: the stream of a member ends once its key is revoked; another member's goes on.
func TestMemberStreamsEndWithTheirKeys(t *testing.T) {
	suite.Concurrent(t)
	t.Parallel()
	s := openClosed(t, groupModel, func(*harness.Store) {})
	members := []*member{s.as("ra"), s.as("ra")}
	members[0].Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"role":"ra","partitions":2,"lease":"1m"}`)
	ended := make([]chan string, 2)
	for i, m := range members {
		l := m.leaseOne(t, "g", fmt.Sprint("m", i))
		ended[i] = make(chan string, 1)
		req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/v1/_groups/g/_changes?feed=eventsource&partition=%d&token=%s", s.URL, l.Partition, l.Token), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.HTTP.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", resp, err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		go func() {
			text, _ := io.ReadAll(resp.Body)
			ended[i] <- string(text)
		}()
	}
	if err := s.keys.Revoke(t.Context(), members[0].id); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if text := <-ended[0]; !strings.Contains(text, "event: end\ndata: {\"end\":\"rights-changed\",\"last_seq\":\"1-0-") || !strings.HasSuffix(text, "\"}\n\n") {
		t.Errorf("the stream ends with %q", text)
	}
	if took := time.Since(begun); took > 3*time.Second/2 {
		t.Errorf("the stream ends after %v", took)
	}
	members[0].Want(http.StatusUnauthorized, "POST", "/v1/_groups/g/_lease", `{"member":"m0"}`)
	select {
	case text := <-ended[1]:
		t.Errorf("the other member's stream ended with %q", text)
	case <-time.After(1500 * time.Millisecond):
	}
	s.Want(http.StatusNoContent, "PUT", "/v1/_groups/g", `{"role":"rb","partitions":2,"lease":"1m"}`) // which ends it, too
	<-ended[1]
}
