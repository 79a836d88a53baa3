package embedded

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/minio/highwayhash"
)

// A record of the server's block files begins with its length, which counts all of it, with a flag. Then come its
// sequence, with two flags, its time, and the length of its subject. A checksum ends it.
const (
	recordHeader    = 4 + 8 + 8 + 2
	recordChecksum  = 8
	headersFlag     = 1 << 31 // of the length: the message has headers
	tombstoneFlag   = 1 << 62 // of the sequence: the record says that another one was deleted
	erasedFlag      = 1 << 63 // of the sequence: the message was deleted, and its place is kept
	maxRecord       = 32 << 20
	compressedBlock = "cmp" // what a block that is compressed begins with
)

// checksums checks the records of a block.
type checksums struct {
	hash hash.Hash64
	sum  [recordChecksum]byte
}

// newChecksums returns the checksums of a stream's block.
func newChecksums(stream string, number uint64) *checksums {
	key := sha256.Sum256([]byte(fmt.Sprintf("%s-%d", stream, number)))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has another length than it must have
	}
	return &checksums{hash: h}
}

// whole returns the size of the record with which b begins, 0 where it is not whole.
func (c *checksums) whole(b []byte) int {
	if len(b) < recordHeader {
		return 0
	}
	word := binary.LittleEndian.Uint32(b)
	size, subject := int(word&^headersFlag), int(binary.LittleEndian.Uint16(b[20:]))
	shortest := recordHeader + recordChecksum + subject
	if word&headersFlag != 0 {
		shortest += 4
	}
	if size < shortest || size > len(b) || size > maxRecord {
		return 0
	}
	c.hash.Reset()
	data := b[recordHeader : size-recordChecksum]
	_, _ = c.hash.Write(b[4:20])
	_, _ = c.hash.Write(data[:subject])
	data = data[subject:]
	if word&headersFlag != 0 {
		data = data[4:]
	}
	_, _ = c.hash.Write(data)
	if !bytes.Equal(c.hash.Sum(c.sum[:0]), b[size-recordChecksum:size]) {
		return 0
	}
	return size
}

// firstSequence returns the sequence of the first event in a stream's block, 0 where there is none before a record that is not whole. A mark of a
// removed event does not count: the block of a restored log begins with the mark of the last event before.
func firstSequence(b block, stream string) (uint64, error) {
	f, err := os.Open(b.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sums, header := newChecksums(stream, b.number), make([]byte, recordHeader)
	for at := int64(0); ; {
		if n, err := f.ReadAt(header, at); n < len(header) {
			return 0, ignoreEOF(err)
		}
		size := min(int64(binary.LittleEndian.Uint32(header)&^headersFlag), b.size, maxRecord)
		record := make([]byte, size)
		if _, err := f.ReadAt(record, at); err != nil {
			return 0, ignoreEOF(err)
		}
		if sums.whole(record) == 0 {
			return 0, nil
		}
		if seq := binary.LittleEndian.Uint64(record[4:]); seq&tombstoneFlag == 0 {
			return seq &^ erasedFlag, nil
		}
		at += size
	}
}

// ignoreEOF returns err, nil for the end of a file.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
