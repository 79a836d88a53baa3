package events

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// Prefixes of the names of streams that are key-value buckets, and object stores.
const (
	bucketPrefix  = "KV_"
	objectsPrefix = "OBJ_"
)

// MaxKeys bounds the keys that KeyValue.All returns. It is the server's limit for one answer.
const MaxKeys = 1024

// KeyValue keeps small values by their keys, in a JetStream key-value bucket beside the log. What it has returned, written
// or read, is as durable as the log's events are. Its methods may be called from many goroutines.
type KeyValue struct {
	log    *Log
	bucket string

	mu     sync.Mutex
	opened *openBucket // nil before the bucket was found or made
}

// openBucket is a bucket as it was found in one run of the log's server.
type openBucket struct {
	run     *serverRun
	stream  jetstream.Stream
	syncer  *syncer       // nil where the server syncs, or nobody does
	highest atomic.Uint64 // the highest sequence that the bucket is known to have
}

// KeyValue returns the bucket of the log's database for a purpose, such as groups. The bucket is made by the first Set.
func (l *Log) KeyValue(purpose string) *KeyValue {
	return &KeyValue{log: l, bucket: "fanfold_" + l.opt.Database + "_" + purpose}
}

// open finds the bucket, which it makes where create says so, and returns it, nil where it is not there. Errors are
// Unavailable, and Invalid for a bucket with settings that could lose values.
func (kv *KeyValue) open(ctx context.Context, create bool) (*openBucket, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	l := kv.log
	run := l.run.Load()
	switch {
	case run.stopped != nil:
		return nil, run.stopped
	case kv.opened != nil && kv.opened.run == run:
		return kv.opened, nil
	}
	s, err := l.js.Stream(ctx, bucketPrefix+kv.bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if !create {
			return nil, nil
		}
		err = l.place(ctx, l.bucketReplicas(), func() error {
			_, err := l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: kv.bucket, History: 1, Storage: jetstream.FileStorage,
				Description: "Fanfold's state beside the log of database " + l.opt.Database, Replicas: l.bucketReplicas()})
			return err
		}).explained()
		if err == nil || errors.Is(err, jetstream.ErrBucketExists) { // another node was faster
			s, err = l.js.Stream(ctx, bucketPrefix+kv.bucket)
		}
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot open the bucket %s: %v", kv.bucket, err)
	}
	info := s.CachedInfo()
	if c := info.Config; c.MaxAge != 0 || c.MaxMsgs > 0 || c.MaxBytes > 0 || c.Storage != jetstream.FileStorage || !c.AllowDirect {
		return nil, fanfold.Errorf(fanfold.Invalid, "the bucket %s exists with settings that could lose values; it must be in files, without limits, with direct get", kv.bucket)
	}
	b := &openBucket{run: run, stream: s}
	advance(&b.highest, info.State.LastSeq)
	if e := l.opt.Embedded; e != nil && e.Sync() == SyncGroup {
		if b.syncer, err = e.newBucketSyncer(info, b.highest.Load); err != nil {
			return nil, err
		}
	}
	kv.opened = b
	return b, nil
}

// forget has the bucket looked for anew by the next call, where err says that an outside server did not answer about it: it may
// be gone, or another one by now.
func (kv *KeyValue) forget(b *openBucket, err error) {
	if kv.log.opt.Embedded != nil || fanfold.CodeOf(err) != fanfold.Unavailable {
		return
	}
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if kv.opened == b {
		kv.opened = nil
	}
}

// bucketReplicas returns how many replicas a new bucket gets: as many as the log has.
func (l *Log) bucketReplicas() int {
	if n, _ := l.ReplicaCount(); n > 0 {
		return n
	}
	return max(1, l.stream.CachedInfo().Config.Replicas)
}

// advance raises a number to at least n, and returns whether it was less.
func advance(number *atomic.Uint64, n uint64) (raised bool) {
	for old := number.Load(); old < n; old = number.Load() {
		if number.CompareAndSwap(old, n) {
			return true
		}
	}
	return false
}

// subject returns the subject of a key.
func (kv *KeyValue) subject(key string) string { return "$KV." + kv.bucket + "." + key }

// seen blocks until what was written or read up to seq is durable. The error is Unavailable.
func (b *openBucket) seen(ctx context.Context, seq uint64) error {
	advance(&b.highest, seq)
	if b.syncer == nil {
		return nil
	}
	return b.syncer.wait(ctx, seq)
}

