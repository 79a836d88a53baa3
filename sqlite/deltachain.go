package sqlite

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// A document that gathers values from many, such as the newest of them, gets changes of the same members again and again. The old values of
// such a change are the new ones of changes before, and the new ones have long parts in common with them. So its row holds no old values,
// and of the new ones the edits. A row that does is after its document's row before; rows that are after each other are a chain, at whose
// beginning is one with all its values. A member gets its whole value if no row of the chain has said one yet. A chain has few rows, unless
// its values are long, so that reading a change takes little more than its values. Which rows are after others follows from the log alone.

const (
	chainDepth     = 8  // of a row: how many there are before it, where the values are short
	maxChainDepth  = 64 // the same of long values
	chainedPerByte = 64 // of the first row's values, for a row more
	chainSaves     = 32 // bytes at least that a row after one with all its values has less
	chainHeader    = 2 + binary.MaxVarintLen64
	maxChains      = 1 << 15
)

// chainEnd is the last change of a document.
type chainEnd struct {
	known int64 // the form whose paths have values in the chain; 0 for none
	depth uint8 // 0 where it has all its values
	left  uint8 // how many rows there may be after it
}

// readChainEnd returns the end of the chain whose last row has a form and this delta. The delta's beginning is given.
func readChainEnd(form int64, delta []byte, length int64) chainEnd {
	if form == 0 || len(delta) < 2 {
		return chainEnd{}
	}
	if delta[0] == 0 {
		return chainEnd{known: form, left: rowsAfter(length)}
	}
	known, _ := binary.Uvarint(delta[2:]) // damaged: the next row reads none of it
	return chainEnd{known: int64(known), depth: delta[0], left: delta[1]}
}

// rowsAfter returns how many rows there may be after one whose delta has a length.
func rowsAfter(length int64) uint8 {
	return uint8(min(max(chainDepth, length/chainedPerByte), maxChainDepth))
}

// endAt returns the end of the chain at the change before another, which may be yet to be written.
func (w *changeWriter) endAt(prior fanfold.Position) (end chainEnd, err error) {
	for _, chains := range []map[fanfold.Position]chainEnd{w.chains, w.olderChains} {
		if end, ok := chains[prior]; ok {
			delete(chains, prior)
			return end, nil
		}
	}
	if prior.N() == 0 { // a write is no derived change
		return end, nil
	}
	for values := range slices.Chunk(w.derived, derivedColumns) {
		if row := driver.Row(values); row.Int(0) == int64(prior) {
			delta := row.Blob(derivedDelta)
			return readChainEnd(row.Int(derivedForm), delta, int64(len(delta))), nil
		}
	}
	if prior > w.begin { // it may be among the deferred statements
		if err := w.c.Settle(); err != nil {
			return end, err
		}
	}
	_, err = w.c.QueryRowAhead("SELECT form, substr(delta, 1, ?), length(delta) FROM change WHERE position = ? AND op IS NULL", func(r driver.Row) {
		end = readChainEnd(r.Int(0), r.Blob(1), r.Int(2))
	}, int64(chainHeader), int64(prior))
	return end, err
}

// noteChain notes the last change of a document. It forgets documents that have not changed for long. No chain goes on after an event's
// first change: a prepared model has written its own by other means.
func (w *changeWriter) noteChain(at fanfold.Position, end chainEnd) {
	if at.N() == 0 {
		return
	}
	if w.chains == nil || len(w.chains) >= maxChains {
		w.chains, w.olderChains = map[fanfold.Position]chainEnd{}, w.chains
	}
	w.chains[at] = end
}

// storedAfter returns what is stored of a change that was split and has a form, after the document's change before it where that
// is worth it.
func (w *changeWriter) storedAfter(ch *fanfold.Change, form int64) ([]byte, error) {
	end, err := w.endAt(ch.Prior)
	if err != nil {
		return nil, err
	}
	s := &w.splitter
	if end.known != 0 && end.left > 0 {
		known, err := w.pathsOf(end.known)
		if err != nil {
			return nil, err
		}
		next := chainEnd{depth: end.depth + 1}
		if next.known, err = w.formOfPaths(end.known, form); err != nil {
			return nil, err
		}
		if saved, ok := s.storeAfter(known, chainEnd{next.known, next.depth, end.left - 1}); ok && (saved >= chainSaves || end.depth > 0) {
			next.left = s.out[1]
			w.noteChain(ch.Position, next)
			return s.out, nil
		}
	}
	out := s.stored(ch.Delta)
	w.noteChain(ch.Position, readChainEnd(form, out, int64(len(out))))
	return out, nil
}

