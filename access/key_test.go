package access

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
)

// golden is a key whose checksum another program has computed.
const (
	goldenID     = "k3yabcdef012"
	goldenSecret = "Ab0Cd1Ef2Gh3Ij4Kl5Mn6Op7Qr8St9Uv0Wx1Yz2Ab3C"
	golden       = "fan_" + goldenID + "_" + goldenSecret + "_0G6T0E"
)

// TestKeyFormat: a key has the text that scanners look for, and what is read from it is what was written.
func TestKeyFormat(t *testing.T) {
	k := Key{ID: goldenID, secret: goldenSecret}
	if got := k.Text(); got != golden || len(got) != 67 {
		t.Fatalf("the key is %s", got)
	}
	if got, err := ParseKey(golden); err != nil || got != k {
		t.Fatalf("%v, %v", got, err)
	}
	if got := fmt.Sprintf("%x", k.Hash()); got != goldenHash {
		t.Fatalf("what is stored of the key is %s", got)
	}
	if all := new(big.Int).Exp(big.NewInt(int64(len(base62))), big.NewInt(secretLen), nil); all.BitLen() <= 256 {
		t.Fatalf("a secret has %d bits", all.BitLen()-1)
	}
}

// goldenHash is the SHA-256 of goldenSecret.
const goldenHash = "18d81e3d79ffb22f94de3dad8d16aec05e63570737a8f17962df94100fb19243"

// TestNewKeys: keys are read as they were written, no two are alike, and a rotated one keeps its id alone.
func TestNewKeys(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		k := NewKey()
		again, err := ParseKey(k.Text())
		if err != nil || again != k || !IsID(k.ID) || seen[k.ID] || seen[k.secret] {
			t.Fatalf("%s is read as %v, %v", k.Text(), again, err)
		}
		seen[k.ID], seen[k.secret] = true, true
	}
	k := NewKey()
	if r := Rotated(k.ID); r.ID != k.ID || r.secret == k.secret || r.Hash() == k.Hash() {
		t.Fatal("a rotated key has the old secret")
	}
}

// TestMistypedKeys: a character that is wrong, missing or too many is found wherever it is, and the error does not show the key.
func TestMistypedKeys(t *testing.T) {
	wrong := []string{"", "fan_", golden + "x", golden + "\n", " " + golden, strings.ToUpper(golden), strings.Repeat("x", len(golden)), "fan_" + strings.Repeat("é", 31) + "x"}
	for i := range golden {
		for _, c := range base62 + "_-.\x00\xff" {
			if text := golden[:i] + string(c) + golden[i+1:]; text != golden {
				wrong = append(wrong, text)
			}
		}
		wrong = append(wrong, golden[:i]+golden[i+1:], golden[:i]+golden[i:i+1]+golden[i:])
		if i > 0 && golden[i] != golden[i-1] {
			wrong = append(wrong, golden[:i-1]+golden[i:i+1]+golden[i-1:i]+golden[i+1:])
		}
	}
	for _, text := range wrong {
		k, err := ParseKey(text)
		if fanfold.CodeOf(err) != fanfold.Invalid || k != (Key{}) {
			t.Errorf("%q is taken for %v, %v", text, k, err)
		} else if len(text) > 8 && strings.Contains(err.Error(), text[:8]) || strings.Contains(err.Error(), goldenSecret[:8]) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}

// TestKeysAreNotPrinted: no print of a key shows its secret, whatever the verb, and JSON does not.
func TestKeysAreNotPrinted(t *testing.T) {
	k := Key{ID: goldenID, secret: goldenSecret}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%o"} {
		for _, value := range []any{k, &k, []Key{k}, struct{ K Key }{k}, map[string]Key{"k": k}} {
			text := fmt.Sprintf(verb, value)
			if hex := fmt.Sprintf("%x", goldenSecret[:6]); strings.Contains(text, goldenSecret[:6]) || strings.Contains(strings.ToLower(text), hex) {
				t.Errorf("%s of %T shows %s", verb, value, text)
			}
		}
	}
	if text, err := json.Marshal(k); err != nil || strings.Contains(string(text), goldenSecret[:6]) {
		t.Errorf("JSON shows %s, %v", text, err)
	}
}

// FuzzParseKey: what is taken for a key is the text of that key, byte for byte.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{golden, "", "fan_", golden[:60], golden + "0", strings.Replace(golden, "A", "a", 1), "fan_éééééé_" + goldenSecret} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		switch {
		case err == nil && (k.Text() != text || !IsID(k.ID)):
			t.Errorf("%q is taken for %q", text, k.Text())
		case err != nil && (k != Key{} || fanfold.CodeOf(err) != fanfold.Invalid):
			t.Errorf("%q: %v, %v", text, k, err)
		}
	})
}
