package api_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// house is a node that is closed by the file of an admin key.
type house struct {
	*harness.Store
	admin   *harness.Client
	secrets []string // of all keys that were made
}

// withKey sends a key with each request.
type withKey struct {
	http.RoundTripper
	key string
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.RoundTripper.RoundTrip(r)
}

// clientWith returns a client that sends a key.
func (h *house) clientWith(t *testing.T, key string) *harness.Client {
	t.Helper()
	c := harness.NewClient(t, h.URL)
	c.HTTP.Transport = withKey{c.HTTP.Transport, key}
	t.Cleanup(c.HTTP.CloseIdleConnections)
	return c
}

// newKey makes a key with roles.
func (h *house) newKey(t *testing.T, roles ...string) string {
	t.Helper()
	_, key, err := h.Node.Keys().Create(context.Background(), keys.Settings{Name: strings.Join(roles, " and "), Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	h.secrets = append(h.secrets, key.Text())
	return key.Text()
}

// as returns a client with a new key that has roles.
func (h *house) as(t *testing.T, roles ...string) *harness.Client {
	t.Helper()
	return h.clientWith(t, h.newKey(t, roles...))
}

// openHouse opens a closed store under a model, "" for none.
func openHouse(t *testing.T, model string, configure func(cfg *node.Config)) *house {
	t.Helper()
	key := access.NewKey().Text()
	file := filepath.Join(t.TempDir(), "admin.key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
		cfg.AdminKeyFile = file
		if configure != nil {
			configure(cfg)
		}
	}})
	t.Cleanup(func() {
		s.Verify()
		s.Close()
	})
	h := &house{Store: s, secrets: []string{key}}
	if h.admin = h.clientWith(t, key); model != "" {
		h.admin.Model(model)
	}
	return h
}

// keyUntil makes a key with the role read that ends at a time.
func (h *house) keyUntil(t *testing.T, at time.Time) string {
	t.Helper()
	_, key, err := h.Node.Keys().Create(t.Context(), keys.Settings{Name: "for a while", Roles: []string{"read"}, Expires: &at})
	if err != nil {
		t.Fatal(err)
	}
	h.secrets = append(h.secrets, key.Text())
	return key.Text()
}
