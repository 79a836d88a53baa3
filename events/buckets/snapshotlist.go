package buckets

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// List returns the snapshots that are there, the latest first, and then those whose description cannot be read: they are of no
// store, and of sequence 0. It blocks for a round trip each; the error is Unavailable. (An object store's own list waits for ever
// where the last description is no JSON.)
func (s *Snapshots) List(ctx context.Context) ([]Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotStall)
	defer cancel()
	subjects, err := s.described(ctx)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the snapshots cannot be listed: %v", err)
	}
	list, readable := make([]Snapshot, 0, len(subjects)), 0
	for _, subject := range subjects[:min(len(subjects), maxDescriptions)] {
		m, err := s.log.GetFromLeader(ctx, events.ObjectsPrefix+s.bucket, servers.LeaderQuery{LastBySubject: subject})
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "the snapshots cannot be listed: %v", err)
		}
		snap, there := s.read(subject, m)
		if !there {
			continue
		}
		list = append(list, snap)
		if snap.Store != "" {
			readable++
		}
		if readable == maxSnapshots {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.Seq, a.Seq), b.Taken.Compare(a.Taken), cmp.Compare(b.Name, a.Name))
	})
	return list, nil
}

// described returns the subjects of what describes snapshots, the latest first by their names.
func (s *Snapshots) described(ctx context.Context) ([]string, error) {
	stream, err := s.log.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.metaPrefix()+">"))
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(info.State.Subjects), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.namedSeq(b), s.namedSeq(a)), cmp.Compare(a, b))
	}), nil
}

// named returns the name that a description's subject has; "" for none.
func (s *Snapshots) named(subject string) string {
	name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subject, s.metaPrefix()))
	if err != nil {
		return ""
	}
	return string(name)
}

// namedSeq returns the sequence that the name in a description's subject begins with; 0 for none.
func (s *Snapshots) namedSeq(subject string) uint64 {
	text, _, _ := strings.Cut(s.named(subject), "-")
	seq, _ := strconv.ParseUint(text, 10, 64) // which is 0 with an error, or the greatest there is
	return seq
}

// read returns the snapshot that a message describes; there is false where it was removed.
func (s *Snapshots) read(subject string, m *servers.Message) (snap Snapshot, there bool) {
	if m == nil {
		return snap, false
	}
	unreadable := Snapshot{Name: s.named(subject), Taken: m.Time.UTC(), meta: subject}
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil || info.Name != unreadable.Name || strings.ContainsAny(info.NUID, ".*> \t\r\n") {
		return unreadable, true
	}
	info.ModTime = m.Time
	snap = snapshotOf(&info)
	snap.meta = subject
	return snap, !info.Deleted
}

// Keys of what describes a snapshot, in the object's metadata.
const (
	metaStore  = "fanfold-store"
	metaFold   = "fanfold-fold"
	metaSeq    = "fanfold-seq"
	metaEvent  = "fanfold-event"
	metaDigest = "fanfold-digest"
)

// snapshotOf returns what describes a snapshot. One that cannot be read is of no store, and of sequence 0.
func snapshotOf(info *jetstream.ObjectInfo) Snapshot {
	s := Snapshot{Name: info.Name, Fold: info.Metadata[metaFold], Taken: info.ModTime.UTC(), nuid: info.NUID, chunks: int(info.Chunks)}
	seq, err := strconv.ParseUint(info.Metadata[metaSeq], 10, 64)
	sum, err2 := jetstream.DecodeObjectDigest(info.Digest)
	if err != nil || err2 != nil || info.Size > maxSnapshotBytes || !fanfold.ReadDigest(&s.Event, info.Metadata[metaEvent]) || !fanfold.ReadDigest(&s.Digest, info.Metadata[metaDigest]) {
		return s
	}
	s.Store, s.Seq, s.Bytes, s.Sum = fanfold.StoreID(info.Metadata[metaStore]), seq, int64(info.Size), hex.EncodeToString(sum)
	return s
}

// prune removes every snapshot but the latest ones of this store, and what was left of those that were never completed.
func (s *Snapshots) prune(ctx context.Context, stream jetstream.Stream, latest Snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotStall)
	defer cancel()
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	whole, kept, rest := map[string]bool{}, 0, list[:0]
	for _, snap := range list {
		if snap.Store == s.log.Store() && kept < snapshotsToKeep {
			whole[s.chunkSubject(snap.nuid)] = true
			kept++
			continue
		}
		rest = append(rest, snap)
	}
	for _, snap := range rest {
		err = errors.Join(err, stream.Purge(ctx, jetstream.WithPurgeSubject(snap.meta)))
		if bytes := s.chunkSubject(snap.nuid); snap.nuid != "" && !whole[bytes] {
			err = errors.Join(err, stream.Purge(ctx, jetstream.WithPurgeSubject(bytes)))
		}
	}
	if err != nil {
		return err
	}
	return s.removeAbandoned(ctx, stream, latest, whole)
}
