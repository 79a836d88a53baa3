// Package embedded is the NATS server in this process, and the files into which it writes: their fsync, their end after a loss of
// power, and reading them. README.md says on what layout of the files it relies.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// Durability says what an acknowledged write survives.
type Durability string

// The durabilities of the embedded server.
const (
	Always   Durability = "always"   // loss of power: every write is synced before its ack
	Interval Durability = "interval" // loss of the process; power loss can take the last two minutes
)

// Options are the settings of an embedded server. Dir and Durability must be given.
type Options struct {
	Dir        string // under which it keeps its streams
	Durability Durability
	// ServerSyncs makes the server sync every message by itself where Durability is Always. Otherwise the log does, all
	// concurrent writes at once.
	ServerSyncs bool
	Readers     Readers      // ordinary NATS clients
	Stream      string       // the log's stream, which these read; default "fanfold"
	Logger      *slog.Logger // default slog.Default()

	// Fsync, for tests, makes a file or a directory durable; default (*os.File).Sync.
	Fsync func(*os.File) error

	rewriteStep func(what, path string) error // for tests: is asked before each step of rewriting blocks; its error ends it there
}

// Server is a NATS server that runs in this process.
type Server struct {
	opt     Options
	options *server.Options
	access  *clientAccess // nil where nobody else can connect
	trouble chan struct{} // has an element where the server has told of an error
	suspect atomic.Bool   // it may lack space: see SuspectSpace

	mu      sync.Mutex
	server  *server.Server // nil while it is started again
	maker   *consumerMaker // nil where nobody else can connect
	syncers []*syncer      // of the logs and buckets that are open

	rewriting *rewriting // what the next Restart writes anew; nil for nothing
}

