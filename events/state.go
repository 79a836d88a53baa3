package events

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// Repair says what to do about a log that has lost events. The errors of a damaged log end with it.
const Repair = "stop every node and restore the log from a backup, or take what is left into a new store with fanfold log rescue; docs/run/damage.md says how"

// Known says what a node knows of the log from before: the last event that it has seen there, and that event's digest.
// The zero value is no knowledge.
type Known struct {
	Seq   uint64
	Event fanfold.Digest
}

// State is what the stream's leader says of it.
type State struct {
	Created time.Time
	First   uint64
	Last    uint64
	Count   uint64   // of events between the two
	Bytes   uint64   // that they have, as the server counts them
	Lost    int      // events that the server says it has lost
	Base    uint64   // the sequence after which the log begins: see Base
	Missing []uint64 // sequences up to Last without an event, in order, erased ones apart; the server may know only how many there are
	Erased  uint64   // events after Base that are not there because their contents are erased; readers get what stands for them

	replicated bool
	led        bool // a leader said so that has just heard of most replicas, as none does that was replaced

	erasedFirst uint64 // how many of Erased are right before First
}

// Complete returns whether the stream has every event from its first to the last, and begins with the one after its base at the latest. A purge
// may be yet to come. A server that finds a block file cut, or gone, reports the messages in it as deleted or lost.
func (s State) Complete() bool {
	return s.Lost == 0 && (s.Count == 0 && s.Last == s.Base || s.beginsInTime() && s.Count+s.Erased == s.Last-s.begin()+1 && len(s.Missing) == 0)
}

// beginsInTime tells whether the stream has the first event after its base, or what stands for it.
func (s State) beginsInTime() bool { return s.First > 0 && s.begin()-1 <= s.Base }

// begin returns the first sequence of an event that is there, or for which something stands.
func (s State) begin() uint64 { return s.First - s.erasedFirst }

// streamInfo is the part of an answer of $JS.API.STREAM.INFO that says how the stream stands. The client's own type lacks
// what was lost.
type streamInfo struct {
	Error   *jetstream.APIError `json:"error"`
	Created time.Time           `json:"created"`
	Config  struct {
		Replicas int `json:"num_replicas"`
	} `json:"config"`
	Cluster *servers.Cluster `json:"cluster"`
	State   struct {
		Messages   uint64   `json:"messages"`
		Bytes      uint64   `json:"bytes"`
		FirstSeq   uint64   `json:"first_seq"`
		LastSeq    uint64   `json:"last_seq"`
		NumDeleted int      `json:"num_deleted"`
		Deleted    []uint64 `json:"deleted"`
		Lost       struct {
			Msgs []uint64 `json:"msgs"`
		} `json:"lost"`
	} `json:"state"`
}

// Bounds of asking for the stream's state.
const (
	maxDeletedDetails = 100_000 // missing sequences with which they are asked for by name; a server lists all of them or none
)

// State asks the stream's leader for its state. Errors are LogDamaged where there is no such stream, and Unavailable.
func (l *Log) State(ctx context.Context) (State, error) {
	info, err := l.streamInfo(ctx, false)
	if n := info.State.NumDeleted; err == nil && n > 0 && n <= maxDeletedDetails {
		info, err = l.streamInfo(ctx, true)
	}
	if err != nil {
		return State{replicated: l.opt.Replicas != 1}, err
	}
	s := info.State
	current, _ := info.Cluster.Count()
	l.replicas.note(max(1, info.Config.Replicas), current)
	l.replicas.away.Store(int32(info.Cluster.Away()))
	l.prefix.first.Store(s.FirstSeq)
	out := State{Created: info.Created, First: s.FirstSeq, Last: s.LastSeq, Count: s.Messages, Bytes: s.Bytes, Lost: len(s.Lost.Msgs),
		Base: l.prefix.Base().Seq, Missing: s.Deleted, replicated: info.Config.Replicas > 1, led: info.Cluster.Leads(info.Config.Replicas)}
	out.explain(l.prefix.losses.get(), uint64(s.NumDeleted))
	return out, nil
}

