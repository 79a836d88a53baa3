package basefile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a file from its beginning to its end. The caller closes it.
type Reader struct {
	Header Header

	z      *zstd.Decoder
	in     *bufio.Reader
	source failing
	sum    hash.Hash
	at     int // the table whose rows come next
	rows   []int64
	record bytes.Buffer
}

// failing is a reader that keeps the error with which it failed.
type failing struct {
	r   io.Reader
	err error // nil for none but the end's
}

// Read reads.
func (f *failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// NewReader reads the header of a file. The error is r's, or Invalid for a file that is damaged or of a newer version.
func NewReader(r io.Reader) (*Reader, error) {
	out := &Reader{source: failing{r: r}, sum: sha256.New()}
	var err error
	if out.z, err = zstd.NewReader(&out.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMemory), zstd.WithDecoderMaxWindow(maxWindow)); err != nil {
		return nil, err
	}
	out.in = bufio.NewReaderSize(out.z, 64<<10)
	if err := out.readHeader(); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// Close frees what the reader holds. It does not close the underlying reader.
func (r *Reader) Close() { r.z.Close() }

// readHeader reads the header.
func (r *Reader) readHeader() error {
	if err := r.next(MaxHeader); err != nil {
		return err
	}
	in := json.NewDecoder(bytes.NewReader(r.record.Bytes()))
	in.DisallowUnknownFields()
	if err := in.Decode(&r.Header); err != nil {
		return damaged("it does not begin with a header")
	}
	r.rows = make([]int64, len(r.Header.Tables))
	return r.Header.check()
}

// next reads the next record, which has no more bytes than most. It takes memory as the file goes on, whatever the length says.
func (r *Reader) next(most uint64) error {
	length, err := r.length()
	if err != nil {
		return err
	}
	if length > most {
		return damaged("a record of it is too long")
	}
	r.record.Reset()
	if _, err := io.CopyN(&r.record, r.in, int64(length)); err != nil {
		return r.failed(err)
	}
	_, _ = r.sum.Write(r.record.Bytes()) // it never fails
	return nil
}

// length reads the length of the next record.
func (r *Reader) length() (uint64, error) {
	var text [binary.MaxVarintLen64]byte
	for i := range text {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, r.failed(err)
		}
		if text[i] = b; b < 0x80 {
			_, _ = r.sum.Write(text[:i+1])
			length, n := binary.Uvarint(text[:i+1])
			if n <= 0 {
				break
			}
			return length, nil
		}
	}
	return 0, damaged("a record of it has no length")
}

// failed returns the error for a file that cannot be read on, or the underlying reader's error if that failed.
func (r *Reader) failed(err error) error {
	switch {
	case r.source.err != nil:
		return r.source.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return damaged("it has no end")
	}
	return damaged("its compression cannot be read")
}

// Next returns the next row, and which of the header's tables it is of. The values are nil, int64, string, or []byte for a blob. At the end of a whole file the error is io.EOF; otherwise it is the underlying reader's, or Invalid.
func (r *Reader) Next() (table int, values []any, err error) {
	for r.at < len(r.Header.Tables) {
		if err := r.next(MaxRow); err != nil {
			return 0, nil, err
		}
		if r.record.Len() == 0 {
			r.at++
			continue
		}
		if r.rows[r.at]++; r.rows[r.at] > MaxRows {
			return 0, nil, damaged("a table of it has too many rows")
		}
		values, err = decode(r.record.Bytes(), len(r.Header.Tables[r.at].Columns))
		return r.at, values, err
	}
	return 0, nil, r.readEnd()
}

// decode decodes a row with n values.
func decode(text []byte, n int) ([]any, error) {
	values := make([]any, n)
	for i := range values {
		if len(text) == 0 {
			return nil, damaged("a row of it is too short")
		}
		v, rest, ok := decodeValue(text)
		if !ok {
			return nil, damaged("a row of it cannot be read")
		}
		values[i], text = v, rest
	}
	if len(text) > 0 {
		return nil, damaged("a row of it is too long")
	}
	return values, nil
}

// decodeValue takes a value off a row.
func decodeValue(text []byte) (v any, rest []byte, ok bool) {
	kind, text := text[0], text[1:]
	switch kind {
	case kindNull:
		return nil, text, true
	case kindInteger:
		i, n := binary.Varint(text)
		if n <= 0 {
			return nil, nil, false
		}
		return i, text[n:], true
	case kindText, kindBlob:
		length, n := binary.Uvarint(text)
		if n <= 0 || length > uint64(len(text)-n) {
			return nil, nil, false
		}
		value, rest := text[n:n+int(length)], text[n+int(length):]
		if kind == kindBlob {
			return bytes.Clone(value), rest, true
		}
		return string(value), rest, true
	}
	return nil, nil, false
}

// readEnd reads the end record and compares it with what was read. The error is io.EOF for a file that is whole.
func (r *Reader) readEnd() error {
	if r.at > len(r.Header.Tables) {
		return io.EOF
	}
	want := end{Rows: r.rows}
	r.sum.Sum(want.Sum[:0])
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := r.next(MaxHeader); err != nil {
		return err
	}
	if !bytes.Equal(r.record.Bytes(), text) {
		return damaged("its end does not fit what is before")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err == nil {
			return damaged("it goes on after its end")
		}
		return r.failed(err)
	}
	r.at++
	return io.EOF
}

// RowBytes returns how many bytes the last row has.
func (r *Reader) RowBytes() int { return r.record.Len() }
