package events

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// maxTail bounds in bytes what the end of a log can have that was never synced: the largest transaction and what was
// written beside it. More is damage.
const maxTail = MaxTxBytes + 2*MaxPayload

// Tail is what CutTail took from the end of a log.
type Tail struct {
	Stream string
	Last   uint64 // the event with which the log ends now, 0 for none
	Bytes  int64  // that were cut
	Kept   string // the directory that has what was cut, until the next cut
	Reason string
}

// CutTail cuts the end of the logs under an embedded server's directory, in which no server runs, where it cannot have
// been acknowledged: from the first record that is not whole, for a loss of power leaves any part of what was not synced,
// or from the first event of a transaction of which not all events are there. A server's index that has more events than
// its blocks is removed. Nothing is cut up to the event known, nor where more than a tail would be lost: that is damage,
// and left to the server and to Log.Check. What is cut is kept in a directory of its own. It returns what was cut. Errors
// are Unavailable, and ctx's.
func CutTail(ctx context.Context, dir string, known uint64) (cut []Tail, err error) {
	streams, err := filepath.Glob(filepath.Join(escapeGlob(dir), "jetstream", "*", "streams", "*", "msgs"))
	if err != nil {
		return nil, err
	}
	for _, msgs := range streams {
		s := tailScan{msgs: msgs, stream: filepath.Base(filepath.Dir(msgs)), known: known}
		err := s.read(ctx)
		if err == nil && s.reason != "" {
			t := Tail{Stream: s.stream, Last: s.keep.last, Kept: filepath.Join(dir, "cut", s.stream), Reason: s.reason}
			if t.Bytes = s.bytes(); t.Bytes > maxTail {
				continue
			}
			err = s.cut(t.Kept)
			cut = append(cut, t)
		}
		if err != nil {
			return cut, fanfold.Wrap(err, fanfold.Unavailable, "cannot read the end of the log in %s: %v", msgs, err)
		}
	}
	return cut, ctx.Err()
}

// tailScan looks for the end of a stream's sound events.
type tailScan struct {
	msgs   string
	stream string
	known  uint64
	blocks []block

	at     place  // behind the last record read
	keep   place  // where the log is to end
	openTx string // the transaction that the last event belongs to and that is not at its end
	reason string // why what is behind keep is to be cut; "" for no reason
}

// place is a place between two records.
type place struct {
	block  int // its index
	offset int64
	last   uint64 // the sequence of the record before it; 0 where that is not known
}

// read reads the newest blocks, from the one that has the first event that is not known, and sets reason where what is
// behind keep is to be cut.
func (s *tailScan) read(ctx context.Context) (err error) {
	if s.blocks, _, err = listBlocks(s.msgs); err != nil {
		return err
	}
	first := len(s.blocks) - 1
	for ; first > 0; first-- {
		seq, err := firstSequence(s.blocks[first])
		if err != nil {
			return err
		}
		if seq > 0 && seq <= s.known+1 {
			s.at.last = seq - 1
			break
		}
	}
	for i := max(0, first); i < len(s.blocks) && ctx.Err() == nil; i++ {
		whole, err := s.readBlock(i)
		if err != nil {
			return err
		}
		if !whole {
			if s.at.last >= s.known {
				s.reason = "a record is not whole"
			}
			break
		}
	}
	if s.openTx == "" {
		s.keep = s.at
	} else if s.reason == "" && s.keep.last >= s.known {
		s.reason = "a transaction is not whole"
	}
	if s.reason == "" && s.known > 0 && s.keep.last >= s.known && indexedLast(s.msgs) > s.keep.last {
		s.reason = "the server's index has events that its blocks have not"
	}
	return ctx.Err()
}