// Start starts a NATS server and returns it once it takes connections. It returns Invalid for a wrong address,
// LogDamaged for files with which the server would not come to an end, Unavailable, and ctx's error. After ctx's
// error the server may still be starting: it cannot be stopped before, and holds its directory until then. The caller
// closes the server, after every connection to it.
func Start(ctx context.Context, opt Options) (*Server, error) {
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Fsync == nil {
		opt.Fsync = (*os.File).Sync
	}
	opt.Dir, opt.Stream = filepath.Clean(opt.Dir), cmp.Or(opt.Stream, "fanfold")
	opts := &server.Options{
		ServerName: "fanfold-embedded", DontListen: opt.Readers.Address == "", JetStream: true,
		StoreDir: opt.Dir, SyncAlways: opt.Durability == Always && opt.ServerSyncs,
		MaxPayload: events.MaxPayload, NoSigs: true, NoLog: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 60,
	}
	opts.JetStreamLimits.MaxBatchSize = events.MaxEmbeddedBatch
	opts.StreamMaxBufferedMsgs, opts.StreamMaxBufferedSize = maxBuffered, maxBufferedBytes
	if opt.Durability == Always && !opt.ServerSyncs {
		opts.SyncInterval = never // the kernel tells an error of writing once: it must be to the log's fsync
	}
	if opt.Readers.Address != "" {
		if err := listenForReaders(opts, opt.Readers); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, fanfold.Errorf(fanfold.Unavailable, "cannot make %s: %v", opt.Dir, err)
	}
	e := &Server{opt: opt, options: opts, trouble: make(chan struct{}, 1)}
	if opt.Readers.Address != "" {
		e.access = newClientAccess(opt.Stream, opt.Readers)
		opts.CustomClientAuthentication = e.access
	}
	if err := e.start(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// start starts the server, and returns once it takes connections. It returns the errors of Start.
func (e *Server) start(ctx context.Context) error {
	if err := checkBlocks(ctx, e.opt.Dir); err != nil {
		return err
	}
	if err := errors.Join(removeConsumers(e.opt.Dir), removeUnfinished(e.opt.Dir)); err != nil {
		return err
	}
	s, err := server.NewServer(e.options.Clone())
	if err != nil {
		return fmt.Errorf("cannot start the embedded NATS server: %w", err)
	}
	s.SetLoggerV2(natsLogger{e.opt.Logger, e.signalTrouble}, false, false, false)
	if err := startServer(ctx, s, e.opt.Dir); err != nil {
		return err
	}
	e.mu.Lock()
	e.server = s
	e.mu.Unlock()
	if e.access == nil {
		return nil
	}
	if err := e.admitReaders(s); err != nil {
		return errors.Join(fanfold.Wrap(err, fanfold.Unavailable, "readers cannot be let in at --nats-listen: %v", err), e.stop())
	}
	return nil
}

// admitReaders lets readers connect to a server that has started.
func (e *Server) admitReaders(s *server.Server) error {
	account, err := e.access.makeAccount(s)
	if err != nil {
		return err
	}
	readers, err := e.connectAs(makerUser)
	if err != nil {
		return err
	}
	log, err := e.connectAs(nodeUser)
	if err != nil {
		readers.Close()
		return err
	}
	maker, err := startConsumerMaker(readers, log, e.opt.Stream)
	if err != nil {
		readers.Close()
		log.Close()
		return err
	}
	e.mu.Lock()
	e.maker = maker
	e.mu.Unlock()
	e.access.readers.Store(account)
	return nil
}

// stop stops the server, where it runs, and returns once its files are closed. It returns the error of closing files.
func (e *Server) stop() (err error) {
	e.mu.Lock()
	s, syncers, maker := e.server, e.syncers, e.maker
	e.server, e.syncers, e.maker = nil, nil, nil
	e.mu.Unlock()
	if maker != nil {
		maker.close()
	}
	if e.access != nil { // the next server has accounts of its own
		e.access.readers.Store(nil)
		e.access.maker.Store(nil)
	}
	for _, s := range syncers {
		err = errors.Join(err, s.close())
	}
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
	return err
}

// Restart stops the server and starts it again, as a node's start does: what was stored in part at the log's end is cut. Then blocks take their
// places that Rewrite has asked for. known is the last event that must stay. It returns the errors of Start; the server does not run then.
func (e *Server) Restart(ctx context.Context, known uint64) error {
	if err := e.stop(); err != nil {
		e.opt.Logger.Warn("the log's files could not be closed", "err", err)
	}
	tails, err := CutTail(ctx, e.opt.Dir, known)
	LogTails(e.opt.Logger, tails)
	if err != nil {
		return err
	}
	e.mu.Lock()
	rewriting := e.rewriting
	e.mu.Unlock()
	if rewriting != nil {
		if err := rewriting.apply(ctx, e.opt); err != nil {
			return unwritten(err)
		}
		e.mu.Lock()
		e.rewriting = nil
		e.mu.Unlock()
	}
	return e.start(ctx)
}

// InProcessConn returns a connection to the server through memory. It makes a Server a nats.InProcessConnProvider, so that a
// connection finds the server again after it was started again.
func (e *Server) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	s := e.server
	e.mu.Unlock()
	if s == nil {
		return nil, errors.New("the embedded NATS server is being started again")
	}
	return s.InProcessConn()
}

// Bounds of what the server may have received and not stored yet. The log bounds that by itself: the server would drop a message out of a batch.
const (
	maxBuffered      = 1 << 20 // messages
	maxBufferedBytes = 1 << 30
)

// removeConsumers removes the consumers that a server left in its files. Fanfold keeps none there, and versions before it let
// readers make some that deliver into buckets. The error is Unavailable.
func removeConsumers(dir string) error {
	kept, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "obs"))
	for _, consumers := range kept {
		err = errors.Join(err, os.RemoveAll(consumers))
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "consumers of the log cannot be removed: %v", err)
	}
	return nil
}

// removeUnfinished removes the files with which a killed server was about to replace its block files, and the files of deleted streams. The
// server ignores them, and they have what was to go. The error is Unavailable.
func removeUnfinished(dir string) error {
	left, err := filepath.Glob(filepath.Join(escapeGlob(dir), "jetstream", "*", "streams", "*", "msgs", "*.tmp"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	deleted, globErr := filepath.Glob(filepath.Join(escapeGlob(dir), "jetstream", "*", "streams", ".*")) // as the server names them
	err = errors.Join(err, globErr)
	for _, path := range deleted {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "files that a killed server has left cannot be removed: %v", err)
	}
	return nil
}

// RemoveDeleted removes, durably, the files of a stream that was deleted: see events.Blocks.
func (e *Server) RemoveDeleted(stream string) error {
	left, err := filepath.Glob(filepath.Join(escapeGlob(e.opt.Dir), "jetstream", "*", "streams"))
	for _, streams := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(streams, "."+stream)), syncDir(streams, e.opt.Fsync)) // as the server names it
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the files of stream %s cannot be removed: %v", stream, err)
	}
	return nil
}

