// Package basefile writes and reads the file of a base: the rows that a read model has at a horizon. It knows nothing of what they mean.
// FORMAT.md describes the file, so that other programs can read it.
package basefile

import (
	"slices"
	"time"

	"github.com/fanfold/fanfold"
)

// Format and Version are what the header of each file says. Version is of what this program writes; it reads all versions up to that.
const (
	Format  = "fanfold-base"
	Version = 5
)

// Bounds of a file. One that is over any of them is not read.
const (
	MaxHeader  = 64 << 10  // bytes of the header, and of the end record
	MaxTables  = 64        // of a file
	MaxColumns = 32        // of a table
	MaxName    = 64        // bytes of the name of a table or a column
	MaxRow     = 256 << 20 // bytes of a row: a document as written and its view may have 64 MiB each, and counts besides
	MaxRows    = 1 << 40   // of a table

	maxWindow = 8 << 20  // bytes of the compression's window
	maxMemory = 64 << 20 // that the decompression takes
)

// Header says what a file has.
type Header struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Horizon Horizon `json:"horizon"`
	Erasure uint64  `json:"erasure,omitempty"` // the last erase event with whose substitutes the rows were made; 0 for none
	Tables  []Table `json:"tables"`            // in the order in which their rows come
}

// Horizon is a fanfold.Horizon as the header has it.
type Horizon struct {
	Seq      uint64           `json:"seq"`
	Event    fanfold.Digest   `json:"event"`
	Digest   fanfold.Digest   `json:"digest"`
	Position fanfold.Position `json:"position"`
	Changes  int64            `json:"changes"`
	Time     int64            `json:"time"` // nanoseconds since 1970 in UTC
}

// Table is a table with its columns, in the order in which its rows have their values.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// newHeader returns the header of a file.
func newHeader(h fanfold.Horizon, erasure uint64, tables []Table) Header {
	return Header{Format, Version, Horizon{h.Seq, h.Event, h.Digest, h.Position, h.Changes, h.Time.UnixNano()}, erasure, tables}
}

// At returns the horizon.
func (h Horizon) At() fanfold.Horizon {
	return fanfold.Horizon{Seq: h.Seq, Event: h.Event, Digest: h.Digest, Position: h.Position, Changes: h.Changes, Time: time.Unix(0, h.Time).UTC()}
}

// check returns an error for a header of a file that this program cannot read.
func (h *Header) check() error {
	switch {
	case h.Format != Format:
		return damaged("its header is of another format")
	case h.Version < 1 || h.Version > Version:
		return fanfold.Errorf(fanfold.Invalid, "the base is of version %d, which this program does not know: a newer Fanfold has written it; use that one", h.Version)
	case h.Horizon.Seq == 0 || h.Horizon.Seq > fanfold.Position(1<<63-1).Seq() || h.Horizon.Changes < 0 || h.Horizon.Position.Seq() > h.Horizon.Seq:
		return damaged("its header has a horizon that cannot be")
	case h.Erasure > fanfold.Position(1<<63-1).Seq():
		return damaged("its header has an erasure that cannot be")
	case len(h.Tables) > MaxTables:
		return damaged("its header has too many tables")
	}
	for i, t := range h.Tables {
		if !isName(t.Name) || slices.ContainsFunc(h.Tables[:i], func(other Table) bool { return other.Name == t.Name }) {
			return damaged("its header has a table of a name that cannot be")
		}
		if len(t.Columns) == 0 || len(t.Columns) > MaxColumns {
			return damaged("its header has a table with too many columns, or none")
		}
		for j, c := range t.Columns {
			if !isName(c) || slices.Contains(t.Columns[:j], c) {
				return damaged("its header has a column of a name that cannot be")
			}
		}
	}
	return nil
}

// isName returns whether a table or a column may have a name: lower case letters and underscores.
func isName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// end is what the end record of a file says.
type end struct {
	Rows []int64        `json:"rows"`   // of each table
	Sum  fanfold.Digest `json:"sha256"` // of everything before, decompressed
}

// damaged returns the error for a file that cannot be read.
func damaged(why string) error {
	return fanfold.Errorf(fanfold.Invalid, "the file of the base is damaged: %s", why)
}
