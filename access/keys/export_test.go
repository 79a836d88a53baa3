package keys

import (
	"context"

	"github.com/fanfold/fanfold/access"
)

// FillRevoked revokes the tokens of as many subjects as there may be.
func FillRevoked(ctx context.Context, s *Store, sub func(i int) string) {
	all := revocations{}
	now := s.opt.Now()
	for i := range maxRevoked {
		all.Subjects = append(all.Subjects, revokedSubject{access.ActorOf(s.Secret(), "i", sub(i)), now, now})
	}
	if _, err := s.bucket.Set(ctx, revokedKey, encode(all), 0); err != nil {
		panic(err)
	}
}

// MaxAdmitted is the most that Admitted returns.
const MaxAdmitted = maxAdmitted

// Admitted returns how many headers a store remembers.
func Admitted(s *Store) int { return len(s.admitted.now.Load().by) }
