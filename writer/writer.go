// Package writer decides about writes and appends them to the log. It checks documents against the model. It finds the
// revision on which a write is made, and tries again where another write was faster. It guards strict relations and unique
// members, adds the writes that deletes bring with them, and keeps requests from happening twice. It holds writes to the
// model's fan-out limit, applies models and stores imports. It knows nothing of HTTP. DESIGN.md says why it works as
// it does.
package writer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer/internal/gate"
	"github.com/fanfold/fanfold/writer/numbering"
)

// Appender stores events in the log.
type Appender interface {
	// Append stores one event and returns its sequence once it is durable. The error is Stale where expect is not met.
	Append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error)
	// AppendAll stores all of the writes or none, as one transaction where tx is not "", and returns the sequence of the
	// first; the others follow it. The error is Stale where a condition is not met; its Operation is that write's index.
	AppendAll(ctx context.Context, tx string, writes []fanfold.Write) (first uint64, err error)
	// Stage sends writes to the log, which stores them with those that appendRest is given, as AppendAll with no transaction does.
	Stage(ctx context.Context, writes []fanfold.Write) (appendStaged AppendStaged, err error)
}

// AppendStaged stores writes that the log was given ahead together with rest, which has at least one write: all or none, next to
// each other. It returns the sequence of the first. It may be called once, or never.
type AppendStaged = func(ctx context.Context, rest []fanfold.Write) (first uint64, err error)

// Leader answers from the log's leader, so that no acknowledged event is missing in the answer.
type Leader interface {
	// Last returns the revision of the document's last event, 0 for none, and whether that was a delete.
	Last(ctx context.Context, key fanfold.Key) (rev fanfold.Revision, deleted bool, err error)
	// LastAbout returns the sequence of the last link to a document, or of its last gate, 0 for none.
	LastAbout(ctx context.Context, kind fanfold.Kind, about fanfold.Key) (uint64, error)
	// Progress returns the body and revision of an import's last event; the revision is 0 for none.
	Progress(ctx context.Context, id string) (body []byte, rev fanfold.Revision, err error)
	// Fence returns a sequence that no event acknowledged before the call is after.
	Fence(ctx context.Context) (uint64, error)
	// Horizon returns an event up to which the log may have been purged, 0 for none. An event that Last or Progress
	// did not find before the call does not come after it.
	Horizon(ctx context.Context) (uint64, error)
}

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	// Get returns one document, nil where there is none.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, error)
	// Holders returns up to limit documents that refer to target, in order of creation, after the number after, and
	// whether there are more.
	Holders(relation, target string, after int64, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error)
	// Tombstone returns the sequence of the delete of a document that does not exist, 0 where there was none.
	Tombstone(key fanfold.Key) (fanfold.Revision, error)
	// Claim returns the id of the document that has a unique value, "" for none, and the sequence of the last event about
	// the value, 0 for none.
	Claim(collection, path, value string) (holder string, seq uint64, err error)
	Requests
}

// Requests reads what is known of requests and counters whose events are folded.
type Requests interface {
	numbering.Counters
	// IdempotencyKey returns the record of the request that was made under a key's hash, nil where none is known.
	IdempotencyKey(hash string) (*fanfold.IdempotencyRecord, error)
	// ImportProgress returns the body of an import's last event and its revision, 0 for none.
	ImportProgress(id string) (body []byte, rev fanfold.Revision, err error)
}

// ReadModel reads what this node has folded.
type ReadModel interface {
	// Get returns one document, nil where there is none, and the position it was read at.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error)
	// Read calls fn with a snapshot that is valid until fn returns.
	Read(fn func(s Snapshot) error) error
	// Wait blocks until seq is folded. The error is ctx's, or Unavailable where the projector has stopped.
	Wait(ctx context.Context, seq uint64) error
	// Applied returns the sequence of the last event folded.
	Applied() uint64
	// Tidy gives back space on the disk after much was written. It waits for readers that hold it, until ctx ends.
	Tidy(ctx context.Context)
}

// Models knows the model that applies and the one that is announced.
type Models interface {
	// Model returns the model that applies, the sequence of the event that applied it, 0 for none, and the paths that are
	// still reserved.
	Model() (m *model.Model, seq uint64, reserved model.Reserved)
	// Proposal returns the announced model, nil for none, and the sequence of the last event about models.
	Proposal() (proposal *model.Proposal, last uint64)
	// Ready returns a channel that receives when this node has finished the preparation of an announced model.
	Ready() <-chan struct{}
	// Objections lists what stands in the way of the model that event seq announced. The error is Gone where this node
	// has not finished its preparation.
	Objections(seq uint64) ([]fanfold.Problem, error)
	// Settled waits until the model that event seq announced applies, and returns the event that applied it. The error is
	// ctx's, or an Unprocessable that says why the model was withdrawn.
	Settled(ctx context.Context, seq uint64) (applied uint64, err error)
}