// explain takes what is erased, and what is up to the base, out of what is missing between the first event and the last. The server may know only how many
// there are. Up to the base nobody needs an event, and the erase event that explains a gap there may have gone.
func (s *State) explain(t *lossTable, missing uint64) {
	if s.First > s.Base+1 {
		for s.begin() > s.Base+1 {
			if found, _ := t.find(s.begin()-1, ^fanfold.AsOf(0)); found == nil {
				break
			}
			s.erasedFirst++
		}
	}
	if len(s.Missing) == 0 && missing > 0 {
		before := s.Base + 1 - min(s.First, s.Base+1)
		s.Erased = s.erasedFirst + min(missing, t.count(s.First, s.Last)+before)
		return
	}
	all := len(s.Missing)
	s.Missing = slices.DeleteFunc(s.Missing, func(seq uint64) bool {
		found, _ := t.find(seq, ^fanfold.AsOf(0))
		return found != nil || seq <= s.Base
	})
	s.Erased = s.erasedFirst + uint64(all-len(s.Missing))
}

// streamInfo asks the stream's leader for its state, and which sequences are missing where details are asked for.
func (l *Log) streamInfo(ctx context.Context, details bool) (info streamInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, servers.Patience)
	defer cancel()
	body, err := json.Marshal(map[string]bool{"deleted_details": details})
	if err != nil {
		return info, err
	}
	resp, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+l.opt.Database, body)
	if err != nil {
		return info, fanfold.Wrap(err, fanfold.Unavailable, "the log's state cannot be read")
	}
	if err := json.Unmarshal(resp.Data, &info); err != nil {
		return info, fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
	}
	switch {
	case info.Error == nil:
		return info, nil
	case info.Error.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		return info, l.streamGone()
	}
	return info, fanfold.Wrap(info.Error, fanfold.Unavailable, "the log's state cannot be read: %s", info.Error.Description)
}

// streamGone returns the error for a stream that was there and is not.
func (l *Log) streamGone() error {
	return fanfold.Errorf(fanfold.LogDamaged, "the log, stream %s, is gone, with every event in it; %s", l.opt.Database, Repair)
}

// Pauses between checks of a replicated stream, whose new leader may for a moment not have what the old one had.
const (
	checkRetries = 10
	checkPause   = 300 * time.Millisecond
)

