package receiver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fanfold/fanfold"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// signed returns a post of a body at a time.
func signed(t *testing.T, body string, at time.Time) *http.Request {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hook.Sign("msg_1", at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("webhook-id", "msg_1")
	r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("webhook-signature", signature)
	r.Header.Set("Fanfold-Group", "g")
	return r
}

// TestReceiver: posts whose signature is right are handed on, and no others. A post that cannot be handled comes again.
func TestReceiver(t *testing.T) {
	const body = `{"results":[{"seq":"1-0"},{"seq":"2-0"}],"last_seq":"2-0"}`
	now := time.Now()
	forged := signed(t, body, now)
	forged.Body = http.NoBody
	unsigned := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	for name, c := range map[string]struct {
		secret string
		post   *http.Request
		fails  error
		status int
	}{
		"right":           {secret, signed(t, body, now), nil, 204},
		"forged":          {secret, forged, nil, 401},
		"not signed":      {secret, unsigned, nil, 401},
		"old":             {secret, signed(t, body, now.Add(-time.Hour)), nil, 401},
		"no secret":       {"", httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), nil, 204},
		"not a batch":     {secret, signed(t, `{"a":1}`, now), nil, 400},
		"no JSON":         {secret, signed(t, `x`, now), nil, 400},
		"too large":       {"", httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", MaxBody)+body)), nil, 400},
		"read":            {secret, httptest.NewRequest(http.MethodGet, "/", http.NoBody), nil, 405},
		"cannot be taken": {secret, signed(t, body, now), errors.New("the disk is full"), 500},
	} {
		var got []Post
		r, err := New(c.secret, func(p Post) error {
			got = append(got, p)
			return c.fails
		})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, c.post)
		if w.Code != c.status || (len(got) == 1) != (c.status == 204 || c.status == 500) {
			t.Errorf("%s: %d %s, %d posts", name, w.Code, w.Body, len(got))
		}
		if name == "right" && (got[0].ID != "msg_1" || got[0].Group != "g" || len(got[0].Changes) != 2) {
			t.Errorf("%+v", got)
		}
	}
	if _, err := New("hunter2!", nil); fanfold.CodeOf(err) != fanfold.Invalid || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong secret: %v", err)
	}
}
