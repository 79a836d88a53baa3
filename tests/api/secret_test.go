package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestStoreSecretIsNotTold: the store's secret is in no answer, no export, no backup and no line of the log. A new start has the same.
func TestStoreSecretIsNotTold(t *testing.T) {
	log := &syncBuffer{}
	dir := t.TempDir()
	opt := harness.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s := harness.Open(t, opt)
	if s.Node.Keys().Secret() != nil {
		t.Fatal("an open store has a secret")
	}
	s.Put("books", "b1", `{}`)
	s.CloseHouse()
	key, secret := s.Key, s.Node.Keys().Secret()
	tells := func(what string, text []byte) {
		t.Helper()
		for _, form := range []string{string(secret), hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret)} {
			if bytes.Contains(bytes.ToLower(text), bytes.ToLower([]byte(form))) {
				t.Errorf("%s has the secret", what)
			}
		}
	}
	for _, path := range []string{"/v1", "/v1/_keys", "/v1/_me", "/v1/_status", "/metrics", "/v1/_export", "/v1/_backup", "/v1/_changes", "/v1/_groups", "/v1/_replicas"} {
		tells(path, s.Want(http.StatusOK, "GET", path, "").Body)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/_keys/_secret", "")
	s.Want(http.StatusNotFound, "DELETE", "/v1/_keys/_secret", "")
	s.Close()
	s = harness.Open(t, opt)
	s.Key = key
	if again := s.Node.Keys().Secret(); len(again) != 32 || !bytes.Equal(again, secret) {
		t.Error("a new start has another secret")
	}
	s.Verify()
	s.Close()
	tells("the log", []byte(log.String()))
}
