package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// importHead is the head of an import whose lines are to come.
func importHead(key string) string {
	return "POST /v1/_import?collection=books HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer " + key + "\r\n\r\n"
}

// TestNoRightNoPlace: a key that may write nothing, or read nothing, holds no place of an import, a transaction or a comparison.
func TestNoRightNoPlace(t *testing.T) {
	h := openHouse(t, matrixModel, nil)
	stranger := h.as(t, "stranger")
	for _, path := range []string{"/v1/_import", "/v1/_transactions"} {
		if r, err := stranger.Do(http.MethodPost, path, nil); err != nil || r.Status != http.StatusForbidden {
			t.Errorf("%s is answered %d, %v", path, r.Status, err)
		}
	}
	h.admin.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", `{"collections":{"books":{"access":{"read":["readers"],"write":["writers"]}}},"open":false}`)
	if r, err := stranger.Do(http.MethodGet, "/v1/_diff?from=1", nil); err != nil || r.Status != http.StatusForbidden {
		t.Errorf("a comparison is answered %d, %v", r.Status, err)
	}
}

// TestImportsShareTheirPlaces: a key with imports that come for ever has half of the places once another key wants to import.
func TestImportsShareTheirPlaces(t *testing.T) {
	suite.Concurrent(t)
	h := openHouse(t, "", func(cfg *node.Config) { cfg.API = api.Options{Admission: 4 * time.Second} })
	greedy := h.newKey(t, "write")
	for i := range 4 {
		conn, err := net.Dial("tcp", h.Node.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, importHead(greedy)); err != nil {
			t.Fatal(err)
		}
		go func() {
			for n := 0; ; n++ {
				line := fmt.Sprintf("{\"id\":\"g%d-%d\",\"x\":%q}\n", i, n, strings.Repeat("x", 1<<10))
				if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(line), line); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond) // a client that sends for ever, and never too slowly: there is no position to wait for
			}
		}()
	}
	harness.Await(t, "four imports", harness.WaitTime, func() bool { return h.Node.API().Running() == 4 })
	modest := h.as(t, "write")
	for range 8 {
		r, err := modest.Do(http.MethodPost, "/v1/_import?collection=books", []byte("{\"id\":\"m\"}\n"), "Content-Type", "application/x-ndjson")
		if err != nil || r.Status != http.StatusOK || !bytes.Contains(r.Body, []byte(`"done":true`)) {
			t.Errorf("another key's import is answered %d %s, %v", r.Status, r.Body, err)
		}
	}
	if left := h.Node.API().Running(); left < 2 || left > 3 {
		t.Errorf("%d imports of the first key are left", left)
	}
}

// TestGroupsAreCountedByMaker: a key that is no administrator's makes MaxOfMaker groups, and may delete its own. It keeps nobody else from making some.
func TestGroupsAreCountedByMaker(t *testing.T) {
	h := openHouse(t, "", nil)
	maker, other := h.as(t, "stranger"), h.as(t, "stranger")
	const settings = `{"role":"stranger","partitions":1}`
	for i := range group.MaxOfMaker {
		maker.Want(http.StatusCreated, http.MethodPut, fmt.Sprint("/v1/_groups/g", i), settings)
	}
	if r := maker.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_groups/more", settings); !bytes.Contains(r.Body, []byte("your key has made 100 groups")) {
		t.Errorf("one more is refused with %s", r.Body)
	}
	other.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/others", settings)
	h.admin.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/admins", settings)
	for _, name := range []string{"g0", "admins"} {
		other.Want(http.StatusForbidden, http.MethodDelete, "/v1/_groups/"+name, "")
	}
	maker.Want(http.StatusForbidden, http.MethodDelete, "/v1/_groups/others", "")
	maker.Want(http.StatusForbidden, http.MethodDelete, "/v1/_groups/nothing", "")
	maker.Want(http.StatusNoContent, http.MethodDelete, "/v1/_groups/g0", "")
	maker.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/more", settings)
	h.admin.Want(http.StatusNoContent, http.MethodDelete, "/v1/_groups/g1", "")
}

// TestIdleStrangersMakeRoom: idle connections of nobody who was let in do not keep out who has a key. A key's stay.
func TestIdleStrangersMakeRoom(t *testing.T) {
	suite.Concurrent(t)
	h := openHouse(t, "", func(cfg *node.Config) { cfg.MaxConnections = 10 })
	ask := func(headers string, status string) net.Conn {
		conn, err := net.Dial("tcp", h.Node.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(harness.WaitTime)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET /v1/_me HTTP/1.1\r\nHost: localhost\r\n"+headers+"\r\n"); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 4096)
		if n, err := conn.Read(answer); err != nil || !strings.Contains(string(answer[:n]), status) {
			t.Fatalf("%q is answered %.40q, %v", headers, answer[:n], err)
		}
		return conn
	}
	key := "Authorization: Bearer " + h.newKey(t, "read") + "\r\n"
	kept := ask(key, "200 OK")
	for range 20 {
		ask("", "401 Unauthorized")
	}
	for range 3 {
		ask(key, "200 OK")
	}
	if _, err := io.WriteString(kept, "GET /v1/_me HTTP/1.1\r\nHost: localhost\r\n"+key+"\r\n"); err != nil {
		t.Fatal(err)
	}
	if n, err := kept.Read(make([]byte, 4096)); err != nil || n == 0 {
		t.Errorf("the idle connection of a key has ended: %v", err)
	}
}
