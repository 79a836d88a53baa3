package embedded

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// maxTail bounds in bytes what the end of a log can have that was never synced: the largest transaction and what was
// written beside it. More is damage.
const maxTail = events.MaxTxBytes + 2*events.MaxPayload

// Tail is what CutTail found at the end of a log.
type Tail struct {
	Stream  string
	Last    uint64 // the event with which the log ends now, 0 for none
	Bytes   int64  // that were cut
	SavedIn string // the directory that has what was cut, until the next cut; "" where no bytes were
	Reason  string
	TooBig  bool // nothing was cut, for it is more than a tail
}

// CutTail cuts the end of the logs under an embedded server's directory if it was never made durable. No server runs there.
// It cuts from the first record that is not whole or not the next one, or from the first event of an incomplete transaction
// or batch. A server's index that has more events than its blocks is removed. It cuts nothing up to the event known, the
// last one known to have been durable or folded. It also cuts nothing if more than a tail would be lost, or if nothing is
// known and the index has more: Log.Check and the server deal with such damage. The cut part is saved in a directory of its
// own.
//
// Records that stay after the event known are written again, in place, and synced with the server's other files. After a
// failed fsync the operating system may have them in memory alone, and take them for written.
//
// It returns what was found. Errors are Unavailable, and ctx's.
func CutTail(ctx context.Context, dir string, known uint64) (found []Tail, err error) {
	streams, err := blockDirs(dir, "*")
	if err != nil {
		return nil, err
	}
	for _, msgs := range streams {
		s := tailScan{msgs: msgs, stream: filepath.Base(filepath.Dir(msgs)), known: known}
		if strings.HasPrefix(s.stream, events.BucketPrefix) {
			continue // a bucket's sequences have gaps, and the server itself cuts a record that is not whole
		}
		t, err := s.repair(ctx, filepath.Join(dir, "cut"))
		if t != nil {
			found = append(found, *t)
		}
		if err != nil {
			return found, fanfold.Wrap(err, fanfold.Unavailable, "cannot mend the end of the log in %s: %v", msgs, err)
		}
	}
	return found, ctx.Err()
}

// LogTails writes into a node's log what CutTail found.
func LogTails(log *slog.Logger, tails []Tail) {
	for _, t := range tails {
		what := "the end of the log was not whole, and was cut: it was not durable"
		if t.TooBig {
			what = "the end of the log is not whole, and is left as it is: it is more than can have been written since the last fsync"
		}
		log.Warn(what, "reason", t.Reason, "last", t.Last, "bytes", t.Bytes, "kept", t.SavedIn)
	}
}

// tailScan looks for the end of a stream's sound events.
type tailScan struct {
	msgs   string
	stream string
	known  uint64
	blocks []block

	at         place     // after the last record read
	end        place     // where the log is to end
	afterKnown place     // after the event known
	open       openBatch // what the last event belongs to, where that is not at its end
	reason     string    // why what is after end is to be cut; "" for no reason
}

// place is a place between two records.
type place struct {
	block  int // its index
	offset int64
	last   uint64 // the sequence of the record before it
}

// repair cuts what is to be cut, keeps it under the directory kept, and writes the rest again. It returns what it cut, nil for
// nothing.
func (s *tailScan) repair(ctx context.Context, kept string) (*Tail, error) {
	if err := s.read(ctx); err != nil || len(s.blocks) == 0 {
		return nil, err
	}
	if s.reason == "" {
		return nil, s.rewrite()
	}
	t := &Tail{Stream: s.stream, Last: s.end.last, Bytes: s.bytes(), Reason: s.reason}
	if t.Bytes > maxTail {
		t.TooBig = true
		return t, nil
	}
	if t.Bytes > 0 {
		t.SavedIn = filepath.Join(kept, fmt.Sprintf("%s-%d", s.stream, s.end.last))
	}
	if err := s.cut(t.SavedIn); err != nil {
		return t, err
	}
	return t, s.rewrite()
}

