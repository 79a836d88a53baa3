package sqlite

import (
	"bytes"
	"strings"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// A derived change is stored as its values and a form. Many changes have a form in common. It is the rules and the JSON Patch with a
// line feed in place of each value, and of each path through an array. The values follow each other, each with its length
// (editor.append), after a zero. An old value is stored as its edits of the new one before it, and a new one or a path as its edits of
// that in the operation before. Old values that the document's
// changes before tell are left out: deltachain.go.

// maxFormOps is how many operations a form has at most. A patch of more is one value.
const maxFormOps = 16

// wholePatch is the form of a patch that is one value.
const wholePatch = "\n"

// patchOp is an operation of a derived change's patch.
type patchOp struct {
	path  []byte // quoted, or nil where it is through an array
	slots []byte // what the form leaves out of it: some of slotPath, slotValue and slotOld
	value []byte // nil where it has none
	old   []byte // the same
	at    []byte // the path through an array
}

// The kinds of what a form leaves out.
const (
	slotPath byte = iota
	slotValue
	slotOld
)

// has returns whether the operation has a slot.
func (o *patchOp) has(slot byte) bool { return bytes.IndexByte(o.slots, slot) >= 0 }

// splitter takes JSON Patches of derived changes apart. It holds one until the next.
type splitter struct {
	form []byte
	ops  []patchOp // none of a patch that is one value
	out  []byte    // what is stored
	editor
}

// split takes a patch apart, which is written without whitespace.
func (s *splitter) split(patch []byte) {
	s.form, s.ops = s.form[:0], s.ops[:0]
	if bytes.IndexByte(patch, '\n') >= 0 || !s.splitOps(patch) || len(s.ops) == 0 {
		s.form, s.ops = append(s.form[:0], wholePatch...), s.ops[:0]
	}
}

// splitOps takes the operations of a patch apart, and makes their form. It is false for a patch of another shape. Of a form it gives the
// operations without what is left out.
func (s *splitter) splitOps(patch []byte) bool {
	for i := 0; i < len(patch); {
		if patch[i] != '"' {
			if patch[i] == '{' {
				s.addOp()
			}
			s.form = append(s.form, patch[i])
			i++
			continue
		}
		colon := jsonEnd(patch, i)
		end := jsonEnd(patch, colon+1)
		if end <= colon+1 || len(s.ops) == 0 || len(s.ops) > maxFormOps {
			return false
		}
		s.form = append(append(s.form, patch[i:colon]...), ':')
		s.splitMember(string(patch[i:colon]), patch[colon+1:end])
		i = end
	}
	return true
}

// addOp adds an operation without members.
func (s *splitter) addOp() {
	if len(s.ops) == cap(s.ops) {
		s.ops = append(s.ops, patchOp{})
	} else {
		s.ops = s.ops[:len(s.ops)+1]
	}
	op := &s.ops[len(s.ops)-1]
	*op = patchOp{slots: op.slots[:0]}
}

// splitMember adds a member of the last operation. The form ends with its name so far.
func (s *splitter) splitMember(key string, text []byte) {
	op := &s.ops[len(s.ops)-1]
	switch {
	case key == `"value"`:
		op.value, op.slots = text, append(op.slots, slotValue)
	case key == `"old"`:
		op.old, op.slots = text, append(op.slots, slotOld)
	case key == `"path"` && (text[0] == '\n' || throughArray(text)):
		op.at, op.slots = text, append(op.slots, slotPath)
	case key == `"path"`:
		op.path = text
		s.form = append(s.form, text...)
		return
	default:
		s.form = append(s.form, text...)
		return
	}
	s.form = append(s.form, '\n')
}

// stored returns what is stored of a patch by itself.
func (s *splitter) stored(patch []byte) []byte {
	s.out = append(s.out[:0], 0)
	if len(s.ops) == 0 {
		s.out = s.append(s.out, patch, nil)
	}
	before := &patchOp{}
	for i := range s.ops {
		s.storeOp(&s.ops[i], before)
		before = &s.ops[i]
	}
	return s.out
}

// storeOp appends what a form leaves out of an operation, which is after another, or the first.
func (s *splitter) storeOp(op, before *patchOp) {
	for _, slot := range op.slots {
		switch slot {
		case slotPath:
			s.out = s.append(s.out, op.at, before.at)
		case slotValue:
			s.out = s.append(s.out, op.value, before.value)
		case slotOld:
			s.out = s.append(s.out, op.old, op.value)
		}
	}
}

// splitPatch takes the values out of a derived change's JSON Patch, which is written without whitespace.
func splitPatch(patch []byte) (form string, delta []byte) {
	var s splitter
	s.split(patch)
	return string(s.form), s.stored(patch)
}

// parsedForm is a form as it is read.
type parsedForm struct {
	texts []string // between what it leaves out
	ops   []patchOp
}

// parseForm takes a form apart.
func parseForm(form string) *parsedForm {
	var s splitter
	if form != wholePatch && !s.splitOps([]byte(form)) {
		s.ops = nil // damaged: what is read of it does not fit
	}
	return &parsedForm{texts: strings.Split(form, "\n"), ops: s.ops}
}

// patchWriter makes a patch of a form.
type patchWriter struct {
	texts []string // that are left
	out   []byte
}

// add adds what the form leaves out next.
func (w *patchWriter) add(text []byte) {
	if len(w.texts) == 0 {
		return // damaged
	}
	w.out = append(append(w.out, w.texts[0]...), text...)
	w.texts = w.texts[1:]
}

// end returns the patch. ok is false where it is not complete.
func (w *patchWriter) end() (patch []byte, ok bool) {
	if len(w.texts) != 1 {
		return nil, false
	}
	return append(w.out, w.texts[0]...), true
}

// read takes what is stored of an operation by itself off a delta. before is the operation before it.
func (o *patchOp) read(delta []byte, before *patchOp) (rest []byte, ok bool) {
	for _, slot := range o.slots {
		switch slot {
		case slotPath:
			o.at, delta, ok = nextValue(delta, before.at, nil)
		case slotValue:
			o.value, delta, ok = nextValue(delta, before.value, nil)
		case slotOld:
			o.old, delta, ok = nextValue(delta, o.value, nil)
		}
		if !ok {
			return nil, false
		}
	}
	return delta, true
}

// write adds what the form leaves out of an operation.
func (o *patchOp) write(w *patchWriter) {
	for _, slot := range o.slots {
		switch slot {
		case slotPath:
			w.add(o.at)
		case slotValue:
			w.add(o.value)
		case slotOld:
			w.add(o.old)
		}
	}
}

// jsonEnd returns where the JSON value that begins at i ends.
func jsonEnd(text []byte, i int) int {
	depth, quoted := 0, false
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']' || c == ',' && depth == 0:
			if depth == 0 {
				return i // after a number or a literal
			}
			if c != ',' {
				depth--
			}
			if depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// throughArray reports whether a quoted JSON pointer may have an array's index in it.
func throughArray(pointer []byte) bool {
	for i, c := range pointer[:len(pointer)-1] {
		if c == '/' && pointer[i+1] >= '0' && pointer[i+1] <= '9' {
			return true
		}
	}
	return false
}

// maxForms is how many forms' numbers are kept in memory.
const maxForms = 1024

// formOf returns the number of a form of patches and the rules, separated by commas, that it belongs to. It records what is
// new.
func (w *changeWriter) formOf(rules []string, patch []byte) (id int64, err error) {
	w.formKey = append(w.formKey[:0], patch...)
	for _, r := range rules {
		w.formKey = append(append(w.formKey, ','), r...)
	}
	if id := w.forms[string(w.formKey)]; id != 0 {
		return id, nil
	}
	names := strings.Join(rules, ",")
	found, err := w.c.QueryRow("SELECT id FROM form WHERE rules = ? AND patch = ?", func(r driver.Row) { id = r.Int(0) }, names, string(patch))
	if err != nil {
		return 0, err
	}
	if !found {
		if _, err := w.c.QueryRow("SELECT ifnull(max(id), 0) + 1 FROM form", func(r driver.Row) { id = r.Int(0) }); err != nil {
			return 0, err
		}
		if err := w.c.Exec("INSERT INTO form (id, rules, patch) VALUES (?, ?, ?)", id, names, string(patch)); err != nil {
			return 0, err
		}
	}
	if w.forms == nil || len(w.forms) >= maxForms {
		w.forms = map[string]int64{}
	}
	w.forms[string(w.formKey)] = id
	return id, nil
}
