package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/fanfold/fanfold"
)

// batch is what is posted at once.
type batch struct {
	rows     []json.RawMessage
	last     string // the position of the last row
	reached  string // up to which there is nothing more, where there are no rows
	tooLarge bool   // the only row, which is not here
}

// errFull ends an answer that has as much as is asked for.
var errFull = errors.New("this is as much as is asked for")

// answer takes an answer of the feed up to a number of bytes.
type answer struct {
	header http.Header
	body   bytes.Buffer
	most   int
	full   bool
}

// Header returns the answer's headers.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader takes the status, which is 200.
func (a *answer) WriteHeader(int) {}

// Write takes bytes until there are enough.
func (a *answer) Write(text []byte) (int, error) {
	n := min(len(text), a.most-a.body.Len())
	a.body.Write(text[:n])
	if n < len(text) {
		a.full = true
		return n, errFull
	}
	return n, nil
}

// batch returns the whole rows of the answer. The error is Internal.
func (a *answer) batch() (*batch, error) {
	b := new(batch)
	d := json.NewDecoder(bytes.NewReader(a.body.Bytes()))
	for range 3 { // {, results, [
		if _, err := d.Token(); err != nil {
			return b, a.wrong(err)
		}
	}
	for d.More() {
		var row json.RawMessage
		if err := d.Decode(&row); err != nil {
			return b, a.wrong(err)
		}
		b.rows = append(b.rows, row)
	}
	if a.full {
		return b, nil
	}
	var end struct {
		Last string `json:"last_seq"`
	}
	if err := json.Unmarshal(a.body.Bytes(), &end); err != nil {
		return b, a.wrong(err)
	}
	b.reached = end.Last
	return b, nil
}

// wrong returns the error of an answer that cannot be read; nil where it was cut.
func (a *answer) wrong(err error) error {
	if a.full {
		return nil
	}
	return fanfold.Wrap(err, fanfold.Internal, "an answer of the feed cannot be read")
}
