package node

import (
	"cmp"
	"context"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/access/tokens"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node/serving"
)

// How a store without a key gets one.
const closeIt = "make a key with fanfold keys create --data DIR, or give one by --admin-key-file FILE"

// checkStart refuses what is not to be started, before anything is made. Refused are a configuration that cannot be, and one that lets others
// in without a key, or hears their keys without TLS. It reads the files that others gave. Errors are Invalid, and Unavailable
// where outside servers do not say whether there are keys.
func (n *Node) checkStart(ctx context.Context) (err error) {
	cfg := n.cfg
	for _, check := range []func(Config) error{checkListen, checkHosts, checkTimes, checkAdminKey, checkTokens, checkReaders} {
		if err := check(cfg); err != nil {
			return err
		}
	}
	if err := checkReach(ctx, cfg); err != nil {
		return err
	}
	if n.front, err = serving.New(cfg.serving()); err != nil {
		return err
	}
	return n.logServer.ReadKeys()
}

// serving returns how the node is reached.
func (c Config) serving() serving.Options {
	return serving.Options{Listen: c.Listen, MaxConnections: c.MaxConnections, DebugListen: c.DebugListen, Insecure: c.Insecure, TLSCert: c.TLSCert, TLSKey: c.TLSKey, API: c.API, Logger: c.Logger}
}

// checkListen returns Invalid for what is not an address.
func checkListen(cfg Config) error {
	for _, a := range []struct{ flag, address, example string }{{"--listen", cfg.Listen, "127.0.0.1:8080"}, {"--nats-listen", cfg.NATSListen, "127.0.0.1:4222"}} {
		if a.address == "" && a.flag != "--listen" {
			continue
		}
		if _, _, err := net.SplitHostPort(a.address); err != nil {
			return fanfold.Wrap(err, fanfold.Invalid, "%s %q is not an address such as %s", a.flag, a.address, a.example)
		}
	}
	return nil
}

// maxHosts bounds the names by which the API may be called.
const maxHosts = 100

// checkHosts returns Invalid for names and origins that no request can have, and for a prefix that is none.
func checkHosts(cfg Config) error {
	if len(cfg.Hosts) > maxHosts {
		return fanfold.Errorf(fanfold.Invalid, "--host: %d names are given, %d is the most", len(cfg.Hosts), maxHosts)
	}
	for _, h := range cfg.Hosts {
		if h == "" || strings.ContainsAny(h, "/:*, ") {
			return fanfold.Errorf(fanfold.Invalid, "--host %.300q is not a name such as fanfold.example: leave out the scheme and the port", h)
		}
	}
	if err := api.CheckOrigins(cfg.Origins); err != nil {
		return err
	}
	return api.CheckPrefix(cfg.API.Prefix)
}

// checkReach refuses an address that others reach, where TLS or a key is missing. The error names both where both are. It is Invalid, or
// Unavailable where outside servers do not say whether there are keys.
func checkReach(ctx context.Context, cfg Config) error {
	plain := checkPlaintext(cfg)
	if !cfg.needsKey() {
		return plain
	}
	switch made, err := mayHaveKeys(ctx, cfg); {
	case err != nil:
		return cmp.Or(plain, err)
	case !made:
		return bothMissing(plain, errOpen(cfg))
	}
	return plain
}

// bothMissing returns one error that says what two say. The first may be nil.
func bothMissing(plain, open error) error {
	if plain == nil {
		return open
	}
	return fanfold.Errorf(fanfold.Invalid, "%s. Besides, %s", fanfold.MessageOf(plain), fanfold.MessageOf(open))
}

// checkTimes returns Invalid for times that cannot be.
func checkTimes(cfg Config) error {
	if age := cfg.MaxAuthAge; age != 0 && (age < leastAuthAge || age > mostAuthAge) {
		return fanfold.Errorf(fanfold.Invalid, "--max-auth-age %v is not a time from %v to %v", age, leastAuthAge, mostAuthAge)
	}
	return cmp.Or(forget.CheckRetain(cfg.Retain), checkShutdown(cfg.API))
}

// The bounds of the times of a shutdown.
const (
	mostShutdown  = 10 * time.Minute
	leastShutdown = time.Second
)

// checkShutdown returns Invalid for times of a shutdown that cannot be.
func checkShutdown(opt api.Options) error {
	if opt.ShutdownDelay < 0 || opt.ShutdownDelay > mostShutdown {
		return fanfold.Errorf(fanfold.Invalid, "--shutdown-delay %v is not a time of up to %v", opt.ShutdownDelay, mostShutdown)
	}
	if t := opt.ShutdownTimeout; t != 0 && (t < leastShutdown || t > mostShutdown) {
		return fanfold.Errorf(fanfold.Invalid, "--shutdown-timeout %v is not a time from %v to %v", t, leastShutdown, mostShutdown)
	}
	return nil
}

// checkTokens returns Invalid for an issuer of tokens that cannot be.
func checkTokens(cfg Config) error {
	of := cfg.Tokens
	if of.Issuer == "" && of.Audience == "" && of.Keys == "" && (of.Roles == "" || of.Roles == "roles") && len(of.Map) == 0 {
		return nil
	}
	_, err := tokens.New(of)
	return err
}

