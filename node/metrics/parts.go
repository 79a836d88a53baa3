package metrics

import (
	"net/http"
	"path/filepath"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/changefeed/webhook"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// Parts are what the metrics ask when somebody reads them.
type Parts struct {
	Version     string
	Ready       func() bool
	Running     func() int64         // requests that are being answered
	Certificate func() time.Duration // how long it still holds; nil without TLS
	Store       *sqlite.Store
	Feed        *changefeed.Feed
	Log         *events.Log // nil for a read model alone, which has none of the rest either

	Projector *projector.Projector
	Writer    *writer.Writer
	Groups    *group.Groups
	Judge     *access.Judge
	Keys      *keys.Store                                            // nil where one key alone opens
	Ordinal   func(at fanfold.Position) (upTo, all int64, err error) // of changes
	Lag       func() membership.LagReading
	Nodes     func() []wire.Node
	Members   *membership.Registry              // nil for the only node
	Backed    func() (at time.Time, seq uint64) // the last backup that was served
	Posts     func(o webhook.Outcome) uint64    // of batches
}

// Watch registers what is asked of the parts of a node. It returns a handler that answers with all metrics, in the format of
// Prometheus.
func (m *Metrics) Watch(p Parts) http.Handler {
	m.watchProcess(p)
	m.watchSubscriber(p)
	m.registry.MustRegister(newIndexStates(p.Store), newRefusalStates(p.Judge), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if p.Log != nil {
		m.watchBackup(p)
		m.watchFold(p)
		m.watchLog(p)
		m.watchWrite(p)
		m.watchFeed(p)
		m.watchNodes(p)
		if p.Keys != nil {
			m.watchKeys(p)
		}
	}
	return m.handler()
}

// watchProcess registers what is about the process, its certificate and its read model.
func (m *Metrics) watchProcess(p Parts) {
	m.Gauge("fanfold_build_info", "1, with the program's version, that of Go, and that of the fold.", func() float64 { return 1 },
		"version", p.Version, "goversion", runtime.Version(), "fold", fold.Fingerprint())
	m.Gauge("fanfold_ready", "1 where /readyz says that the node is ready, 0 where it does not.", func() float64 {
		return oneIf(p.Ready())
	})
	m.Gauge("fanfold_requests_running", "Requests that are being answered, this one included.", func() float64 { return float64(p.Running()) })
	if p.Certificate != nil {
		m.Gauge("fanfold_tls_expiry_seconds", "Seconds until the certificate of --tls-cert ends, below 0 once it has; only with TLS.",
			func() float64 { return p.Certificate().Seconds() })
	}
	m.Gauge("fanfold_applied_sequence", "Last event folded into the read model.", func() float64 { return float64(p.Store.Applied.Seq()) })
	m.Gauge("fanfold_sqlite_bytes", "Bytes of the read model's SQLite file, and of SQLite's log (WAL) beside it.", func() float64 {
		size, _ := p.Store.Sizes()
		return float64(size)
	}, "file", "database")
	m.Gauge("fanfold_sqlite_bytes", "Bytes of the read model's SQLite file, and of SQLite's log (WAL) beside it.", func() float64 {
		_, size := p.Store.Sizes()
		return float64(size)
	}, "file", "wal")
	m.watchDisk(p.Store)
}

// watchDisk registers what is free where the read model is, if the system says it.
func (m *Metrics) watchDisk(store *sqlite.Store) {
	var dir string
	_ = store.Use(func(db *sqlite.DB) error { // it stays in its directory
		dir = filepath.Dir(db.Path())
		return nil
	})
	if _, known := freeAt(dir); !known {
		return
	}
	m.Gauge("fanfold_disk_free_bytes", "Bytes that are free for this process where the read model is.", func() float64 {
		free, _ := freeAt(dir)
		return free
	})
}

// watchBackup registers what is about the backups that this node made.
func (m *Metrics) watchBackup(p Parts) {
	m.Gauge("fanfold_backup_last_timestamp_seconds", "When this node last served a backup to its end, in Unix time; 0 for none since the start.", func() float64 {
		at, _ := p.Backed()
		if at.IsZero() {
			return 0
		}
		return float64(at.UnixMilli()) / 1000
	})
	m.Gauge("fanfold_backup_last_sequence", "Last event of that backup; 0 for none since the start.", func() float64 {
		_, seq := p.Backed()
		return float64(seq)
	})
}

// watchFold registers what is about the fold, replays and models.
func (m *Metrics) watchFold(p Parts) {
	status := func(value func(projector.Status) float64) func() float64 {
		return func() float64 { return value(p.Projector.Status()) }
	}
	m.Gauge("fanfold_lag_events", "Events in the log that are not folded yet, when last heard.", status(func(s projector.Status) float64 { return float64(s.Lag) }))
	m.Gauge("fanfold_lag_seconds", "How old the oldest event is at most that is not folded yet, without anybody's time of day; it grows while the log is out of reach.",
		func() float64 { return p.Lag().Age.Seconds() })
	m.Gauge("fanfold_projector_stopped", "1 while an event cannot be folded.", status(func(s projector.Status) float64 { return oneIf(s.Stopped != nil && !s.Stopped.LogAway()) }))
	m.Gauge("fanfold_rule_errors", "Evaluations of rules and checks that failed for another reason than a missing member, since the start.", status(func(s projector.Status) float64 {
		total := int64(0)
		for _, e := range s.RuleErrors {
			total += e.Count
		}
		return float64(total)
	}))
	m.Gauge("fanfold_omitted_values", "Derived values that are absent because their embedded documents have no room for them.", func() float64 {
		total := int64(0)
		_ = p.Store.Read(func(s *sqlite.Snapshot) error {
			all, err := s.Omissions()
			for _, o := range all {
				total += o.Values
			}
			return err
		})
		return float64(total)
	})
	replay := func(value func(*projector.Progress) float64) func() float64 {
		return status(func(s projector.Status) float64 {
			if s.Replay == nil {
				return 0
			}
			return value(s.Replay)
		})
	}
	m.Gauge("fanfold_replay_sequence", "Last event replayed by the running or last replay.", replay(func(p *projector.Progress) float64 { return float64(p.Seq) }))
	m.Gauge("fanfold_replay_progress_ratio", "How far the running replay is, from 0 to 1; 1 where none runs.",
		status(func(s projector.Status) float64 { return replayRatio(s.Replay) }))
	m.Gauge("fanfold_replay_rate", "Events that the running or last replay replays in a second; rows, while a check compares them.", replay(func(p *projector.Progress) float64 { return p.Rate }))
	m.Gauge("fanfold_replay_left_seconds", "Seconds that what the running replay is at will still take; 0 where none runs.", replay(func(p *projector.Progress) float64 { return p.Left }))
	m.Gauge("fanfold_replay_different_rows", "Rows of the read model that the last replay with check found to differ; 0 after one without.", replay(func(p *projector.Progress) float64 {
		if p.Check == nil {
			return 0
		}
		return float64(p.Check.Different)
	}))
	m.Gauge("fanfold_model_preparation_ratio", "How far this node is with the model that is being prepared, from 0 to 1; 1 where none is.",
		status(func(s projector.Status) float64 { return rebuild.Ratio(s.Preparing) }))
	m.Counter("fanfold_folded_events_total", "Events folded by this process.", func() uint64 { return p.Projector.Status().Folded })
}

// replayRatio returns how far a replay is, 1 for none that runs.
func replayRatio(p *projector.Progress) float64 {
	if p == nil || !p.Running || p.Target == 0 {
		return 1
	}
	ratio := min(1, float64(p.Seq)/float64(p.Target))
	if p.Check != nil { // the other half is to compare
		ratio = ratio/2 + float64(p.Check.Compared)/float64(max(p.Check.Rows, 1))/2
	}
	return ratio
}

// watchLog registers what is about the log.
func (m *Metrics) watchLog(p Parts) {
	m.Gauge("fanfold_log_failing", "1 while the log takes no events, or the last one was not stored.", func() float64 {
		return oneIf(p.Log.Failing() != nil || p.Log.Damage() != nil)
	})
	m.Gauge("fanfold_log_events", "Events that the log has, as it was asked every two seconds.", func() float64 {
		events, _ := p.Log.Size()
		return float64(events)
	})
	m.Gauge("fanfold_log_bytes", "Bytes that the log has, of one replica, as it was asked every two seconds.", func() float64 {
		_, size := p.Log.Size()
		return float64(size)
	})
	m.Counter("fanfold_commit_batches_total", "Group commits published as one atomic batch.", func() uint64 { return p.Log.Stats().Batches })
	m.Counter("fanfold_commit_batched_events_total", "Events in these batches.", func() uint64 { return p.Log.Stats().Batched })
	m.Counter("fanfold_commit_refused_batches_total", "Of these batches, those whose events had to be published by themselves.", func() uint64 { return p.Log.Stats().Refused })
	m.Counter("fanfold_commit_single_events_total", "Events published by themselves.", func() uint64 { return p.Log.Stats().Singles })
	m.Counter("fanfold_log_syncs_total", "Fsyncs of the embedded log, each for all concurrent writes.", func() uint64 { return p.Log.Stats().Syncs })
	m.Counter("fanfold_append_resent_total", "Publishes repeated because the log had not decided.", func() uint64 { return p.Log.Stats().Resent })
}

// watchWrite registers what is about writes.
func (m *Metrics) watchWrite(p Parts) {
	for _, operation := range writer.Operations {
		m.Counter("fanfold_writes_total", "Writes that this node has stored: requests, and of imports documents.",
			func() uint64 { return p.Writer.Stored(operation) }, "operation", operation)
	}
	m.Counter("fanfold_write_conflicts_total", "Writes refused because what is stored did not fit them: conditions that do not hold, documents that exist, unique values, patches.",
		p.Writer.Conflicts)
	m.Counter("fanfold_write_retries_total", "Writes tried again inside because another write to the document was faster.", p.Writer.Retries)
}

// watchSubscriber registers how many read the change feed.
func (m *Metrics) watchSubscriber(p Parts) {
	for _, transport := range changefeed.Transports() {
		m.Gauge("fanfold_feed_subscribers", "Answers of the change feed and of consumer groups that are under way.",
			func() float64 { return float64(p.Feed.Subscribers(transport)) }, "transport", transport)
	}
}

// watchFeed registers what is about the change feed and its groups.
func (m *Metrics) watchFeed(p Parts) {
	m.Gauge("fanfold_feed_lag_changes", "Changes, of all kinds, behind the endless feed that is the furthest behind; 0 where there is none.", func() float64 {
		at, found := p.Feed.Farthest()
		if !found {
			return 0
		}
		upTo, all, err := p.Ordinal(at)
		if err != nil {
			return 0
		}
		return float64(max(0, all-upTo))
	})
	for _, outcome := range webhook.Outcomes() {
		m.Counter("fanfold_webhook_posts_total", "Batches of consumer groups that this node posted, by what became of them.", func() uint64 { return p.Posts(outcome) }, "outcome", string(outcome))
	}
	m.groups = newGroupStates(p.Groups)
	m.registry.MustRegister(m.groups)
}

// watchNodes registers what the node knows of the others.
func (m *Metrics) watchNodes(p Parts) {
	m.Gauge("fanfold_nodes", "Nodes of the log that are live, this one included.", func() float64 {
		live := 0
		for _, node := range p.Nodes() {
			if node.Live || node.Self {
				live++
			}
		}
		return float64(live)
	})
	m.Gauge("fanfold_node_lapsed", "1 while this node takes no writes because its lease among the nodes has lapsed or it has not caught up since.",
		func() float64 { return oneIf(p.Members != nil && p.Members.MayWrite() != nil) })
	m.Counter("fanfold_node_late_writes_total", "Writes that were acknowledged after this node's lease had lapsed.", func() uint64 {
		if p.Members == nil {
			return 0
		}
		return p.Members.Late()
	})
}

// watchKeys registers what is about keys, and about whoever sends them.
func (m *Metrics) watchKeys(p Parts) {
	for result := range p.Keys.Results() {
		m.Counter("fanfold_auth_requests_total", "Requests to a closed store, by what became of their credentials.",
			func() uint64 { return p.Keys.Results()[result] }, "result", result)
	}
	m.Gauge("fanfold_keys", "Keys that there are, revoked ones included.", func() float64 { return float64(p.Keys.Len()) })
	m.Gauge("fanfold_keys_age_seconds", "Time since this node last read the keys. A closed store lets nobody in beyond --max-auth-age.",
		func() float64 { return p.Keys.Age().Seconds() })
}

// oneIf returns 1 where a condition holds, and 0 otherwise.
func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
