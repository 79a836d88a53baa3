package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"

	"github.com/fanfold/fanfold"
)

// A key reads fan_<id>_<secret>_<checksum>. Its prefix and its checksum let scanners for secrets, and people who mistype one,
// know a key without a server.
const (
	keyPrefix   = "fan_"
	idLen       = 12
	secretLen   = 43 // of 62 characters: 256 bits
	checksumLen = 6
	keyLen      = len(keyPrefix) + idLen + 1 + secretLen + 1 + checksumLen
)

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyz"
	base62  = digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + letters
)

// Key is a key as its holder has it. Whoever has its text is its principal; no print shows it.
type Key struct {
	ID     string
	secret string
}

// NewKey returns a key with a random id and a random secret.
func NewKey() Key { return Rotated(random(letters+digits, idLen)) }

// Rotated returns a key with an id and a new random secret.
func Rotated(id string) Key {
	return Key{ID: id, secret: random(base62, secretLen)}
}

// random returns n random characters of an alphabet.
func random(alphabet string, n int) string {
	out := make([]byte, n)
	for i := range out {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic(err) // crypto/rand never fails
		}
		out[i] = alphabet[at.Int64()]
	}
	return string(out)
}

// Text returns the key as it is sent.
func (k Key) Text() string {
	body := keyPrefix + k.ID + "_" + k.secret + "_"
	return body + checksum(body)
}

// Hash returns the SHA-256 of the key's secret, which is what is stored.
func (k Key) Hash() [sha256.Size]byte { return sha256.Sum256([]byte(k.secret)) }

// Format prints the key's id, by whatever verb, so that no print shows the secret.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String returns the key's id.
func (k Key) String() string { return "key:" + k.ID }

// checksum returns the CRC-32 (IEEE) of a text in six characters.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var out [checksumLen]byte
	for i := range out {
		out[checksumLen-1-i] = base62[sum%uint32(len(base62))]
		sum /= uint32(len(base62))
	}
	return string(out[:])
}

// errMalformed says that a text is no key. It is an Invalid.
var errMalformed = fanfold.Errorf(fanfold.Invalid, "this is no key of Fanfold: one has %d characters, as fan_<id>_<secret>_<checksum>", keyLen)

// ParseKey reads the text of a key. The error is Invalid, and does not show the text.
func ParseKey(text string) (Key, error) {
	if len(text) != keyLen || !strings.HasPrefix(text, keyPrefix) {
		return Key{}, errMalformed
	}
	id, rest := text[len(keyPrefix):][:idLen], text[len(keyPrefix)+idLen:]
	secret, sum := rest[1:1+secretLen], rest[2+secretLen:]
	if rest[0] != '_' || rest[1+secretLen] != '_' || !IsID(id) || !isPlain(secret, true) {
		return Key{}, errMalformed
	}
	if subtle.ConstantTimeCompare([]byte(sum), []byte(checksum(text[:keyLen-checksumLen]))) != 1 {
		return Key{}, fanfold.Errorf(fanfold.Invalid, "the checksum of this key is wrong: a character is mistyped or missing")
	}
	return Key{ID: id, secret: secret}, nil
}

// IsID tells whether a text can be the id of a key.
func IsID(text string) bool { return len(text) == idLen && isPlain(text, false) }

// isPlain tells whether a text has small letters and digits alone, and capitals where they are let in. Each request asks it.
func isPlain(text string, capitals bool) bool {
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (!capitals || c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
