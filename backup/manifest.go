package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
)

// FormatVersion is the latest version of the format. A backup made after an erasure has it. Other backups with the file of a base have version
// 2, and those without one version 1. The program reads no other versions.
const FormatVersion = 3

// The names in a backup's directory.
const (
	manifestFile = "manifest.json"
	segmentsDir  = "segments"
	baseDir      = "base"
)

// MaxManifest bounds a manifest in bytes.
const MaxManifest = 64 << 20

// Manifest says what a backup holds.
type Manifest struct {
	Format       int             `json:"format"`
	Store        fanfold.StoreID `json:"store"`
	Position     uint64          `json:"position"`              // sequence of the last event; 0 for none
	PositionTime time.Time       `json:"positionTime,omitzero"` // the latest time of an event up to it
	Digest       fanfold.Digest  `json:"digest"`                // of all events of the log up to it
	Fold         int             `json:"fold"`                  // the version of the fold that is in force there
	Time         time.Time       `json:"time"`                  // when the backup was made
	Base         *Base           `json:"base,omitempty"`        // where the log begins, if its first events are gone
	// Erasure is the last erase event that was in force when the backup was made, 0 for none. The backup
	// has the substitutes of all messages that it and those before it list.
	Erasure uint64 `json:"erasure,omitempty"`
	// After says after which event the segments begin, where that is neither the log's beginning nor its base: such a backup only
	// continues another one, and cannot be restored alone.
	After    *Point    `json:"after,omitempty"`
	Segments []Segment `json:"segments"`
	Groups   []Group   `json:"groups,omitempty"`
	// Predecessors are the stores from which the store itself was restored.
	Predecessors fanfold.Origin `json:"predecessors,omitempty"`
	// Checksum is the SHA-256 of the manifest's text where the checksum itself is all zeros.
	Checksum fanfold.Digest `json:"checksum"`
}

// Point is a place in the log.
type Point struct {
	Seq    uint64         `json:"sequence"`
	Digest fanfold.Digest `json:"digest"` // of all events up to it
}

// Group is a consumer group of the change feed.
type Group struct {
	Name     string           `json:"name"`
	Settings json.RawMessage  `json:"settings"` // as PUT /v1/_groups/{name} takes them
	Created  time.Time        `json:"created"`
	Start    fanfold.Position `json:"start"`          // where partitions without a checkpoint begin
	Fold     int              `json:"fold,omitempty"` // the version of the fold that Start is of
	// Partitions are those that have come further than Start.
	Partitions []Checkpoint `json:"partitions,omitempty"`
}

// Checkpoint says how far a partition of a group is.
type Checkpoint struct {
	Partition  int              `json:"partition"`
	Checkpoint fanfold.Position `json:"checkpoint"`     // everything up to it is acknowledged or parked
	Fold       int              `json:"fold,omitempty"` // the version of the fold that Checkpoint is of
	Parked     []Parked         `json:"parked,omitempty"`
}

// Parked is a batch of changes that failed too often and was put aside.
type Parked struct {
	From fanfold.Position `json:"from"` // the batch is after it
	To   fanfold.Position `json:"to"`   // up to it
}

// begins returns the point after which the segments begin.
func (m *Manifest) begins() Point {
	switch {
	case m.After != nil:
		return *m.After
	case m.Base != nil:
		return m.Base.Point
	}
	return Point{}
}

// hasBase tells whether the file of a base belongs to the backup.
func (m *Manifest) hasBase() bool { return m.Base != nil && m.Base.File != "" }

// version returns the version of the format that the backup needs.
func (m *Manifest) version() int {
	switch {
	case m.Erasure > 0:
		return FormatVersion
	case m.hasBase():
		return 2
	}
	return 1
}

// Complete tells whether the backup holds everything up to its position, and not only what continues another one.
func (m *Manifest) Complete() bool { return m.CheckComplete() == nil }

// CheckComplete returns Invalid for a backup that does not hold everything up to its position.
func (m *Manifest) CheckComplete() error {
	switch {
	case m.begins() != (&Manifest{Base: m.Base}).begins():
		return fanfold.Errorf(fanfold.Invalid, "the backup only continues another one, and does not have the log's beginning: take the directory to which it was added")
	case m.Base != nil && !m.hasBase():
		return fanfold.Errorf(fanfold.Invalid, "the backup begins after event %d, and lacks the base that has what was before", m.Base.Seq)
	}
	return nil
}