// Inspector computes what models and writes would do, without doing it.
type Inspector interface {
	// Preview reports what applying a checked model would do. It also returns an error of opt.Objection.
	Preview(ctx context.Context, m *model.Model, opt model.PreviewOptions) (*model.Preview, error)
	// Guards returns which documents break a strict relation or unique member that is new in a checked model, or, unless misfits may
	// be, a check.
	Guards(ctx context.Context, m *model.Model, misfits bool) ([]fanfold.Problem, error)
	// DryRun counts what events would cause if they were the next ones of the log, and shows a sample of it. The error is
	// Conflict or NotFound where they do not fit the documents as they are.
	DryRun(ctx context.Context, events []*fanfold.Event, sample model.Sample) (*model.Fanout, error)
	// MayExceed estimates whether events cause more than limit derived changes. It is never false of events that do, and
	// may be true of events that do not.
	MayExceed(ctx context.Context, events []*fanfold.Event, limit int64) (bool, error)
	// MayEachExceed returns the indexes of those events that may cause more than limit derived changes by themselves.
	MayEachExceed(ctx context.Context, events []*fanfold.Event, limit int64) ([]int, error)
}

// Dependencies holds the parts that a Writer works with.
type Dependencies struct {
	Log       Appender
	Leader    Leader
	ReadModel ReadModel
	Models    Models
	Inspector Inspector
	Rehearser Rehearser
	Nodes     Nodes
	Functions Functions // nil where no functions run
	Calls     Calls
	Sights    Sights  // for them
	Members   Members // nil where this is the only node; otherwise writes are held back until Release is called
}

// defaultMaxBody is the size of the largest document, in bytes, where the options do not say.
const defaultMaxBody = 2 << 20

// Options configure a Writer. MaxEvent must be set; zero values of the other fields stand for their defaults.
type Options struct {
	MaxEvent int           // the largest event that the log takes, in bytes
	MaxBody  int64         // the largest document, in bytes; default 2 MiB, less where the log takes less
	MaxDepth int           // how deeply a document may nest; default 64
	Timeout  time.Duration // how long one wait for this node's fold may last; default 5 s
	// ImportWait is how long one wait of an import for this node's fold may last; default a minute.
	ImportWait time.Duration
	// ImportBatch is how many messages of an import the log stores at once at most; default 1,000.
	ImportBatch int
	// JoinLinks says that the log takes a link of several holders.
	JoinLinks bool
	// ProvenFor says for how long a node may answer from its table of idempotency keys after it was seen to have folded
	// everything; default a minute. The log itself drops a second event of one key for two minutes.
	ProvenFor time.Duration
	// Reachable returns why the log is out of reach, nil where it is not or may soon be there again. It does not block. nil for a
	// log that always is in reach.
	Reachable func() error
	// ModelAt is the event with which this node knows the model that applies; 0 for none. No write is looked at before it is folded.
	ModelAt uint64
	// BeforeActivate is called before a prepared model is applied. It is for tests; default nil.
	BeforeActivate func(ctx context.Context) error
	// KeepFold says that the first model does not bring the newest fold that all live nodes know. It is for tests.
	KeepFold bool
	// RuleFailed is told of a check whose condition failed on a document. It must not block; nil for nobody.
	RuleFailed func(name string, key fanfold.Key, err error)
	// Moment returns when a request runs functions, and the seed of their chance. It is for tests of functions; nil for the present, and any seed.
	Moment func() (now time.Time, seed uint64)
	Logger *slog.Logger // default slog.Default()
}

// envelopeRoom bounds what an event takes besides its body, in bytes.
const envelopeRoom = 1024

