package servers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// How long is waited for servers that have just started, and how often they are asked again. A server tells others of itself
// every ten seconds at least, and the servers elect a leader in nine at most where most of them are connected.
const (
	startWait  = 30 * time.Second
	startAgain = 200 * time.Millisecond
)

// Placement is how the cluster took a stream's replicas.
type Placement struct {
	replicas      int
	There, Silent int   // how many servers answer and how many known ones do not, where the replicas were refused
	Err           error // the server's; nil where it took them
}

// Refused reports whether the server has not as many servers as replicas were asked for.
func (p Placement) Refused() bool { return refusedReplicas(p.Err) }

// Explained returns the error, which, where the replicas were refused, is a Conflict where there are too few servers, and
// Unavailable where there are enough.
func (p Placement) Explained() error {
	if !p.Refused() {
		return p.Err
	}
	code, what := fanfold.Conflict, fmt.Sprintf("%d replicas need as many NATS servers in one cluster with JetStream, and %d can be reached", p.replicas, p.There)
	if p.Silent > 0 {
		what += fmt.Sprintf(" (%d known ones do not answer)", p.Silent)
	}
	todo := "start more of them, or ask for fewer replicas"
	if p.There >= p.replicas {
		code, todo = fanfold.Unavailable, "see whether they have room and form one cluster, and try again"
	}
	return fanfold.Wrap(p.Err, code, "%s: %s; the server says: %s", what, todo, fanfold.MessageOf(p.Err))
}

// Place has a stream made or changed, which is to have n replicas, by ask, which may be called again. The servers may refuse it
// although as many answer: some may have started so recently that others have not heard of them, or have no leader yet. Then
// Place asks again, for startWait.
func (c *Client) Place(ctx context.Context, n int, ask func() error) Placement {
	p := Placement{replicas: n}
	c.Await(ctx, func() (why error) {
		if p.Err = ask(); p.Refused() && p.There == 0 {
			p.There, p.Silent = c.countServers()
		}
		if Leaderless(p.Err) || p.Refused() && p.There >= n {
			return p.Err
		}
		return nil
	})
	return p
}

// Await calls ask, and again as long as it says why servers must be waited for: the last time startWait after the first,
// or when ctx has ended.
func (c *Client) Await(ctx context.Context, ask func() (why error)) {
	limit, told := time.Now().Add(startWait), false
	for why := ask(); why != nil && ctx.Err() == nil && time.Now().Before(limit); why = ask() {
		if !told {
			c.Logger.Info("the log waits for NATS servers, which may have just started", "err", why)
			told = true
		}
		select {
		case <-time.After(startAgain):
		case <-ctx.Done():
		}
	}
}

// maxCounted bounds the servers that are counted.
const maxCounted = 64

// countServers connects to every server that the connection knows of, all at the same time. It returns how many different
// ones of its cluster answer, and how many URLs do not. A client cannot ask a server how large its cluster is.
func (c *Client) countServers() (there, silent int) {
	known := c.NC.Servers()
	known = known[:min(len(known), maxCounted)]
	cluster := c.NC.ConnectedClusterName()
	names := map[string]bool{c.NC.ConnectedServerName(): true}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, server := range known {
		wg.Go(func() {
			nc, err := c.connectTo(server)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent++
				return
			}
			defer nc.Close()
			if nc.ConnectedClusterName() == cluster {
				names[nc.ConnectedServerName()] = true
			}
		})
	}
	wg.Wait()
	return len(names), silent
}

// connectTo connects to one server as the log's connection does, without coming back to it. The caller closes what it
// returns.
func (c *Client) connectTo(server string) (*nats.Conn, error) {
	opts := c.NC.Opts
	opts.Servers, opts.Url, opts.AllowReconnect, opts.IgnoreDiscoveredServers = nil, server, false, true
	opts.DisconnectedErrCB, opts.ReconnectedCB, opts.ReconnectErrCB, opts.AsyncErrorCB, opts.ClosedCB = nil, nil, nil, nil, nil
	u, err := url.Parse(server)
	from, err2 := url.Parse(c.NC.ConnectedUrl())
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if u.User == nil {
		u.User = from.User // a server that was found has the user of the one that told of it
	}
	opts.Url = u.String()
	return opts.Connect()
}
