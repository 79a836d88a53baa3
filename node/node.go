// Package node wires one Fanfold node together: log, projector, read model, writer, feed and API. It starts and stops
// them in order.
package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/access/tokens"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/changefeed/webhook"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/function"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/internal/tracing"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/node/logcheck"
	"github.com/fanfold/fanfold/node/logserver"
	"github.com/fanfold/fanfold/node/metrics"
	"github.com/fanfold/fanfold/node/readiness"
	"github.com/fanfold/fanfold/node/serving"
	"github.com/fanfold/fanfold/node/snapshot"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// Trace says where traces are sent.
type Trace struct {
	Endpoint string  // their URL; "" for what the environment says, or none
	Ratio    float64 // the share of requests that are traced, of those that do not say it by themselves
}

// Config configures a node.
type Config struct {
	Data   string // the directory of the node's files
	Listen string // the HTTP address
	// MaxConnections is how many connections the API has at a time; others wait to be accepted. Default 50,000, fewer
	// where the process may not open as many files.
	MaxConnections int
	Trace          Trace               // where traces are sent
	DebugListen    string              // the address of the profiles; "" for none
	Insecure       bool                // these may be an address that others reach, without a key and without TLS
	Plaintext      bool                // others may reach them without TLS, which ends before the node
	TLSCert        string              // the file of the certificate that the node shows, in PEM; "" for no TLS
	TLSKey         string              // the file of its key
	AdminKeyFile   string              // a file with a key that has the role admin and is in no bucket; "" for none
	Anonymous      bool                // requests without credentials are let in, with the role everyone
	Tokens         tokens.Options      // whose tokens let in, too; of no issuer for nobody's
	MaxAuthAge     time.Duration       // how long the node lets in by what it has read of the keys; default 15 minutes
	Hosts          []string            // further names of the API, besides the names of this machine
	Origins        []string            // web origins, such as https://app.example, whose pages may read and write; * lets all read
	NATS           string              // the URLs of outside servers, separated by commas; "" for the embedded one
	Credentials    servers.Credentials // for the outside servers
	NATSListen     string              // the address at which the embedded server takes ordinary clients; "" for none
	NATSAuth       string              // a file with the public NKeys of those; "" for no file, where whoever reaches an open store may read
	Durability     string              // of the embedded server: always or interval
	Cache          int64               // bytes of the read model's file kept in memory; see sqlite.Options
	Replicas       int                 // of the stream, where it is made on outside servers; 0 for 3 where they form a cluster of three, else 1
	WebhookAllow   []netip.Prefix      // private networks to which batches of groups may be posted
	SnapshotEvery  time.Duration       // between two snapshots for new nodes, on outside servers; 0 for none
	Retain         time.Duration       // how much of its history the store keeps, at least an hour; 0 for all of it
	AllowRemoval   bool                // a model applied at the start may take rules and guards away
	Logger         *slog.Logger
	Writer         writer.Options // limits of documents; zero values are the defaults
	API            api.Options    // limits of requests; zero values are the defaults
	// MaxLag is the greatest lag of a node that counts as ready; default a minute.
	MaxLag    membership.LagBound
	Advertise string             // the URL at which the node is reached, as _status shows it; default that at which it listens
	Members   membership.Options // of its lease among the nodes; zero values are the defaults

	AsIs            bool                    // the read model is looked at as it was left, and not repaired
	KeepFold        bool                    // for tests: the version of the fold is changed by requests alone
	SetOrientedFrom int                     // see projector.Options
	Fsync           func(*os.File) error    // for tests: see embedded.Options
	FailWrite       func() error            // for tests: see sqlite.Options
	FailAppend      func(stored bool) error // for tests: see events.Options
	PurgeWait       time.Duration           // for tests: see events.Options
	Steps           Steps                   // for tests
	ReplicaWait     time.Duration           // for tests: after the last delete, until the servers' replicas have forgotten what was deleted; default 5 minutes
	Now             func() time.Time        // for tests: see group.Options
}

// Steps are told of each step that is over, of a compaction and of an erasure. Their errors end it there.
type Steps struct{ Compact, Erase func(step string) error }