// setDefaults replaces zero values by their defaults.
func (o *Options) setDefaults() {
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	o.MaxBody = min(o.MaxBody, int64(o.MaxEvent)-envelopeRoom)
	if o.MaxDepth == 0 {
		o.MaxDepth = fanfold.DefaultMaxDepth
	}
	if o.ImportBatch == 0 {
		o.ImportBatch = importWrites + 1
	}
	if o.ImportWait == 0 {
		o.ImportWait = importWait
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.ProvenFor == 0 {
		o.ProvenFor = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Writer writes documents, models and imports. Its methods may be called from many goroutines.
type Writer struct {
	Dependencies
	checker
	opt Options

	hold        writeHold
	keys        keyLocks
	gate        *holderGate
	rounds      guardRounds
	checks      *gate.Gates
	idempotency idempotency
	retries     atomic.Uint64
	counts      counts
	foreground  lastActivity
	checking    chan struct{} // has an element while a model is read and checked
	// modelMu is held for reading by every write, and for writing while a model is applied that guards more than the one
	// before. It is taken after key locks.
	modelMu sync.RWMutex
}

// New returns a writer. Prepared models are applied only while its Run is running. The caller closes it.
func New(parts Dependencies, opt Options) *Writer {
	opt.setDefaults()
	parts.Log = lostEventDetector{parts.Log, parts.ReadModel}
	w := &Writer{Dependencies: parts, checker: newChecker(parts.Models, opt), opt: opt, checking: make(chan struct{}, 1), rounds: newGuardRounds(), gate: newHolderGate()}
	w.checks = gate.New(parts.Rehearser, func(ctx context.Context, key fanfold.Key) (uint64, error) {
		return parts.Leader.LastAbout(ctx, fanfold.KindGate, key)
	}, opt.RuleFailed)
	w.idempotency = idempotency{leader: parts.Leader, rows: parts.ReadModel, provenFor: opt.ProvenFor, timeout: opt.Timeout, caughtUp: caughtUp{began: time.Now()}}
	w.hold.mustFold.Store(opt.ModelAt)
	if parts.Members != nil {
		w.hold.start()
	}
	return w
}

// Close ends the work that writes of several requests share, and waits for its end: less than the time that the log has
// to decide. It ends the runtime of functions, too.
func (w *Writer) Close() {
	w.rounds.close()
	if w.Functions != nil {
		if err := w.Functions.Close(context.Background()); err != nil {
			w.opt.Logger.Error("the runtime of functions did not end well", "err", err)
		}
	}
}

// Retries counts how often a write was tried again inside because another was faster.
func (w *Writer) Retries() uint64 { return w.retries.Load() }

// wait waits until this node has folded seq, for limit at most. It returns the error of ReadModel.Wait.
func (w *Writer) wait(ctx context.Context, seq uint64, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.ReadModel.Wait(ctx, seq)
}

// lastActivity records when a request other than an import last wrote, or waited for the fold.
type lastActivity struct{ at atomic.Pointer[time.Time] } // nil for never

// record takes such a request in.
func (a *lastActivity) record() {
	now := time.Now()
	a.at.Store(&now)
}

// idleFor reports whether no such request came for some time.
func (a *lastActivity) idleFor(d time.Duration) bool {
	last := a.at.Load()
	return last == nil || time.Since(*last) > d
}

// Fence returns a sequence that no event acknowledged before the call is after, and has imports make room for those who wait for
// its fold. It blocks for a write of the log; the error is Unavailable.
func (w *Writer) Fence(ctx context.Context) (uint64, error) {
	w.foreground.record()
	return w.Leader.Fence(ctx)
}

// catchUp waits until this node has folded everything acknowledged before the call. The error is Unavailable where that
// takes too long.
func (w *Writer) catchUp(ctx context.Context) error {
	seq, err := w.Leader.Fence(ctx)
	if err != nil {
		return err
	}
	if err := w.wait(ctx, seq, w.opt.Timeout); err != nil {
		return behind(err)
	}
	return nil
}

// Operations lists the names by which Counts counts writes.
var Operations = []string{"create", "put", "patch", "delete", "transaction", "import", "model", "call"}

// counts counts writes since the start.
type counts struct {
	stored    [8]atomic.Uint64 // by the index in Operations
	conflicts atomic.Uint64
}

// add counts a write that was stored, or, where err says that what is stored did not fit it, a conflict.
func (c *counts) add(name string, err error) {
	switch fanfold.CodeOf(err) {
	case "":
		for i, known := range Operations {
			if known == name {
				c.stored[i].Add(1)
			}
		}
	case fanfold.Stale, fanfold.Exists, fanfold.Conflict:
		c.conflicts.Add(1)
	}
}

// Stored returns how many writes of an operation, one of Operations, this writer has stored: requests, and of an import
// documents. A request that was stored before under its key counts again.
func (w *Writer) Stored(operation string) uint64 {
	for i, known := range Operations {
		if known == operation {
			return w.counts.stored[i].Load()
		}
	}
	return 0
}

// Conflicts returns how many writes were refused. The document was at another revision than the request asked for, it
// existed already, it had a unique value, or a patch did not fit it.
func (w *Writer) Conflicts() uint64 { return w.counts.conflicts.Load() }
