package sqlite

import (
	"bytes"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// A document that gathers values from many, such as the newest of them, gets the same patch again and again, with other
// values: each replaces what the one before it left. The old values of such a change are the new ones of the change before,
// and the new ones have a long part in common with them. So its row holds no old values, and of the new ones what they have
// besides. A row that does is behind its document's row before; rows that are behind each other are a chain, at whose
// beginning is one with all its values. A chain has few rows, so that a change is read with few others. Which rows are
// behind others follows from the log alone.

const (
	chainMark  = 2  // begins the delta of a row behind another, and the row's depth follows, as a digit; no JSON value begins with it
	chainDepth = 8  // of a row at most: how many there are before it
	chainSaves = 32 // bytes at least that a row behind another has less
	maxChains  = 4096
)

// chainEnd is the last change of a document.
type chainEnd struct {
	form  int64
	depth int // 0 where it has all its values
}

// stored returns the delta of a row that has a depth.
func (s *splitter) stored(depth int) string {
	if depth == 0 {
		return string(s.values)
	}
	return string([]byte{chainMark, byte('0' + depth)}) + string(s.afterSameForm)
}

// depthAfter returns the depth of a row of a form after the one at prior, 0 where it cannot come after that one.
func (w *changeWriter) depthAfter(prior fanfold.Position, form int64) (depth int, err error) {
	end, ok := w.chains[prior]
	delete(w.chains, prior)
	if !ok && prior.N() > 0 { // a write is no derived change
		if end, err = w.readChainEnd(prior); err != nil {
			return 0, err
		}
	}
	if end.form != form || end.depth >= chainDepth {
		return 0, nil
	}
	return end.depth + 1, nil
}

// readChainEnd returns what the row of a change says, which may be yet to be written.
func (w *changeWriter) readChainEnd(at fanfold.Position) (end chainEnd, err error) {
	for values := range slices.Chunk(w.derived, derivedColumns) {
		row := driver.Row(values)
		if row.Int(0) == int64(at) {
			return chainEnd{form: row.Int(derivedForm), depth: depthOf(row.Bytes(derivedDelta))}, nil
		}
	}
	_, err = w.c.QueryRow("SELECT form, substr(delta, 1, 2) FROM change WHERE position = ?", func(r driver.Row) {
		end = chainEnd{form: r.Int(0), depth: depthOf(r.Bytes(1))}
	}, int64(at))
	return end, err
}

// noteChain notes the last change of a document.
func (w *changeWriter) noteChain(at fanfold.Position, end chainEnd) {
	if w.chains == nil || len(w.chains) >= maxChains {
		w.chains = map[fanfold.Position]chainEnd{}
	}
	w.chains[at] = end
}

// depthOf returns the depth of a row with a delta.
func depthOf(delta []byte) int {
	if len(delta) < 2 || delta[0] != chainMark {
		return 0
	}
	return min(max(0, int(delta[1]-'0')), chainDepth)
}

// chainReader reads derived changes, also those behind others.
type chainReader struct {
	known map[fanfold.Position][][]byte // new values of changes behind others, which the next ones need
	bytes int                           // of known
}

// Bounds of the values that a chainReader keeps.
const (
	maxKnownChains     = 1024
	maxKnownChainBytes = 1 << 20
)

// storedDelta is a derived change as its row has it.
type storedDelta struct {
	at, prior fanfold.Position
	form      string
	delta     []byte
}

// patch returns the JSON Patch of a derived change. The error is the file's, which may be damaged.
func (r *chainReader) patch(c *driver.Conn, d storedDelta) ([]byte, error) {
	if depthOf(d.delta) == 0 {
		return joinPatch(d.form, d.delta), nil
	}
	old, err := r.values(c, d)
	if err != nil {
		return nil, err
	}
	slots := strings.Split(d.form, "\n")
	added := bytes.Split(d.delta[2:], []byte{'\n'})
	if len(slots) != 2*len(old)+1 || len(added) != len(old) {
		return nil, damagedChange(d.at)
	}
	out := make([]byte, 0, len(d.form)+3*len(d.delta))
	values := make([][]byte, len(old))
	for i := range old {
		out = append(out, slots[2*i]...)
		begin := len(out)
		out = appendRestored(out, added[i], old[i])
		values[i] = out[begin:len(out):len(out)]
		out = append(append(out, slots[2*i+1]...), old[i]...)
	}
	r.keep(d.at, values)
	return append(out, slots[2*len(old)]...), nil
}

// chainSQL reads the derived changes before one behind others, back to the one with all its values.
const chainSQL = `WITH RECURSIVE back (position, prior, op, form, delta, n) AS (
		SELECT position, prior, op, form, delta, 1 FROM change WHERE position = ?1
		UNION ALL SELECT c.position, c.prior, c.op, c.form, c.delta, b.n + 1 FROM back b JOIN change c ON c.position = b.prior WHERE b.n < ?2)
	SELECT b.position, b.prior, b.op, f.patch, b.delta FROM back b LEFT JOIN form f ON f.id = b.form`

// values returns the old values of a change behind another.
func (r *chainReader) values(c *driver.Conn, d storedDelta) ([][]byte, error) {
	if values := r.known[d.prior]; values != nil {
		return values, nil
	}
	depth := depthOf(d.delta)
	rows := make([]storedDelta, 0, depth)
	if err := c.Query(chainSQL, func(v driver.Row) error {
		row := storedDelta{fanfold.Position(v.Int(0)), fanfold.Position(v.Int(1)), v.Text(3), v.Bytes(4)}
		if v[2] != nil || row.form != d.form || depthOf(row.delta) != depth-len(rows)-1 {
			return damagedChange(d.at)
		}
		rows = append(rows, row)
		return nil
	}, int64(d.prior), int64(depth)); err != nil {
		return nil, err
	}
	if len(rows) != depth {
		return nil, damagedChange(d.at)
	}
	values := newValues(rows[depth-1].delta)
	for _, row := range slices.Backward(rows[:depth-1]) {
		added := bytes.Split(row.delta[2:], []byte{'\n'})
		if len(added) != len(values) {
			return nil, damagedChange(d.at)
		}
		for i, old := range values {
			added[i] = appendRestored(nil, added[i], old)
		}
		values = added
		r.keep(row.at, values)
	}
	return values, nil
}

// newValues returns the new values of a change that has all its values and whose patch replaces alone.
func newValues(delta []byte) (values [][]byte) {
	for i, v := range bytes.Split(delta, []byte{'\n'}) {
		if i%2 == 0 {
			values = append(values, v)
		}
	}
	return values
}

// keep keeps the new values of a change.
func (r *chainReader) keep(at fanfold.Position, values [][]byte) {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	if size > maxKnownChainBytes/2 {
		return
	}
	if r.bytes += size; r.known == nil || len(r.known) >= maxKnownChains || r.bytes > maxKnownChainBytes {
		r.known, r.bytes = map[fanfold.Position][][]byte{}, size
	}
	r.known[at] = values
}

// damagedChange returns the error for a change that cannot be read.
func damagedChange(at fanfold.Position) error {
	return fanfold.Errorf(fanfold.Internal, "change %s cannot be read: the read model is damaged; fanfold replay builds it anew", at)
}