// Node holds the parts of one running Fanfold.
type Node struct {
	Log       *events.Log
	Store     *sqlite.Store
	Projector *projector.Projector
	Backups   *transfer.Backups
	Forget    *forget.Forgetter // compactions and erasures

	cfg       Config
	lock      *os.File
	logServer *logserver.Server // of the log
	front     *serving.Front    // by which clients reach the node
	keys      knownKeys
	judge     *access.Judge
	feed      *changefeed.Feed
	metrics   *metrics.Metrics
	writer    *writer.Writer
	api       *api.Server
	check     *logcheck.Check
	snapshots *snapshot.Snapshots
	tracer    *tracing.Tracer // nil where nothing is traced

	members    *membership.Registry // nil where this is the only node
	readiness  *readiness.Readiness
	startModel uint64          // the event with which the model is known that the log had then
	background background      // what requests have asked for
	webhooks   *webhook.Pusher // posts the batches of groups
}

// background is what runs beside requests that have asked for it.
type background struct {
	sync.WaitGroup
	ctx context.Context // ends when the node stops
}

var (
	_ writer.Appender   = (*events.Log)(nil)
	_ writer.Leader     = (*events.Log)(nil)
	_ writer.Snapshot   = (*sqlite.Snapshot)(nil)
	_ writer.ReadModel  = writerRows{}
	_ writer.Models     = (*projector.Projector)(nil)
	_ writer.Inspector  = (*inspect.Inspector)(nil)
	_ writer.Nodes      = nodes{}
	_ inspect.Projector = (*projector.Projector)(nil)
	_ api.Fencer        = (*writer.Writer)(nil)
	_ api.Reader        = reader{}
	_ api.Folded        = folded{}
	_ api.Outcomes      = folded{}
	_ api.Snapshot      = (*sqlite.Snapshot)(nil)
	_ api.Models        = (*projector.Projector)(nil)
	_ api.Inspector     = inspector{}
	_ api.Tracer        = inspector{}
	_ api.Keys          = (*events.Log)(nil)
	_ api.Operator      = operator{}
	_ api.Cluster       = cluster{}
	_ api.Feed          = (*changefeed.Feed)(nil)
	_ api.Lag           = (*readiness.Readiness)(nil)
	_ api.Backups       = (*transfer.Backups)(nil)
	_ api.Judge         = (*access.Judge)(nil)
	_ api.KeyStore      = (*keys.Store)(nil)
	_ keys.Bucket       = (*buckets.KeyValue)(nil)
	_ changefeed.Store  = feedStore{}
	_ group.KV          = (*buckets.KeyValue)(nil)
	_ group.Feed        = (*changefeed.Feed)(nil)
	_ group.ReadModel   = groupModel{}
	_ batch.Log         = forget.Source{}
	_ forget.Nodes      = members{}
	_ forget.Groups     = forgottenBy{}
	_ webhook.Members   = (*group.Groups)(nil)
	_ webhook.Batches   = memberships{}
)

// Open opens everything that a node runs. Call Run, which also closes it, or Close. Errors are Invalid for a
// configuration that cannot work, and Unavailable for an environment that does not let the node start.
func Open(ctx context.Context, cfg Config) (n *Node, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	fitMemory(&cfg)
	n = newNode(cfg)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
			n = nil
		}
	}()
	if err := n.checkStart(ctx); err != nil {
		return n, err
	}
	if n.lock, err = datadir.Lock(cfg.Data); err != nil {
		return n, err
	}
	if err := n.Forget.Restored.Withhold(cfg.NATSListen != ""); err != nil {
		return n, err
	}
	if err := cmp.Or(n.front.Listen(), n.openTraces(ctx)); err != nil {
		return n, err
	}
	if err := n.openFiles(ctx); err != nil {
		return n, err
	}
	if err := cmp.Or(n.checkClosed(), n.Forget.Open(n.Log, n.Store)); err != nil {
		return n, err
	}
	if err := n.openProjector(ctx); err != nil {
		return n, err
	}
	n.openJudge(n.keys)
	if err := n.openMembers(); err != nil {
		return n, err
	}
	n.openAPI()
	return n, nil
}

