package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

// magic begins each segment file. Its last byte is the version of the segment's format. A zstd frame of records follows.
const magic = "fanfold\x01"

// Bounds of a segment.
const (
	segmentEvents = 64 << 10
	segmentBytes  = 16 << 20           // of its records; a single event may take more
	maxRecords    = maxEvent + 16      // bytes of the records that a reader takes
	maxFile       = maxRecords + 1<<20 // bytes of a file that a reader takes
	maxWindow     = 8 << 20            // of the compression
)

// Segment describes a file of events that follow each other.
type Segment struct {
	File   string         `json:"file"`   // below the backup's directory
	First  uint64         `json:"first"`  // sequence of its first event
	Last   uint64         `json:"last"`   // and of its last
	Bytes  int64          `json:"bytes"`  // of the file
	SHA256 fanfold.Digest `json:"sha256"` // of the file
	Digest fanfold.Digest `json:"digest"` // of all events of the log up to Last
}

// segmentFile returns the name of a segment's file. It follows from the content, so that a file is never replaced by another.
func segmentFile(first, last uint64, sum fanfold.Digest) string {
	return fmt.Sprintf("%s/%020d-%020d-%x.seg", segmentsDir, first, last, sum[:8])
}

// numbers bounds the bytes of all numbers of a record together.
const numbers = (5 + 2*maxHeaders) * binary.MaxVarintLen64

// builder collects events in segments.
type builder struct {
	most  int          // events of a segment
	out   bytes.Buffer // the file
	z     *zstd.Encoder
	size  int // bytes of the records
	count int // of events
	first uint64
	prev  uint64 // the last event taken
	time  int64  // of the last event of the segment, in nanoseconds; 0 before the first
	chain fanfold.Digest
	buf   []byte
	parts []byte // of an event's digest
}

// newBuilder returns a builder for the events after a point of the log.
func newBuilder(after Point) (*builder, error) {
	b := &builder{most: segmentEvents, prev: after.Seq, chain: after.Digest}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	b.z = z
	return b, err
}

// full tells whether the segment has to end before an event is added.
func (b *builder) full(ev *Event) bool {
	return b.count > 0 && (b.count == b.most || b.size+ev.size()+numbers > segmentBytes)
}

// digestOf returns an event's own digest.
func (b *builder) digestOf(ev *Event) (d fanfold.Digest) {
	d, b.parts = fanfold.EventDigest(b.parts, ev.Seq, ev.Time, ev.Subject, ev.header, ev.Payload)
	return d
}

// add adds an event, whose own digest is known. The errors are Invalid for one that a backup cannot hold, and LogDamaged for one that does not come next.
func (b *builder) add(ev *Event, digest fanfold.Digest) error {
	if err := ev.check(); err != nil {
		return err
	}
	if !fanfold.Follows(b.prev, ev.Seq) {
		return fanfold.Errorf(fanfold.LogDamaged, "event %d follows event %d: the log lacks what is between them", ev.Seq, b.prev)
	}
	before := b.prev
	if b.count == 0 {
		b.first, before = ev.Seq, 0
		b.out.WriteString(magic)
		b.z.Reset(&b.out)
	}
	b.buf = appendEvent(b.buf[:0], ev, before, b.time)
	if _, err := b.z.Write(b.buf); err != nil {
		return err
	}
	b.chain, b.prev, b.time = b.chain.Followed(digest), ev.Seq, ev.Time.UnixNano()
	b.size += len(b.buf)
	b.count++
	return nil
}

// finish ends the segment, which has an event at least. It returns the file, which is valid until the next event is added.
func (b *builder) finish() (s Segment, file []byte, err error) {
	if err := b.z.Close(); err != nil {
		return s, nil, err
	}
	file = bytes.Clone(b.out.Bytes())
	sum := fanfold.Digest(sha256.Sum256(file))
	s = Segment{File: segmentFile(b.first, b.prev, sum), First: b.first, Last: b.prev, Bytes: int64(len(file)), SHA256: sum, Digest: b.chain}
	b.out.Reset()
	b.size, b.count, b.time = 0, 0, 0
	return s, file, nil
}

