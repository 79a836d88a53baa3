package driver

import (
	"database/sql/driver"
	"unsafe"
)

// Value is a value that SQLite stores or returns.
type Value = driver.Value

// Row is a row of a result. Its methods take the number of a column, and return the zero value for NULL.
type Row []Value

// Int returns an integer.
func (r Row) Int(i int) int64 { n, _ := r[i].(int64); return n }

// Text returns a text.
func (r Row) Text(i int) string { s, _ := r[i].(string); return s }

// Blob returns a blob.
func (r Row) Blob(i int) []byte { return Blob(r[i]) }

// Bytes returns a text as bytes. It does not copy, so nobody may write into them.
func (r Row) Bytes(i int) []byte { return Bytes(r[i]) }

// Bytes returns a text value as bytes, nil for NULL. It does not copy, so nobody may write into
// them.
func Bytes(v Value) []byte {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Blob returns a blob value, nil for NULL.
func Blob(v Value) []byte { b, _ := v.([]byte); return b }

// borrowedText is a text to bind whose memory belongs to somebody who may use it again.
type borrowedText string

// Text returns bytes as a text value to bind, NULL for nil. It does not copy: SQLite and what defers a statement do.
func Text(b []byte) Value {
	if b == nil {
		return nil
	}
	return borrowedText(unsafe.String(unsafe.SliceData(b), len(b)))
}