// newNode returns a node with a configuration alone.
func newNode(cfg Config) *Node {
	n := &Node{cfg: cfg, metrics: metrics.New(), Forget: forget.New(forget.Options{Data: cfg.Data, Outside: cfg.NATS != "", Retain: cfg.Retain,
		ReplicaWait: cfg.ReplicaWait, CompactStep: cfg.Steps.Compact, EraseStep: cfg.Steps.Erase, Logger: cfg.Logger})}
	n.logServer = logserver.New(logserver.Options{Data: cfg.Data, NATS: cfg.NATS, Credentials: cfg.Credentials, NATSListen: cfg.NATSListen, NATSAuth: cfg.NATSAuth,
		Durability: cfg.Durability, Replicas: cfg.Replicas, Fsync: cfg.Fsync, Logger: cfg.Logger,
		TLS: func() *tls.Config { return n.front.TLS() }, Closed: func() bool { return n.keys.Closed() }})
	return n
}

// forgetFiles removes what the node's files have of what is erased: the witness, and copies of the read model.
func (n *Node) forgetFiles() error {
	cp, err := n.Store.Checkpoint()
	if err == nil {
		err = n.check.Keep(cp)
	}
	if err != nil {
		return err
	}
	return n.snapshots.Forget()
}

// openFiles opens the read model, the log, and the keys beside it. It returns the errors of opening them.
func (n *Node) openFiles(ctx context.Context) (err error) {
	n.Store, err = sqlite.OpenStore(filepath.Join(n.cfg.Data, "readmodel"), sqlite.Options{
		Fingerprint: fold.Fingerprint(), FailWrite: n.cfg.FailWrite, Cache: n.cfg.Cache, AsIs: n.cfg.AsIs, Logger: n.cfg.Logger})
	if err == nil {
		n.check = newCheck(n)
		err = n.openLog(ctx)
	}
	if err == nil {
		n.check.Attach(n.Log, n.logServer.Conn)
		n.snapshots = snapshot.New(snapshot.Options{Log: n.Log, Store: n.Store, Data: n.cfg.Data, Embedded: n.cfg.NATS == "", Every: n.cfg.SnapshotEvery, Logger: n.cfg.Logger})
		err = n.snapshots.Forget() // what a process that was killed has left
	}
	if err == nil {
		err = n.openKeys(ctx)
	}
	return err
}

// openLog opens the log. Errors are Invalid and Unavailable.
func (n *Node) openLog(ctx context.Context) error {
	known, durable, err := n.check.Known()
	if err != nil {
		return err
	}
	if every := n.cfg.SnapshotEvery; every != 0 && (every < time.Second || n.cfg.NATS == "") {
		return fanfold.Errorf(fanfold.Invalid, "--snapshot-every %v cannot be: give a second or more, for a log on outside servers (--nats), or 0", every)
	}
	opt := events.Options{Logger: n.cfg.Logger, FailAppend: n.cfg.FailAppend, KnownSeq: known, PurgeWait: n.cfg.PurgeWait, OnSync: n.metrics.OnSync, OnRound: n.metrics.OnRound,
		Tracer: n.tracer, MayPublish: n.mayPublish, Acknowledged: n.acknowledged}
	if n.cfg.NATS == "" {
		opt.MayPublish = n.mayPublishAlone
	}
	n.Log, err = n.logServer.Open(ctx, durable, opt)
	return err
}

// VerifyLog reads the whole log and compares it with what was folded from it: see logcheck.Check.Verify.
func (n *Node) VerifyLog(ctx context.Context, progress fanfold.Progress) (*logcheck.Report, error) {
	return n.check.Verify(ctx, progress)
}

