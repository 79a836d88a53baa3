package node

import (
	"bufio"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/embedded"
)

// Bounds of a file of NKeys.
const (
	maxReaderKeys    = 1000
	maxReaderKeyFile = 1 << 20
)

// readReaderKeys reads the public NKeys in a file, one a line; lines that begin with # are comments. Errors are Invalid.
func readReaderKeys(path string) (known []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--nats-auth: %v", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxReaderKeyFile+1))
	size := 0
	for n := 1; lines.Scan(); n++ {
		size += len(lines.Bytes()) + 1
		key, _, _ := strings.Cut(lines.Text(), "#")
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		if !nkeys.IsValidPublicUserKey(key) {
			return nil, fanfold.Errorf(fanfold.Invalid, "--nats-auth: line %d of %s is not a user's public NKey, which begins with U", n, path)
		}
		if !slices.Contains(known, key) {
			known = append(known, key)
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, fanfold.Wrap(lines.Err(), fanfold.Invalid, "--nats-auth: %v", lines.Err())
	case size > maxReaderKeyFile:
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-auth: %s has more than %d bytes", path, maxReaderKeyFile)
	case len(known) == 0:
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-auth: %s has no NKey", path)
	case len(known) > maxReaderKeys:
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-auth: %s has %d NKeys, %d is the most", path, len(known), maxReaderKeys)
	}
	return known, nil
}

// readers says which NATS clients are let in. Those without an NKey are, where none are asked for, as long as the house is open.
func (n *Node) readers() embedded.Readers {
	out := embedded.Readers{Address: n.cfg.NATSListen, Keys: n.readerKeys,
		Closed: func() bool { return !n.strangers.Load() || n.keys.Closed() }}
	if n.certificate != nil {
		out.TLS = n.certificate.config()
	}
	return out
}

// closeEvery is how often the node looks whether the house was closed while NATS clients without a key read the log.
const closeEvery = 200 * time.Millisecond

// runReaders lets NATS clients without an NKey read until the house is closed, by whatever node. It returns nil once ctx has ended.
func (n *Node) runReaders(ctx context.Context) error {
	if n.embedded == nil || n.cfg.NATSListen == "" || n.cfg.NATSAuth != "" {
		return nil
	}
	tick := time.NewTicker(closeEvery)
	defer tick.Stop()
	told := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if !n.keys.Closed() {
				continue
			}
			n.embedded.EndStrangers()
			if !told {
				n.cfg.Logger.Warn("the house was closed: --nats-listen lets nobody in any more; start again with --nats-auth FILE, which has the public NKeys of those who may read the log")
			}
			told = true
		}
	}
	return nil
}