// checkAdminKey returns Invalid for a file of the admin key that has none.
func checkAdminKey(cfg Config) error {
	if cfg.AdminKeyFile == "" {
		return nil
	}
	if _, err := keys.ReadFile(cfg.AdminKeyFile); err != nil {
		return fanfold.Errorf(fanfold.Invalid, "--admin-key-file: %s", fanfold.MessageOf(err))
	}
	return nil
}

// hasTLS tells whether what the node says to clients is encrypted.
func (c Config) hasTLS() bool { return c.TLSCert != "" || c.TLSKey != "" }

// needsKey tells whether the node may start only where there is a key.
func (c Config) needsKey() bool {
	return serving.Exposed(c.Listen) && !c.Insecure && c.AdminKeyFile == "" && c.Tokens.Issuer == ""
}

// checkPlaintext refuses keys that everybody on the way can read.
func checkPlaintext(cfg Config) error {
	switch {
	case cfg.hasTLS() && cfg.Plaintext:
		return fanfold.Errorf(fanfold.Invalid, "--plaintext says that TLS ends before the node, and --tls-cert that it ends here: leave one of them out")
	case serving.Exposed(cfg.Listen) && !cfg.Insecure && !cfg.hasTLS() && !cfg.Plaintext:
		return fanfold.Errorf(fanfold.Invalid, "--listen %s can be reached by others, who may then read keys and documents on their way: "+
			"give --tls-cert FILE --tls-key FILE, or --plaintext where TLS ends before the node; or listen on 127.0.0.1, or say --insecure", cfg.Listen)
	}
	return nil
}

// checkReaders refuses to show the log to NATS clients that nobody knows, where the store is known to be closed or others reach
// the address.
func checkReaders(cfg Config) error {
	far := serving.Exposed(cfg.NATSListen) && !cfg.Insecure
	switch {
	case cfg.NATSListen == "" && cfg.NATSAuth != "":
		return fanfold.Errorf(fanfold.Invalid, "--nats-auth is about the clients of --nats-listen: give an address there")
	case cfg.NATSListen == "" || cfg.NATS != "": // which is another mistake
		return nil
	case cfg.NATSAuth == "" && far:
		return fanfold.Errorf(fanfold.Invalid, "--nats-listen %s can be reached by others, who may then read the whole log: give the public NKeys of those who may by --nats-auth FILE", cfg.NATSListen)
	case cfg.NATSAuth == "" && cfg.AdminKeyFile != "":
		return errReaders()
	case far && !cfg.hasTLS() && !cfg.Plaintext:
		return fanfold.Errorf(fanfold.Invalid, "--nats-listen %s can be reached by others, who may then read the log on its way: "+
			"give --tls-cert FILE --tls-key FILE, or --plaintext where the way is encrypted by others", cfg.NATSListen)
	}
	return nil
}

// errReaders says why a closed store does not show its log to everybody.
func errReaders() error {
	return fanfold.Errorf(fanfold.Invalid, "--nats-listen shows the whole log, and nobody is let in without a key: give the public NKeys of those who may read it by --nats-auth FILE")
}

// errOpen says why a store without a key does not open to others.
func errOpen(cfg Config) error {
	return fanfold.Errorf(fanfold.Invalid, "--listen %s can be reached by others, who may then read and write everything, for there is no key: %s; or listen on 127.0.0.1, or say --insecure", cfg.Listen, closeIt)
}

// awaitLeader asks the log's servers something while the node starts. It asks again if a stream has no leader yet: electing one takes some ten
// seconds after a server was lost. It blocks for half a minute at most. The error is ask's.
func awaitLeader(ctx context.Context, log *events.Log, ask func() error) (err error) {
	log.BucketAccess().Await(ctx, func() error {
		if err = ask(); servers.Leaderless(err) {
			return err
		}
		return nil
	})
	return err
}

// mayHaveKeys tells whether there may be keys beside a log that is not open yet. It makes nothing. It returns the error
// of connecting to outside servers.
func mayHaveKeys(ctx context.Context, cfg Config) (bool, error) {
	if cfg.NATS == "" {
		return embedded.HasStream(filepath.Join(cfg.Data, "nats")), nil
	}
	nc, err := servers.Dial(ctx, cfg.NATS, cfg.Credentials, cfg.Logger)
	if err != nil {
		return false, err
	}
	defer nc.Close()
	return buckets.Exists(ctx, nc, "", "keys")
}

// checkClosed refuses to serve others, or to show them the log, as the keys say that were read. It says in the node's log that the
// store is open. The error is Invalid.
func (n *Node) checkClosed() error {
	cfg := n.cfg
	switch {
	case n.keys.Closed() && cfg.NATSListen != "" && cfg.NATSAuth == "":
		return errReaders()
	case n.keys.Closed():
		return nil
	case cfg.needsKey():
		return errOpen(cfg)
	case serving.Exposed(cfg.Listen):
		cfg.Logger.Warn("the store is open, and others reach it: all of them may read and write everything; to close it, "+closeIt, "listen", cfg.Listen)
	default:
		cfg.Logger.Info("the store is open: whoever reaches it on this machine may read and write everything; to close it, " + closeIt)
	}
	n.logServer.Welcome()
	return nil
}
