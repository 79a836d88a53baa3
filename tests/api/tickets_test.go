package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/tests/harness"
)

// ticket is the answer to a request for one.
type ticket struct {
	Ticket, URL string
	Expires     time.Time
}

// newTicket asks for a ticket.
func newTicket(t *testing.T, c *harness.Client, path, ttl string) (out ticket) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"path": path, "ttl": ttl})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(c.Want(http.StatusCreated, "POST", "/v1/_tickets", string(body)).Body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTickets: a ticket lets GETs of its very path and query in, as who asked for it, again and again, and nothing else.
func TestTickets(t *testing.T) {
	h := openTeams(t)
	ann := h.asSub(t, "ann")
	nobody := harness.NewClient(t, h.URL)
	t.Cleanup(nobody.HTTP.CloseIdleConnections)
	const path = "/v1/_changes?collections=tasks&include_docs=true"
	got := newTicket(t, ann, path, "1h")
	if got.URL != path+"&ticket="+got.Ticket || time.Until(got.Expires) > time.Hour || time.Until(got.Expires) < 55*time.Minute {
		t.Fatalf("the ticket is %+v", got)
	}
	want := ann.Want(http.StatusOK, "GET", path, "").Body
	for range 2 {
		if body := nobody.Want(http.StatusOK, "GET", got.URL, "").Body; string(body) != string(want) {
			t.Errorf("by ticket: %s, by key: %s", body, want)
		}
	}
	bare := newTicket(t, ann, "/v1/_changes", "1s")
	if bare.URL != "/v1/_changes?ticket="+bare.Ticket {
		t.Errorf("the ticket is %+v", bare)
	}
	other := newTicket(t, h.asSub(t, "bob"), path, "1h")
	for _, x := range []struct{ method, url string }{
		{"GET", path}, {"GET", path + "&ticket="}, {"GET", path + "&ticket=fft_"}, {"GET", path + "&ticket=" + got.Ticket[:len(got.Ticket)-1]},
		{"GET", path + "&ticket=" + strings.ToUpper(got.Ticket)}, {"GET", path + "&ticket=x" + got.Ticket[1:]},
		{"GET", path + "&since=0&ticket=" + got.Ticket}, {"GET", "/v1/_changes?ticket=" + got.Ticket}, {"GET", "/v1/_changes?include_docs=true&collections=tasks&ticket=" + got.Ticket},
		{"GET", "/v1/_changes?ticket=" + got.Ticket + "&collections=tasks&include_docs=true"}, {"GET", got.URL + "&ticket=" + got.Ticket}, {"GET", got.URL + "&since=0"},
		{"GET", "/v1/_changes?collections=tasks&include_docs=true&ticket=" + bare.Ticket}, {"GET", strings.Replace(got.URL, "_changes", "%5Fchanges", 1)},
		{"GET", "/v1/tasks?ticket=" + got.Ticket}, {"GET", "/v1/tasks/t0?ticket=" + got.Ticket}, {"GET", "/v1/_me?ticket=" + got.Ticket},
		{"HEAD", got.URL}, {"POST", got.URL}, {"PUT", "/v1/tasks/t0?ticket=" + got.Ticket}, {"POST", "/v1/_tickets?ticket=" + got.Ticket},
		{"GET", path + "&ticket=" + strings.Repeat("A", 10_000)},
	} {
		body := ""
		if x.method == "POST" || x.method == "PUT" {
			body = `{"path":"/v1/_changes"}`
		}
		r, err := nobody.Do(x.method, x.url, []byte(body))
		if err != nil || r.Status != http.StatusUnauthorized && r.Status != http.StatusMethodNotAllowed && r.Status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s %.200s: %+v %v", x.method, x.url, r, err)
		}
		for _, secret := range []string{got.Ticket, bare.Ticket} {
			if r != nil && strings.Contains(string(r.Body), secret) {
				t.Errorf("%s %.200s tells the ticket: %s", x.method, x.url, r.Body)
			}
		}
	}
	if body := nobody.Want(http.StatusOK, "GET", other.URL, "").Body; string(body) == string(want) {
		t.Error("bob's ticket shows what ann sees")
	}
	ann.Want(http.StatusBadRequest, "GET", got.URL, "") // a key and a ticket
}

