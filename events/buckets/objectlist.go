package buckets

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// list returns the objects that are there, the latest first, and then those whose description cannot be read. It blocks for a round trip each, and outlasts
// a planned start of the server; the error is Unavailable. (An object store's own list waits for ever where the last description is no JSON.)
func (s *objects) list(ctx context.Context) (list []object, err error) {
	err = s.log.Outlast(ctx, func(ctx context.Context) error {
		list, err = s.listOnce(ctx)
		return err
	})
	return list, err
}

// listOnce does what list does, once. The list is empty where the object store is removed meanwhile.
func (s *objects) listOnce(ctx context.Context) ([]object, error) {
	ctx, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	subjects, err := s.described(ctx)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the snapshots cannot be listed: %v", err)
	}
	list, readable := make([]object, 0, len(subjects)), 0
	for _, subject := range subjects[:min(len(subjects), maxDescriptions)] {
		m, err := s.log.GetFromLeader(ctx, events.ObjectsPrefix+s.bucket, servers.LeaderQuery{LastBySubject: subject})
		if isGone(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "the snapshots cannot be listed: %v", err)
		}
		o, there := s.read(subject, m)
		if !there {
			continue
		}
		list = append(list, o)
		if o.Sum != "" {
			readable++
		}
		if readable == maxObjects {
			break
		}
	}
	return list, nil
}

// described returns the subjects of what describes objects, the latest first by their names.
func (s *objects) described(ctx context.Context) ([]string, error) {
	stream, err := s.log.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.metaPrefix()+">"))
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(info.State.Subjects), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.namedSeq(b), s.namedSeq(a)), cmp.Compare(a, b))
	}), nil
}

// named returns the name that a description's subject has; "" for none.
func (s *objects) named(subject string) string {
	name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subject, s.metaPrefix()))
	if err != nil {
		return ""
	}
	return string(name)
}

// namedSeq returns the sequence that the name in a description's subject begins with; 0 for none.
func (s *objects) namedSeq(subject string) uint64 {
	text, _, _ := strings.Cut(s.named(subject), "-")
	seq, _ := strconv.ParseUint(text, 10, 64) // which is 0 with an error, or the greatest there is
	return seq
}

// read returns the object that a message describes; there is false where it was removed.
func (s *objects) read(subject string, m *servers.Message) (o object, there bool) {
	if m == nil {
		return o, false
	}
	o = object{Name: s.named(subject), Stored: m.Time.UTC(), meta: subject}
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil || info.Name != o.Name || strings.ContainsAny(info.NUID, ".*> \t\r\n") {
		return o, true
	}
	o.Metadata, o.nuid, o.chunks = info.Metadata, info.NUID, int(info.Chunks)
	if sum, err := jetstream.DecodeObjectDigest(info.Digest); err == nil && info.Size <= maxObjectBytes {
		o.Bytes, o.Sum = int64(info.Size), hex.EncodeToString(sum)
	}
	return o, !info.Deleted
}

// remove removes objects. The error is Unavailable.
func (s *objects) remove(ctx context.Context, list []object) error {
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	stream, err := s.existing(ctx)
	if err != nil {
		return err
	}
	for _, o := range list {
		err = errors.Join(err, stream.Purge(ctx, jetstream.WithPurgeSubject(o.meta)))
		if o.nuid != "" {
			err = errors.Join(err, stream.Purge(ctx, jetstream.WithPurgeSubject(s.chunkSubject(o.nuid))))
		}
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "a snapshot cannot be removed: %v", err)
	}
	return nil
}

// prune removes old objects, and what was left of those that were never completed. Those that stay are kept. It outlasts a planned start of the server.
// An embedded server loses whole files alone: it rewrites a file that has lost most of its content, and a loss of power could take all of it.
func (s *objects) prune(ctx context.Context, kept, old []object) error {
	switch {
	case len(kept)+len(old) == 0:
		return nil
	case s.log.Embedded != nil && len(kept) == 0: // Remake removes it
		return nil
	}
	err := s.log.Outlast(ctx, func(ctx context.Context) error {
		if s.log.Embedded != nil {
			return s.pruneFiles(ctx, kept)
		}
		return s.pruneOnce(ctx, kept, old)
	})
	if isGone(err) { // Remake has removed it meanwhile
		return nil
	}
	return err
}

// pruneOnce does what prune does, once.
func (s *objects) pruneOnce(ctx context.Context, kept, old []object) error {
	whole, latest := map[string]bool{}, object{}
	for _, o := range kept {
		if o.Stored.After(latest.Stored) {
			latest = o
		}
		whole[s.chunkSubject(o.nuid)] = true
	}
	for i, o := range old {
		if whole[s.chunkSubject(o.nuid)] { // a description that somebody copied
			old[i].nuid = ""
		}
	}
	if err := s.remove(ctx, old); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	stream, err := s.existing(ctx)
	if err != nil {
		return err
	}
	return s.removeAbandoned(ctx, stream, latest, whole)
}

// pruneFiles removes the embedded server's files that have nothing of the objects that are kept, nor what came later. The error is Unavailable.
func (s *objects) pruneFiles(ctx context.Context, kept []object) error {
	ctx, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	stream, err := s.existing(ctx)
	if err != nil {
		return err
	}
	first := uint64(math.MaxUint64)
	for _, o := range kept {
		for _, subject := range []string{o.meta, s.chunkSubject(cmp.Or(o.nuid, "none"))} {
			m, err := stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
			if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
				return fanfold.Wrap(err, fanfold.Unavailable, "the snapshots cannot be read: %v", err)
			}
			if err == nil {
				first = min(first, m.Sequence)
			}
		}
	}
	start, err := s.log.Embedded.BlockStart(events.ObjectsPrefix+s.bucket, first)
	if err == nil && start > 1 {
		err = stream.Purge(ctx, jetstream.WithPurgeSequence(start))
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "old snapshots cannot be removed: %v", err)
	}
	return nil
}