// namedFile is a file that a manifest names.
type namedFile struct {
	name  string
	bytes int64
	event uint64 // the first one that the file is about
}

// files returns the files that belong to the backup.
func (m *Manifest) files() (files []namedFile) {
	if m.hasBase() {
		files = append(files, namedFile{m.Base.File, m.Base.Bytes, m.Base.Seq})
	}
	for _, s := range m.Segments {
		files = append(files, namedFile{s.File, s.Bytes, s.First})
	}
	return files
}

// check returns Damage where the manifest contradicts itself.
func (m *Manifest) check() error {
	if !m.Store.Valid() {
		return damaged(manifestFile, 0, "it names no store")
	}
	at := m.begins()
	if m.Erasure > m.Position {
		return damaged(manifestFile, 0, "it names an erasure that is yet to come, event %d", m.Erasure)
	}
	if m.Base != nil {
		if err := m.Base.check(); err != nil {
			return err
		}
		if at.Seq < m.Base.Seq || at.Seq == m.Base.Seq && at != m.Base.Point {
			return damaged(manifestFile, 0, "it continues a backup from before the log's beginning")
		}
	}
	for _, s := range m.Segments {
		switch {
		case s.First <= at.Seq || !fanfold.Follows(at.Seq, s.First):
			return damaged(manifestFile, at.Seq+1, "%s begins with event %d", s.File, s.First)
		case s.Last < s.First || s.Last-s.First >= segmentEvents || s.Bytes <= int64(len(magic)) || s.Bytes > maxFile:
			return damaged(manifestFile, s.First, "%s is not described as a segment can be", s.File)
		case s.File != segmentFile(s.First, s.Last, s.SHA256):
			return damaged(manifestFile, s.First, "%.100q is not the name of that segment", s.File)
		}
		at = Point{s.Last, s.Digest}
	}
	if at.Seq != m.Position || at.Digest != m.Digest {
		return damaged(manifestFile, m.Position, "the segments end with event %d, or with another digest", at.Seq)
	}
	return nil
}

// encode returns the manifest as its file has it, with its checksum.
func (m *Manifest) encode() ([]byte, error) {
	out := *m
	if out.Segments == nil {
		out.Segments = []Segment{}
	}
	out.Checksum = fanfold.Digest{}
	b, err := json.MarshalIndent(&out, "", " ")
	if err != nil {
		return nil, err
	}
	out.Checksum = sha256.Sum256(b)
	if b, err = json.MarshalIndent(&out, "", " "); err == nil && len(b) >= MaxManifest {
		err = fanfold.Errorf(fanfold.TooLarge, "the manifest would have more than %d bytes", MaxManifest)
	}
	return append(b, '\n'), err
}

// decodeManifest reads a manifest, which must be what encode returns. The error is Damage.
func decodeManifest(b []byte) (*Manifest, error) {
	if len(b) > MaxManifest {
		return nil, damaged(manifestFile, 0, "it has more than %d bytes", MaxManifest)
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &version); err == nil && (version.Format < 1 || version.Format > FormatVersion) {
		return nil, damaged(manifestFile, 0, "it has version %d of the format, and this program reads versions up to %d", version.Format, FormatVersion)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, damaged(manifestFile, 0, "it cannot be read: %v", err)
	}
	if whole, err := m.encode(); err != nil || !bytes.Equal(whole, b) {
		return nil, damaged(manifestFile, 0, "it is not as it was written: its text does not have its checksum")
	}
	if m.Format != m.version() {
		return nil, damaged(manifestFile, 0, "it has version %d of the format, and is one of version %d", m.Format, m.version())
	}
	return &m, m.check()
}

// Damage says what is wrong with a backup.
type Damage struct {
	File   string `json:"file"`            // below the backup's directory
	Event  uint64 `json:"event,omitempty"` // the sequence of the first event at fault, 0 where that is not known
	Reason string `json:"reason"`
}

// Error returns the file, the event and the reason.
func (d *Damage) Error() string {
	if d.Event == 0 {
		return fmt.Sprintf("%s: %s", d.File, d.Reason)
	}
	return fmt.Sprintf("%s, event %d: %s", d.File, d.Event, d.Reason)
}

// damaged returns Damage within an Invalid error.
func damaged(file string, event uint64, format string, args ...any) error {
	d := &Damage{file, event, fmt.Sprintf(format, args...)}
	return fanfold.Wrap(d, fanfold.Invalid, "the backup is damaged: %v", d)
}