// TestTicketsEnd: a ticket ends by itself, and with the secret that asked for it.
func TestTicketsEnd(t *testing.T) {
	h := openTeams(t)
	_, key, err := h.Node.Keys().Create(t.Context(), keys.Settings{Name: "ann", Sub: "ann", Roles: []string{"member"}})
	if err != nil {
		t.Fatal(err)
	}
	ann := h.clientWith(t, key.Text())
	nobody := harness.NewClient(t, h.URL)
	t.Cleanup(nobody.HTTP.CloseIdleConnections)
	short := newTicket(t, ann, "/v1/_changes?since=now", "1s")
	long := newTicket(t, ann, "/v1/_changes?feed=eventsource&heartbeat=1000", "24h")
	for time.Now().Before(short.Expires) {
		time.Sleep(time.Until(short.Expires))
	}
	nobody.Want(http.StatusUnauthorized, "GET", short.URL, "")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+long.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := nobody.HTTP.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: heartbeat") {
	}
	_, _, err = h.Node.Keys().Rotate(t.Context(), key.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until the stream ends
	}
	nobody.Want(http.StatusUnauthorized, "GET", long.URL, "")
}

// TestTicketsAreRefused: there are tickets for change feeds, for a second to a day.
func TestTicketsAreRefused(t *testing.T) {
	h := openTeams(t)
	ann := h.asSub(t, "ann")
	for _, path := range []string{"", "/", "/v1/tasks", "/v1/_changes/", "/v1/%5Fchanges", "v1/_changes", "//x/v1/_changes", "http://x/v1/_changes", "/v1/_changes#x", "/v1/_changes?a b", "/v1/_changes?ticket=x",
		"/v1/_changes?x&ticket=fft_a&y", "/v1/../v1/_changes", "/v1/_changes?" + strings.Repeat("x", 4096), "/v1/_groups/g/_changes", "/v1/_export", "/v1/_backup/x"} {
		ann.Want(http.StatusBadRequest, "POST", "/v1/_tickets", fmt.Sprintf(`{"path":%q}`, path))
	}
	for _, ttl := range []string{"0s", "999ms", "24h1s", "-1h", "x", ""} {
		ann.Want(http.StatusBadRequest, "POST", "/v1/_tickets", fmt.Sprintf(`{"path":"/v1/_changes","ttl":%q}`, ttl))
	}
}

// TestTicketsOfAnOpenHouse: in an open store nobody needs a ticket.
func TestTicketsOfAnOpenHouse(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	got := newTicket(t, s.Client, "/v1/_changes?since=now", "1h")
	if got.Ticket != "" || got.URL != "/v1/_changes?since=now" {
		t.Errorf("the ticket is %+v", got)
	}
	s.Want(http.StatusOK, "GET", got.URL+"&ticket=fft_AAAA", "")
	if got := newTicket(t, s.Client, "/v1/_backup", "1m"); got.Ticket != "" || got.URL != "/v1/_backup" {
		t.Errorf("the ticket is %+v", got)
	}
}

