package buckets

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// objects keeps large values in a JetStream object store beside a log. Its methods may be called from many goroutines and nodes.
type objects struct {
	log         events.BucketAccess
	bucket      string
	description string // of the stream, where it is made
}

// object says what an object is.
type object struct {
	Name     string
	Metadata map[string]string
	Bytes    int64
	Sum      string    // SHA-256 of its bytes, as hexadecimal digits; "" for an object whose description cannot be read
	Stored   time.Time // when it was complete, by the server's clock

	meta   string // subject of the message that describes it
	nuid   string // of the messages that have its bytes; "" where it has none
	chunks int    // how many there are
}

// Bounds of objects.
const (
	objectChunk     = 256 << 10        // bytes of a message; less where the server takes less
	objectStall     = 30 * time.Second // without progress after which an upload or a download fails
	maxObjects      = 100              // that are listed of those that can be read
	maxDescriptions = 1000             // that are read for it
	maxObjectBytes  = 1 << 40
)

// chunkSubject returns the subject of an object's bytes, and metaSubject the subject of its description, as in an object
// store.
func (s *objects) chunkSubject(id string) string { return "$O." + s.bucket + ".C." + id }

func (s *objects) metaSubject(name string) string {
	return s.metaPrefix() + base64.URLEncoding.EncodeToString([]byte(name))
}

func (s *objects) metaPrefix() string { return "$O." + s.bucket + ".M." }

// objectName returns a name for a new object that begins with a sequence.
func objectName(seq uint64) string { return fmt.Sprintf("%d-%s", seq, nuid.Next()) }

// put stores what r has under a name, and returns the object once it is complete: nobody sees it before. If it fails, what was sent is removed. It
// reads and sends one message at a time. It returns the errors of r and ctx, and Unavailable. Conflict says that the object store is made anew
// meanwhile, or was for a later erasure than erasure, which the content has.
func (s *objects) put(ctx context.Context, name string, metadata map[string]string, erasure uint64, r io.Reader) (object, error) {
	o := object{Name: name, nuid: nuid.Next(), Metadata: metadata}
	stream, err := s.open(ctx)
	if err != nil {
		return o, err
	}
	if err := s.upload(ctx, stream, &o, erasure, r); err != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), servers.Patience)
		defer cancel()
		_ = stream.Purge(cleaning, jetstream.WithPurgeSubject(s.chunkSubject(o.nuid))) // a later put removes it otherwise
		return o, err
	}
	return o, nil
}

// open returns the object store's stream, which it makes where there is none. The error is Unavailable.
func (s *objects) open(ctx context.Context) (jetstream.Stream, error) {
	return s.await(ctx, s.tryOpen, func(error) bool { return false })
}

// existing returns the object store's stream, and makes none: a reader that did would take an empty one for the one that Remake has removed. The error is
// Unavailable; isGone tells whether there is none.
func (s *objects) existing(ctx context.Context) (jetstream.Stream, error) {
	return s.await(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		ctx, cancel := context.WithTimeout(ctx, servers.Patience)
		defer cancel()
		return s.log.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
	}, isGone)
}

// await tries until there is a stream, or an error is the last one. The error is Unavailable.
func (s *objects) await(ctx context.Context, try func(ctx context.Context) (jetstream.Stream, error), last func(error) bool) (jetstream.Stream, error) {
	limit, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	for {
		stream, err := try(limit)
		if err == nil {
			return stream, nil
		}
		if last(err) {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "the object store %s is not there", s.bucket)
		}
		select { // several nodes may make it at the same time
		case <-time.After(100 * time.Millisecond):
		case <-limit.Done():
			return nil, cmp.Or(ctx.Err(), error(fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be opened: %v", s.bucket, err)))
		}
	}
}

// tryOpen does what open does, once.
func (s *objects) tryOpen(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, servers.Patience)
	defer cancel()
	l := s.log
	stream, err := l.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	if _, err = l.JS.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: s.bucket, Storage: jetstream.FileStorage, Replicas: l.BucketReplicas(),
		Description: s.description, Metadata: map[string]string{metaErasure: strconv.FormatUint(l.InForce(), 10)}}); err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return nil, err
	}
	return l.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
}

