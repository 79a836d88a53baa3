package faults_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// madeKey is a key that was made, and what became of it.
type madeKey struct {
	id, key              string
	revoking, hasRevoked bool // the request was sent, and answered
}

// lifeOfKeys: clients make and revoke keys. A key whose revocation was answered works no more. A key that nobody revoked works.
func lifeOfKeys() *life {
	const clients = 6
	var admin *madeKey
	var all []*madeKey
	return &life{
		name: "making keys", limit: 50, deaths: map[string]int{"kill": 4, "power": 10},
		begin: func(l *lives, p *harness.Process) { admin = makeKey(l.T, p, "", "admin") },
		holds: func(l *lives, p *harness.Process) { requireKeys(l.T, p, all) },
		work: func(l *lives, p *harness.Process) {
			all = append(all, churnUntilKilled(l.T, p, admin.key, clients, l.limit)...)
		},
		end:  func(*lives, *harness.Process) {},
		lose: func(l *lives) { l.lost += loseKeys(l.T, l.dir, l.rand) },
	}
}

// requireKeys checks which keys are let in.
func requireKeys(t *testing.T, p *harness.Process, all []*madeKey) {
	t.Helper()
	if status := me(t, p, ""); status != http.StatusUnauthorized {
		t.Fatalf("nobody is answered %d", status)
	}
	revoked, unknown := 0, 0
	for _, k := range all {
		status := me(t, p, k.key)
		switch {
		case k.hasRevoked:
			revoked++
		case k.revoking:
			unknown++
		}
		if k.hasRevoked && status != http.StatusUnauthorized || !k.revoking && status != http.StatusOK {
			t.Fatalf("key %s is answered %d; its revocation was sent: %v, answered: %v", k.id, status, k.revoking, k.hasRevoked)
		}
	}
	t.Logf("%d keys, %d revocations answered, %d without an answer", len(all), revoked, unknown)
}

// loseKeys does to the bucket of the keys what a loss of power may do: of what was not synced any part stays, and part of a record
// may follow. It returns how many bytes it took.
func loseKeys(t *testing.T, dir string, r *rand.Rand) (lost int64) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "*", "streams", "KV_*_keys", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("the keys have %d blocks: %v", len(blocks), err)
	}
	synced := readSyncNotes(t, dir)
	for _, path := range blocks {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := min(synced.size(t, path), int64(len(b)))
		if from == 0 {
			t.Fatalf("nothing of %s was synced", path)
		}
		stays := from + r.Int64N(int64(len(b))-from+1)
		lost += int64(len(b)) - stays
		torn := make([]byte, r.IntN(2)*r.IntN(300))
		if r.IntN(2) == 0 {
			for i := range torn {
				torn[i] = byte(r.Uint32())
			}
		}
		if err := os.WriteFile(path, append(b[:stays], torn...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return lost
}

// makeKey makes a key with a role.
func makeKey(t *testing.T, p *harness.Process, admin, role string) *madeKey {
	t.Helper()
	k, err := tryKey(p, admin, role)
	if err != nil || k == nil {
		t.Fatalf("no key: %v", err)
	}
	return k
}

// tryKey makes a key with a role. It returns nil where the process does not answer.
func tryKey(p *harness.Process, admin, role string) (*madeKey, error) {
	r, err := p.Do("POST", "/v1/_keys", []byte(`{"name":"made","roles":["`+role+`"]}`), authorization(admin)...)
	if err != nil || r.Status != http.StatusCreated {
		return nil, err
	}
	var out struct{ ID, Key string }
	if err := json.Unmarshal(r.Body, &out); err != nil {
		return nil, err
	}
	return &madeKey{id: out.ID, key: out.Key}, nil
}

// authorization returns the header that sends a key, and the type of a body.
func authorization(key string) []string {
	headers := []string{"Content-Type", "application/json"}
	if key != "" {
		headers = append(headers, "Authorization", "Bearer "+key)
	}
	return headers
}

// me returns the status of an answer to who sends a key.
func me(t *testing.T, p *harness.Process, key string) int {
	t.Helper()
	r, err := p.Do("GET", "/v1/_me", nil, authorization(key)...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// churnUntilKilled has clients make keys and revoke two of three, until they have made so many in all, and kills the process.
func churnUntilKilled(t *testing.T, p *harness.Process, admin string, clients int, limit int64) []*madeKey {
	t.Helper()
	var made atomic.Int64
	var wg sync.WaitGroup
	all := make([][]*madeKey, clients)
	for i := range clients {
		wg.Go(func() {
			for n := 0; ; n++ {
				k, err := tryKey(p, admin, "read")
				if err != nil || k == nil {
					return
				}
				all[i] = append(all[i], k)
				if made.Add(1) == limit {
					_ = p.Cmd.Process.Kill()
				}
				if n%3 == 0 {
					continue
				}
				k.revoking = true
				r, err := p.Do("DELETE", "/v1/_keys/"+k.id, nil, authorization(admin)...)
				if err != nil {
					return
				}
				if r.Status != http.StatusNoContent {
					t.Errorf("a revocation is answered %d %s", r.Status, r.Body)
					return
				}
				k.hasRevoked = true
			}
		})
	}
	wg.Wait()
	p.Signal(syscall.SIGKILL)
	var out []*madeKey
	for _, some := range all {
		out = append(out, some...)
	}
	return out
}
