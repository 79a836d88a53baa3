package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Seal seals texts for principals who see the same documents, such as cursors that stand at documents which they do not see.
type Seal struct {
	aead cipher.AEAD
	mac  []byte // the key of nonces
	seen string // what is the same for those who see the same
}

// sealKeys is how many bytes the two keys of a seal have.
const sealKeys = 32

// newSeal returns a seal by a secret of the store, for those who see the same.
func newSeal(secret []byte, seen string) (*Seal, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "fanfold cursors", 2*sealKeys)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key[:sealKeys])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Seal{aead, key[sealKeys:], seen}, nil
}

// sealUnit is of how many bytes the sealed texts have multiples. A place at a document's id, however long, takes one. So the length of a sealed text does not tell
// how long a name is that its reader may not know.
const sealUnit = 320

// sealOverhead is how many bytes a sealed text has at most beside the text and its filling: a nonce, the text's length, and GCM's tag.
const sealOverhead = 12 + 3 + 16

// Seal returns a text as nobody else can read or make it. The nonce is made of the text, so a text is sealed in one way, and no two texts share a nonce.
func (s *Seal) Seal(text []byte) []byte {
	padded := append(binary.AppendUvarint(nil, uint64(len(text))), text...)
	padded = append(padded, make([]byte, (sealUnit-len(padded)%sealUnit)%sealUnit)...)
	h := hmac.New(sha256.New, s.mac)
	h.Write([]byte(s.seen))
	h.Write(padded)
	nonce := h.Sum(nil)[:s.aead.NonceSize()]
	return s.aead.Seal(nonce, nonce, padded, []byte(s.seen))
}

// Open returns the text that Seal has sealed. ok is false for what it has not.
func (s *Seal) Open(sealed []byte) (text []byte, ok bool) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, false
	}
	padded, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(s.seen))
	if err != nil {
		return nil, false
	}
	size, at := binary.Uvarint(padded)
	if at <= 0 || size > uint64(len(padded)-at) {
		return nil, false
	}
	return padded[at:][:size], true
}