// upload sends the bytes, and then, once all of them are there, what describes them. The first message has none. Each later one is stored only after the
// one before, and so only in the object store that was checked for this content.
func (s *objects) upload(ctx context.Context, stream jetstream.Stream, o *object, erasure uint64, r io.Reader) error {
	sum, chunk := sha256.New(), make([]byte, min(objectChunk, int(s.log.NC.MaxPayload())/2))
	last, err := s.sendChunk(ctx, o, nil, 0)
	if err == nil {
		err = s.checkMade(ctx, erasure)
	}
	if err != nil {
		return err
	}
	for {
		n, err := io.ReadFull(r, chunk)
		if n > 0 {
			sum.Write(chunk[:n])
			o.Bytes += int64(n)
			var failed error
			if last, failed = s.sendChunk(ctx, o, chunk[:n], last); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	o.Sum = hex.EncodeToString(sum.Sum(nil))
	if there, err := s.countChunks(ctx, stream, o.nuid); err != nil || there != o.chunks {
		return fanfold.Wrap(err, fanfold.Unavailable, "of the %d pieces of the snapshot the object store has %d", o.chunks, there)
	}
	body, err := json.Marshal(jetstream.ObjectInfo{Bucket: s.bucket, NUID: o.nuid, Size: uint64(o.Bytes), Chunks: uint32(o.chunks),
		Digest: jetstream.GetObjectDigestValue(sum), ObjectMeta: jetstream.ObjectMeta{Name: o.Name,
			Opts:     &jetstream.ObjectMetaOptions{ChunkSize: uint32(len(chunk))},
			Metadata: o.Metadata}})
	if err != nil {
		return err
	}
	msg := nats.NewMsg(s.metaSubject(o.Name))
	msg.Data = body
	msg.Header[jetstream.MsgRollup] = []string{jetstream.MsgRollupSubject}
	_, err = s.send(ctx, msg)
	return err
}

// sendChunk sends a piece of an object after the one with a sequence, 0 for the first, and returns its own sequence. It returns the errors of send.
func (s *objects) sendChunk(ctx context.Context, o *object, data []byte, after uint64) (seq uint64, err error) {
	msg := nats.NewMsg(s.chunkSubject(o.nuid))
	msg.Data = data
	msg.Header[jetstream.MsgIDHeader] = []string{fmt.Sprintf("%s.%d", o.nuid, o.chunks)}
	msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(after, 10)}
	o.chunks++
	return s.send(ctx, msg)
}

// checkMade returns Conflict where the object store was made anew because of a later erasure, and Unavailable.
func (s *objects) checkMade(ctx context.Context, erasure uint64) error {
	made, _, err := s.erasure(ctx)
	if err == nil && made > erasure {
		err = fromBefore(made)
	}
	return err
}

// send sends a message until the server has it, and returns its sequence. Errors are ctx's, and Unavailable where the server refuses it, or does not
// answer for objectStall. It is Conflict where the object store does not have the message that is to be the one before.
func (s *objects) send(ctx context.Context, msg *nats.Msg) (seq uint64, err error) {
	limit, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		attempt, end := context.WithTimeout(limit, s.log.Attempt)
		ack, err := s.log.Request(attempt, msg)
		end()
		if err == nil {
			return ack.Seq, nil
		}
		if refused := new(jetstream.APIError); errors.As(err, &refused) && refused.ErrorCode == servers.CodeWrongLastSequence || s.isRemoved(limit) {
			return 0, fanfold.Wrap(err, fanfold.Conflict, "the object store %s was made anew while the snapshot was sent", s.bucket)
		}
		select {
		case <-time.After(wait):
			continue
		case <-limit.Done():
		}
		return 0, cmp.Or(ctx.Err(), error(fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be stored: %v", err)))
	}
}

// isRemoved tells whether the server says that there is no such object store.
func (s *objects) isRemoved(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.log.Attempt)
	defer cancel()
	_, err := s.log.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
	return isGone(err)
}

// countChunks asks how many messages with an object's bytes there are. It outlasts a planned start of the server. The error is Unavailable.
func (s *objects) countChunks(ctx context.Context, stream jetstream.Stream, id string) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	subject := s.chunkSubject(id)
	err = s.log.Outlast(ctx, func(ctx context.Context) error {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be asked: %v", s.bucket, err)
		}
		n = int(info.State.Subjects[subject])
		return nil
	})
	return n, err
}

// removeAbandoned removes the bytes of objects that were never completed. whole has the subjects of the others. Times are
// compared that the server gave, for the clocks of two nodes may differ.
func (s *objects) removeAbandoned(ctx context.Context, stream jetstream.Stream, latest object, whole map[string]bool) error {
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.chunkSubject(">")))
	if err != nil {
		return err
	}
	now, err := stream.GetLastMsgForSubject(ctx, s.metaSubject(latest.Name))
	if errors.Is(err, jetstream.ErrMsgNotFound) { // newer ones have come, whose nodes do this
		return nil
	}
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if whole[subject] || !strings.HasPrefix(subject, s.chunkSubject("")) {
			continue
		}
		last, err := stream.GetLastMsgForSubject(ctx, subject)
		if err == nil && now.Time.Sub(last.Time) > s.log.Abandoned {
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		}
	}
	return nil
}

