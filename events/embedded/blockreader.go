package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// Bounds of reading block files.
const (
	blockReadAhead = 256 << 10             // bytes that are read at once, more for a record that is longer
	pollInterval   = 50 * time.Millisecond // when a reader looks for events that nobody announced
)

// blockMessages reads a stream's messages from the block files into which the embedded server of this process writes them. Its
// methods are for one goroutine, but for Stop. DESIGN.md says why it may.
type blockMessages struct {
	dir     string // of the block files
	stream  string
	highest *events.Watermark // the highest sequence that the log is known to have
	next    uint64            // the sequence that is to be read next

	file   *os.File // nil before the stream's first block
	number uint64   // of the block, 0 before the first
	sums   *checksums
	offset int64  // in the file, after data
	space  []byte // what is read from the file
	data   []byte // its part that is yet to be looked at

	timer   *time.Timer
	stopped chan struct{}
	once    sync.Once // closes stopped
}

// errStopped is the error of messages that were stopped.
var errStopped = errors.New("the reader was stopped")

// openBlockMessages returns the messages of a stream from sequence from on. dir is the embedded server's directory. The caller
// closes what it returns. It returns events.ErrBlocks, events.ErrLayout, and the errors of the files.
func openBlockMessages(dir, stream string, from uint64, highest *events.Watermark) (m *blockMessages, err error) {
	msgs, err := streamDir(dir, stream)
	if err != nil {
		return nil, err
	}
	m = &blockMessages{dir: msgs, stream: stream, highest: highest, next: from, timer: time.NewTimer(pollInterval), stopped: make(chan struct{})}
	if err := m.seek(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// seek opens the block that has the next event, or will have it.
func (m *blockMessages) seek() error {
	blocks, _, err := listBlocks(m.dir)
	if err != nil {
		return err
	}
	var failed error
	behind := sort.Search(len(blocks), func(i int) bool {
		first, err := firstSequence(blocks[i], m.stream)
		failed = errors.Join(failed, err)
		return first == 0 || first > m.next
	})
	if failed != nil || len(blocks) == 0 {
		return failed
	}
	return m.open(blocks[max(behind-1, 0)].number)
}

// open goes on at the beginning of a block. The error is fs.ErrNotExist where there is none, or events.ErrBlocks for one that is
// compressed.
func (m *blockMessages) open(number uint64) error {
	f, err := os.Open(blockPath(m.dir, number))
	if err != nil {
		return err
	}
	if m.file != nil {
		_ = m.file.Close() // it was only read
	}
	m.file, m.number, m.offset, m.data = f, number, 0, nil
	m.sums = newChecksums(m.stream, number)
	if _, err := m.fill(); err != nil {
		return err
	}
	if bytes.HasPrefix(m.data, []byte(compressedBlock)) {
		return events.ErrBlocks
	}
	return nil
}

// Receive blocks until there is a message or ctx has ended. Errors are events.ErrBlocks, also for files that cannot be read; errStopped;
// and ctx's.
func (m *blockMessages) Receive(ctx context.Context) (events.Message, error) {
	select {
	case <-m.stopped:
		return events.Message{}, errStopped
	default:
	}
	for {
		size := m.sums.whole(m.data)
		if size == 0 {
			if err := m.awaitMore(ctx); err != nil {
				return events.Message{}, err
			}
			continue
		}
		record := m.data[:size]
		m.data = m.data[size:]
		switch seq := binary.LittleEndian.Uint64(record[4:]); {
		case seq == m.next|erasedFlag: // the log knows what stands for it
			m.next++
			continue
		case seq&(tombstoneFlag|erasedFlag) != 0 || seq < m.next:
			continue
		case !fanfold.Follows(m.next-1, seq):
			return events.Message{}, events.ErrBlocks
		}
		out, err := parseRecord(record)
		if err != nil {
			return events.Message{}, err
		}
		out.Pending = m.pending(out.Seq)
		m.next = out.Seq + 1
		return out, nil
	}
}

// pending returns how many events the log has after seq, as far as that is known.
func (m *blockMessages) pending(seq uint64) uint64 {
	if highest := m.highest.Load(); highest > seq {
		return highest - seq
	}
	if len(m.data) > 0 {
		return 1 // or a part of one whose rest is being written
	}
	return 0
}

// awaitMore blocks until there is more to look at. If the event is known to be stored it must be there, for the server writes an
// event before it acknowledges it.
func (m *blockMessages) awaitMore(ctx context.Context) error {
	for {
		stored := m.highest.Load() >= m.next // before the look
		found, err := m.readMore()
		switch {
		case err != nil:
			return errors.Join(events.ErrBlocks, err)
		case found:
			return nil
		case stored:
			return events.ErrBlocks
		}
		if err := m.await(ctx); err != nil {
			return err
		}
	}
}

// readMore reads what is in the file, or in the next one, and was not read yet, and returns whether there was anything.
func (m *blockMessages) readMore() (found bool, err error) {
	if m.file == nil {
		err := m.seek()
		return len(m.data) > 0, err
	}
	if found, err = m.fill(); found || err != nil {
		return found, err
	}
	if _, err := os.Stat(blockPath(m.dir, m.number+1)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	// The next block is there, so that this one is full. Records added since it was read are read first.
	if found, err = m.fill(); found || err != nil {
		return found, err
	}
	if len(m.data) > 0 {
		return false, events.ErrBlocks
	}
	err = m.open(m.number + 1)
	return len(m.data) > 0, err
}

// fill reads more of the file after data, and returns whether there was more.
func (m *blockMessages) fill() (found bool, err error) {
	need := blockReadAhead
	if len(m.data) >= recordHeader { // the record with which it begins is not whole
		need = max(need, int(min(binary.LittleEndian.Uint32(m.data)&^headersFlag, maxRecord)))
	}
	space := m.space
	if len(space) < need || len(space) > blockReadAhead && need == blockReadAhead && len(m.data) <= need {
		space = make([]byte, need)
	}
	n := copy(space, m.data)
	m.space, m.data = space, space[:n]
	if n == len(space) {
		return false, events.ErrBlocks // a record that is here whole, and is not what was written
	}
	read, err := m.file.ReadAt(space[n:], m.offset)
	m.offset += int64(read)
	m.data = space[:n+read]
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return read > 0, err
}

// await blocks until the log is known to have the next event, or until it is time to look for one that nobody announced.
func (m *blockMessages) await(ctx context.Context) error {
	wake := m.highest.Raised(m.next)
	m.timer.Reset(pollInterval)
	select {
	case <-wake:
	case <-m.timer.C:
	case <-m.stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Stop ends Receive, with an error. Any goroutine may call it.
func (m *blockMessages) Stop() { m.once.Do(func() { close(m.stopped) }) }

// Close closes the file.
func (m *blockMessages) Close() {
	m.Stop()
	m.timer.Stop()
	if m.file != nil {
		_ = m.file.Close() // it was only read
	}
}

// parseRecord returns the message that a whole record has. The error is events.ErrBlocks.
func parseRecord(record []byte) (m events.Message, err error) {
	m.Seq = binary.LittleEndian.Uint64(record[4:])
	m.Time = time.Unix(0, int64(binary.LittleEndian.Uint64(record[12:])))
	rest := record[recordHeader : len(record)-recordChecksum]
	subject := binary.LittleEndian.Uint16(record[20:])
	m.Subject, rest = string(rest[:subject]), rest[subject:]
	if binary.LittleEndian.Uint32(record)&headersFlag != 0 {
		size := binary.LittleEndian.Uint32(rest)
		if rest = rest[4:]; uint64(size) > uint64(len(rest)) {
			return m, events.ErrBlocks
		}
		if m.Headers, err = events.HeadersOf(rest[:size]); err != nil {
			return m, events.ErrBlocks
		}
		rest = rest[size:]
	}
	m.Data = bytes.Clone(rest) // an event's body aliases it
	return m, nil
}