// never is an interval that does not pass.
const never = 100 * 365 * 24 * time.Hour

// Sync returns who makes what is written durable: events.SyncGroup, events.SyncServer or events.SyncNone.
func (e *Server) Sync() string {
	switch {
	case e.opt.Durability != Always:
		return events.SyncNone
	case e.opt.ServerSyncs:
		return events.SyncServer
	}
	return events.SyncGroup
}

// OnlyPublisher returns whether nobody but this process publishes to the log, and CutTail knows its files.
func (e *Server) OnlyPublisher() bool { return e.Sync() != events.SyncServer }

// SyncLog makes what the log's stream has durable, and returns what does so from then on: see events.Files.
func (e *Server) SyncLog(stream *jetstream.StreamInfo, stored func() uint64, told func(took time.Duration, events int)) (events.Syncer, error) {
	err := syncTree(e.opt.Dir, e.opt.Fsync)
	for _, parent := range []string{filepath.Dir(e.opt.Dir), filepath.Dir(filepath.Dir(e.opt.Dir))} { // they may be new
		if err == nil {
			err = syncDir(parent, e.opt.Fsync)
		}
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "what the log has cannot be made durable: %v", err)
	}
	last := stream.State.LastSeq
	if stream.Config.Compression != jetstream.NoCompression {
		return nil, fanfold.Wrap(events.ErrLayout, fanfold.Unavailable, "the stream is compressed: a full block is replaced by another file")
	}
	files, err := openBlockFiles(e.opt.Dir, stream.Config.Name, last, e.opt.Fsync)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's files cannot be opened: %v", err)
	}
	return e.addSyncer(&syncer{files: files, stored: stored, onSync: told}, last), nil
}

// SyncBucket makes what a bucket's stream has durable, and returns what does so from then on: see events.Files.
func (e *Server) SyncBucket(stream *jetstream.StreamInfo, stored func() uint64) (events.Syncer, error) {
	files, err := openTree(e.opt.Dir, stream.Config.Name, e.opt.Fsync)
	if err == nil {
		err = files.sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(files.dir), e.opt.Fsync) // the stream may be new
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the files of %s cannot be made durable: %v", stream.Config.Name, err)
	}
	return e.addSyncer(&syncer{files: files, stored: stored}, stream.State.LastSeq), nil
}

// addSyncer adds a syncer of a stream that is durable up to last.
func (e *Server) addSyncer(s *syncer, last uint64) *syncer {
	s.synced.Store(last)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.syncers = append(e.syncers, s)
	return s
}

// startServer starts a server, and returns once it takes connections. Errors are Unavailable and ctx's.
func startServer(ctx context.Context, s *server.Server, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	started := make(chan error, 1)
	go func() { // abandoned where ctx ends: Start cannot be interrupted while it reads the streams
		s.Start()
		var err error
		switch {
		case !s.ReadyForConnections(30 * time.Second):
			err = fanfold.Errorf(fanfold.Unavailable, "the embedded NATS server did not become ready on %s", dir)
		case !s.JetStreamEnabled():
			err = fanfold.Errorf(fanfold.Unavailable, "the embedded NATS server cannot store in %s", dir)
		}
		if err != nil {
			s.Shutdown()
		}
		started <- err
	}()
	select {
	case err := <-started:
		return err
	case <-ctx.Done():
		go func() {
			if <-started == nil {
				s.Shutdown()
			}
		}()
		return ctx.Err()
	}
}

// HasStream returns whether the directory of an embedded server has a stream's messages, whether or not a server can read
// them.
func HasStream(dir string) bool {
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	return err == nil && len(blocks) > 0
}

