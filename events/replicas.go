package events

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// usualReplicas is how many replicas a log gets that is made on a cluster where nothing else is said.
const usualReplicas = 3

// StreamReplicas are the replicas of the log's stream, and of the buckets beside it.
type StreamReplicas struct {
	log      *Log
	replicas atomic.Int32 // as the last Check saw them
	current  atomic.Int32 // the current ones among these
	away     atomic.Int32 // the ones that the leader has not heard just now
}

// Replicas returns the replicas of the log and of what is beside it.
func (l *Log) Replicas() *StreamReplicas { return &l.replicas }

// Count returns how many replicas the log has, and how many of them are current, as the last Check saw them; 0 before
// the first.
func (s *StreamReplicas) Count() (replicas, current int) {
	return int(s.replicas.Load()), int(s.current.Load())
}

// Away returns of how many replicas the leader has not heard just now, as the last Check saw them.
func (s *StreamReplicas) Away() int { return int(s.away.Load()) }

// streams returns the names of the streams of the log and the buckets beside it, the log's first.
func (s *StreamReplicas) streams(ctx context.Context) ([]string, error) {
	out := []string{s.log.opt.Database}
	names := s.log.js.StreamNames(ctx)
	for name := range names.Name() {
		for _, kind := range []string{BucketPrefix, ObjectsPrefix} { // a purpose has no _ in it; another database's name may
			if purpose, ok := strings.CutPrefix(name, kind+"fanfold_"+s.log.opt.Database+"_"); ok && !strings.Contains(purpose, "_") {
				out = append(out, name)
			}
		}
	}
	if err := names.Err(); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's servers cannot be asked for their streams: %v", err)
	}
	slices.Sort(out[1:])
	return out, nil
}

// Ask asks how many replicas the log and each bucket beside it have. It blocks for a round trip for each; the error is
// Unavailable.
func (s *StreamReplicas) Ask(ctx context.Context) (r servers.Replicas, err error) {
	err = s.log.Outlast(ctx, func(ctx context.Context) error {
		for range 3 {
			names, err := s.streams(ctx)
			if err == nil {
				r, err = s.log.client.Replicas(ctx, names)
			}
			if refusal := servers.Refusal(err); refusal == nil || refusal.ErrorCode != jetstream.JSErrCodeStreamNotFound {
				return err
			}
		}
		return fanfold.Errorf(fanfold.Unavailable, "the object stores beside the log are made anew: try again")
	})
	return r, err
}

// Set gives the log and every bucket beside it n replicas, and then waits until all of them are current, as
// servers.Client.SetReplicas does. Appends go on meanwhile. Errors are its, and Invalid for a number that cannot be.
func (s *StreamReplicas) Set(ctx context.Context, n int) (r servers.Replicas, err error) {
	if n < 1 || n > servers.MaxReplicas {
		return r, fanfold.Errorf(fanfold.Invalid, "the log cannot have %d replicas: give 1 to %d", n, servers.MaxReplicas)
	}
	if s.log.opt.Embedded != nil {
		if n > 1 {
			return r, fanfold.Errorf(fanfold.Conflict, "the log is in the embedded server, which is 1 server: %d replicas need a cluster of at least %d NATS servers, given by --nats", n, n)
		}
		return s.Ask(ctx)
	}
	names, err := s.streams(ctx)
	if err != nil {
		return r, err
	}
	return s.log.client.SetReplicas(ctx, names, n, func(r servers.Replicas) { s.note(r.Replicas, r.Current) })
}

// note records what Count returns.
func (s *StreamReplicas) note(replicas, current int) {
	s.replicas.Store(int32(replicas))
	s.current.Store(int32(current))
}

// createStream makes the stream, with as many replicas as the options say: usualReplicas, or 1 where there are not as many
// servers, for 0. It returns the server's errors, Conflict if there are not as many servers as asked for, and Unavailable
// if some servers do not answer, so that nobody can count them.
func (l *Log) createStream(ctx context.Context) (jetstream.Stream, error) {
	config := l.streamConfig()
	asked := config.Replicas
	if config.Replicas = cmp.Or(asked, 1); asked == 0 && l.nc.ConnectedClusterName() != "" {
		config.Replicas = usualReplicas
	}
	var s jetstream.Stream
	placed := l.client.Place(ctx, config.Replicas, func() (err error) {
		s, err = l.js.CreateStream(ctx, config)
		return err
	})
	if !placed.Refused() || asked != 0 {
		return s, placed.Explained()
	}
	if placed.There >= usualReplicas || placed.Silent > 0 {
		return nil, fanfold.Wrap(placed.Err, fanfold.Unavailable, "the log is new, and would have %d replicas, and the NATS cluster cannot give them now (%v): of its servers %d answer, and %d known ones do not; start them all, or say --replicas 1 and change it later by fanfold replicas",
			usualReplicas, placed.Err, placed.There, placed.Silent)
	}
	l.opt.Logger.Warn("the log is made with 1 replica: the cluster has too few servers for more; fanfold replicas changes it", "servers", placed.There)
	config.Replicas = 1
	return l.js.CreateStream(ctx, config)
}