// storeAfter finds out what is stored of the patch after a row, which leaves some paths with known values. It returns how many bytes at
// least it has less than all values. ok is false for a patch that cannot be stored so.
func (s *splitter) storeAfter(known []string, end chainEnd) (saved int, ok bool) {
	s.out = binary.AppendUvarint(append(s.out[:0], end.depth, end.left), uint64(end.known))
	added, last := 0, &patchOp{}
	for i := range s.ops {
		op, before := &s.ops[i], last
		last = op
		if op.path == nil && slices.ContainsFunc(known, func(p string) bool { return overlaps(p, op.at) }) {
			return 0, false
		}
		begin := len(s.out)
		if op.path == nil || op.old == nil || !knows(known, op.path) {
			s.storeOp(op, before)
			added += len(s.out) - begin
			continue
		}
		if op.value != nil {
			s.out = s.append(s.out, op.value, op.old)
		}
		saved += len(op.value) - (len(s.out) - begin)
	}
	s.out[1] = max(end.left, uint8(min(added/chainedPerByte, maxChainDepth-int(end.depth))))
	return saved, len(s.ops) > 0
}

// knows returns whether a path is among others.
func knows(paths []string, path []byte) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return p == string(path) })
}

// overlaps returns whether one of two quoted JSON pointers is or leads to the other.
func overlaps(a string, b []byte) bool {
	a, short := a[:len(a)-1], b[:len(b)-1]
	if len(a) > len(short) {
		return strings.HasPrefix(a, string(short)) && a[len(short)] == '/'
	}
	return bytes.HasPrefix(short, []byte(a)) && (len(a) == len(short) || short[len(a)] == '/')
}

// pathsOf returns the paths that have values after a form's change, or those that formOfPaths gave the number.
func (w *changeWriter) pathsOf(form int64) (paths []string, err error) {
	if paths, ok := w.paths[form]; ok {
		return paths, nil
	}
	if _, err := w.c.QueryRow("SELECT patch FROM form WHERE id = ?", func(r driver.Row) {
		if text := r.Text(0); text == noPaths {
		} else if strings.HasPrefix(text, `"`) {
			paths = strings.Split(text, "\n")
		} else {
			paths = pathsAfter(nil, parseForm(text).ops)
		}
	}, form); err != nil {
		return nil, err
	}
	if w.paths == nil || len(w.paths) >= maxForms {
		w.paths = map[int64][]string{}
	}
	w.paths[form] = paths
	return paths, nil
}

// pathsAfter returns the paths, in order, that have values after operations where some had before.
func pathsAfter(known []string, ops []patchOp) []string {
	known = slices.Clone(known)
	for i := range ops {
		op := &ops[i]
		if op.path == nil {
			continue
		}
		known = slices.DeleteFunc(known, func(p string) bool { return overlaps(p, op.path) })
		if op.has(slotValue) {
			known = append(known, string(op.path))
		}
	}
	slices.Sort(known)
	return known
}

// noPaths is the form of no paths.
const noPaths = "-"

// formOfPaths returns the number of the paths that have values after a change of a form, which was split, where those that a number stands
// for had before.
func (w *changeWriter) formOfPaths(known, form int64) (id int64, err error) {
	key := [2]int64{known, form}
	if id := w.pathForms[key]; id != 0 {
		return id, nil
	}
	before, err := w.pathsOf(known)
	if err != nil {
		return 0, err
	}
	text := strings.Join(pathsAfter(before, w.splitter.ops), "\n")
	if text == "" {
		text = noPaths
	}
	if id, err = w.formOf(nil, []byte(text)); err != nil {
		return 0, err
	}
	if w.pathForms == nil || len(w.pathForms) >= maxForms {
		w.pathForms = map[[2]int64]int64{}
	}
	w.pathForms[key] = id
	return id, nil
}