// deleted reports whether a message says that its key is not there any more.
func deleted(h nats.Header) bool {
	op := h.Get("KV-Operation")
	return op == "DEL" || op == "PURGE"
}

// Get returns what a key has, as the bucket's leader knows it. It blocks for a round trip, and for Options.Timeout of the log
// where nobody answers; the error is Unavailable.
func (kv *KeyValue) Get(ctx context.Context, key string) (e fanfold.Entry, err error) {
	e.Key = key
	b, err := kv.open(ctx, false)
	if err != nil || b == nil {
		return e, err
	}
	defer func() { kv.forget(b, err) }()
	m, err := kv.ask(ctx, key)
	if err != nil || m == nil {
		return e, err
	}
	if e.Revision = m.Seq; !deleted(m.header) {
		e.Value = m.Data
	}
	return e, b.seen(ctx, m.Seq)
}

// ask asks the leader for the last message about a key, again and again where there is no leader.
func (kv *KeyValue) ask(ctx context.Context, key string) (*storedMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, kv.log.opt.Timeout)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		m, err := kv.log.askLeader(ctx, bucketPrefix+kv.bucket, msgGetRequest{LastBySubject: kv.subject(key)})
		if err == nil {
			return m, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// Set gives a key a value, or takes it away where value is nil, if the key's revision is still the one given, and returns
// the new one. It blocks until the change is durable. Errors are Stale where the key has changed, and Unavailable, where the
// change may have been made.
func (kv *KeyValue) Set(ctx context.Context, key string, value []byte, revision uint64) (seq uint64, err error) {
	b, err := kv.open(ctx, true)
	if err != nil {
		return 0, err
	}
	defer func() { kv.forget(b, err) }()
	ctx, cancel := context.WithTimeout(ctx, kv.log.opt.Timeout)
	defer cancel()
	msg := nats.NewMsg(kv.subject(key))
	msg.Data = value
	msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(revision, 10)}
	if value == nil {
		msg.Header["KV-Operation"] = []string{"DEL"}
	}
	if seq, err = kv.publish(ctx, b, msg, key, revision); err != nil {
		return 0, err
	}
	return seq, b.seen(ctx, seq)
}

// publish sends a change until an answer decides, and returns its sequence. The errors are those of Set.
func (kv *KeyValue) publish(ctx context.Context, b *openBucket, msg *nats.Msg, key string, revision uint64) (uint64, error) {
	sent, began := false, time.Now() // sent: an attempt may have been stored
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		if full := kv.log.full.Load(); full != nil {
			return 0, *full
		}
		if failed := b.syncer.failure(); failed != nil {
			return 0, failed
		}
		attempt, cancel := context.WithTimeout(ctx, kv.log.opt.Attempt)
		ack, err := kv.log.request(attempt, msg)
		cancel()
		var api *jetstream.APIError
		switch {
		case err == nil:
			return ack.seq, nil
		case !errors.As(err, &api):
			sent = sent || maybeStored(err)
		case api.ErrorCode == codeWrongLastSequence:
			seq, verdict := kv.resolve(ctx, key, msg, revision, sent || kv.log.undecided(api))
			if !kv.log.replicated.Load() || !errors.Is(verdict, errOlder) || time.Since(began) > kv.log.opt.Attempt {
				return seq, verdict
			}
		case api.ErrorCode != codeInFlight && !sent:
			return 0, fanfold.Wrap(api, fanfold.Unavailable, "the log refused the change: %s", api.Description)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, fanfold.Wrap(err, fanfold.Unavailable, "the log does not answer; try again")
		}
	}
}

// resolve returns the sequence of a change that was refused because the key has changed, where it was this very change whose
// answer was lost, or where a leader refused it that had been replaced. The errors are those of Set. A Stale is errOlder, too,
// where no change behind the revision is seen: the key was taken away without a trace, or a replica that lags was asked.
func (kv *KeyValue) resolve(ctx context.Context, key string, msg *nats.Msg, revision uint64, sent bool) (uint64, error) {
	stale := fanfold.Errorf(fanfold.Stale, "%s has changed", key)
	if !sent {
		return 0, stale
	}
	e, err := kv.current(ctx, key)
	switch {
	case err != nil:
		return 0, err
	case e.Revision <= revision:
		return 0, fanfold.Wrap(errOlder, fanfold.Stale, "%s has changed", key)
	case bytes.Equal(e.Value, msg.Data):
		return e.Revision, nil
	}
	return 0, stale
}

