package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// MaxReplicas is the most replicas that a NATS server gives a stream.
const MaxReplicas = 5

// usualReplicas is how many replicas a log gets that is made on a cluster where nothing else is said.
const usualReplicas = 3

// Replicas says how many replicas the log and the buckets beside it have.
type Replicas struct {
	Replicas int              `json:"replicas"` // of the log, as configured
	Current  int              `json:"current"`  // the fewest that are current, of the log and any bucket
	Streams  []StreamReplicas `json:"streams"`
}

// StreamReplicas says how many replicas a stream has.
type StreamReplicas struct {
	Stream   string `json:"stream"`
	Replicas int    `json:"replicas"` // as configured
	Current  int    `json:"current"`  // that have everything, the leader among them
	Behind   uint64 `json:"behind"`   // messages that the farthest of the others lacks, as far as the leader knows
}

// Settled returns whether the log and every bucket have n replicas, all of them current.
func (r Replicas) Settled(n int) bool {
	return !slices.ContainsFunc(r.Streams, func(s StreamReplicas) bool { return s.Replicas != n || s.Current != n })
}

// clusterState is the part of a stream's state about its replicas.
type clusterState struct {
	Leader   string `json:"leader"`
	Replicas []struct {
		Current bool          `json:"current"`
		Offline bool          `json:"offline"`
		Active  time.Duration `json:"active"` // since the leader heard of it
		Lag     uint64        `json:"lag"`
	} `json:"replicas"`
}

// silentReplica is the time without a word of a replica after which a leader does not count it. Every second brings one, and nobody
// is elected in place of a leader in less than four.
const silentReplica = 3 * time.Second

// leads tells whether the state is that of a leader which has just heard of most of n replicas, itself among them.
func (c *clusterState) leads(n int) bool {
	if c == nil || c.Leader == "" {
		return false
	}
	heard := 1
	for _, r := range c.Replicas {
		if !r.Offline && r.Active < silentReplica {
			heard++
		}
	}
	return heard > n/2
}

// count returns how many replicas are current, and how many messages the farthest of the others lacks. A nil state is that of
// a server that is in no cluster.
func (c *clusterState) count() (current int, behind uint64) {
	if c == nil {
		return 1, 0
	}
	if c.Leader != "" {
		current = 1
	}
	for _, r := range c.Replicas {
		if r.Current && !r.Offline {
			current++
		} else {
			behind = max(behind, r.Lag)
		}
	}
	return current, behind
}

// ReplicaCount returns how many replicas the log has, and how many of them are current, as the last Check saw them; 0 before
// the first.
func (l *Log) ReplicaCount() (replicas, current int) {
	return int(l.replicas.Load()), int(l.current.Load())
}

// streams returns the names of the log's stream and of those of the buckets beside it, the log's first.
func (l *Log) streams(ctx context.Context) ([]string, error) {
	out := []string{l.opt.Database}
	names := l.js.StreamNames(ctx)
	for name := range names.Name() {
		for _, kind := range []string{bucketPrefix, objectsPrefix} { // a purpose has no _ in it; another database's name may
			if purpose, ok := strings.CutPrefix(name, kind+"fanfold_"+l.opt.Database+"_"); ok && !strings.Contains(purpose, "_") {
				out = append(out, name)
			}
		}
	}
	if err := names.Err(); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's servers cannot be asked for their streams: %v", err)
	}
	slices.Sort(out[1:])
	return out, nil
}

// Replicas asks how many replicas the log and each bucket beside it have. It blocks for a round trip for each; the error is
// Unavailable.
func (l *Log) Replicas(ctx context.Context) (r Replicas, err error) {
	names, err := l.streams(ctx)
	if err != nil {
		return r, err
	}
	for i, name := range names {
		var info streamInfo
		if err := l.askAPI(ctx, "STREAM.INFO."+name, nil, &info); err != nil {
			return r, err
		}
		s := StreamReplicas{Stream: name, Replicas: info.Config.Replicas}
		s.Current, s.Behind = info.Cluster.count()
		if i == 0 {
			r.Replicas, r.Current = s.Replicas, s.Current
		}
		r.Current = min(r.Current, s.Current)
		r.Streams = append(r.Streams, s)
	}
	return r, nil
}

// How long SetReplicas waits for replicas to become current, and how often it looks.
const (
	replicasWait = time.Minute
	replicasLook = 200 * time.Millisecond
)

