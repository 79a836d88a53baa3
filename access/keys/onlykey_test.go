package keys_test

import (
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
)

// TestOnlyKey: the one key lets its holder in as an admin, and no other header lets anybody in.
func TestOnlyKey(t *testing.T) {
	key := access.NewKey()
	only := keys.OnlyKey(key)
	p, err := only.Authenticate([]string{"Bearer " + key.Text()})
	if err != nil || !p.Admin() || !only.Valid(p) || only.Valid(access.Open) || only.Valid(nil) {
		t.Errorf("the key's holder is %v: %v", p, err)
	}
	for _, wrong := range [][]string{nil, {""}, {"Bearer x"}, {"Bearer " + access.NewKey().Text()}, {"Bearer " + access.Rotated(key.ID).Text()}, {"Bearer " + key.Text(), "Bearer " + key.Text()}} {
		if p, err := only.Authenticate(wrong); p != nil || fanfold.CodeOf(err) != fanfold.Unauthenticated {
			t.Errorf("%.30q lets %v in: %v", wrong, p, err)
		}
	}
}