// chainReader reads derived changes, also those after others.
type chainReader struct {
	known map[fanfold.Position]memberValues // after changes that the next ones need
	bytes int                               // of known
	forms map[string]*parsedForm
}

// Bounds of the values that a chainReader keeps.
const (
	maxKnownChains     = 1024
	maxKnownChainBytes = 4 << 20
	maxKnownBetween    = 64 << 10 // of the changes that are read on the way to another
)

// memberValues are values of some members, by their paths; no path leads to another. Whoever has them may change them.
type memberValues []memberValue

// memberValue is the value of a member.
type memberValue struct {
	path  string
	value []byte
	spare []byte // memory for the next value; nil for none
	owned bool   // the value's memory is of use for others once it is no longer needed
}

// find returns where the value at a path is, -1 where none is known.
func (m memberValues) find(path []byte) int {
	for i := range m {
		if m[i].path == string(path) {
			return i
		}
	}
	return -1
}

// set sets the value at a path, where none is known.
func (m memberValues) set(path, value []byte) memberValues {
	m = slices.DeleteFunc(m, func(v memberValue) bool { return overlaps(v.path, path) })
	if value == nil {
		return m
	}
	return append(m, memberValue{path: string(path), value: value})
}

// clone returns values that may be changed while these are, too.
func (m memberValues) clone() memberValues {
	for i := range m {
		m[i].owned = false
	}
	clone := slices.Clone(m)
	for i := range clone {
		clone[i].spare = nil
	}
	return clone
}

// storedDelta is a derived change as its row has it.
type storedDelta struct {
	at, prior fanfold.Position
	form      string
	delta     []byte
}

// depth returns how many rows before it the change is read with.
func (d *storedDelta) depth() int {
	if len(d.delta) == 0 {
		return 0
	}
	return int(d.delta[0])
}

// patch returns the JSON Patch of a derived change. The error is the file's, which may be damaged.
func (r *chainReader) patch(c *driver.Conn, d storedDelta) ([]byte, error) {
	var values memberValues
	if d.depth() > 0 {
		var err error
		if values, err = r.values(c, d); err != nil {
			return nil, err
		}
	}
	out := &patchWriter{}
	values, ok := r.apply(d, values, out)
	if !ok {
		return nil, damagedChange(d.at)
	}
	patch, ok := out.end()
	if !ok {
		return nil, damagedChange(d.at)
	}
	if d.depth() > 0 {
		r.keep(d.at, values)
	}
	return patch, nil
}

// form returns a form that was taken apart.
func (r *chainReader) form(text string) *parsedForm {
	f := r.forms[text]
	if f == nil {
		if f = parseForm(text); r.forms == nil || len(r.forms) >= maxForms {
			r.forms = map[string]*parsedForm{}
		}
		r.forms[text] = f
	}
	return f
}

// apply writes a change's patch, where out is not nil, and brings the values of members before it up to it. ok is false where the
// change is damaged.
func (r *chainReader) apply(d storedDelta, values memberValues, out *patchWriter) (after memberValues, ok bool) {
	f, delta := r.form(d.form), d.delta
	if len(delta) == 0 {
		return nil, false
	}
	if out != nil {
		out.texts = f.texts
	}
	if delta = delta[1:]; d.depth() > 0 {
		_, n := binary.Uvarint(delta[min(1, len(delta)):])
		if n <= 0 {
			return nil, false
		}
		delta = delta[1+n:]
	}
	if d.form == wholePatch {
		text, rest, ok := nextValue(delta, nil, nil)
		if ok && out != nil {
			out.add(text)
		}
		return nil, ok && len(rest) == 0 && d.depth() == 0
	}
	var before patchOp
	for _, op := range f.ops {
		if values, delta, ok = values.apply(&op, &before, delta, out); !ok {
			return nil, false
		}
		before = op
	}
	return values, len(delta) == 0
}

