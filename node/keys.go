package node

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/actors"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/access/tokens"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/model"
)

// The bounds of Config.MaxAuthAge.
const (
	leastAuthAge = time.Second
	mostAuthAge  = 24 * time.Hour
)

// OpenKeys opens the keys of a data directory on which no server runs, which is made where there is none. The keys belong to an
// embedded log. The caller calls close, which ends with everything on the disk. Errors are Invalid for a directory whose log is
// elsewhere, and Unavailable, also where a server runs on it.
func OpenKeys(ctx context.Context, data string, logger *slog.Logger) (store *keys.Store, closeAll func() error, err error) {
	if datadir.Exists(filepath.Join(data, "readmodel")) && !datadir.Exists(filepath.Join(data, "nats")) {
		return nil, nil, fanfold.Errorf(fanfold.Invalid, "the log of %s is on other servers, and so are the keys: ask a node that runs", data)
	}
	n := newNode(Config{Data: data, Durability: string(embedded.Always), Logger: logger})
	if n.lock, err = datadir.Lock(data); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fanfold.Wrap(err, fanfold.Unavailable, "a server runs on %s: ask it with --server, and without --data", data)
		}
		return nil, nil, err
	}
	if err := n.openFiles(ctx); err != nil { // neither folded, nor served
		return nil, nil, errors.Join(err, n.Close())
	}
	return n.keys.Store, n.Close, nil
}

// knownKeys knows who sends requests.
type knownKeys struct {
	*keys.Store
	*actors.Directory
	tokens *tokens.Tokens // nil for none
}

// openKeys reads the keys beside the log. Errors are Invalid for the file of the admin key, and Unavailable.
func (n *Node) openKeys(ctx context.Context) error {
	bucket, opt := buckets.NewKeyValue(n.Log, "keys"), keys.Options{MaxAge: n.cfg.MaxAuthAge, AdminFile: n.cfg.AdminKeyFile, Anonymous: n.cfg.Anonymous, Logger: n.cfg.Logger}
	n.keys.Directory = actors.New(bucket, time.Now)
	if of := n.cfg.Tokens; of.Issuer != "" {
		of.Logger, of.Secret = n.cfg.Logger, func() []byte { return n.keys.Secret() }
		var err error
		if n.keys.tokens, err = tokens.New(of); err != nil {
			return err
		}
		opt.Tokens = n.keys.tokens
	}
	return awaitLeader(ctx, n.Log, func() (err error) {
		n.keys.Store, err = keys.Open(ctx, bucket, opt)
		return err
	})
}

// openJudge makes what judges requests by some keys, under the model of the projector, which is open.
func (n *Node) openJudge(known access.Keys) {
	n.judge = access.NewJudge(known, func() *model.Model {
		m, _, _ := n.Projector.Model()
		return m
	})
}