// SetReplicas gives the log and every bucket beside it n replicas, and then waits until all of them are current, for a minute at
// most: it returns how far they are. It blocks for up to startWait longer for each whose servers have just started. Appends go on
// meanwhile. Errors are Invalid for a number that cannot be; Conflict where there are not as many servers, with nothing changed;
// ctx's; and Unavailable, where some streams may have changed already, and which the same call goes on from.
func (l *Log) SetReplicas(ctx context.Context, n int) (r Replicas, err error) {
	if n < 1 || n > MaxReplicas {
		return r, fanfold.Errorf(fanfold.Invalid, "the log cannot have %d replicas: give 1 to %d", n, MaxReplicas)
	}
	if l.opt.Embedded != nil {
		if n > 1 {
			return r, fanfold.Errorf(fanfold.Conflict, "the log is in the embedded server, which is 1 server: %d replicas need a cluster of at least %d NATS servers, given by --nats", n, n)
		}
		return l.Replicas(ctx)
	}
	names, err := l.streams(ctx)
	if err != nil {
		return r, err
	}
	for _, name := range names { // the log first: it is refused before anything has changed
		if err := l.setReplicas(ctx, name, n); err != nil {
			return r, err
		}
	}
	limit := time.NewTimer(replicasWait)
	defer limit.Stop()
	for {
		if r, err = l.Replicas(ctx); err == nil {
			l.noteReplicas(r.Replicas, r.Current)
			if r.Settled(n) {
				return r, nil
			}
		}
		select {
		case <-time.After(replicasLook):
		case <-limit.C:
			return r, err
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

// noteReplicas records what ReplicaCount returns.
func (l *Log) noteReplicas(replicas, current int) {
	l.replicas.Store(int32(replicas))
	l.current.Store(int32(current))
}

// setReplicas gives a stream n replicas. Its other settings stay as the server has them, those included that this client does
// not know. Errors are Conflict where there are not as many servers, and Unavailable.
func (l *Log) setReplicas(ctx context.Context, name string, n int) error {
	var info struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	if err := l.askAPI(ctx, "STREAM.INFO."+name, nil, &info); err != nil {
		return err
	}
	want := json.RawMessage(fmt.Sprint(n))
	if string(info.Config["num_replicas"]) == string(want) {
		return nil
	}
	info.Config["num_replicas"] = want
	body, err := json.Marshal(info.Config)
	if err != nil {
		return err
	}
	return l.place(ctx, n, func() error { return l.askAPI(ctx, "STREAM.UPDATE."+name, body, nil) }).explained()
}

// The server's error codes for more replicas than it has servers for, and for a cluster that has no leader.
const (
	codeNoPeers    = 10005
	codeNoClusters = 10074
	codeNoLeader   = 10008
)

// refusedReplicas reports whether the server refused a stream because it has not as many servers as replicas were asked for.
func refusedReplicas(err error) bool {
	return hasCode(err, codeNoPeers) || hasCode(err, codeNoClusters)
}

// leaderless reports whether no server answered for the cluster, or one said that it has no leader.
func leaderless(err error) bool {
	return hasCode(err, codeNoLeader) || errors.Is(err, context.DeadlineExceeded)
}

// hasCode reports whether the server refused with an error code.
func hasCode(err error, code jetstream.ErrorCode) bool {
	api := refusalOf(err)
	return api != nil && api.ErrorCode == code
}

// How long is waited for servers that have just started, and how often they are asked again. A server tells others of itself
// every ten seconds at least, and the servers elect a leader in nine at most where most of them are connected.
const (
	startWait  = 30 * time.Second
	startAgain = 200 * time.Millisecond
)

// placement is how the cluster took a stream's replicas.
type placement struct {
	replicas      int
	there, silent int   // how many servers answer and how many known ones do not, where the replicas were refused
	err           error // the server's; nil where it took them
}

// refused reports whether the server has not as many servers as replicas were asked for.
func (p placement) refused() bool { return refusedReplicas(p.err) }

// explained returns the error, which, where the replicas were refused, is a Conflict where there are too few servers, and
// Unavailable where there are enough.
func (p placement) explained() error {
	if !p.refused() {
		return p.err
	}
	code, what := fanfold.Conflict, fmt.Sprintf("%d replicas need as many NATS servers in one cluster with JetStream, and %d can be reached", p.replicas, p.there)
	if p.silent > 0 {
		what += fmt.Sprintf(" (%d known ones do not answer)", p.silent)
	}
	todo := "start more of them, or ask for fewer replicas"
	if p.there >= p.replicas {
		code, todo = fanfold.Unavailable, "see whether they have room and form one cluster, and try again"
	}
	return fanfold.Wrap(p.err, code, "%s: %s; the server says: %s", what, todo, fanfold.MessageOf(p.err))
}

// place has a stream made or changed, which is to have n replicas, by ask, which may be called again. Where the server refuses
// them although as many servers answer, some of these may have started so short ago that others have not heard of them, or have
// no leader yet: it asks again, for startWait.
func (l *Log) place(ctx context.Context, n int, ask func() error) placement {
	p := placement{replicas: n}
	l.awaitServers(ctx, func() (why error) {
		if p.err = ask(); p.refused() && p.there == 0 {
			p.there, p.silent = l.countServers()
		}
		if leaderless(p.err) || p.refused() && p.there >= n {
			return p.err
		}
		return nil
	})
	return p
}

// awaitServers calls ask, and again as long as it says why servers must be waited for: the last time startWait after the first,
// or when ctx has ended.
func (l *Log) awaitServers(ctx context.Context, ask func() (why error)) {
	limit, told := time.Now().Add(startWait), false
	for why := ask(); why != nil && ctx.Err() == nil && time.Now().Before(limit); why = ask() {
		if !told {
			l.opt.Logger.Info("the log waits for NATS servers, which may have just started", "err", why)
			told = true
		}
		select {
		case <-time.After(startAgain):
		case <-ctx.Done():
		}
	}
}

// askAPI asks the leader of JetStream, or of a stream, and decodes the answer into out, which may be nil. The error is
// Unavailable, with the server's *jetstream.APIError in its chain where it refused.
func (l *Log) askAPI(ctx context.Context, subject string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	resp, err := l.nc.RequestWithContext(ctx, "$JS.API."+subject, body)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's server does not answer; try again")
	}
	var refusal struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(resp.Data, &refusal); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
	}
	if refusal.Error != nil {
		return fanfold.Wrap(refusal.Error, fanfold.Unavailable, "%s", refusal.Error.Description)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(resp.Data, out); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
	}
	return nil
}

// maxCounted bounds the servers that are counted.
const maxCounted = 64

// countServers connects to every server that the connection knows of, all at the same time, and returns how many different
// ones of its cluster answer, and how many URLs do not. A client cannot ask a server how large its cluster is.
func (l *Log) countServers() (there, silent int) {
	known := l.nc.Servers()
	known = known[:min(len(known), maxCounted)]
	cluster := l.nc.ConnectedClusterName()
	names := map[string]bool{l.nc.ConnectedServerName(): true}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, server := range known {
		wg.Go(func() {
			nc, err := l.connectTo(server)
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
func (l *Log) connectTo(server string) (*nats.Conn, error) {
	opts := l.nc.Opts
	opts.Servers, opts.Url, opts.AllowReconnect, opts.IgnoreDiscoveredServers = nil, server, false, true
	opts.DisconnectedErrCB, opts.ReconnectedCB, opts.ReconnectErrCB, opts.AsyncErrorCB, opts.ClosedCB = nil, nil, nil, nil, nil
	u, err := url.Parse(server)
	from, err2 := url.Parse(l.nc.ConnectedUrl())
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if u.User == nil {
		u.User = from.User // a server that was found has the user of the one that told of it
	}
	opts.Url = u.String()
	return opts.Connect()
}

// createStream makes the stream, with as many replicas as the options say: usualReplicas, or 1 where there are not as many
// servers, for 0. Errors are the server's, Conflict where there are not as many servers as asked for, and Unavailable where
// it cannot be told how many there are, for then some of them do not answer.
func (l *Log) createStream(ctx context.Context) (jetstream.Stream, error) {
	config := l.streamConfig()
	asked := config.Replicas
	if config.Replicas = cmp.Or(asked, 1); asked == 0 && l.nc.ConnectedClusterName() != "" {
		config.Replicas = usualReplicas
	}
	var s jetstream.Stream
	placed := l.place(ctx, config.Replicas, func() (err error) {
		s, err = l.js.CreateStream(ctx, config)
		return err
	})
	if !placed.refused() || asked != 0 {
		return s, placed.explained()
	}
	if placed.there >= usualReplicas || placed.silent > 0 {
		return nil, fanfold.Wrap(placed.err, fanfold.Unavailable, "the log is new, and would have %d replicas, and the NATS cluster cannot give them now (%v): of its servers %d answer, and %d known ones do not; start them all, or say --replicas 1 and change it later by fanfold replicas",
			usualReplicas, placed.err, placed.there, placed.silent)
	}
	l.opt.Logger.Warn("the log is made with 1 replica: the cluster has too few servers for more; fanfold replicas changes it", "servers", placed.there)
	config.Replicas = 1
	return l.js.CreateStream(ctx, config)
}
