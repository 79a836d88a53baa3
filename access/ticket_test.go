package access_test

import (
	"encoding/binary"
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

// oneKey is a house in which every id but "" is of one key. It notes which id was asked for last.
type oneKey struct {
	access.Everybody
	secret []byte
	asked  string
}

var keyHolder = &access.Principal{ID: "k1", Roles: []string{"read"}}

func (k *oneKey) Secret() []byte { return k.secret }

func (k *oneKey) Holder(id string, _ []byte) (*access.Principal, error) {
	if k.asked = id; id == "" {
		return nil, nil
	}
	return keyHolder, nil
}

// TestWhatTicketsLetIn: a ticket lets in by its MAC, for one request, until its end, and no text that is like one does.
func TestWhatTicketsLetIn(t *testing.T) {
	m, err := modelfile.Parse([]byte("collections: {}"))
	if err != nil {
		t.Fatal(err)
	}
	house := &oneKey{secret: storeSecret}
	j := access.NewJudge(house, func() *model.Model { return m })
	const target = "/v1/_changes?since=0"
	now := time.Now().Truncate(time.Second)
	until := now.Add(time.Hour)
	ticket := func(j *access.Judge, p *access.Principal) string {
		t.Helper()
		text, err := j.Of(p).Ticket(target, until)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := ticket(j, keyHolder)
	raw, err := hex.DecodeString(strings.TrimPrefix(good, "fft_"))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(raw []byte) []byte) string {
		return "fft_" + hex.EncodeToString(change(append([]byte{}, raw...)))
	}
	later := changed(func(raw []byte) []byte {
		binary.BigEndian.PutUint64(raw[16:], uint64(until.Add(time.Hour).Unix()))
		return raw
	})
	for name, x := range map[string]struct {
		text, target string
		now          time.Time
		lets         bool
	}{
		"its request":                 {good, target, now, true},
		"its last moment":             {good, target, until.Add(-1), true},
		"its end":                     {good, target, until, false},
		"as early as it can be":       {good, target, until.Add(-access.MostTicket - time.Minute), true},
		"longer than tickets work":    {good, target, until.Add(-access.MostTicket - time.Minute - 1), false},
		"another request":             {good, target + "0", now, false},
		"no request":                  {good, "", now, false},
		"another end":                 {later, target, now, false},
		"another MAC":                 {changed(func(raw []byte) []byte { raw[0]++; return raw }), target, now, false},
		"another secret":              {changed(func(raw []byte) []byte { raw[16+8]++; return raw }), target, now, false},
		"another key":                 {changed(func(raw []byte) []byte { raw[len(raw)-1]++; return raw }), target, now, false},
		"an id with some of the path": {changed(func(raw []byte) []byte { return append(raw, target[:3]...) }), target[3:], now, false},
		"no prefix":                   {strings.TrimPrefix(good, "fft_"), target, now, false},
		"nothing":                     {"", target, now, false},
		"the prefix":                  {"fft_", target, now, false},
		"a byte":                      {"fft_00", target, now, false},
		"no id":                       {"fft_" + strings.Repeat("00", 16+8+8), target, now, false},
		"half a byte":                 {good + "0", target, now, false},
		"no hexadecimal digits":       {good + "xx", target, now, false},
		"larger than any":             {good + strings.Repeat("00", 4<<10), target, now, false},
	} {
		if r, err := j.Admit(x.text, x.target, x.now); (err == nil) != x.lets || !x.lets && fanfold.CodeOf(err) != fanfold.Unauthenticated || x.lets && r.Principal != keyHolder {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
	holder := &access.Principal{Sub: "ann", Issuer: "https://x.example", Signer: "0f", By: "sub:0a", Ends: until}
	if _, err := j.Admit(ticket(j, holder), target+"0", now); err == nil || house.asked != "" {
		t.Errorf("for another request the holder of a token is asked for: %q %v", house.asked, err)
	}
	nothing, err := j.Of(keyHolder).Ticket("", until)
	if r, admitted := j.Admit(nothing, "", now); err != nil || admitted == nil {
		t.Errorf("a ticket for nothing lets %+v in where no ticket does: %v", r, err)
	}
	house.secret = []byte{}
	forged := ticket(j, keyHolder) // by the secret that a node has which has not read it
	house.secret = nil
	if r, err := j.Admit(forged, target, now); fanfold.CodeOf(err) != fanfold.RightsStale {
		t.Errorf("without the store's secret: %+v %v", r, err)
	}
	if text, err := j.Of(keyHolder).Ticket(target, until); fanfold.CodeOf(err) != fanfold.RightsStale {
		t.Errorf("without the store's secret there is a ticket %s: %v", text, err)
	}
}