// listenForReaders lets ordinary NATS clients connect at an address, for reading only. Errors are
// Invalid for what is not an address, and Unavailable where the port is taken.
func listenForReaders(opts *server.Options, readers Readers) error {
	listen := readers.Address
	opts.AlwaysEnableNonce, opts.TLSConfig = len(readers.Keys) > 0, readers.TLS
	host, port, err := net.SplitHostPort(listen)
	if err == nil {
		opts.Host = host
		opts.Port, err = strconv.Atoi(port)
	}
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "--nats-listen %q is not an address such as 127.0.0.1:4222", listen)
	}
	if err := checkPortFree(listen); err != nil {
		return err
	}
	return nil
}

// checkPortFree returns Unavailable where nothing can listen at the address. The server itself
// would only log it.
func checkPortFree(listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot listen on --nats-listen %s: %v", listen, err)
	}
	return l.Close()
}

// Connect returns a connection through memory. The caller closes it before the server.
// The error is Unavailable.
func (e *Server) Connect() (*nats.Conn, error) { return e.connectAs(nodeUser) }

// reconnectWait is the pause between two tries to find a server again that is started again. A try costs next to nothing, and requests wait for it.
const reconnectWait = 10 * time.Millisecond

// connectAs does what Connect does, as a user.
func (e *Server) connectAs(user string) (*nats.Conn, error) {
	opts := []nats.Option{nats.InProcessServer(e), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(0, 0), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		e.opt.Logger.Debug("the connection to the embedded NATS server", "err", err) // the default writes to the standard error
	})}
	if e.access != nil {
		opts = append(opts, nats.UserInfo(user, e.access.password), nats.CustomInboxPrefix(nodeInbox))
	}
	return servers.Connect("", opts...)
}

// Messages returns a stream's messages from a sequence on, from the files into which the server writes them: see events.Files.
func (e *Server) Messages(stream string, from uint64, stored *events.Watermark) (events.Messages, error) {
	return openBlockMessages(e.opt.Dir, stream, from, stored)
}

// BlockStart returns the first sequence in the block file that has an event of a stream: see events.Files.
func (e *Server) BlockStart(stream string, seq uint64) (first uint64, err error) {
	msgs, err := streamDir(e.opt.Dir, stream)
	if err != nil {
		return 0, err
	}
	blocks, _, err := listBlocks(msgs)
	if err != nil {
		return 0, err
	}
	for _, b := range slices.Backward(blocks) {
		if first, err = firstSequence(b, stream); err != nil || first > 0 && first <= seq {
			return first, err
		}
	}
	return 0, fmt.Errorf("%w: event %d is in no block in %s", events.ErrLayout, seq, msgs)
}

// RemoveBefore removes the files that have only events from before a stream's first: see events.Files.
func (e *Server) RemoveBefore(stream string, first uint64) error {
	msgs, err := streamDir(e.opt.Dir, stream)
	if err != nil {
		return err
	}
	blocks, _, err := listBlocks(msgs)
	for i := 1; i < len(blocks) && err == nil; i++ {
		var next uint64
		if next, err = firstSequence(blocks[i], stream); err != nil || next == 0 || next > first {
			break
		}
		if err = os.Remove(blocks[i-1].path); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// Close stops the server and blocks until its files are closed. No log of the server may be used any more. It returns
// the error of closing files.
func (e *Server) Close() error { return e.stop() }

// natsLogger passes the server's warnings and errors on to log, and calls trouble where there was an error.
type natsLogger struct {
	log     *slog.Logger
	trouble func()
}

func (l natsLogger) Noticef(string, ...any) {}

func (l natsLogger) Debugf(string, ...any) {}

func (l natsLogger) Tracef(string, ...any) {}

func (l natsLogger) Warnf(format string, v ...any) { l.log.Warn("nats: " + fmt.Sprintf(format, v...)) }

func (l natsLogger) Errorf(format string, v ...any) {
	l.log.Error("nats: " + fmt.Sprintf(format, v...))
	l.trouble()
}

func (l natsLogger) Fatalf(format string, v ...any) {
	l.log.Error("nats: " + fmt.Sprintf(format, v...))
}
