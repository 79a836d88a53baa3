package basefile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

// Kinds of values. Each value begins with its kind.
const (
	kindNull    = 0
	kindInteger = 1
	kindText    = 2
	kindBlob    = 3
)

// Writer writes a file. Close ends it.
type Writer struct {
	z      *zstd.Encoder
	sum    hash.Hash
	tables []Table
	at     int // the table whose rows come next
	rows   []int64
	buf    []byte
}

// NewWriter begins a file with its header. erasure is the last erase event that its rows know of. The error is w's, or Internal for tables that a file cannot have.
func NewWriter(w io.Writer, h fanfold.Horizon, erasure uint64, tables []Table) (*Writer, error) {
	header := newHeader(h, erasure, tables)
	if err := header.check(); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "a base cannot be written: %v", err)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow))
	if err != nil {
		return nil, err
	}
	out := &Writer{z: z, sum: sha256.New(), tables: tables, rows: make([]int64, len(tables))}
	return out, out.writeJSON(header)
}

// writeJSON writes a record of JSON.
func (w *Writer) writeJSON(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.record(text)
}

// record writes a record with its length.
func (w *Writer) record(text []byte) error {
	var length [binary.MaxVarintLen64]byte
	for _, part := range [][]byte{binary.AppendUvarint(length[:0], uint64(len(text))), text} {
		_, _ = w.sum.Write(part) // it never fails
		if _, err := w.z.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Row writes a row of the table whose turn it is. The error is the underlying writer's, or Internal for a row that a file cannot have.
func (w *Writer) Row(values []any) error {
	w.buf = w.buf[:0]
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			w.buf = append(w.buf, kindNull)
		case int64:
			w.buf = binary.AppendVarint(append(w.buf, kindInteger), v)
		case string:
			w.buf = append(binary.AppendUvarint(append(w.buf, kindText), uint64(len(v))), v...)
		case []byte:
			w.buf = append(binary.AppendUvarint(append(w.buf, kindBlob), uint64(len(v))), v...)
		default:
			return fanfold.Errorf(fanfold.Internal, "a base cannot have a value of type %T", v)
		}
	}
	if len(values) != len(w.tables[w.at].Columns) || len(w.buf) > MaxRow {
		return fanfold.Errorf(fanfold.Internal, "a base cannot have a row of %d values and %d bytes in table %s", len(values), len(w.buf), w.tables[w.at].Name)
	}
	w.rows[w.at]++
	return w.record(w.buf)
}

// EndTable ends the rows of a table. The next table's rows follow.
func (w *Writer) EndTable() error {
	w.at++
	return w.record(nil)
}

// Close ends a file all of whose tables were ended. It returns when the underlying writer has everything.
func (w *Writer) Close() error {
	e := end{Rows: w.rows}
	w.sum.Sum(e.Sum[:0])
	if err := w.writeJSON(e); err != nil {
		return err
	}
	return w.z.Close()
}

// Abort frees what the writer holds of a file that is not ended.
func (w *Writer) Abort() { w.z.Reset(nil) }
