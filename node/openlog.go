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
	if cfg.NATS == "" {
		return n.openEmbedded(ctx)
	}
	if n.nc, err = events.Connect(cfg.NATS); err != nil {
		return err
	}
	if limit := n.nc.MaxPayload(); limit < minPayload {
		return fanfold.Errorf(fanfold.Invalid, "the NATS server takes messages of at most %d bytes; set its max_payload to %d or more (8MB gives the full body limit)", limit, minPayload)
	}
	n.Log, err = events.Open(ctx, n.nc, events.Options{Replicas: cfg.Replicas, Logger: cfg.Logger, FailAppend: cfg.FailAppend,
		KnownSeq: n.check.witness.Seq})
	if err == nil && n.Log.Window() < events.DefaultWindow {
		return fanfold.Errorf(fanfold.Invalid, "the stream on %s drops duplicates for %v only, and a write could be stored twice; set its duplicate window to %v or more",
			n.nc.ConnectedUrlRedacted(), n.Log.Window(), events.DefaultWindow)
	}
	return err
}

// openEmbedded starts the embedded server and opens its log. Where the server's files are not as expected, the server is
// started again, and syncs every message by itself. Errors are Invalid and Unavailable.
func (n *Node) openEmbedded(ctx context.Context) error {
	cfg := n.cfg
	opt := events.EmbeddedOptions{Dir: filepath.Join(cfg.Data, "nats"), Durability: events.Durability(cfg.Durability), Listen: cfg.NATSListen,
		Logger: cfg.Logger, Fsync: cfg.Fsync}
	if opt.Durability != events.Always && opt.Durability != events.Interval {
		return fanfold.Errorf(fanfold.Invalid, "--durability %q is not one of always and interval", cfg.Durability)
	}
	exists := events.HasStream(opt.Dir)
	err := n.startEmbedded(ctx, opt, exists)
	if !errors.Is(err, events.ErrLayout) {
		return err
	}
	cfg.Logger.Warn("the log cannot sync the embedded server's files by itself, and the server syncs every message: writes are slower", "err", err)
	n.nc.Close()
	if err := n.embedded.Close(); err != nil {
		return err
	}
	opt.ServerSyncs = true
	return n.startEmbedded(ctx, opt, exists)
}

// startEmbedded does what openEmbedded does, once. exists says that the server's directory has had a log.
func (n *Node) startEmbedded(ctx context.Context, opt events.EmbeddedOptions, exists bool) (err error) {
	if n.embedded, err = events.StartEmbedded(ctx, opt); err != nil {
		return err
	}
	if n.nc, err = n.embedded.Connect(); err != nil {
		return err
	}
	n.Log, err = events.Open(ctx, n.nc, events.Options{Embedded: n.embedded, Replicas: 1, Logger: opt.Logger, FailAppend: n.cfg.FailAppend,
		KnownSeq: n.check.witness.Seq, Exists: exists})
	return err
}