// openProjector holds the log against the read model, and opens the projector. The error is LogDamaged where the log lacks
// events that the read model shows.
func (n *Node) openProjector(ctx context.Context) error {
	var last uint64
	if err := awaitLeader(ctx, n.Log, func() (err error) {
		if last, err = n.Log.LastSeq(ctx); err == nil {
			n.startModel, err = n.Log.LastModel(ctx)
		}
		return err
	}); err != nil {
		return err
	}
	if !n.cfg.AsIs {
		if _, err := forget.EmptyErased(n.Log, n.Store, n.cfg.Logger); err != nil {
			return err
		}
	}
	if err := n.snapshots.Start(ctx, last); err != nil {
		return err
	}
	if err := awaitLeader(ctx, n.Log, func() error { return n.check.Begin(ctx, last) }); err != nil {
		return err
	}
	var err error
	report := new(rebuild.Report)
	n.cfg.Writer.RuleFailed = report.RuleFailed
	n.Projector, err = projector.New(forget.NewSource(n.Log), n.Store, projector.Options{Logger: n.cfg.Logger, SetOrientedFrom: n.cfg.SetOrientedFrom,
		OnFolded: n.metrics.OnFolded, OnBatch: n.onBatch, Report: report})
	if err != nil {
		return err
	}
	n.readiness = newReadiness(n, last)
	return n.rebuildUnclean(ctx, last)
}

// newReadiness returns what says whether a node is ready. last is the last event that the log had at the start.
func newReadiness(n *Node, last uint64) *readiness.Readiness {
	return readiness.New(readiness.Options{Log: n.Log, Store: n.Store, Projector: n.Projector, Last: last, MaxLag: n.cfg.MaxLag,
		Scan: n.check.Progress, Withheld: n.Forget.Restored.Withheld, MayPublish: n.mayPublish, Leaving: func() bool { return n.api.Leaving() }})
}

// issuer returns what gives out positions.
func (n *Node) issuer() fanfold.Issuer {
	return fanfold.Issuer{Store: n.Log.Store(), Origin: n.Log.Origin(), Folds: n.Projector}
}

// openAPI makes the writer, the feed and the API of a node whose log and read model are open.
func (n *Node) openAPI() {
	inspected := inspect.New(n.Store, n.Projector, n.issuer())
	budget := n.cfg.API.NewBudget()
	n.feed = changefeed.New(feedStore{n.Store}, changefeed.Options{Budget: budget.Sending, Issuer: n.issuer(), OnSent: n.onSent()})
	groups := group.New(buckets.NewKeyValue(n.Log, "groups"), n.feed, groupModel{n.Store}, group.Options{Timeout: n.cfg.API.Timeout, Issuer: n.issuer(), Now: n.cfg.Now})
	own := groups.By(n.judge.Of(access.OfRole(model.RoleAdmin)))
	n.webhooks = newPusher(n, own)
	n.Backups = transfer.NewBackups(transfer.Parts{Log: n.Log, Store: n.Store, Projector: n.Projector, Groups: own, Issuer: n.issuer(), Forget: n.Forget})
	writerOptions := n.cfg.Writer
	writerOptions.MaxEvent, writerOptions.ImportBatch, writerOptions.JoinLinks = n.Log.MaxPayload(), n.Log.MaxBatch(), n.Log.JoinsLinks()
	writerOptions.Logger, writerOptions.Reachable, writerOptions.ModelAt, writerOptions.KeepFold = n.cfg.Logger, n.Log.Reachable, n.startModel, n.cfg.KeepFold
	parts := writer.Dependencies{Log: n.Log, Leader: n.Log, ReadModel: writerRows{n.Store, n.Projector}, Models: n.Projector, Inspector: inspected, Rehearser: inspected, Nodes: nodes{n},
		Functions: function.New(n.metrics.FunctionRan), Sights: sights{n.Store, n.issuer()}, Calls: n.Log}
	if n.members != nil {
		parts.Members = n.members
	}
	n.writer = writer.New(parts, writerOptions)
	n.Forget.Serve(forget.Parts{Log: n.Log, Store: n.Store, Projector: n.Projector, Writer: n.writer, Nodes: members{n}, Groups: forgottenBy{own, n.feed}, Issuer: n.issuer(), Judge: n.judge,
		Background: func(run func(ctx context.Context)) { n.background.Go(func() { run(n.background.ctx) }) }, ForgetFiles: n.forgetFiles})
	apiOptions := n.cfg.API
	apiOptions.Budget, apiOptions.SpoolDir = budget, n.cfg.Data
	apiOptions.Origins, apiOptions.Hosts = n.cfg.Origins, append(advertisedHosts(n.cfg.Advertise), n.cfg.Hosts...)
	apiOptions.AnyHost = serving.Exposed(n.cfg.Listen) && len(n.cfg.Hosts) == 0
	apiOptions.Version = Version()
	apiOptions.Issuer, apiOptions.Metrics, apiOptions.Logger = n.issuer(), n.watch(own), n.cfg.Logger
	apiOptions.Answered, apiOptions.Denied, apiOptions.Tracer = n.metrics.Answered, n.metrics.Denied, n.tracer
	apiOptions.Queried = n.metrics.Queried
	if n.Forget.Restored.Withheld() != nil {
		apiOptions.Withheld = n.Forget.Restored.Withheld
	}
	inspector := inspector{inspected, n.Store, n.issuer()}
	n.api = api.New(api.Dependencies{Writer: n.writer, Fencer: n.writer, Folded: folded{n.Store}, Models: n.Projector,
		ViewDependencies: api.ViewDependencies{Reader: reader{n.Store}, Outcomes: folded{n.Store}, Tracer: inspector, Keys: n.Log},
		Inspector:        inspector, Operator: operator{n}, Feed: n.feed, Groups: groups, Cluster: cluster{n}, Lag: n.readiness, Judge: n.judge, Keys: n.keys, Holders: n.keys, Backups: n.Backups, Compactor: n.Forget.Compactor, Eraser: n.Forget.Eraser, Finder: n.Forget.Finder}, apiOptions)
	n.metrics.CountDenied(n.api.Routes())
}

