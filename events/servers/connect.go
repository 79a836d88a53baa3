package servers

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// Bounds of the URLs of outside servers.
const (
	maxServers  = 16   // count
	maxURLBytes = 2048 // of each
)

// ServerURLs splits a list of the URLs of NATS servers, separated by commas. The error is Invalid, and shows nothing of a
// URL that cannot be read, for it may have a password in it.
func ServerURLs(list string) ([]string, error) {
	var urls []string
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text != "" {
			urls = append(urls, text)
		}
	}
	if len(urls) == 0 || len(urls) > maxServers {
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats has %d URLs; give 1 to %d, separated by commas", len(urls), maxServers)
	}
	for i, text := range urls {
		if !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || len(text) > maxURLBytes || u.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return nil, fanfold.Errorf(fanfold.Invalid, "URL %d of --nats is none of a NATS server: write it as nats://host:4222 or tls://host:4222, in at most %d bytes", i+1, maxURLBytes)
		}
		urls[i] = text
	}
	return urls, nil
}

// ShownURL returns a server's URL without user, password and token, as it may be shown and logged.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(a URL that cannot be read)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// ShownURLs returns a list of URLs as it may be shown and logged.
func ShownURLs(list string) string {
	var shown []string
	for text := range strings.SplitSeq(list, ",") {
		shown = append(shown, ShownURL(strings.TrimSpace(text)))
	}
	return strings.Join(shown, ", ")
}

// How a connection to outside servers is kept.
const (
	connectTimeout = 5 * time.Second // for one server
	pingEvery      = 5 * time.Second // so that a cut is noticed that closes no connection
	pingsMissed    = 2
	firstReconnect = 100 * time.Millisecond // pause after every server of the list was tried
	lastReconnect  = 5 * time.Second        // to which the pause grows
	reconnectNotes = 30 * time.Second       // between two notes that the servers are still out of reach
)

// reconnectDelay returns the pause before the list of servers is tried again, for the attempt of a number that begins with
// 1. It doubles up to lastReconnect, and half of it is random, so that nodes that lost a server together do not come back
// together.
func reconnectDelay(attempt int) time.Duration {
	pause := firstReconnect << min(max(attempt-1, 0), 20)
	pause = min(pause, lastReconnect)
	return pause/2 + rand.N(pause/2)
}

// Dial connects to one of the servers in a list, separated by commas. It returns a connection that goes over to another of
// them, or comes back, for ever, until the caller closes it. Passwords, tokens, keys and certificates are read from their
// files each time. It blocks for connectTimeout a server. Errors are Invalid for options that cannot be, and Unavailable,
// which says for each server what is wrong and names the flag to look at.
func Dial(ctx context.Context, list string, cred Credentials, logger *slog.Logger) (*nats.Conn, error) {
	urls, err := ServerURLs(list)
	if err != nil {
		return nil, err
	}
	opts, err := cred.options(urls)
	if err != nil {
		return nil, err
	}
	opts = append(opts, nats.Name("fanfold"), nats.ReconnectBufSize(-1), nats.Timeout(connectTimeout))
	keep := append(slices.Clone(opts), nats.MaxReconnects(-1), nats.CustomReconnectDelay(reconnectDelay), nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsMissed), nats.IgnoreAuthErrorAbort())
	nc, err := dialAll(urls, append(keep, logConnection(logger)...))
	if err == nil {
		return nc, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot connect to NATS: %s", strings.Join(cred.explainEach(urls, opts), "; "))
}

// dialAll connects to the first server that can be reached. The URLs are not joined, for the client splits them at commas.
func dialAll(urls []string, opts []nats.Option) (*nats.Conn, error) {
	o := nats.GetDefaultOptions()
	o.Servers = urls
	for _, set := range opts {
		if err := set(&o); err != nil {
			return nil, err
		}
	}
	return o.Connect()
}

// explainEach tries each server by itself, all at the same time, and returns for each what is wrong with it.
func (c Credentials) explainEach(urls []string, opts []nats.Option) []string {
	why := make([]string, len(urls))
	var wg sync.WaitGroup
	for i, u := range urls {
		wg.Go(func() {
			nc, err := dialAll([]string{u}, append(slices.Clone(opts), nats.NoReconnect()))
			if err == nil {
				nc.Close()
				why[i] = ShownURL(u) + " answers now"
				return
			}
			why[i] = ShownURL(u) + ": " + c.explain(err)
		})
	}
	wg.Wait()
	return why
}

// logConnection returns options that log when the connection is lost, when it is there again, and at times why it is not.
func logConnection(logger *slog.Logger) []nats.Option {
	var mu sync.Mutex
	var noted time.Time
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("the connection to the NATS server is lost: writes are refused, reads go on", "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			logger.Info("connected to a NATS server again", "server", ShownURL(nc.ConnectedUrl()))
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			mu.Lock()
			defer mu.Unlock()
			if time.Since(noted) < reconnectNotes {
				return
			}
			noted = time.Now()
			logger.Warn("no NATS server can be reached yet", "err", err)
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !errors.Is(err, nats.ErrSlowConsumer) {
				logger.Debug("nats", "err", err)
			}
		}),
	}
}

// Connect connects to a NATS server and returns a connection that reconnects until the caller
// closes it. While it is disconnected, publishes fail at once instead of waiting in a buffer. The
// error is Unavailable.
func Connect(url string, opts ...nats.Option) (*nats.Conn, error) {
	opts = append([]nats.Option{nats.Name("fanfold"), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.Timeout(5 * time.Second)}, opts...)
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot connect to NATS at %s: %v", url, err)
	}
	return nc, nil
}
