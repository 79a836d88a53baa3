package events

import (
	"maps"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// Keys of the stream's metadata.
const (
	originKey    = "fanfold-predecessors" // the stores from which the store was restored: see fanfold.Origin
	restoringKey = "fanfold-restoring"    // a restore that has not come to its end: the store that it restores
)

// Origin returns from which stores the log's store was restored, nothing for one that was not.
func (l *Log) Origin() fanfold.Origin { return l.origin }

// originOf returns the origin in a stream's metadata. The error is Invalid.
func originOf(config jetstream.StreamConfig) (fanfold.Origin, error) {
	o, err := fanfold.ParseOrigin(config.Metadata[originKey])
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "the metadata of stream %s cannot be read: %v", config.Name, err)
	}
	return o, nil
}

// restored says what a log that is restored begins with.
type restored struct {
	base   Base
	origin fanfold.Origin
}

// describe adds what a restored log has to the settings with which its stream is made, and the mark that it is not finished.
func (r *restored) describe(config *jetstream.StreamConfig) {
	config.FirstSeq = r.base.Seq + 1
	config.Metadata[baseKey] = r.base.String() + restoredBase
	config.Metadata[originKey] = r.origin.String()
	config.Metadata[restoringKey] = string(r.origin[0].Store)
}

// finished returns a stream's settings without the mark.
func finished(config jetstream.StreamConfig) jetstream.StreamConfig {
	config.Metadata = maps.Clone(config.Metadata)
	delete(config.Metadata, restoringKey)
	return config
}

// checkFinished returns Unfinished for a log whose restore has not come to its end, unless this is that restore.
func (l *Log) checkFinished(config jetstream.StreamConfig) error {
	if _, unfinished := config.Metadata[restoringKey]; !unfinished || l.opt.restoring != nil {
		return nil
	}
	return ErrUnfinished("stream " + config.Name)
}

// ErrUnfinished returns the error, Conflict, for a log in a place where a restore has not come to its end.
func ErrUnfinished(place string) error {
	return fanfold.Errorf(fanfold.Conflict, "%s holds a part of a backup, whose restore was ended before it was through: run the same command again, fanfold restore BACKUP, which begins anew", place)
}
