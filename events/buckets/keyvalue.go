// Package buckets keeps small values and copies of the read model beside a log: JetStream key-value buckets and an object store.
package buckets

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// MaxKeys bounds the keys that KeyValue.All returns. It is the server's limit for one answer.
const MaxKeys = 1024

// KeyValue keeps small values by their keys, in a JetStream key-value bucket beside the log. A value that it has returned,
// written or read, is as durable as the log's events. Its methods may be called from many goroutines.
type KeyValue struct {
	log    events.BucketAccess
	bucket string

	mu     sync.Mutex
	opened *openBucket // nil before the bucket was found or made
}

// NewKeyValue returns the bucket of a log's database for a purpose, such as groups. The bucket is made by the first Set.
func NewKeyValue(log *events.Log, purpose string) *KeyValue {
	l := log.BucketAccess()
	return &KeyValue{log: l, bucket: bucketName(l.Database, purpose)}
}

// openBucket is a bucket as it was found in one run of the log's server.
type openBucket struct {
	run     events.Run
	stream  jetstream.Stream
	syncer  events.Syncer    // nil where the server syncs, or nobody does
	highest events.Watermark // the highest sequence that the bucket is known to have
}

// open finds the bucket, which it makes where create says so, and returns it, nil where it is not there. Errors are
// Unavailable, and Invalid for a bucket with settings that could lose values.
func (kv *KeyValue) open(ctx context.Context, create bool) (*openBucket, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	l := kv.log
	run, err := l.Run()
	switch {
	case err != nil:
		return nil, err
	case kv.opened != nil && kv.opened.run == run:
		return kv.opened, nil
	}
	s, err := l.JS.Stream(ctx, events.BucketPrefix+kv.bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if !create {
			return nil, nil
		}
		err = l.Place(ctx, l.BucketReplicas(), func() error {
			_, err := l.JS.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: kv.bucket, History: 1, Storage: jetstream.FileStorage,
				Description: "Fanfold's state beside the log of database " + l.Database, Replicas: l.BucketReplicas()})
			return err
		}).Explained()
		if err == nil || errors.Is(err, jetstream.ErrBucketExists) { // another node was faster
			s, err = l.JS.Stream(ctx, events.BucketPrefix+kv.bucket)
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
	b.highest.Advance(info.State.LastSeq)
	if e := l.Embedded; e != nil && e.Sync() == events.SyncGroup {
		if b.syncer, err = e.SyncBucket(info, b.highest.Load); err != nil {
			return nil, err
		}
	}
	kv.opened = b
	return b, nil
}

// forget has the bucket looked for anew by the next call if err says that an outside server did not answer. The bucket may be gone, or
// another one by now.
func (kv *KeyValue) forget(b *openBucket, err error) {
	if kv.log.Embedded != nil || fanfold.CodeOf(err) != fanfold.Unavailable {
		return
	}
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if kv.opened == b {
		kv.opened = nil
	}
}

// subject returns the subject of a key.
func (kv *KeyValue) subject(key string) string { return "$KV." + kv.bucket + "." + key }

// seen blocks until what was written or read up to seq is durable. The error is Unavailable.
func (b *openBucket) seen(ctx context.Context, seq uint64) error {
	b.highest.Advance(seq)
	if b.syncer == nil {
		return nil
	}
	return b.syncer.Wait(ctx, seq)
}

// failure returns why nothing in the bucket is made durable, nil where all is well.
func (b *openBucket) failure() error {
	if b.syncer == nil {
		return nil
	}
	return b.syncer.Failure()
}

// deleted reports whether a message says that its key is not there any more.
func deleted(h nats.Header) bool {
	op := h.Get("KV-Operation")
	return op == "DEL" || op == "PURGE"
}

