package node

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/events/servers"
)

// minPayload is the smallest max_payload of an outside server with which a node starts, in bytes.
const minPayload = 64 << 10

// openLog connects to the NATS server, which it starts where it is the embedded one, and opens the log. Errors are Invalid
// and Unavailable.
func (n *Node) openLog(ctx context.Context) (err error) {
	cfg := n.cfg
	known, durable, err := n.check.Known()
	if err != nil {
		return err
	}
	if every := cfg.SnapshotEvery; every != 0 && (every < time.Second || cfg.NATS == "") {
		return fanfold.Errorf(fanfold.Invalid, "--snapshot-every %v cannot be: give a second or more, for a log on outside servers (--nats), or 0", every)
	}
	switch {
	case cfg.NATS == "" && cfg.Replicas > 1:
		return fanfold.Errorf(fanfold.Invalid, "--replicas %d is for a log on outside servers: give their URLs by --nats", cfg.Replicas)
	case cfg.Replicas < 0 || cfg.Replicas > servers.MaxReplicas:
		return fanfold.Errorf(fanfold.Invalid, "--replicas %d is not a number from 1 to %d, or 0 for what the servers allow", cfg.Replicas, servers.MaxReplicas)
	case cfg.NATS != "" && cfg.NATSListen != "":
		return fanfold.Errorf(fanfold.Invalid, "--nats-listen opens the embedded server, and with --nats there is none: leave one of them out")
	}
	if cfg.NATS == "" {
		if cfg.Credentials.Any() {
			return fanfold.Errorf(fanfold.Invalid, "the flags --nats-user to --nats-key are for outside servers: give their URLs by --nats")
		}
		return n.openEmbedded(ctx, known, durable)
	}
	if n.nc, err = servers.Dial(ctx, cfg.NATS, cfg.Credentials, cfg.Logger); err != nil {
		return err
	}
	if limit := n.nc.MaxPayload(); limit < minPayload {
		return fanfold.Errorf(fanfold.Invalid, "the NATS server takes messages of at most %d bytes; set its max_payload to %d or more (8MB gives the full body limit)", limit, minPayload)
	}
	n.Log, err = events.Open(ctx, n.nc, events.Options{Replicas: cfg.Replicas, Logger: cfg.Logger, FailAppend: cfg.FailAppend,
		KnownSeq: known, PurgeWait: cfg.PurgeWait, OnSync: n.metrics.OnSync, OnRound: n.metrics.OnRound, Tracer: n.tracer, MayPublish: n.mayPublish, Acknowledged: n.acknowledged})
	if err == nil && n.Log.Window() < events.DefaultWindow {
		return fanfold.Errorf(fanfold.Invalid, "the stream on %s drops duplicates for %v only, and a write could be stored twice; set its duplicate window to %v or more",
			servers.ShownURL(n.nc.ConnectedUrl()), n.Log.Window(), events.DefaultWindow)
	}
	return err
}

// openEmbedded starts the embedded server and opens its log. Before that it cuts from the log's end what a loss of power or
// a kill left there and was never durable. known is the last event that was folded, durable the last one that may not be cut. Errors are Invalid and Unavailable.
func (n *Node) openEmbedded(ctx context.Context, known, durable uint64) error {
	cfg := n.cfg
	opt := embedded.Options{Dir: filepath.Join(cfg.Data, "nats"), Durability: embedded.Durability(cfg.Durability), Readers: n.readers(),
		Logger: cfg.Logger, Fsync: cfg.Fsync}
	if opt.Durability != embedded.Always && opt.Durability != embedded.Interval {
		return fanfold.Errorf(fanfold.Invalid, "--durability %q is not one of always and interval", cfg.Durability)
	}
	exists := embedded.HasStream(opt.Dir)
	tails, err := embedded.CutTail(ctx, opt.Dir, durable)
	if err != nil {
		return err
	}
	embedded.LogTails(cfg.Logger, tails)
	logOptions := events.Options{Replicas: 1, KnownSeq: known, PurgeWait: cfg.PurgeWait, Exists: exists, OnSync: n.metrics.OnSync, OnRound: n.metrics.OnRound, Tracer: n.tracer,
		MayPublish: n.mayPublishAlone}
	err = n.startEmbedded(ctx, opt, logOptions)
	if !errors.Is(err, events.ErrLayout) {
		return err
	}
	cfg.Logger.Warn("the log cannot sync the embedded server's files by itself, and the server syncs every message: writes are slower", "err", err)
	n.nc.Close()
	if err := n.embedded.Close(); err != nil {
		return err
	}
	opt.ServerSyncs = true
	return n.startEmbedded(ctx, opt, logOptions)
}

// startEmbedded starts the embedded server and opens its log.
func (n *Node) startEmbedded(ctx context.Context, server embedded.Options, opt events.Options) (err error) {
	if n.embedded, err = embedded.Start(ctx, server); err != nil {
		return err
	}
	if n.nc, err = n.embedded.Connect(); err != nil {
		return err
	}
	opt.Embedded, opt.Logger, opt.FailAppend = n.embedded, n.cfg.Logger, n.cfg.FailAppend
	n.Log, err = events.Open(ctx, n.nc, opt)
	return err
}