// current returns what a key has, as the leader knows it, or, where the bucket is replicated, any replica: what a replica has is
// stored for good, and a leader may have been replaced.
func (kv *KeyValue) current(ctx context.Context, key string) (e fanfold.Entry, err error) {
	if !kv.log.replicated.Load() {
		return kv.Get(ctx, key)
	}
	attempt, cancel := context.WithTimeout(ctx, kv.log.opt.Attempt)
	defer cancel()
	msgs, _, err := kv.log.lastOfEach(attempt, bucketPrefix+kv.bucket, kv.subject(key))
	if err != nil {
		return e, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	for _, m := range msgs {
		if e.Revision = m.Seq; !deleted(m.header) {
			e.Value = m.Data
		}
	}
	return e, nil
}

// errOlder says that a key is not known to have changed since.
var errOlder = errors.New("no change is known")

// All returns the keys below a prefix, which ends before a dot, that are there, in the order of their changes. They are what
// the bucket had at one moment, with every change that this process made or read before. It blocks for a round trip. Errors
// are Unavailable, also for more than MaxKeys keys.
func (kv *KeyValue) All(ctx context.Context, prefix string) (entries []fanfold.Entry, err error) {
	b, err := kv.open(ctx, false)
	if err != nil || b == nil {
		return nil, err
	}
	defer func() { kv.forget(b, err) }()
	ctx, cancel := context.WithTimeout(ctx, kv.log.opt.Timeout)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		floor := b.highest.Load()
		entries, upTo, err := kv.askForAll(ctx, b, prefix)
		if err == nil && upTo >= floor {
			return entries, b.seen(ctx, upTo)
		}
		select { // a replica that lags has answered, or none
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fanfold.Wrap(errors.Join(err, ctx.Err()), fanfold.Unavailable, "the log cannot be asked")
		}
	}
}

// askForAll returns the keys below a prefix as a replica has them, and up to which sequence it has what is in the bucket.
func (kv *KeyValue) askForAll(ctx context.Context, b *openBucket, prefix string) (entries []fanfold.Entry, upTo uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, kv.log.opt.Attempt)
	defer cancel()
	msgs, upTo, err := kv.log.lastOfEach(ctx, bucketPrefix+kv.bucket, kv.subject(prefix+".>"))
	if err == nil && len(msgs) == 0 { // nothing is there, and nobody says up to where
		upTo = b.highest.Load()
	}
	for _, m := range msgs {
		if !deleted(m.header) {
			entries = append(entries, fanfold.Entry{Key: strings.TrimPrefix(m.Subject, kv.subject("")), Value: m.Data, Revision: m.Seq})
		}
	}
	return entries, upTo, err
}

// Drop takes away a key and the keys below it without a trace. It blocks for two round trips; the error is Unavailable.
func (kv *KeyValue) Drop(ctx context.Context, key string) error {
	b, err := kv.open(ctx, false)
	if err != nil || b == nil {
		return err
	}
	for _, subject := range []string{kv.subject(key), kv.subject(key) + ".>"} {
		if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked: %v", err)
		}
	}
	return nil
}

// Remove takes a key away without a trace, unless it has changed behind a revision. It blocks for a round trip; the error is
// Unavailable.
func (kv *KeyValue) Remove(ctx context.Context, key string, revision uint64) error {
	b, err := kv.open(ctx, false)
	if err != nil || b == nil {
		return err
	}
	if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject(kv.subject(key)), jetstream.WithPurgeSequence(revision+1)); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked: %v", err)
	}
	return nil
}

// Watch calls fn with each value that is sent to a key below a prefix, in a goroutine of the connection's, until stop is
// called. What was sent may have been refused, and some of it may not be heard of: it is a hint to ask. The error is
// Unavailable.
func (kv *KeyValue) Watch(prefix string, fn func(value []byte)) (stop func(), err error) {
	sub, err := kv.log.nc.Subscribe(kv.subject(prefix+".>"), func(m *nats.Msg) { fn(m.Data) })
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the bucket %s cannot be watched: %v", kv.bucket, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}
