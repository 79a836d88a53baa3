package tokens

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"slices"

	"github.com/MicahParks/jwkset"

	"github.com/fanfold/fanfold"
)

// publicKey is a key of the issuer.
type publicKey struct {
	id, alg string // "" where the issuer does not say it
	key     crypto.PublicKey
	mark    string // see put
}

// keySet are the keys that the issuer has. It does not change.
type keySet struct {
	number uint64 // counts the sets of this process
	keys   []publicKey
}

// markSize is of how many bytes of a hash a mark is made.
const markSize = 16

// put makes keys the set in force. It gives each key its mark: a hash of all by which a token of the key is judged, the flags included. Principals
// have it, and tickets, so that both end with it.
func (s *keySource) put(keys []publicKey) {
	for i, k := range keys {
		der, err := x509.MarshalPKIXPublicKey(k.key)
		if err != nil {
			panic(err) // of a kind that verifies does not let in
		}
		by, err := json.Marshal([]any{s.opt.Issuer, s.opt.Audience, s.opt.Roles, s.opt.Map, k.id, k.alg, der}) // which sorts the map
		if err != nil {
			panic(err) // none of them is what JSON lacks
		}
		hash := sha256.Sum256(by)
		keys[i].mark = hex.EncodeToString(hash[:markSize])
	}
	s.keys.Store(&keySet{s.numbers.Add(1), keys})
}

// has tells whether a key with a mark is in the set.
func (s *keySet) has(mark string) bool {
	return slices.ContainsFunc(s.keys, func(k publicKey) bool { return k.mark == mark })
}

// find returns the keys with an id that are for a way to sign.
func (s *keySet) find(id, alg string) (found []publicKey) {
	for _, k := range s.keys {
		if (id == "" || k.id == "" || k.id == id) && (k.alg == "" || k.alg == alg) && fits(k.key, alg) {
			found = append(found, k)
		}
	}
	return found
}

// fits tells whether a key is of the kind by which a way to sign is verified.
func fits(key crypto.PublicKey, alg string) bool {
	switch key.(type) {
	case *rsa.PublicKey:
		return alg[:2] == "RS" || alg[:2] == "PS"
	case *ecdsa.PublicKey:
		return alg[:2] == "ES"
	}
	return alg == "EdDSA"
}

// readKeys reads a JSON Web Key Set (RFC 7517), or public keys in PEM. Keys that are for something else are left out. The error is Invalid.
func readKeys(text []byte) (keys []publicKey, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN")) {
		keys, err = readPEM(text)
	} else {
		keys, err = readSet(text)
	}
	switch {
	case err != nil:
		return nil, err
	case len(keys) > maxKeys:
		return nil, fanfold.Errorf(fanfold.Invalid, "there are %d keys, and may be %d", len(keys), maxKeys)
	}
	return keys, nil
}

// errNoKeys says that a set has no key by which tokens are verified. It is an Invalid.
var errNoKeys = fanfold.Errorf(fanfold.Invalid, "there is no public key: RSA of %d to %d bits, ECDSA or Ed25519", leastRSA, mostRSA)

// readPEM reads public keys as openssl prints them.
func readPEM(text []byte) (keys []publicKey, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PUBLIC KEY" {
			return nil, fanfold.Errorf(fanfold.Invalid, "there is a %.40q where public keys belong: openssl pkey -pubout prints one", block.Type)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "there is a public key that cannot be read")
		}
		if verifies(key) {
			keys = append(keys, publicKey{key: key})
		}
	}
	if len(keys) == 0 { // such as of a file that is being written
		return nil, fanfold.Errorf(fanfold.Invalid, "%s", errNoKeys.Message)
	}
	return keys, nil
}

// readSet reads a JSON Web Key Set.
func readSet(text []byte) (keys []publicKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil || set.Keys == nil {
		return nil, fanfold.Errorf(fanfold.Invalid, `it is neither a JSON Web Key Set, {"keys":[...]}, nor PEM`)
	}
	for _, one := range set.Keys[:min(len(set.Keys), maxKeys+1)] {
		var given jwkset.JWKMarshal
		if json.Unmarshal(one, &given) != nil || given.USE != "" && given.USE != jwkset.UseSig || len(given.KEYOPS) > 0 && !slices.Contains(given.KEYOPS, jwkset.KeyOpsVerify) || len(given.KID) > maxKeyID {
			continue
		}
		public := jwkset.JWKMarshal{KTY: given.KTY, CRV: given.CRV, X: given.X, Y: given.Y, N: given.N, E: given.E} // nothing that leads to certificates
		jwk, err := jwkset.NewJWKFromMarshal(public, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err == nil && verifies(jwk.Key()) {
			keys = append(keys, publicKey{id: given.KID, alg: string(given.ALG), key: jwk.Key()})
		}
	}
	if len(keys) == 0 {
		return nil, errNoKeys
	}
	return keys, nil
}

// verifies tells whether a key is a public one by which tokens are verified.
func verifies(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= leastRSA && k.N.BitLen() <= mostRSA && k.E > 2 && k.E&1 == 1
	case *ecdsa.PublicKey:
		_, err := k.ECDH() // no point of P-256, P-384 or P-521
		return err == nil
	case ed25519.PublicKey:
		return true
	}
	return false
}
