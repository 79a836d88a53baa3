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

// Snapshots keeps copies of the read model in a JetStream object store beside the log, for nodes that are new. Its methods
// may be called from many goroutines and nodes.
type Snapshots struct {
	log    events.BucketAccess
	bucket string
}

// Snapshot says what a copy of the read model is.
type Snapshot struct {
	Name   string          `json:"name"`
	Store  fanfold.StoreID `json:"store"`
	Fold   string          `json:"fold"`   // fingerprint of the fold that made it
	Seq    uint64          `json:"seq"`    // the last event folded
	Event  fanfold.Digest  `json:"-"`      // of that event
	Digest fanfold.Digest  `json:"-"`      // of all events up to it
	Bytes  int64           `json:"bytes"`  // its size
	Sum    string          `json:"sha256"` // of its bytes, as hexadecimal digits
	Taken  time.Time       `json:"taken"`  // when it was complete, by the server's clock

	meta   string // subject of the message that describes it
	nuid   string // of the messages that have its bytes; "" where it has none
	chunks int    // how many there are
}

// Bounds of snapshots.
const (
	snapshotsToKeep  = 2                // that stay where a new one is put
	snapshotChunk    = 256 << 10        // bytes of a message; less where the server takes less
	snapshotStall    = 30 * time.Second // without progress after which an upload or a download fails
	maxSnapshots     = 100              // that are listed of those that can be read
	maxDescriptions  = 1000             // that are read for it
	maxSnapshotBytes = 1 << 40
)

// NewSnapshots returns the object store for copies of the read model beside a log. It is made by the first Put.
func NewSnapshots(log *events.Log) *Snapshots {
	l := log.BucketAccess()
	return &Snapshots{log: l, bucket: "fanfold_" + l.Database + "_snapshots"}
}

// chunkSubject returns the subject of a snapshot's bytes, and metaSubject that of what describes it: those of an object in an
// object store.
func (s *Snapshots) chunkSubject(id string) string { return "$O." + s.bucket + ".C." + id }

func (s *Snapshots) metaSubject(name string) string {
	return s.metaPrefix() + base64.URLEncoding.EncodeToString([]byte(name))
}

func (s *Snapshots) metaPrefix() string { return "$O." + s.bucket + ".M." }

// Put stores what r has as a snapshot, whose Store, Fold, Seq, Event and Digest are given, and removes all snapshots but the
// latest two. It returns the snapshot once it is complete: nobody sees it before. Where it fails, what was sent is removed.
// It reads and sends one message at a time. Errors are r's, ctx's, and Unavailable.
func (s *Snapshots) Put(ctx context.Context, snap Snapshot, r io.Reader) (Snapshot, error) {
	stream, err := s.open(ctx)
	if err != nil {
		return snap, err
	}
	snap.nuid = nuid.Next()
	snap.Name = fmt.Sprintf("%d-%s", snap.Seq, snap.nuid)
	if err := s.upload(ctx, stream, &snap, r); err != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), servers.Patience)
		defer cancel()
		_ = stream.Purge(cleaning, jetstream.WithPurgeSubject(s.chunkSubject(snap.nuid))) // a later Put removes it otherwise
		return snap, err
	}
	if err := s.prune(ctx, stream, snap); err != nil {
		s.log.Logger.Warn("old snapshots could not be removed; the next one tries again", "err", err)
	}
	return snap, nil
}

// open returns the object store's stream, which it makes where there is none. The error is Unavailable.
func (s *Snapshots) open(ctx context.Context) (jetstream.Stream, error) {
	limit, cancel := context.WithTimeout(ctx, snapshotStall)
	defer cancel()
	for {
		stream, err := s.tryOpen(limit)
		if err == nil {
			return stream, nil
		}
		select { // several nodes may make it at the same time
		case <-time.After(100 * time.Millisecond):
		case <-limit.Done():
			return nil, cmp.Or(ctx.Err(), error(fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be opened: %v", s.bucket, err)))
		}
	}
}

// tryOpen does what open does, once.
func (s *Snapshots) tryOpen(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, servers.Patience)
	defer cancel()
	l := s.log
	stream, err := l.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	if _, err = l.JS.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: s.bucket, Storage: jetstream.FileStorage, Replicas: l.BucketReplicas(),
		Description: "Fanfold's copies of the read model of database " + l.Database + ", for new nodes"}); err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return nil, err
	}
	return l.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
}