// Get returns what a key has, as the bucket's leader knows it. It blocks for a round trip, and for Options.Timeout of the log
// where nobody answers. It outlasts a planned start of the server, as all methods do; the error is Unavailable.
func (kv *KeyValue) Get(ctx context.Context, key string) (e fanfold.Entry, err error) {
	err = kv.log.Outlast(ctx, func(ctx context.Context) error {
		e, err = kv.get(ctx, key)
		return err
	})
	return e, err
}

// get does what Get does, once.
func (kv *KeyValue) get(ctx context.Context, key string) (e fanfold.Entry, err error) {
	e.Key = key
	b, err := kv.open(ctx, false)
	if err != nil || b == nil {
		return e, err
	}
	defer func() { kv.forget(b, err) }()
	m, err := kv.getFromLeader(ctx, key)
	if err != nil || m == nil {
		return e, err
	}
	if e.Revision = m.Seq; !deleted(m.Header) {
		e.Value = m.Data
	}
	return e, b.seen(ctx, m.Seq)
}

// getFromLeader asks the leader for the last message about a key, again and again where there is no leader.
func (kv *KeyValue) getFromLeader(ctx context.Context, key string) (*servers.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, kv.log.Timeout)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		m, err := kv.log.GetFromLeader(ctx, events.BucketPrefix+kv.bucket, servers.LeaderQuery{LastBySubject: kv.subject(key)})
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
	ctx, cancel := context.WithTimeout(ctx, kv.log.Timeout)
	defer cancel()
	msg := nats.NewMsg(kv.subject(key))
	msg.Data = value
	msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(revision, 10)}
	if value == nil {
		msg.Header["KV-Operation"] = []string{"DEL"}
	}
	sent := false // an attempt may have been stored
	err = kv.log.Outlast(ctx, func(ctx context.Context) error {
		seq, err = kv.set(ctx, msg, key, revision, &sent)
		return err
	})
	return seq, err
}

// set does what Set does, once. sent says that an earlier attempt may have been stored.
func (kv *KeyValue) set(ctx context.Context, msg *nats.Msg, key string, revision uint64, sent *bool) (seq uint64, err error) {
	b, err := kv.open(ctx, true)
	if err != nil {
		return 0, err
	}
	defer func() { kv.forget(b, err) }()
	if seq, err = kv.publish(ctx, b, msg, key, revision, sent); err != nil {
		return 0, err
	}
	*sent = true
	return seq, b.seen(ctx, seq)
}

// publish sends a change until an answer decides, and returns its sequence. sent is as for set. The errors are as for Set.
func (kv *KeyValue) publish(ctx context.Context, b *openBucket, msg *nats.Msg, key string, revision uint64, sent *bool) (uint64, error) {
	began := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		if full := kv.log.NoSpace(); full != nil {
			return 0, full
		}
		if failed := b.failure(); failed != nil {
			return 0, failed
		}
		attempt, cancel := context.WithTimeout(ctx, kv.log.Attempt)
		ack, err := kv.log.Request(attempt, msg)
		cancel()
		var api *jetstream.APIError
		switch {
		case err == nil:
			return ack.Seq, nil
		case !errors.As(err, &api):
			*sent = *sent || servers.MaybeStored(err)
		case api.ErrorCode == servers.CodeWrongLastSequence:
			seq, verdict := kv.resolve(ctx, key, msg, revision, *sent || kv.log.Undecided(api))
			if !kv.log.Replicated() || !errors.Is(verdict, errOlder) || time.Since(began) > kv.log.Attempt {
				return seq, verdict
			}
		case api.ErrorCode != servers.CodeInFlight && !*sent:
			return 0, fanfold.Wrap(api, fanfold.Unavailable, "the log refused the change: %s", api.Description)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, fanfold.Wrap(err, fanfold.Unavailable, "the log does not answer; try again")
		}
	}
}

// resolve returns the sequence of a change that was refused because the key has changed. Perhaps this very change was stored
// and its answer lost, or a leader refused it that had been replaced. It returns the errors of Set. A Stale is errOlder, too,
// if no change after the revision is seen: the key was taken away without a trace, or a replica that lags was asked.
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