// Check holds what the server says of the stream against itself, against every event that this process has seen or
// stored, and against what the node knows from before. It blocks for two round trips, longer where a replicated stream
// lacks something, for a new leader may have it a moment later. Errors are LogDamaged, which says what is missing and
// which Damage and every append return until a later check finds nothing; and Unavailable.
func (l *Log) Check(ctx context.Context, known Known) error {
	for retry := 0; ; retry++ {
		replicated, err := l.checkOnce(ctx, l.run.Load(), known)
		switch {
		case err == nil:
			l.health.setChecked(nil)
			return nil
		case fanfold.CodeOf(err) != fanfold.LogDamaged:
			return err
		case !replicated || retry == checkRetries:
			l.health.setChecked(err)
			return err
		}
		select {
		case <-time.After(checkPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Led returns whether the last Check was answered by a leader that most of the log's servers follow. A server that is cut off from
// the others answers, too.
func (l *Log) Led() bool { return l.led.Load() }

// checkOnce does what Check does, once, and returns whether the stream is replicated. run is what is known of the server's run;
// where another one begins meanwhile, the error is Unavailable. It is Unavailable, too, if something is missing at a
// server that does not reach most others, or has no leader. A member of a cluster that is cut off answers all the same.
func (l *Log) checkOnce(ctx context.Context, run *serverRun, known Known) (replicated bool, err error) {
	_ = l.Reachable() // takes note of how it is
	current := l.run.Load()
	seen := max(known.Seq, run.highest.Load()) // before the question: the answer must be as new
	s, err := l.State(ctx)
	if err == nil && current != l.run.Load() {
		err = errAnotherRun()
	}
	if err != nil {
		return s.replicated, err
	}
	l.replicated.Store(s.replicated)
	l.led.Store(s.led || !s.replicated)
	defer func() {
		if err == nil {
			l.created.Store(s.Created.UnixNano())
			l.size.Store(s.Bytes)
			l.counted.Store(s.Count)
		}
	}()
	if !s.Complete() {
		if s, err = l.prefix.knowingBase(ctx, run, s); err != nil {
			return s.replicated, err
		}
	}
	switch {
	case !s.Complete():
		err = s.incomplete()
	case s.Last < seen:
		err = fanfold.Errorf(fanfold.LogDamaged, "the log ends at event %d, and event %d was there before: the events behind it are missing, or it is another log or an old copy; %s", s.Last, seen, Repair)
	case known.Seq > 0 && known.Event != fanfold.Digest{}:
		err = l.checkEvent(ctx, known)
	}
	if s.replicated && !s.led && fanfold.CodeOf(err) == fanfold.LogDamaged {
		err = fanfold.Wrap(err, fanfold.Unavailable, "the log's server that was asked does not reach most of the others, and lacks some of the log")
	}
	return s.replicated, err
}

// checkEvent compares the event that the node knows with the one that the log has in its place.
func (l *Log) checkEvent(ctx context.Context, known Known) error {
	if err := l.prefix.checkKnown(known); err != nil || known.Seq <= l.prefix.Base().Seq {
		return err
	}
	m, err := l.getMsg(ctx, servers.LeaderQuery{Seq: known.Seq})
	if err == nil && m == nil { // it may have been purged or erased a moment ago
		err = l.prefix.askBase(ctx, l.lastBySubject)
	}
	if err != nil {
		return err
	}
	if s, _ := l.prefix.losses.get().find(known.Seq, ^fanfold.AsOf(0)); s != nil {
		return nil // the node may know of another substitute, or of none
	}
	if m == nil && known.Seq <= l.prefix.Base().Seq {
		return l.prefix.checkKnown(known)
	}
	if m == nil {
		return fanfold.Errorf(fanfold.LogDamaged, "event %d of the log cannot be read any more; %s", known.Seq, Repair)
	}
	at, _ := timeOf(m.Time, m.Header)
	if d, _ := digest(nil, m.Seq, at, m.Subject, m.Header, m.Data); d != known.Event {
		return fanfold.Errorf(fanfold.LogDamaged, "event %d of the log is not the one that was there before: it is another log, or a copy that went another way; %s", known.Seq, Repair)
	}
	return nil
}

// checkKnown compares the event that the node knows with the horizon's, where it is that one. The error is LogDamaged.
func (p *Prefix) checkKnown(known Known) error {
	c, _ := p.Compaction()
	if c != nil && c.Seq == known.Seq && c.Event != known.Event && (c.AsOf == 0 || c.Event != fanfold.Digest{}) { // a base after erasures may not tell
		return fanfold.Errorf(fanfold.LogDamaged, "event %d, at which the log begins, is not the one that was there before: it is another log, or a copy that went another way; %s", known.Seq, Repair)
	}
	return nil
}

// maxMissingNamed is how many missing ranges of events an error names.
const maxMissingNamed = 5

// incomplete returns the error for a stream that lacks events.
func (s State) incomplete() error {
	what := ""
	if missing := Ranges(s.Missing); len(missing) > 0 {
		what = ": " + NameRanges(missing, maxMissingNamed)
	} else if !s.beginsInTime() {
		what = fmt.Sprintf(": all before %d", s.First)
	}
	want := s.Last - min(s.Base, s.Last)
	if s.beginsInTime() {
		want = s.Last - min(s.begin()-1, s.Last)
	}
	want -= min(s.Erased, want)
	return fanfold.Errorf(fanfold.LogDamaged, "the log ends at event %d and has %d events, so that %d are missing%s; %s",
		s.Last, s.Count, max(want-min(s.Count, want), uint64(s.Lost)), what, Repair)
}

// Damage returns what the last Check, or a scan since, found wrong with the log, as LogDamaged, nil for nothing.
func (l *Log) Damage() error { return l.health.damage() }

// Created returns when the stream was made, as the last Check that found nothing saw it. Another time is another stream.
func (l *Log) Created() time.Time { return time.Unix(0, l.created.Load()).UTC() }

// SetDamage records what a scan of the log found, nil for nothing. Every append returns it.
func (l *Log) SetDamage(err error) { l.health.setScanned(err) }

// acknowledged takes note of a message that is new in the log at seq. before is what the log was known to have before the message
// was sent. The error is LogDamaged where it had given that sequence before: it begins anew.
func (l *Log) acknowledged(seq uint64, before seenSequence) error {
	if run := l.run.Load(); seq > before.seq || run != before.run {
		run.highest.Advance(seq)
		return nil
	}
	err := fanfold.Errorf(fanfold.LogDamaged, "the log stored the write as event %d, and had event %d before: it is another log, or an old copy, and the write may be lost; %s", seq, before.seq, Repair)
	l.health.setChecked(err)
	return err
}

// HasEvent returns nil where the log has the event that is known, and LogDamaged where it has another one in its place, or
// none. It blocks for a round trip; the other error is Unavailable.
func (l *Log) HasEvent(ctx context.Context, known Known) error { return l.checkEvent(ctx, known) }
