package node

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// minPayload is the smallest max_payload of an outside server with which a node starts, in bytes.
const minPayload = 64 << 10

// openLog connects to the NATS server, which it starts where it is the embedded one, and opens the log. Errors are Invalid
// and Unavailable.
func (n *Node) openLog(ctx context.Context) (err error) {
	cfg := n.cfg
	known, err := n.check.known()
	if err != nil {
		return err
	}
	if cfg.NATS == "" {
		return n.openEmbedded(ctx, known.Seq)
	}
	if n.nc, err = events.Connect(cfg.NATS); err != nil {
		return err
	}
	if limit := n.nc.MaxPayload(); limit < minPayload {
		return fanfold.Errorf(fanfold.Invalid, "the NATS server takes messages of at most %d bytes; set its max_payload to %d or more (8MB gives the full body limit)", limit, minPayload)
	}
	n.Log, err = events.Open(ctx, n.nc, events.Options{Replicas: cfg.Replicas, Logger: cfg.Logger, FailAppend: cfg.FailAppend,
		KnownSeq: known.Seq})
	if err == nil && n.Log.Window() < events.DefaultWindow {
		return fanfold.Errorf(fanfold.Invalid, "the stream on %s drops duplicates for %v only, and a write could be stored twice; set its duplicate window to %v or more",
			n.nc.ConnectedUrlRedacted(), n.Log.Window(), events.DefaultWindow)
	}
	return err
}

// openEmbedded starts the embedded server and opens its log. Before that it cuts from the log's end what a loss of power or
// a kill left there and was never durable. known is the last event that was folded. Errors are Invalid and Unavailable.
func (n *Node) openEmbedded(ctx context.Context, known uint64) error {
	cfg := n.cfg
	opt := events.EmbeddedOptions{Dir: filepath.Join(cfg.Data, "nats"), Durability: events.Durability(cfg.Durability), Listen: cfg.NATSListen,
		Logger: cfg.Logger, Fsync: cfg.Fsync}
	if opt.Durability != events.Always && opt.Durability != events.Interval {
		return fanfold.Errorf(fanfold.Invalid, "--durability %q is not one of always and interval", cfg.Durability)
	}
	exists := events.HasStream(opt.Dir)
	tails, err := events.CutTail(ctx, opt.Dir, max(known, n.check.witness.Synced))
	if err != nil {
		return err
	}
	for _, t := range tails {
		what := "the end of the log was not whole, and was cut: it was not durable"
		if t.TooBig {
			what = "the end of the log is not whole, and is left as it is: it is more than can have been written since the last fsync"
		}
		cfg.Logger.Warn(what, "reason", t.Reason, "last", t.Last, "bytes", t.Bytes, "kept", t.Kept)
	}
	logOptions := events.Options{Replicas: 1, KnownSeq: known, Exists: exists}
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
func (n *Node) startEmbedded(ctx context.Context, server events.EmbeddedOptions, opt events.Options) (err error) {
	if n.embedded, err = events.StartEmbedded(ctx, server); err != nil {
		return err
	}
	if n.nc, err = n.embedded.Connect(); err != nil {
		return err
	}
	opt.Embedded, opt.Logger, opt.FailAppend = n.embedded, n.cfg.Logger, n.cfg.FailAppend
	n.Log, err = events.Open(ctx, n.nc, opt)
	return err
}
