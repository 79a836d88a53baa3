package serving

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/smallfile"
)

// How often the files of a certificate are read, and how long each may be.
const (
	certificateEvery = 4 * time.Second
	maxCertificate   = 1 << 20
)

// certificate is what the node shows to its clients, from two files that are read again when they change. Clients may connect
// while run reads.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	current           atomic.Pointer[tls.Certificate]
	seen              [sha256.Size]byte // of the files as they were last looked at
	refused           string            // why those were not taken, "" where they were
}

// openCertificate reads the files of --tls-cert and --tls-key, and returns nil where there are none. The error is Invalid.
func openCertificate(certFile, keyFile string, logger *slog.Logger) (*certificate, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	if certFile == "" || keyFile == "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "--tls-cert and --tls-key belong together: give both, or none")
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger}
	pair, seen, err := c.read()
	if err != nil {
		return nil, err
	}
	c.seen = seen
	c.current.Store(pair)
	if left := time.Until(pair.Leaf.NotAfter); left < 0 {
		logger.Warn("the certificate of --tls-cert has ended: clients will refuse it", "ended", pair.Leaf.NotAfter)
	}
	return c, nil
}

// read reads the two files, and returns what both have together as a number, too, also where they do not fit. The error is
// Invalid.
func (c *certificate) read() (pair *tls.Certificate, seen [sha256.Size]byte, err error) {
	certText, _, err := smallfile.Read(c.certFile, maxCertificate, smallfile.Regular)
	if err != nil {
		return nil, seen, fanfold.Wrap(err, fanfold.Invalid, "--tls-cert: %s", fanfold.MessageOf(err))
	}
	keyText, _, err := smallfile.Read(c.keyFile, maxCertificate, smallfile.Regular|smallfile.Secret)
	if err != nil {
		return nil, seen, fanfold.Wrap(err, fanfold.Invalid, "--tls-key: %s", fanfold.MessageOf(err))
	}
	first, second := sha256.Sum256(certText), sha256.Sum256(keyText)
	seen = sha256.Sum256(append(first[:], second[:]...))
	made, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return nil, seen, fanfold.Wrap(err, fanfold.Invalid, "--tls-cert %s and --tls-key %s are no certificate and its key: %v", c.certFile, c.keyFile, err)
	}
	return &made, seen, nil
}

// run reads the files again and again until ctx ends.
func (c *certificate) run(ctx context.Context) error {
	if c == nil {
		return nil
	}
	tick := time.NewTicker(certificateEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.reread()
		}
	}
}

// reread takes the pair in the files where it is another one. A pair that does not fit is told once, and the old one stays: the
// two files are never replaced at the same moment.
func (c *certificate) reread() {
	pair, seen, err := c.read()
	if err != nil {
		if text := fanfold.MessageOf(err); text != c.refused || seen != c.seen {
			c.refused = text
			c.logger.Error("the certificate was not read again, and the old one stays in force", "err", text, "until", c.current.Load().Leaf.NotAfter)
		}
		c.seen = seen
		return
	}
	if seen == c.seen && c.refused == "" {
		return
	}
	c.seen, c.refused = seen, ""
	c.current.Store(pair)
	c.logger.Info("the certificate was read again", "until", pair.Leaf.NotAfter)
}

// config returns the settings of a listener: TLS 1.2 and later, and otherwise what Go thinks is right. protocols are ALPN's.
func (c *certificate) config(protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil }}
}
