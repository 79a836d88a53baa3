package basefile

import (
	"crypto/rand"
	"encoding/binary"
)

// saltBytes is how many random bytes a salt has.
const saltBytes = 32

// Salt returns what may stand before a file, and what readers skip: random bytes, in a skippable frame of zstd (RFC 8878, section 3.1.2). A digest of
// both is of no use to whoever guesses what was in the file, once both are gone.
func Salt() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0x184D2A50)
	b = binary.LittleEndian.AppendUint32(b, saltBytes)
	b = append(b, make([]byte, saltBytes)...)
	_, _ = rand.Read(b[8:]) // never fails (crypto/rand)
	return b
}
