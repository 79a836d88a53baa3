// Package writer decides about writes and appends them to the log. It checks documents against the model, finds the
// revision a write goes by and tries again where another write was faster, guards strict relations and unique
// members, adds what deletes bring with them, keeps requests from happening twice, holds writes to the model's
// fan-out limit, applies models and stores imports. It knows nothing of HTTP. DESIGN.md says why it works as it does.
package writer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// Appender stores events in the log.
type Appender interface {
	// Append returns the event's sequence once it is durable. The error is Stale where expect is not met.
	Append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error)
	// AppendAll appends all of the writes or none, as one transaction where tx is not "", and returns the first one's
	// sequence. A Stale says in Operation whose condition is not met.
	AppendAll(ctx context.Context, tx string, writes []fanfold.Write) (first uint64, err error)
}

// Leader answers from the log's leader, so that nothing that was acknowledged is missing in the answer.
type Leader interface {
	// Last returns the revision of the document's last event, 0 for none, and whether that was a delete.
	Last(ctx context.Context, key fanfold.Key) (rev fanfold.Revision, deleted bool, err error)
	// LastLink returns the sequence of the last event about strict references to target, 0 for none.
	LastLink(ctx context.Context, target fanfold.Key) (uint64, error)
	// Progress returns the body and revision of an import's last event; the revision is 0 for none.
	Progress(ctx context.Context, id string) (body []byte, rev fanfold.Revision, err error)
	// Fence returns a sequence at or behind everything acknowledged before the call.
	Fence(ctx context.Context) (uint64, error)
}

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	// Get returns one document, nil where there is none.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, error)
	// Holders returns up to limit documents that refer to target, by arrival, behind the number after.
	Holders(relation, target string, after int64, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error)
	// Tombstone returns the sequence of the delete of a document that is not there, 0 for none.
	Tombstone(key fanfold.Key) (fanfold.Revision, error)
	// Claim returns who has a unique value, "" for nobody, and the sequence of the last event about it.
	Claim(collection, path, value string) (holder string, seq uint64, err error)
	// IdempotencyKey returns the request that was made under a key's hash, nil where none is known.
	IdempotencyKey(hash string) (*fanfold.IdempotencyRecord, error)
}

// ReadModel is what this node has folded.
type ReadModel interface {
	// Get returns one document, nil where there is none, and the position it was read at.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error)
	// Read calls fn with a snapshot that is valid within it.
	Read(fn func(s Snapshot) error) error
	// Wait blocks until seq is folded. The error is ctx's, or Unavailable where the projector has stopped before.
	Wait(ctx context.Context, seq uint64) error
	// Applied returns the last event folded.
	Applied() uint64
}

// Models knows the model that applies and the one that is to come.
type Models interface {
	// Model returns the model that applies, the event that applied it, 0 for none, and the paths still reserved.
	Model() (m *fanfold.Model, seq uint64, reserved fanfold.Reserved)
	// Proposal returns the model that is to come, nil for none, and the last event about models.
	Proposal() (proposal *fanfold.Proposal, last uint64)
	// Ready has an element when this node has become ready for a model that is to come.
	Ready() <-chan struct{}
	// Objections lists what stands in the way of the model that event seq announces. The error is Gone where this
	// node is not ready for it.
	Objections(seq uint64) ([]fanfold.Problem, error)
	// Settled waits until that model applies, and returns the event that applied it. An Unprocessable says why it
	// does not come.
	Settled(ctx context.Context, seq uint64) (applied uint64, err error)
}

// Inspector foretells what models and writes would do.
type Inspector interface {
	// Preview returns what applying a checked model would do.
	Preview(ctx context.Context, m *fanfold.Model) (*fanfold.ModelPreview, error)
	// DryRun returns what events would cause, were they the next ones. The error is Conflict or NotFound where they
	// do not fit the documents as they are.
	DryRun(ctx context.Context, events []*fanfold.Event) (*fanfold.Fanout, error)
	// MayExceed tells whether events may cause more than limit derived changes. It may say so of events that do not.
	MayExceed(events []*fanfold.Event, limit int64) (bool, error)
}

// Dependencies are what a Writer works with.
type Dependencies struct {
	Log       Appender
	Leader    Leader
	ReadModel ReadModel
	Models    Models
	Inspector Inspector
}

// Options of a Writer. The zero value works where MaxEvent is set.
type Options struct {
	MaxEvent int           // the largest event that the log takes, in bytes
	MaxBody  int64         // of a document, in bytes; default 2 MiB, less where the log takes less
	MaxDepth int           // of nesting; default 64
	Timeout  time.Duration // of one wait for this node's fold; default 5 s
	// ProvenFor is for how long a node may answer for keys after it was seen to have folded
	// everything; default a minute. The log drops a second event of one key for two.
	ProvenFor time.Duration
	// BeforeActivate, for tests, is called before a model that is prepared is applied.
	BeforeActivate func(ctx context.Context) error
	Logger         *slog.Logger // default slog.Default()
}

// envelopeRoom is what an event has besides its body at most, in bytes.
const envelopeRoom = 1024

func (o *Options) setDefaults() {
	if o.MaxBody == 0 {
		o.MaxBody = fanfold.DefaultMaxBody
	}
	o.MaxBody = min(o.MaxBody, int64(o.MaxEvent)-envelopeRoom)
	if o.MaxDepth == 0 {
		o.MaxDepth = fanfold.DefaultMaxDepth
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

// maxParsers is how many large bodies are parsed at a time.
const maxParsers = 4

// Writer writes documents, models and imports. Its methods may be called from many goroutines.
type Writer struct {
	Dependencies
	opt Options

	keys    keyLocks
	rounds  guardRounds
	caught  caughtUp
	shapes  atomic.Pointer[shapes]
	retries atomic.Uint64
	parsers chan struct{}
	// modelMu is held for writing while a model is applied that guards more than the one before.
	modelMu sync.RWMutex
}

// New returns a writer. Run must run for models that are prepared to come to apply.
func New(parts Dependencies, opt Options) *Writer {
	opt.setDefaults()
	w := &Writer{Dependencies: parts, opt: opt, parsers: make(chan struct{}, maxParsers)}
	w.caught.began = time.Now()
	return w
}

// MaxBody returns how large a document may be, in bytes.
func (w *Writer) MaxBody() int64 { return w.opt.MaxBody }

// MaxDepth returns how deeply a document may nest.
func (w *Writer) MaxDepth() int { return w.opt.MaxDepth }

// Retries returns how often a write was tried again inside because another was faster.
func (w *Writer) Retries() uint64 { return w.retries.Load() }

// wait waits for this node's fold for as long as limit.
func (w *Writer) wait(ctx context.Context, seq uint64, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.ReadModel.Wait(ctx, seq)
}

// catchUp waits until this node shows everything acknowledged before. The error is Unavailable where it does not.
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