// read reads the last blocks, from the one that has the first event that is not known, and sets reason where what is
// after end is to be cut.
func (s *tailScan) read(ctx context.Context) (err error) {
	if s.blocks, _, err = listBlocks(s.msgs); err != nil || len(s.blocks) == 0 {
		return err
	}
	first := len(s.blocks) - 1
	for ; ; first-- {
		seq, err := firstSequence(s.blocks[first], s.stream)
		if err != nil {
			return err
		}
		if seq > 0 && seq <= s.known+1 || first == 0 {
			s.at = place{block: first, last: max(seq, 1) - 1}
			break
		}
	}
	s.afterKnown, s.end = s.at, s.at
	whole := true
	for i := first; whole && i < len(s.blocks) && ctx.Err() == nil; i++ {
		var compressed bool
		if whole, compressed, err = s.readBlock(i); err != nil || compressed {
			s.end, s.afterKnown = s.at, place{block: len(s.blocks)} // a stream that the log does not sync
			return err
		}
	}
	if s.open.left == 0 {
		s.end = s.at
	}
	s.setReason(whole)
	return ctx.Err()
}

// setReason sets reason. whole says that all records are.
func (s *tailScan) setReason(whole bool) {
	indexed := indexedLast(s.msgs)
	switch {
	case s.end.last < s.known || s.known == 0 && indexed > s.end.last: // damage: nothing is touched
		s.afterKnown = place{block: len(s.blocks)}
	case !whole:
		s.reason = "a record is not whole, or not the next one"
	case s.open.left > 0:
		s.reason = "a transaction, or what else was stored together, is not whole"
	case indexed > s.end.last:
		s.reason = "the server's index has events that its blocks have not"
	}
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

// readBlock reads a block's records up to the first that is not whole or not the next one, and returns whether there is none.
func (s *tailScan) readBlock(i int) (whole, compressed bool, err error) {
	b, err := os.ReadFile(s.blocks[i].path)
	if err != nil {
		return false, false, err
	}
	if bytes.HasPrefix(b, []byte(compressedBlock)) {
		return true, true, nil
	}
	s.at.block, s.at.offset = i, 0
	sums := newChecksums(s.stream, s.blocks[i].number)
	for rest := b; len(rest) > 0; {
		size := sums.whole(rest)
		if size == 0 || !s.add(rest[:size]) {
			return false, false, nil
		}
		rest = rest[size:]
	}
	return true, false, nil
}

// add goes one record further. It returns false, and does not, where the record is not the next one, or is none of the transaction or
// batch that has begun.
func (s *tailScan) add(record []byte) bool {
	seq := binary.LittleEndian.Uint64(record[4:])
	switch {
	case seq&tombstoneFlag != 0:
	case seq&erasedFlag != 0:
		if seq &^= erasedFlag; seq == s.at.last+1 {
			s.at.last = seq
			s.open.skip()
		}
	default:
		if !fanfold.Follows(s.at.last, seq) {
			if seq <= s.at.last || seq-1 > s.known { // what is missing up to known was erased, or is damage
				return false
			}
			s.open = openBatch{}
		}
		part := batchPartOf(record)
		switch {
		case s.open.left > 0 && !s.open.goesOn(part):
			return false
		case s.open.left == 0 && part.Begins():
			s.end = s.at
		}
		s.open.add(part)
		s.at.last = seq
	}
	s.at.offset += int64(len(record))
	if s.at.last <= s.known {
		s.afterKnown = s.at
	}
	return true
}

// openBatch is a transaction, or another batch, that has begun.
type openBatch struct {
	tx   fanfold.TxPart // the last part of a transaction; the zero value for another batch
	left int            // events that are to come
}

// goesOn tells whether an event is the next one of what has begun.
func (b *openBatch) goesOn(part events.BatchPart) bool {
	if b.tx.ID == "" {
		return part.Tx.ID == "" && part.Count == 0 && !part.Single
	}
	return part.Tx == fanfold.TxPart{ID: b.tx.ID, Index: b.tx.Index + 1, Count: b.tx.Count}
}

// add goes one event further.
func (b *openBatch) add(part events.BatchPart) {
	switch {
	case part.Tx.ID != "":
		b.left = part.Tx.Count - part.Tx.Index - 1
	case part.Count > 0:
		b.left = part.Count - 1
	case b.left > 0:
		b.left--
	}
	b.tx = part.Tx
}

// skip goes one event further; nothing is left of it.
func (b *openBatch) skip() {
	if b.left > 0 {
		b.left--
	}
	if b.tx.ID != "" {
		b.tx.Index++
	}
}

// batchPartOf returns what a record says of the batch to which its event belongs.
func batchPartOf(record []byte) events.BatchPart {
	if binary.LittleEndian.Uint32(record)&headersFlag == 0 {
		return events.BatchPart{}
	}
	rest := record[recordHeader+int(binary.LittleEndian.Uint16(record[20:])):]
	size := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; uint64(size) > uint64(len(rest)) {
		return events.BatchPart{}
	}
	return events.BatchPartIn(rest[:size])
}

// bytes returns how many bytes are after end.
func (s *tailScan) bytes() (n int64) {
	for i := s.end.block; i < len(s.blocks); i++ {
		n += s.blocks[i].size
	}
	return n - s.end.offset
}

// cut makes the stream end at end. The rest is kept in the directory at path, and replaces what another cut has
// kept. The server's index, which may have it, is removed first, so that a crash leaves nothing else than a longer log.
func (s *tailScan) cut(path string) error {
	if err := os.Remove(filepath.Join(s.msgs, "index.db")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := syncPath(s.msgs); err != nil || path == "" {
		return err
	}
	if _, err := os.Stat(path); err != nil { // it is there where a crash ended this cut before
		if err := errors.Join(os.RemoveAll(filepath.Dir(path)), os.MkdirAll(path, 0o700)); err != nil {
			return err
		}
	}
	for i := len(s.blocks) - 1; i >= s.end.block; i-- {
		b := &s.blocks[i]
		var offset int64
		if i == s.end.block {
			offset = s.end.offset
		}
		if err := s.cutBlock(b, offset, filepath.Join(path, fmt.Sprintf("%d-%d.blk", b.number, offset))); err != nil {
			return err
		}
		b.size = offset
	}
	return nil
}

// cutBlock cuts a block at offset, and saves the rest in a file. A block without records is removed.
func (s *tailScan) cutBlock(b *block, offset int64, kept string) error {
	data, err := os.ReadFile(b.path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(kept, data[offset:], 0o644); err != nil {
		return err
	}
	if err := errors.Join(syncPath(kept), syncPath(filepath.Dir(kept))); err != nil {
		return err
	}
	if offset > 0 {
		return os.Truncate(b.path, offset)
	}
	return os.Remove(b.path)
}

// rewrite writes the records after the event known again, each block as it is.
func (s *tailScan) rewrite() error {
	for i := s.afterKnown.block; i < len(s.blocks); i++ {
		b, from := s.blocks[i], int64(0)
		if i == s.afterKnown.block {
			from = s.afterKnown.offset
		}
		if from >= b.size {
			continue
		}
		if err := rewriteFrom(b, from); err != nil {
			return err
		}
	}
	return nil
}

// rewriteFrom writes a block's bytes from an offset on again.
func rewriteFrom(b block, from int64) error {
	f, err := os.OpenFile(b.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	data := make([]byte, b.size-from)
	if _, err = f.ReadAt(data, from); err == nil {
		_, err = f.WriteAt(data, from)
	}
	return errors.Join(err, f.Close())
}

// syncPath makes a file, or the names in a directory, durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