// watch returns a handler that answers with the metrics of the node and its parts, and of all groups.
func (n *Node) watch(groups *group.Groups) http.Handler {
	for _, g := range n.Forget.Gauges() {
		n.metrics.Gauge(g.Name, g.Help, g.Value)
	}
	for reason := range n.keys.tokens.Refusals() {
		n.metrics.Counter("fanfold_token_refusals_total", "Tokens of the issuer's that let nobody in, by reason.", func() uint64 { return n.keys.tokens.Refusals()[reason] }, "reason", reason)
	}
	return n.metrics.Watch(metrics.Parts{Version: Version(), Judge: n.judge, Ready: n.readiness.Ready, Running: func() int64 { return n.api.Running() },
		Certificate: n.front.Expiring(), Store: n.Store, Feed: n.feed, Log: n.Log, Projector: n.Projector, Writer: n.writer, Groups: groups, Keys: n.keys.Store,
		Ordinal: groupModel{n.Store}.Ordinal, Lag: n.readiness.Lag, Nodes: func() []wire.Node { _, all := n.nodes(); return all },
		Members: n.members, Backed: n.Backups.Last, Posts: n.webhooks.Posts})
}

// version and revision are set by the linker, with -X, where a build has no version control to ask: see the Dockerfile.
var version, revision string