// current returns a key's value as the leader knows it. In a replicated bucket it asks any replica: a replica's value is stored
// for good, and a leader may have been replaced.
func (kv *KeyValue) current(ctx context.Context, key string) (e fanfold.Entry, err error) {
	if !kv.log.Replicated() {
		return kv.Get(ctx, key)
	}
	attempt, cancel := context.WithTimeout(ctx, kv.log.Attempt)
	defer cancel()
	msgs, _, err := kv.log.LastOfEach(attempt, events.BucketPrefix+kv.bucket, kv.subject(key))
	if err != nil {
		return e, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	for _, m := range msgs {
		if e.Revision = m.Seq; !deleted(m.Header) {
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
	err = kv.log.Outlast(ctx, func(ctx context.Context) error {
		entries, err = kv.all(ctx, prefix)
		return err
	})
	return entries, err
}

// all does what All does, once.
func (kv *KeyValue) all(ctx context.Context, prefix string) (entries []fanfold.Entry, err error) {
	b, err := kv.open(ctx, false)
	if err != nil || b == nil {
		return nil, err
	}
	defer func() { kv.forget(b, err) }()
	ctx, cancel := context.WithTimeout(ctx, kv.log.Timeout)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		floor := b.highest.Load()
		entries, upTo, err := kv.requestAll(ctx, b, prefix)
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

// requestAll returns the keys below a prefix as a replica has them, and up to which sequence it has what is in the bucket.
func (kv *KeyValue) requestAll(ctx context.Context, b *openBucket, prefix string) (entries []fanfold.Entry, upTo uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, kv.log.Attempt)
	defer cancel()
	msgs, upTo, err := kv.log.LastOfEach(ctx, events.BucketPrefix+kv.bucket, kv.subject(prefix+".>"))
	if err == nil && len(msgs) == 0 { // nothing is there, and nobody says up to where
		upTo = b.highest.Load()
	}
	for _, m := range msgs {
		if !deleted(m.Header) {
			entries = append(entries, fanfold.Entry{Key: strings.TrimPrefix(m.Subject, kv.subject("")), Value: m.Data, Revision: m.Seq})
		}
	}
	return entries, upTo, err
}

// Drop takes away a key and the keys below it without a trace. It blocks for two round trips; the error is Unavailable.
func (kv *KeyValue) Drop(ctx context.Context, key string) error {
	for _, subject := range []string{kv.subject(key), kv.subject(key) + ".>"} {
		if err := kv.purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}

// Remove takes a key away without a trace, unless it has changed after a revision. It blocks for a round trip; the error is
// Unavailable.
func (kv *KeyValue) Remove(ctx context.Context, key string, revision uint64) error {
	return kv.purge(ctx, jetstream.WithPurgeSubject(kv.subject(key)), jetstream.WithPurgeSequence(revision+1))
}

// purge removes messages of the bucket, where it is there. The error is Unavailable.
func (kv *KeyValue) purge(ctx context.Context, which ...jetstream.StreamPurgeOpt) error {
	return kv.log.Outlast(ctx, func(ctx context.Context) error {
		b, err := kv.open(ctx, false)
		if err != nil || b == nil {
			return err
		}
		if err := b.stream.Purge(ctx, which...); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked: %v", err)
		}
		return nil
	})
}

// Watch calls fn with each value that is sent to a key below a prefix, in a goroutine of the connection's, until stop is
// called. A sent value may have been refused, and some are never heard of: it is a hint to ask. The error is
// Unavailable.
func (kv *KeyValue) Watch(prefix string, fn func(value []byte)) (stop func(), err error) {
	sub, err := kv.log.NC.Subscribe(kv.subject(prefix+".>"), func(m *nats.Msg) { fn(m.Data) })
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the bucket %s cannot be watched: %v", kv.bucket, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}
