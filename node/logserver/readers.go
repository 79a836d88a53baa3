package logserver

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/internal/smallfile"
)

// Bounds of a file of NKeys.
const (
	maxReaderKeys    = 1000
	maxReaderKeyFile = 1 << 20
)

// readReaderKeys reads the public NKeys in a file, one a line; lines that begin with # are comments. Errors are Invalid.
func readReaderKeys(path string) (known []string, err error) {
	text, _, err := smallfile.Read(path, maxReaderKeyFile, 0)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--nats-auth: %s", fanfold.MessageOf(err))
	}
	for n, line := range strings.Split(string(text), "\n") {
		key, _, _ := strings.Cut(line, "#")
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		if !nkeys.IsValidPublicUserKey(key) {
			return nil, fanfold.Errorf(fanfold.Invalid, "--nats-auth: line %d of %s is not a user's public NKey, which begins with U", n+1, path)
		}
		known = append(known, key)
	}
	slices.Sort(known)
	switch known = slices.Compact(known); {
	case len(known) == 0:
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-auth: %s has no NKey", path)
	case len(known) > maxReaderKeys:
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-auth: %s has %d NKeys, %d is the most", path, len(known), maxReaderKeys)
	}
	return known, nil
}

// ReadKeys reads the NKeys of clients, where a file has them. The error is Invalid.
func (s *Server) ReadKeys() (err error) {
	if s.opt.NATSAuth != "" {
		s.keys, err = readReaderKeys(s.opt.NATSAuth)
	}
	return err
}

// Welcome lets clients in without an NKey, where no file has any, until the store is closed.
func (s *Server) Welcome() { s.strangers.Store(s.opt.NATSAuth == "") }

// readers says which NATS clients are let in. Those without an NKey are, where none are asked for, as long as the store is open.
func (s *Server) readers() embedded.Readers {
	return embedded.Readers{Address: s.opt.NATSListen, Keys: s.keys,
		Closed: func() bool { return !s.strangers.Load() || s.opt.Closed() }, TLS: s.opt.TLS()}
}

// closeEvery is how often the node looks whether the store was closed while NATS clients without a key read the log.
const closeEvery = 200 * time.Millisecond

// Run lets NATS clients without an NKey read until the store is closed, by whatever node. It returns nil once ctx has ended.
func (s *Server) Run(ctx context.Context) error {
	if s.Embedded == nil || s.opt.NATSListen == "" || s.opt.NATSAuth != "" {
		return nil
	}
	tick := time.NewTicker(closeEvery)
	defer tick.Stop()
	told := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if !s.opt.Closed() {
				continue
			}
			s.Embedded.EndStrangers()
			if !told {
				s.opt.Logger.Warn("the store was closed: --nats-listen lets nobody in any more; start again with --nats-auth FILE, which has the public NKeys of those who may read the log")
			}
			told = true
		}
	}
	return nil
}