// opener reads segments, one after the other. It keeps its space from one to the next.
type opener struct {
	z     *zstd.Decoder
	space []byte
	parts []byte // of an event's digest
	at    Point  // the last event that was read
}

// newOpener returns an opener of the segments after a point of the log. The caller closes it.
func newOpener(after Point) (*opener, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRecords), zstd.WithDecoderMaxWindow(maxWindow))
	return &opener{z: z, at: after}, err
}

func (o *opener) close() { o.z.Close() }

// check reads the next segment, whose description is known, and calls fn with each event. The events are valid until fn returns. Errors are
// Damage, and fn's.
func (o *opener) check(file []byte, s *Segment, fn func(*Event) error) error {
	switch {
	case int64(len(file)) != s.Bytes:
		return damaged(s.File, s.First, "the file has %d bytes or more, and the manifest says %d", len(file), s.Bytes)
	case fanfold.Digest(sha256.Sum256(file)) != s.SHA256:
		return damaged(s.File, s.First, "the SHA-256 of the file is not that of the manifest")
	}
	got, err := o.read(s.File, file, fn)
	switch {
	case err != nil:
		return err
	case got.First != s.First || got.Last != s.Last:
		return damaged(s.File, got.First, "it has the events from %d to %d, and the manifest says %d to %d", got.First, got.Last, s.First, s.Last)
	case got.Digest != s.Digest:
		return damaged(s.File, s.Last, "the digest of all events up to it is not that of the manifest")
	}
	return nil
}

// read reads the next segment, and calls fn with each event, which is valid until fn returns. It returns what the file holds. Errors are
// Damage, and fn's.
func (o *opener) read(name string, file []byte, fn func(*Event) error) (s Segment, err error) {
	version := len(magic) - 1
	switch {
	case len(file) < len(magic) || string(file[:version]) != magic[:version]:
		return s, damaged(name, 0, "it is not a segment")
	case file[version] != magic[version]:
		return s, damaged(name, 0, "it has version %d of the format, and this program reads version %d", file[version], magic[version])
	}
	records, err := o.z.DecodeAll(file[len(magic):], o.space[:0])
	if err != nil || len(records) > maxRecords {
		return s, damaged(name, o.at.Seq+1, "it cannot be decompressed: %v", err)
	}
	o.space = records
	s = Segment{File: name, First: o.at.Seq + 1, Bytes: int64(len(file)), SHA256: sha256.Sum256(file)}
	err = o.events(name, records, fn)
	s.Last, s.Digest = o.at.Seq, o.at.Digest
	if err == nil && s.Last < s.First {
		err = damaged(name, s.First, "it holds no event")
	}
	return s, err
}

// events reads the records of a segment.
func (o *opener) events(name string, records []byte, fn func(*Event) error) error {
	var (
		ev    Event
		seq   uint64
		nanos int64
		in    = recordReader{rest: records}
		d     fanfold.Digest
	)
	for n := 0; len(in.rest) > 0; n++ {
		record := recordReader{rest: in.bytes(in.uvarint())}
		if !in.bad {
			record.read(&ev, seq, nanos)
		}
		switch {
		case in.bad || record.bad:
			return damaged(name, o.at.Seq+1, "it cannot be read")
		case !fanfold.Follows(o.at.Seq, ev.Seq):
			return damaged(name, o.at.Seq+1, "event %d stands in its place", ev.Seq)
		case n == segmentEvents:
			return damaged(name, ev.Seq, "a segment has at most %d events", segmentEvents)
		}
		d, o.parts = fanfold.EventDigest(o.parts, ev.Seq, ev.Time, ev.Subject, ev.header, ev.Payload)
		o.at = Point{ev.Seq, o.at.Digest.Followed(d)}
		seq, nanos = ev.Seq, ev.Time.UnixNano()
		if err := fn(&ev); err != nil {
			return err
		}
	}
	return nil
}