// apply does the same with an operation, whose part of the delta it takes off.
func (m memberValues) apply(op, before *patchOp, delta []byte, out *patchWriter) (after memberValues, rest []byte, ok bool) {
	at := -1
	if op.path != nil && op.has(slotOld) {
		at = m.find(op.path)
	}
	if at < 0 {
		if delta, ok = op.read(delta, before); ok && out != nil {
			op.write(out)
		}
		if op.path != nil {
			m = m.set(op.path, op.value)
		}
		return m, delta, ok
	}
	v := &m[at]
	op.old = v.value
	edited := false
	if op.has(slotValue) {
		_, edited, _ = cutValue(delta)
		if op.value, delta, ok = nextValue(delta, op.old, v.spare); !ok {
			return m, nil, false
		}
	}
	if out != nil {
		op.write(out)
	}
	if op.value == nil {
		return slices.Delete(m, at, at+1), delta, true
	}
	v.spare = nil
	if v.owned {
		v.spare = v.value[:0]
	}
	v.value, v.owned = op.value, edited
	return m, delta, true
}

// chainSQL reads the derived changes before one after others, back to the one with all its values.
const chainSQL = `WITH RECURSIVE back (position, prior, op, form, delta, n) AS (
		SELECT position, prior, op, form, delta, 1 FROM change WHERE position = ?1
		UNION ALL SELECT c.position, c.prior, c.op, c.form, c.delta, b.n + 1 FROM back b JOIN change c ON c.position = b.prior WHERE b.n < ?2)
	SELECT b.position, b.prior, b.op, f.patch, b.delta FROM back b LEFT JOIN form f ON f.id = b.form`

// values returns the values of members before a change after another, which it no longer keeps.
func (r *chainReader) values(c *driver.Conn, d storedDelta) (values memberValues, err error) {
	if values, ok := r.take(d.prior); ok {
		return values, nil
	}
	depth := d.depth()
	rows := make([]storedDelta, 0, min(depth, chainDepth))
	found := false
	if err := c.Query(chainSQL, func(v driver.Row) error {
		row := storedDelta{fanfold.Position(v.Int(0)), fanfold.Position(v.Int(1)), v.Text(3), v.Blob(4)}
		if v[2] != nil || row.delta == nil || row.depth() != depth-len(rows)-1 {
			return damagedChange(d.at)
		}
		if values, found = r.take(row.at); found {
			return driver.ErrStop
		}
		rows = append(rows, row)
		return nil
	}, int64(d.prior), int64(depth)); err != nil {
		return nil, err
	}
	if !found && len(rows) != depth {
		return nil, damagedChange(d.at)
	}
	for i, row := range slices.Backward(rows) {
		var ok bool
		if values, ok = r.apply(row, values, nil); !ok {
			return nil, damagedChange(d.at)
		}
		if i > 0 && values.bytes()*len(rows) <= maxKnownBetween {
			r.keep(row.at, values.clone())
		}
	}
	return values, nil
}

// take returns the values of members after a change where they are kept, and keeps them no longer.
func (r *chainReader) take(at fanfold.Position) (values memberValues, ok bool) {
	if values, ok = r.known[at]; ok {
		delete(r.known, at)
		r.bytes -= values.bytes()
	}
	return values, ok
}

// bytes returns how many bytes the values have.
func (m memberValues) bytes() (n int) {
	for i := range m {
		n += len(m[i].value)
	}
	return n
}

// keep keeps the values of members after a change.
func (r *chainReader) keep(at fanfold.Position, values memberValues) {
	size := values.bytes()
	if size > maxKnownChainBytes/2 {
		return
	}
	if r.bytes += size; r.known == nil || len(r.known) >= maxKnownChains || r.bytes > maxKnownChainBytes {
		r.known, r.bytes = map[fanfold.Position]memberValues{}, size
	}
	r.known[at] = values
}

// damagedChange returns the error for a change that cannot be read.
func damagedChange(at fanfold.Position) error {
	return fanfold.Errorf(fanfold.Internal, "change %s cannot be read: the read model is damaged; fanfold replay builds it anew", at)
}
