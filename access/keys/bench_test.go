package keys_test

import (
	"log/slog"
	"testing"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/model"
)

// BenchmarkAuthenticate finds the principal of a request with a key.
func BenchmarkAuthenticate(b *testing.B) {
	l, stop := openLog(b, b.TempDir(), embedded.Interval)
	defer stop()
	s, err := keys.Open(b.Context(), bucketOf(l), keys.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	_, key, err := s.Create(b.Context(), keys.Settings{Name: "a", Roles: []string{model.RoleAdmin}})
	if err != nil {
		b.Fatal(err)
	}
	header := []string{"Bearer " + key.Text()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(header); err != nil {
			b.Fatal(err)
		}
	}
}
