package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// openNode opens a node on NATS servers, and closes it at the test's end.
func openNode(t *testing.T, url string, configure func(cfg *node.Config)) *harness.Store {
	t.Helper()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Configure: configure})
	t.Cleanup(s.Close)
	return s
}

// entered tells whether a node lets in a key.
func entered(t *testing.T, s *harness.Store, key string) bool {
	t.Helper()
	r, err := s.With(key).Do(http.MethodGet, "/v1/_me", nil)
	if err != nil || r.Status != http.StatusOK && r.Status != http.StatusUnauthorized {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Status == http.StatusOK
}

// TestKeysOnManyNodes: a key that one node makes closes the others, lets in there within a second, and ends there within a second.
func TestKeysOnManyNodes(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a, b := openNode(t, url, nil), openNode(t, url, nil)
	harness.AwaitReady(t, a, http.StatusOK)
	a.Put("books", "b1", `{}`)
	a.CloseHouse()
	harness.Await(t, "the other node to close", harness.WaitTime, func() bool { return !entered(t, b, "") })
	var took []time.Duration
	for range 5 {
		key := a.NewKey("read")
		id := strings.Split(key, "_")[1]
		for _, works := range []bool{true, false} {
			begun := time.Now()
			harness.Await(t, "the other node to know of a change", harness.WaitTime, func() bool { return entered(t, b, key) == works })
			took = append(took, time.Since(begun))
			if works {
				b.With(key).Want(http.StatusForbidden, "PUT", "/v1/books/b1", `{}`)
				a.Want(http.StatusNoContent, "DELETE", "/v1/_keys/"+id, "")
				if entered(t, a, key) {
					t.Fatal("a revoked key lets in where it was revoked")
				}
			}
		}
	}
	if slices.Sort(took); took[len(took)/2] > time.Second {
		t.Errorf("half of the changes took longer than %v", took[len(took)/2])
	}
	c := openNode(t, url, nil) // with nothing on its disk
	if entered(t, c, "") || !entered(t, c, a.Key) {
		t.Error("a new node does not know the keys")
	}
	secret := a.Node.Keys().Secret()
	for _, other := range []*harness.Store{b, c} {
		if len(secret) == 0 || !bytes.Equal(other.Node.Keys().Secret(), secret) {
			t.Error("the nodes have not the same secret")
		}
	}
	id := strings.Split(a.NewKey("read"), "_")[1]
	a.Want(http.StatusOK, "PATCH", "/v1/_keys/"+id, `{"sub":"u1","claims":{"tenant":"a"}}`)
	harness.Await(t, "the other nodes to know the subject", harness.WaitTime, func() bool {
		told := []string{}
		for _, n := range []*harness.Store{b, c} {
			told = append(told, string(n.With(a.Key).Want(http.StatusOK, "GET", "/v1/_keys", "").Body))
		}
		return !slices.ContainsFunc(told, func(list string) bool {
			return !strings.Contains(list, `"sub":"u1"`) || !strings.Contains(list, `{"tenant":"a"}`)
		})
	})
}

// TestRightsStale: a node that cannot read the keys for --max-auth-age answers 503 rights-stale to whatever needs a right, and
// lets in again once it can. Until then reads survive the outage.
func TestRightsStale(t *testing.T) {
	suite.Parallel(t)
	servers := natsserver.StartCluster(t, 1, false)
	stale := openNode(t, servers.URLs()[0], func(cfg *node.Config) { cfg.MaxAuthAge = time.Second })
	patient := openNode(t, servers.URLs()[0], nil)
	harness.AwaitReady(t, stale, http.StatusOK)
	stale.Put("books", "b1", `{}`)
	stale.CloseHouse()
	patient.Key = stale.Key
	harness.Await(t, "the other node to know the key", harness.WaitTime, func() bool { return entered(t, patient, patient.Key) })
	harness.Await(t, "the other node to close its house", harness.WaitTime, func() bool { // until then it lets in every key
		r, err := patient.With("").Do(http.MethodGet, "/v1/_me", nil)
		return err == nil && r.Status == http.StatusUnauthorized
	})
	patient.Want(http.StatusOK, "GET", "/v1/books/b1", "", "Fanfold-Min-Position", stale.Want(http.StatusOK, "GET", "/v1/books/b1", "").Header.Get("Fanfold-Position"))
	servers.Stop(0)
	var r *harness.Response
	harness.Await(t, "the keys to be stale", harness.WaitTime, func() bool {
		var err error
		r, err = stale.Do(http.MethodGet, "/v1/books/b1", nil)
		return err == nil && r.Status == http.StatusServiceUnavailable
	})
	if r.Problem() != "urn:fanfold:problem:rights-stale" || r.Header.Get("Retry-After") == "" {
		t.Errorf("%+v %s", r, r.Body)
	}
	for _, key := range []string{"", stale.Key} {
		stale.With(key).Want(http.StatusServiceUnavailable, "GET", "/v1/_me", "")
		stale.With(key).Want(http.StatusServiceUnavailable, "PUT", "/v1/books/b1", `{}`)
		for _, path := range []string{"/", "/healthz", "/openapi.json"} {
			stale.With(key).Want(http.StatusOK, "GET", path, "")
		}
	}
	patient.Want(http.StatusOK, "GET", "/v1/books/b1", "")
	patient.With("").Want(http.StatusUnauthorized, "GET", "/v1/books/b1", "")
	servers.Restart(0)
	harness.Await(t, "the keys to be read again", time.Minute, func() bool {
		r, err := stale.Do(http.MethodGet, "/v1/books/b1", nil)
		return err == nil && r.Status == http.StatusOK
	})
}

// TestMaxAuthAge: a node starts with an age of the keys within its bounds alone.
func TestMaxAuthAge(t *testing.T) {
	for age, starts := range map[time.Duration]bool{time.Second: true, 24 * time.Hour: true, time.Second - 1: false, 24*time.Hour + 1: false, -1: false} {
		s, err := harness.Start(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.MaxAuthAge = age }})
		if starts != (err == nil) || !starts && (fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "--max-auth-age")) {
			t.Errorf("--max-auth-age %v: %v", age, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestClosedHouseStaysClosed: a restart, another node's program or a lost power keeps the keys, and the store closed.
func TestClosedHouseStaysClosed(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true})
	s.CloseHouse()
	reader := s.NewKey("read")
	s.Put("books", "b1", `{}`)
	s = s.Reopen()
	defer func() { s.Close() }()
	s.WantDoc("books", "b1", `{"id":"b1"}`)
	s.With("").Want(http.StatusUnauthorized, "GET", "/v1/books/b1", "")
	s.With(reader).Want(http.StatusOK, "GET", "/v1/books/b1", "")
	s.With(reader).Want(http.StatusForbidden, "GET", "/v1/_keys", "")
	s.Replay() // nothing of the fold depends on keys
	s.With(reader).Want(http.StatusOK, "GET", "/v1/books/b1", "")
}

