package keys

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/fanfold/fanfold"
)

// secretKey has the store's secret. The state would lose it: programs that know no secret replace the state, too.
const secretKey = prefix + "._secret"

// secretSize is how many random bytes the secret has.
const secretSize = 32

// secretEntry is the entry of the store's secret. Programs that know none take it for an entry of no key.
type secretEntry struct {
	Secret []byte `json:"secret"`
}

// Secret returns random bytes that all nodes of a log have, and nobody else. They are made with the first key, once and for good. It is nil in an open
// store, and where this node could not make them yet. Whoever signs or seals by them derives a key for each purpose, and changes nothing of them.
func (s *Store) Secret() []byte { return s.table.Load().secret }

// readSecret returns the secret in an entry. The error is Internal.
func readSecret(value []byte) ([]byte, error) {
	var e secretEntry
	if err := json.Unmarshal(value, &e); err != nil || len(e.Secret) != secretSize {
		return nil, fanfold.Errorf(fanfold.Internal, "the entry %s of the keys cannot be read", secretKey) // no cause, which might quote it
	}
	return e.Secret, nil
}

// mendSecret makes the secret of a store that an earlier program closed. After a failure the next reading tries again. The caller has the lock.
func (s *Store) mendSecret(ctx context.Context) {
	t := *s.table.Load()
	if !t.closed() || t.secret != nil {
		return
	}
	if err := s.needSecret(ctx, &t); err != nil {
		s.opt.Logger.Debug("the store's secret cannot be made yet", "err", err)
		return
	}
	s.install(&t)
}

// needSecret makes the store's secret where there is none, and gives it to a table that nobody else has yet. Of nodes that make one at once, all have
// the first. Errors are Unavailable, and Internal for an entry that cannot be read.
func (s *Store) needSecret(ctx context.Context, t *table) error {
	for range 100 {
		if t.secret != nil {
			return nil
		}
		at, err := s.bucket.Get(ctx, secretKey)
		if err != nil {
			return err
		}
		if at.Value != nil {
			t.secret, err = readSecret(at.Value)
			return err
		}
		made := make([]byte, secretSize)
		_, _ = rand.Read(made) // it never fails
		_, err = s.bucket.Set(ctx, secretKey, encode(secretEntry{made}), at.Revision)
		switch {
		case err == nil:
			t.secret = made
		case fanfold.CodeOf(err) != fanfold.Stale: // for Stale, another node was faster
			return err
		}
	}
	return fanfold.Errorf(fanfold.Unavailable, "the store's secret changes again and again: try again")
}