// upload sends the bytes, and then, once all of them are there, what describes them.
func (s *Snapshots) upload(ctx context.Context, stream jetstream.Stream, snap *Snapshot, r io.Reader) error {
	sum, chunk := sha256.New(), make([]byte, min(snapshotChunk, int(s.log.NC.MaxPayload())/2))
	for {
		n, err := io.ReadFull(r, chunk)
		if n > 0 {
			sum.Write(chunk[:n])
			snap.Bytes += int64(n)
			msg := nats.NewMsg(s.chunkSubject(snap.nuid))
			msg.Data = chunk[:n]
			msg.Header[jetstream.MsgIDHeader] = []string{fmt.Sprintf("%s.%d", snap.nuid, snap.chunks)}
			snap.chunks++
			if err := s.send(ctx, msg); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	snap.Sum = hex.EncodeToString(sum.Sum(nil))
	if there, err := s.countChunks(ctx, stream, snap.nuid); err != nil || there != snap.chunks {
		return fanfold.Wrap(err, fanfold.Unavailable, "of the snapshot's %d pieces the object store has %d", snap.chunks, there)
	}
	body, err := json.Marshal(jetstream.ObjectInfo{Bucket: s.bucket, NUID: snap.nuid, Size: uint64(snap.Bytes), Chunks: uint32(snap.chunks),
		Digest: jetstream.GetObjectDigestValue(sum), ObjectMeta: jetstream.ObjectMeta{Name: snap.Name,
			Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(len(chunk))},
			Metadata: map[string]string{metaStore: string(snap.Store), metaFold: snap.Fold, metaSeq: strconv.FormatUint(snap.Seq, 10),
				metaEvent: snap.Event.String(), metaDigest: snap.Digest.String()}}})
	if err != nil {
		return err
	}
	msg := nats.NewMsg(s.metaSubject(snap.Name))
	msg.Data = body
	msg.Header[jetstream.MsgRollup] = []string{jetstream.MsgRollupSubject}
	return s.send(ctx, msg)
}

// send sends a message until the server has it. Errors are ctx's, and Unavailable where the server refuses it, or does not
// answer for snapshotStall.
func (s *Snapshots) send(ctx context.Context, msg *nats.Msg) error {
	limit, cancel := context.WithTimeout(ctx, snapshotStall)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		attempt, end := context.WithTimeout(limit, s.log.Attempt)
		_, err := s.log.Request(attempt, msg)
		end()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(wait):
			continue
		case <-limit.Done():
		}
		return cmp.Or(ctx.Err(), error(fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be stored: %v", err)))
	}
}

// countChunks asks how many messages with a snapshot's bytes there are.
func (s *Snapshots) countChunks(ctx context.Context, stream jetstream.Stream, id string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotStall)
	defer cancel()
	subject := s.chunkSubject(id)
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, err
	}
	return int(info.State.Subjects[subject]), nil
}

// removeAbandoned removes the bytes of snapshots that were never completed. whole has the subjects of the others. Times are
// compared that the server gave, for the clocks of two nodes may differ.
func (s *Snapshots) removeAbandoned(ctx context.Context, stream jetstream.Stream, latest Snapshot, whole map[string]bool) error {
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

// Get writes a snapshot's bytes to w. What was written is of use only where no error comes back. It holds a few messages in
// memory. Errors are w's, ctx's, and Unavailable: what is there is not what was stored, or it does not come.
func (s *Snapshots) Get(ctx context.Context, snap Snapshot, w io.Writer) error {
	stream, err := s.open(ctx)
	if err != nil {
		return err
	}
	if there, err := s.countChunks(ctx, stream, snap.nuid); err != nil || there != snap.chunks {
		return fanfold.Wrap(err, fanfold.Unavailable, "the snapshot is damaged: of its %d pieces %d are there", snap.chunks, there)
	}
	cons, err := s.log.JS.OrderedConsumer(ctx, events.ObjectsPrefix+s.bucket, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{s.chunkSubject(snap.nuid)}, MaxResetAttempts: events.ResetAttempts})
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be read: %v", err)
	}
	msgs, err := cons.Messages(events.PullOptions()...)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be read: %v", err)
	}
	defer msgs.Stop()
	sum, size := sha256.New(), int64(0)
	for range snap.chunks {
		waiting, cancel := context.WithTimeout(ctx, snapshotStall)
		msg, err := msgs.Next(jetstream.NextContext(waiting))
		cancel()
		if err != nil {
			return cmp.Or(ctx.Err(), error(fanfold.Wrap(err, fanfold.Unavailable, "the snapshot cannot be read: %v", err)))
		}
		sum.Write(msg.Data())
		if size += int64(len(msg.Data())); size > snap.Bytes {
			break
		}
		if _, err := io.Copy(w, bytes.NewReader(msg.Data())); err != nil {
			return err
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); size != snap.Bytes || got != snap.Sum {
		return fanfold.Errorf(fanfold.Unavailable, "the snapshot is damaged: it has %d bytes of digest %s, and was stored with %d of %s", size, got, snap.Bytes, snap.Sum)
	}
	return nil
}