// TestAdminKeyFile: the key in the file has the role admin and is in no bucket, and closes the store also where the node is
// started without the file later.
func TestAdminKeyFile(t *testing.T) {
	dir := t.TempDir()
	path, key := harness.NewKeyFile(t)
	s := harness.Open(t, harness.Options{Dir: dir, AdminKeyFile: path, Key: key})
	s.With("").Want(http.StatusUnauthorized, "GET", "/v1/_me", "")
	s.Put("books", "b1", `{}`)
	if list := string(s.Want(http.StatusOK, "GET", "/v1/_keys", "").Body); list != `{"keys":[]}`+"\n" {
		t.Errorf("the keys are %s", list)
	}
	reader := s.NewKey("read")
	s.Close()
	s = harness.Open(t, harness.Options{Dir: dir, Key: key})
	defer s.Close()
	s.Want(http.StatusUnauthorized, "GET", "/v1/_me", "")
	s.With(reader).Want(http.StatusOK, "GET", "/v1/books/b1", "")
}

// TestAnonymousRequests: with --anonymous whoever has no key is let in with the role everyone alone, and whoever has a wrong one
// is not.
func TestAnonymousRequests(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.Anonymous = true }})
	defer s.Close()
	s.CloseHouse()
	s.Put("books", "b1", `{}`)
	anybody := s.With("")
	if me := string(anybody.Want(http.StatusOK, "GET", "/v1/_me", "").Body); me != `{"roles":["everyone"],"open":false,"collections":{},"otherCollections":{"read":false,"write":false}}`+"\n" {
		t.Errorf("whoever has no key is %s", me)
	}
	anybody.Want(http.StatusUnauthorized, "GET", "/v1/books/b1", "")
	s.With("x").Want(http.StatusUnauthorized, "GET", "/v1/_me", "")
}
