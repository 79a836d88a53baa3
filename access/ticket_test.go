package access_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// holders is a house of holders of tokens alone.
type holders struct{ access.Everybody }

var storeSecret = []byte("a secret of a test, of some bytes")

func (holders) Secret() []byte { return storeSecret }

func (holders) Holder(id string, _ []byte) (*access.Principal, error) {
	return access.HolderIn(id, storeSecret), nil
}

// TestTicketsOfHolders: a ticket has all that rules see of the holder of a token, up to its bound, and shows nothing of it.
func TestTicketsOfHolders(t *testing.T) {
	m, err := modelfile.Parse([]byte("collections: {}"))
	if err != nil {
		t.Fatal(err)
	}
	j := access.NewJudge(holders{}, func() *model.Model { return m })
	now := time.Now().Truncate(time.Second)
	for _, size := range []int{1, 100, 290, 1500, 1800, 2100} {
		p := &access.Principal{Sub: "ann@x.example", Issuer: "https://x.example", Signer: strings.Repeat("0f", 16), By: "sub:0a", Roles: []string{"editors"}, Claims: json.RawMessage(fmt.Sprintf(`{"x":%q}`, strings.Repeat("a", size))),
			Created: now, Expires: now.Add(time.Hour), Ends: now.Add(time.Hour)}
		text, err := j.Of(p).Ticket("/v1/_changes", now.Add(time.Hour))
		if size > 2000 {
			if fanfold.CodeOf(err) != fanfold.Unprocessable {
				t.Errorf("%d bytes of claims: %v", size, err)
			}
			continue
		}
		raw, hexErr := hex.DecodeString(strings.TrimPrefix(text, "fft_"))
		if err != nil || hexErr != nil || strings.Contains(string(raw), "x.example") || strings.Contains(string(raw), "editors") || strings.Contains(string(raw), "aaaaaaaa") {
			t.Fatalf("%d bytes of claims: %v %q", size, err, raw)
		}
		r, err := j.Admit(text, "/v1/_changes", now)
		if err != nil {
			t.Fatalf("%d bytes of claims: %v", size, err)
		}
		if got := r.Principal; got.Sub != p.Sub || got.Issuer != p.Issuer || got.Signer != p.Signer || got.By != p.By || !reflect.DeepEqual(got.Roles, p.Roles) || string(got.Claims) != string(p.Claims) || !got.Created.Equal(p.Created) || !got.Ends.Equal(p.Ends) {
			t.Errorf("the ticket is of %+v, want %+v", got, p)
		}
		for _, at := range []int{len(text) - 1, len(text) / 2, 5, 100} { // of another holder
			other := []byte(text)
			if other[at]++; other[at] == ':' || other[at] == 'g' {
				other[at] = '0'
			}
			if r, err := j.Admit(string(other), "/v1/_changes", now); err == nil {
				t.Errorf("a ticket that was changed at %d lets %+v in", at, r.Principal)
			}
		}
	}
}
