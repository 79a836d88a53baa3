package keys_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/model"
)

// TestAdmittedEndsAtOnce: a key that was let in before ends with the very next request once it is revoked or rotated, and at the end of its time. So it
// does on a node that no longer knows the keys.
func TestAdmittedEndsAtOnce(t *testing.T) {
	var c clock
	s := open(t, bucketOf(newLog(t)), keys.Options{Now: c.now, MaxAge: time.Hour})
	admin := create(t, s, model.RoleAdmin)
	for name, end := range map[string]func(id string) error{
		"revoked": func(id string) error { return s.Revoke(t.Context(), id) },
		"rotated": func(id string) error { _, _, err := s.Rotate(t.Context(), id, 0); return err },
		"rotated for a while": func(id string) error {
			_, _, err := s.Rotate(t.Context(), id, time.Minute)
			c.move(time.Minute)
			return err
		},
	} {
		key := create(t, s, "reader")
		for range 3 {
			wantIn(t, s, key, "reader")
		}
		if err := end(key.ID); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantIn(t, s, key)
		wantIn(t, s, admin, model.RoleAdmin)
	}
	changed := create(t, s, "reader")
	wantIn(t, s, changed, "reader")
	if _, err := s.Change(t.Context(), changed.ID, keys.Patch{Roles: &[]string{"writer"}}); err != nil {
		t.Fatal(err)
	}
	wantIn(t, s, changed, "writer")
	c.move(2 * time.Hour)
	_, err := enter(s, admin)
	want(t, fanfold.RightsStale, err)
}

// TestAdmittedIsBounded: one key that is sent in very many ways, and in long ones, is let in each time, and takes no more room than a bound.
func TestAdmittedIsBounded(t *testing.T) {
	s := open(t, bucketOf(newLog(t)), keys.Options{})
	key := create(t, s, model.RoleAdmin)
	for i := range 2 * keys.MaxAdmitted {
		for _, user := range []string{fmt.Sprint(i), strings.Repeat("x", 300) + fmt.Sprint(i)} {
			header := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+key.Text()))
			if p, err := s.Authenticate([]string{header}); err != nil || p.ID != key.ID {
				t.Fatalf("%s: %v", header, err)
			}
		}
	}
	if n := keys.Admitted(s); n != keys.MaxAdmitted {
		t.Errorf("%d headers are remembered, %d are the most", n, keys.MaxAdmitted)
	}
	wrong := []byte(key.Text())
	wrong[20] ^= 1
	if _, err := s.Authenticate([]string{"Bearer " + string(wrong)}); fanfold.CodeOf(err) != fanfold.Unauthenticated {
		t.Errorf("another key: %v", err)
	}
}
