package harness

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/node"
)

// OpenClosed is OpenTemp for a closed store: it makes the first key, which the store's client sends.
func OpenClosed(t testing.TB, model string) *Store {
	t.Helper()
	s := OpenTemp(t, "")
	s.CloseHouse()
	if model != "" {
		s.Model(model)
	}
	return s
}

// CloseHouse makes a key with the role admin, which the store's client sends from now on. The first one closes the store.
func (s *Store) CloseHouse() {
	s.tb.Helper()
	s.Key = s.NewKey(model.RoleAdmin)
}

// NewKey makes a key with roles, and returns its text.
func (s *Store) NewKey(roles ...string) string {
	s.tb.Helper()
	_, key, err := s.Node.Keys().Create(context.Background(), keys.Settings{Name: "of a test", Roles: roles})
	if err != nil {
		s.tb.Fatalf("make a key: %v", err)
	}
	return key.Text()
}

// As returns a client of a store that has a new key with roles.
func (s *Store) As(roles ...string) *Client { return s.With(s.NewKey(roles...)) }

// With returns a client of the same server that sends a key, "" for none.
func (c *Client) With(key string) *Client {
	out := *c
	out.Key = key
	return &out
}

// KeyFile writes the text of a key into a file that only its owner may read, as --admin-key-file and --key-file take it, and
// returns the file's path.
func KeyFile(t testing.TB, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// NewKeyFile is KeyFile with a new key, whose text it returns, too.
func NewKeyFile(t testing.TB) (path, key string) {
	t.Helper()
	key = access.NewKey().Text()
	return KeyFile(t, key), key
}

// KeyOfAnotherNode makes a key with the role admin beside a node's log, as another node of that log does.
func KeyOfAnotherNode(t testing.TB, n *node.Node) {
	t.Helper()
	store, err := keys.Open(t.Context(), buckets.NewKeyValue(n.Log, "keys"), keys.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Create(t.Context(), keys.Settings{Name: "ops", Roles: []string{model.RoleAdmin}}); err != nil {
		t.Fatal(err)
	}
}

// NewNKey makes an NKey of a user, and returns its public part, too.
func NewNKey(t testing.TB) (user nkeys.KeyPair, public string) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = user.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return user, public
}

// authorize adds the client's key to the headers of a request.
func (c *Client) authorize(h http.Header) {
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
}