// indexedLast returns the last sequence in the index that the server keeps beside a stream's blocks, 0 where that cannot be
// read. The index begins with a mark and a version, and then has how many messages there are and their bytes, the first
// sequence and its time, and the last sequence.
func indexedLast(msgs string) uint64 {
	f, err := os.Open(filepath.Join(msgs, "index.db"))
	if err != nil {
		return 0
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if head, err := r.Peek(2); err != nil || head[0] != indexMark {
		return 0
	}
	_, _ = r.Discard(2)
	var last uint64
	for range 5 { // the time's coding has the length of an unsigned number's
		if last, err = binary.ReadUvarint(r); err != nil {
			return 0
		}
	}
	return last
}

// indexMark is the byte with which the server's index begins.
const indexMark = 11

// firstSequence returns the sequence with which a block begins, 0 where it has none.
func firstSequence(b block) (uint64, error) {
	f, err := os.Open(b.path)
	if err != nil {
		return 0, err
	}
	w := walk{block: b, jump: ^uint64(0)}
	_, err = w.read(f)
	return w.last, errors.Join(err, f.Close())
}

// readBlock reads a block's records up to the first that is not whole, and returns whether all are.
func (s *tailScan) readBlock(i int) (whole bool, err error) {
	b, err := os.ReadFile(s.blocks[i].path)
	if err != nil {
		return false, err
	}
	if bytes.HasPrefix(b, []byte(compressedBlock)) {
		return true, nil
	}
	key := sha256.Sum256([]byte(fmt.Sprintf("%s-%d", s.stream, s.blocks[i].number)))
	s.at.block, s.at.offset = i, 0
	for rest := b; len(rest) > 0; {
		size := wholeRecord(rest, key[:])
		if size == 0 {
			return false, nil
		}
		s.add(rest[:size])
		rest = rest[size:]
	}
	return true, nil
}

// wholeRecord returns the size of the record with which b begins, 0 where it is not whole. key is that of the block's
// checksums.
func wholeRecord(b, key []byte) int {
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
	h, err := highwayhash.New64(key)
	if err != nil {
		return 0
	}
	data := b[recordHeader : size-recordChecksum]
	_, _ = h.Write(b[4:20])
	_, _ = h.Write(data[:subject])
	data = data[subject:]
	if word&headersFlag != 0 {
		data = data[4:]
	}
	_, _ = h.Write(data)
	if !bytes.Equal(h.Sum(nil), b[size-recordChecksum:size]) {
		return 0
	}
	return size
}

// add goes one record further.
func (s *tailScan) add(record []byte) {
	seq := binary.LittleEndian.Uint64(record[4:])
	if seq&(tombstoneFlag|erasedFlag) == 0 {
		tx := transactionOf(record)
		if tx.Open() && tx.Index == 0 {
			s.keep = s.at // the transaction begins here
		}
		if s.openTx = ""; tx.Open() {
			s.openTx = tx.ID
		}
		s.at.last = seq
	}
	s.at.offset += int64(len(record))
}

// transactionOf returns the transaction of a record's event, the zero value where it has none that can be read.
func transactionOf(record []byte) fanfold.TxPart {
	if binary.LittleEndian.Uint32(record)&headersFlag == 0 {
		return fanfold.TxPart{}
	}
	rest := record[recordHeader+int(binary.LittleEndian.Uint16(record[20:])):]
	size := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; uint64(size) > uint64(len(rest)) || !bytes.Contains(rest[:size], []byte(headerTx)) {
		return fanfold.TxPart{}
	}
	var ev fanfold.Event
	h, err := nats.DecodeHeadersMsg(rest[:size])
	if err != nil || readHeaders(h, &ev) != nil {
		return fanfold.TxPart{}
	}
	return ev.Tx
}

// bytes returns how many bytes are behind keep.
func (s *tailScan) bytes() (n int64) {
	for i := s.keep.block; i < len(s.blocks); i++ {
		n += s.blocks[i].size
	}
	return n - s.keep.offset
}

// cut makes the stream end at keep. What is behind is kept in the directory at path, which replaces one of an earlier
// cut. The server's index, which may have it, is removed: the server reads the blocks instead.
func (s *tailScan) cut(path string) error {
	if err := errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o755)); err != nil {
		return err
	}
	for i := len(s.blocks) - 1; i >= s.keep.block; i-- {
		b := s.blocks[i]
		if i == s.keep.block && s.keep.offset == b.size {
			continue
		}
		data, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		var offset int64
		if i == s.keep.block {
			offset = s.keep.offset
		}
		if err := os.WriteFile(filepath.Join(path, fmt.Sprintf("%d-%d.blk", b.number, offset)), data[offset:], 0o644); err != nil {
			return err
		}
		if offset > 0 {
			err = os.Truncate(b.path, offset)
		} else {
			err = os.Remove(b.path)
		}
		if err != nil {
			return err
		}
	}
	return removeIndex(s.msgs)
}

// removeIndex removes the index that a server keeps beside a stream's blocks, so that it reads the blocks at its start.
func removeIndex(msgs string) error {
	if err := os.Remove(filepath.Join(msgs, "index.db")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