// TestTicketsForBackups: whoever may make a backup gets a ticket for one, which works for a minute at most, for that path and method alone.
func TestTicketsForBackups(t *testing.T) {
	h := openHouse(t, matrixModel, nil)
	h.admin.Put("books", "d", `{}`)
	for _, s := range senders(t, h, false) {
		want := http.StatusForbidden
		if !s.let {
			want = http.StatusUnauthorized
		} else if s.name == "admin" {
			want = http.StatusCreated
		}
		s.client.Want(want, "POST", "/v1/_tickets", `{"path":"/v1/_backup"}`)
		s.client.Want(want, "POST", "/v1/_tickets", `{"path":"/v1/_backup?after=1","ttl":"1s"}`)
	}
	for _, ttl := range []string{"0s", "999ms", "1m1s", "1h", "24h", "-1s"} {
		h.admin.Want(http.StatusBadRequest, "POST", "/v1/_tickets", fmt.Sprintf(`{"path":"/v1/_backup","ttl":%q}`, ttl))
	}
	var standard ticket
	if err := json.Unmarshal(h.admin.Want(http.StatusCreated, "POST", "/v1/_tickets", `{"path":"/v1/_backup"}`).Body, &standard); err != nil || time.Until(standard.Expires) > time.Minute {
		t.Errorf("a ticket without a ttl is %+v, %v", standard, err)
	}
	nobody := harness.NewClient(t, h.URL)
	t.Cleanup(nobody.HTTP.CloseIdleConnections)
	got := newTicket(t, h.admin, "/v1/_backup", "1m")
	short := newTicket(t, h.admin, "/v1/_backup", "1s")
	r := nobody.Want(http.StatusOK, "GET", got.URL, "")
	if name := r.Header.Get("Content-Disposition"); !regexp.MustCompile(`^attachment; filename="fanfold-\d{4}-\d\d-\d\dT\d{6}Z\.tar"$`).MatchString(name) {
		t.Errorf("the file is %s", name)
	}
	dir := t.TempDir()
	if err := backup.Unpack(bytes.NewReader(r.Body), dir); err != nil {
		t.Error(err)
	}
	feed := newTicket(t, h.admin, "/v1/_changes", "1m")
	for _, x := range []struct{ method, url string }{
		{"HEAD", got.URL}, {"GET", "/v1/_backup?after=1&ticket=" + got.Ticket}, {"GET", "/v1/_export?ticket=" + got.Ticket}, {"GET", "/v1/_changes?ticket=" + got.Ticket},
		{"GET", "/v1/_keys?ticket=" + got.Ticket}, {"POST", "/v1/_tickets?ticket=" + got.Ticket}, {"GET", "/v1/_backup?ticket=" + feed.Ticket}, {"GET", "/v1/%5Fbackup?ticket=" + got.Ticket},
	} {
		nobody.Want(http.StatusUnauthorized, x.method, x.url, "")
	}
	for time.Now().Before(short.Expires) {
		time.Sleep(time.Until(short.Expires))
	}
	nobody.Want(http.StatusUnauthorized, "GET", short.URL, "")
}

// TestBackupsOutlastTickets: a backup that has begun goes on after its ticket, and ends with the key or its role.
func TestBackupsOutlastTickets(t *testing.T) {
	h := openHouse(t, "", nil)
	for _, x := range []struct {
		name, method, patch string
		want                int
	}{
		{"the key has another name", "PATCH", `{"name":"other","roles":["admin","other"]}`, http.StatusOK},
		{"the key is no administrator's", "PATCH", `{"roles":["read"]}`, http.StatusForbidden},
		{"the key is revoked", "DELETE", "", http.StatusUnauthorized},
	} {
		t.Run(x.name, func(t *testing.T) {
			e, key, err := h.Node.Keys().Create(t.Context(), keys.Settings{Name: "ops", Roles: []string{"admin"}})
			if err != nil {
				t.Fatal(err)
			}
			short := newTicket(t, h.clientWith(t, key.Text()), "/v1/_backup", "1s")
			last, err := h.Node.Log.LastSeq(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			nobody := harness.NewClient(t, h.URL)
			defer nobody.HTTP.CloseIdleConnections()
			answered := make(chan *harness.Response, 1)
			go func() {
				r, _ := nobody.Do("GET", short.URL, nil, "Fanfold-Min-Position", fmt.Sprint(last+1), "Fanfold-Timeout", "60")
				answered <- r
			}()
			harness.Await(t, "a backup that waits", harness.WaitTime, func() bool { return h.Node.API().Running() > 0 })
			for time.Now().Before(short.Expires) {
				time.Sleep(time.Until(short.Expires))
			}
			if r, err := h.admin.Do(x.method, "/v1/_keys/"+e.ID, []byte(x.patch)); err != nil || r.Status >= http.StatusBadRequest {
				t.Fatal(r, err)
			}
			h.admin.Put("books", fmt.Sprint(last), `{}`)
			if r := <-answered; r == nil || r.Status != x.want {
				t.Errorf("it is answered by %+v", r)
			}
			nobody.Want(http.StatusUnauthorized, "GET", short.URL, "")
		})
	}
}