// get writes an object's bytes to w. The bytes are of use only if no error comes back. It holds a few messages in
// memory. Errors are w's, ctx's, and Unavailable: what is there is not what was stored, or it does not come.
func (s *objects) get(ctx context.Context, o object, w io.Writer) error {
	stream, err := s.existing(ctx)
	if err != nil {
		return err
	}
	p := pieces{s: s, o: o, stream: stream, w: w, sum: sha256.New()}
	if err := p.check(ctx); err != nil {
		return err
	}
	if err := s.log.Outlast(ctx, p.receive); err != nil || p.failed != nil {
		return cmp.Or(p.failed, err)
	}
	if got := hex.EncodeToString(p.sum.Sum(nil)); p.size != o.Bytes || got != o.Sum {
		return fanfold.Errorf(fanfold.Unavailable, "the snapshot is damaged: it has %d bytes of digest %s, and was stored with %d of %s", p.size, got, o.Bytes, o.Sum)
	}
	return nil
}

// pieces receives the bytes of an object.
type pieces struct {
	s      *objects
	o      object
	stream jetstream.Stream
	w      io.Writer
	sum    hash.Hash
	size   int64
	n      int    // pieces that have come
	last   uint64 // the sequence of the last one
	failed error  // w's
}

// receive receives the pieces that have not come yet. Errors are Unavailable, and ctx's.
func (p *pieces) receive(ctx context.Context) error {
	s, o := p.s, p.o
	cons, err := s.log.JS.OrderedConsumer(ctx, events.ObjectsPrefix+s.bucket, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{s.chunkSubject(o.nuid)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: p.last + 1, MaxResetAttempts: events.ResetAttempts})
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be read: %v", err)
	}
	msgs, err := cons.Messages(events.PullOptions()...)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be read: %v", err)
	}
	defer msgs.Stop()
	for p.n < o.chunks && p.size <= o.Bytes {
		msg, err := p.next(ctx, msgs)
		if err != nil {
			return err
		}
		if p.failed = p.take(msg); p.failed != nil {
			return nil
		}
	}
	return nil
}

// lookAfter is after which time without a message it is looked whether the object is still there.
const lookAfter = 2 * time.Second

// next blocks until the next piece comes. Errors are Unavailable, and ctx's.
func (p *pieces) next(ctx context.Context, msgs jetstream.MessagesContext) (jetstream.Msg, error) {
	for began := time.Now(); ; {
		waiting, cancel := context.WithTimeout(ctx, lookAfter)
		msg, err := msgs.Next(jetstream.NextContext(waiting))
		cancel()
		switch {
		case err == nil:
			return msg, nil
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return nil, cmp.Or(ctx.Err(), p.check(ctx), error(fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be read: %v", err)))
		case time.Since(began) >= objectStall:
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "the server is too slow: only %d of the snapshot's %d bytes came, and no more within %v", p.size, p.o.Bytes, objectStall)
		}
		if err := cmp.Or(p.check(ctx), p.checkReadable(ctx)); err != nil {
			return nil, err
		}
	}
}

// checkReadable returns Unavailable where the leader has all pieces, and finds none after the last one that came. It says nothing of a message that it cannot
// read.
func (p *pieces) checkReadable(ctx context.Context) error {
	m, err := p.s.log.GetFromLeader(ctx, events.ObjectsPrefix+p.s.bucket, servers.LeaderQuery{Seq: p.last + 1, NextBySubject: p.s.chunkSubject(p.o.nuid)})
	if err != nil || m != nil { // it answers later, or the piece is on its way
		return nil //nolint:nilerr // objectStall bounds how long
	}
	return fanfold.Errorf(fanfold.Unavailable, "the snapshot is damaged: only %d of its %d bytes can be read", p.size, p.o.Bytes)
}

// errPieces is the cause of the error of an object that lacks pieces.
var errPieces = errors.New("pieces are missing")

// check returns Unavailable where the object store does not have every piece.
func (p *pieces) check(ctx context.Context) error {
	there, err := p.s.countChunks(ctx, p.stream, p.o.nuid)
	if err == nil && there != p.o.chunks {
		err = fanfold.Wrap(errPieces, fanfold.Unavailable, "the snapshot is damaged: of its %d pieces %d are there", p.o.chunks, there)
	}
	return err
}

// take takes a piece. The error is w's.
func (p *pieces) take(msg jetstream.Msg) error {
	if meta, err := msg.Metadata(); err == nil {
		p.last = meta.Sequence.Stream
	}
	p.n++
	p.sum.Write(msg.Data())
	if p.size += int64(len(msg.Data())); p.size > p.o.Bytes {
		return nil
	}
	_, err := io.Copy(p.w, bytes.NewReader(msg.Data()))
	return err
}