// Version returns the program's version: what it was linked with, else what Go's build information has, and "(devel)"
// without either.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Revision returns the program's commit, and "" where nobody knows it.
func Revision() string {
	if revision != "" {
		return revision
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}

// Writer returns the node's writer.
func (n *Node) Writer() *writer.Writer { return n.writer }

// Keys returns the keys of the store.
func (n *Node) Keys() *keys.Store { return n.keys.Store }

// API returns the node's HTTP API.
func (n *Node) API() *api.Server { return n.api }

// Addr returns the address on which the API listens.
func (n *Node) Addr() string { return n.front.Listener().Addr().String() }

// URL returns the URL of the API.
func (n *Node) URL() string { return n.front.URL() }

// Shares of the shutdown's time that are the node's own, after the API's. One ends the fold: a batch that takes longer is
// rolled back, and folded again at the next start. The other ends with closed files.
const (
	foldShare  = 0.15
	closeShare = 0.95
)

// Run serves until ctx ends or a part fails, then stops and closes everything in order: see api.Server.Run. Parts that
// requests need go on until the last request has ended. It calls ready, which may be nil, in a goroutine of its own as soon
// as the parts are started. It returns nil after ctx has ended, else the first error.
func (n *Node) Run(ctx context.Context, ready func(ctx context.Context) error) error {
	needed, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	g, parts := errgroup.WithContext(needed)
	serving, stop := context.WithCancel(parts)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	n.background.ctx = serving
	defer context.AfterFunc(serving, func() { n.Store.CloseBy(time.Now().Add(n.cfg.API.ShutdownDelay + n.share(closeShare))) })()
	defer context.AfterFunc(parts, func() { time.AfterFunc(n.share(foldShare), n.Store.Interrupt) })()
	written, left := make(chan struct{}), make(chan error, 1)
	go func() { left <- n.runMembers(parts, written) }()
	n.runParts(parts, g)
	g.Go(func() error { return n.webhooks.Run(serving) })
	g.Go(func() error {
		defer end()
		return n.serveAPI(serving, parts)
	})
	if ready != nil {
		g.Go(func() error { return ready(serving) })
	}
	err := g.Wait()
	n.writer.Close()
	n.background.Wait()
	close(written)
	return errors.Join(err, <-left, n.Close())
}

// serveAPI serves the API until ctx ends, or a part of the node has failed. Meanwhile it erases what a restored store must not show, and the API
// tells nothing of the store until that is done.
func (n *Node) serveAPI(ctx, parts context.Context) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() {
		err := n.Forget.Restored.EraseFirst(serving)
		if err != nil {
			stop()
		}
		failed <- err
	}()
	err := n.api.Run(serving, n.front.Listener(), api.Ending{CloseFeeds: n.feed.Close, Failed: parts.Done()})
	stop()
	if first := <-failed; err == nil && ctx.Err() == nil {
		err = cmp.Or(first, errors.New("the HTTP server ended"))
	}
	return err
}

// CatchUp folds what the log has up to its end, on a node that does not run. It blocks until that is folded. Errors are ctx's, and why the
// projector stopped.
func (n *Node) CatchUp(ctx context.Context) error {
	last, err := n.Log.LastSeq(ctx)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- n.Projector.Run(running) }()
	err = n.Store.Applied.Wait(ctx, last)
	stop()
	return errors.Join(err, <-ended)
}

// runParts starts what runs beside the API, until ctx ends.
func (n *Node) runParts(ctx context.Context, g *errgroup.Group) {
	g.Go(func() error { return n.Projector.Run(ctx) }) // nil only once ctx has ended
	g.Go(func() error { return n.writer.Run(ctx) })
	g.Go(func() error { return n.keys.Run(ctx) })
	if n.keys.tokens != nil {
		g.Go(func() error { return n.keys.tokens.Run(ctx) })
	}
	g.Go(func() error { return n.judge.Run(ctx) })
	g.Go(func() error { return n.front.Run(ctx) })
	g.Go(func() error { return n.logServer.Run(ctx) })
	g.Go(func() error { return n.check.Run(ctx) })
	g.Go(func() error { return settleDoubt(ctx, n) })
	g.Go(func() error { return n.snapshots.Run(ctx) })
	g.Go(func() error { return n.Forget.Run(ctx) })
	g.Go(func() error { return n.Log.Recovery().Run(ctx, n.foldedSeq) })
	if n.cfg.NATS == "" && n.cfg.NATSListen == "" && !n.cfg.KeepFold { // no other node can be there
		g.Go(func() error { return n.upgrade(ctx) })
	}
}

// foldedSeq returns the last event that was folded. The error is the read model's.
func (n *Node) foldedSeq() (uint64, error) {
	cp, err := n.Store.Checkpoint()
	return cp.Seq, err
}

// share returns a share of the time that a shutdown may take.
func (n *Node) share(of float64) time.Duration {
	return time.Duration(of * float64(cmp.Or(n.cfg.API.ShutdownTimeout, api.DefaultShutdownTimeout)))
}

// Close closes what is open, users before what they use. Run calls it; call it for a node that does not
// run.
func (n *Node) Close() error {
	var errs []error
	n.front.Close()
	if n.check != nil {
		n.check.Close()
	}
	if n.Store != nil {
		errs = append(errs, n.Store.Close())
	}
	errs = append(errs, n.logServer.Close())
	if err := n.tracer.Close(); err != nil {
		n.cfg.Logger.Warn("the last spans could not be sent", "err", err)
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}
