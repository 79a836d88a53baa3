package events

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// Prefixes of the names of streams that are key-value buckets, and object stores.
const (
	BucketPrefix  = "KV_"
	ObjectsPrefix = "OBJ_"
)

// BucketAccess is what a bucket or an object store beside a log needs of it.
type BucketAccess struct {
	*servers.Client
	Database  string
	Timeout   time.Duration // how long a change may take before it fails
	Abandoned time.Duration // how old a snapshot is that is not complete when it is removed
	Embedded  Embedded      // the server, where it is one of this process

	log *Log
}

// BucketAccess returns what a bucket beside the log needs of it.
func (l *Log) BucketAccess() BucketAccess {
	return BucketAccess{Client: l.client, Database: l.opt.Database, Timeout: l.opt.Timeout, Abandoned: l.opt.Abandoned, Embedded: l.opt.Embedded, log: l}
}

// Store returns the id of the store whose log it is.
func (b BucketAccess) Store() fanfold.StoreID { return b.log.store }

// InForce returns the last erase event that is in force; 0 for none.
func (b BucketAccess) InForce() uint64 {
	_, inForce := b.log.prefix.Erasures()
	return uint64(inForce)
}

// Run is a run of the log's server. An answer of one run may not hold in the next, because an embedded server may be started again.
type Run struct{ run *serverRun }

// Run returns the current run of the log's server. The error is Unavailable, and says why the server cannot be used.
func (b BucketAccess) Run() (Run, error) {
	run := b.log.run.Load()
	return Run{run}, run.stopped
}

// NoSpace returns why nothing is written for lack of space, nil for no reason.
func (b BucketAccess) NoSpace() error { return b.log.health.noSpace() }

// Outlast asks the server something, and asks again where it was started again as planned meanwhile: see Log.Outlast.
func (b BucketAccess) Outlast(ctx context.Context, ask func(ctx context.Context) error) error {
	return b.log.Outlast(ctx, ask)
}

// Undecided reports whether a message may be stored although its publish returned err: see Log.undecided.
func (b BucketAccess) Undecided(err error) bool { return b.log.undecided(err) }

// Replicated tells whether the log has several replicas, when last heard.
func (b BucketAccess) Replicated() bool { return b.log.replicated.Load() }

// BucketReplicas returns how many replicas a new bucket gets: as many as the log has.
func (b BucketAccess) BucketReplicas() int {
	if n, _ := b.log.replicas.Count(); n > 0 {
		return n
	}
	return max(1, b.log.stream.CachedInfo().Config.Replicas)
}
