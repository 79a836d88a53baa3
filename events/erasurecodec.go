package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of the payloads of erase and erased events.
const (
	MaxErasureEvent     = 4 << 20 // bytes of one, but for one that lists a single message
	MaxErasureDocuments = 500     // in one erase event; each has a check in the event's transaction
)

// erasureWriter makes the list of a loss.
type erasureWriter struct {
	head               []byte // up to the subjects
	subjects, payloads interned
	messages           []byte
	count              int
}

// interned are values that are written once each, and named by their index.
type interned struct {
	index map[string]int
	text  []byte // with a comma before each
}

// add returns the index of a value; write appends it as JSON where it is new.
func (n *interned) add(value string, write func(b []byte) []byte) int {
	i, known := n.index[value]
	if !known {
		i = len(n.index)
		n.index[value] = i
		n.text = write(append(n.text, ','))
	}
	return i
}

// newErasureWriter returns the beginning of a list, without its messages.
func newErasureWriter(e *fanfold.Erasure) *erasureWriter {
	w := &erasureWriter{subjects: interned{index: map[string]int{}}, payloads: interned{index: map[string]int{}}}
	keep, _ := json.Marshal(e.Keep) // whose names are in order
	if len(e.Keep) == 0 {
		keep = []byte("{}")
	}
	w.head = append(append(appendErasedDocuments([]byte(`{"documents":`), e.Documents), `,"keep":`...), keep...)
	for _, m := range []struct {
		name  string
		value uint64
	}{{"of", e.Of}, {"taken", uint64(e.Taken)}, {"left", uint64(e.Left)}} {
		if m.value != 0 {
			w.head = strconv.AppendUint(append(w.head, `,"`+m.name+`":`...), m.value, 10)
		}
	}
	return w
}

// appendErasedDocuments appends an array of documents.
func appendErasedDocuments(b []byte, documents []fanfold.ErasedDocument) []byte {
	b = append(b, '[')
	for i, d := range documents {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"collection":"`+d.Collection+`","id":`...)
		b = jsondoc.AppendQuote(b, d.ID)
		if len(d.Members) > 0 {
			b = appendStrings(append(b, `,"members":`...), d.Members)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendStrings appends an array of strings.
func appendStrings(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsondoc.AppendQuote(b, text)
	}
	return append(b, ']')
}

// add adds a message.
func (w *erasureWriter) add(m *fanfold.Substitute) {
	b := w.messages
	if w.count > 0 {
		b = append(b, ',')
	}
	w.count++
	b = strconv.AppendUint(append(b, `{"seq":`...), m.Seq, 10)
	b = strconv.AppendInt(append(b, `,"time":`...), m.Time.UnixNano(), 10)
	b = strconv.AppendInt(append(b, `,"subject":`...), int64(w.subjects.add(m.Subject, func(b []byte) []byte { return jsondoc.AppendQuote(b, m.Subject) })), 10)
	if m.Claim {
		b = append(b, `,"claim":true`...)
	} else {
		i := w.payloads.add(string(m.Payload), func(b []byte) []byte { return append(b, m.Payload...) })
		b = strconv.AppendInt(append(b, `,"payload":`...), int64(i), 10)
	}
	if m.Tx.ID != "" {
		b = jsondoc.AppendQuote(append(b, `,"tx":[`...), m.Tx.ID)
		b = append(b, fmt.Sprintf(",%d,%d]", m.Tx.Index, m.Tx.Count)...)
	}
	if m.KeyHash != "" {
		b = jsondoc.AppendQuote(append(b, `,"key":`...), m.KeyHash)
	}
	if m.Actor != "" {
		b = jsondoc.AppendQuote(append(b, `,"actor":`...), m.Actor)
	}
	b = append(b, '}')
	w.messages = b
}

// size returns how many bytes the list has.
func (w *erasureWriter) size() int {
	return len(w.head) + len(w.subjects.text) + len(w.payloads.text) + len(w.messages) + 64
}

// payload returns the list.
func (w *erasureWriter) payload() []byte {
	out := make([]byte, 0, w.size())
	out = append(append(out, w.head...), `,"subjects":[`...)
	out = append(append(out, bytes.TrimPrefix(w.subjects.text, []byte(","))...), `],"payloads":[`...)
	out = append(append(out, bytes.TrimPrefix(w.payloads.text, []byte(","))...), `],"messages":[`...)
	return append(append(out, w.messages...), "]}"...)
}

// errLossForm is the problem of a payload of an op that cannot be read.
func errLossForm(op, what string) error {
	return invalidPayload("of op " + op + " has " + what + " that this program cannot read: a newer Fanfold may have written it; use that one")
}

// decodeList reads the list of a loss, which the result aliases. Earlier programs have it in the whole payload. The error is Invalid.
func decodeList(t *jsondoc.Tree, list jsondoc.Node) (*fanfold.Erasure, error) {
	e, keep := &fanfold.Erasure{}, t.Member(list, "keep")
	if of := t.Member(list, "of"); of != jsondoc.None {
		if e.Of = readUint(t, of); e.Of == 0 {
			return nil, errLossForm(opLoss, "a beginning")
		}
	}
	e.Taken, e.Left = int(readUint(t, t.Member(list, "taken"))), int(readUint(t, t.Member(list, "left")))
	names := []string{"of", "taken", "left", "documents", "keep", "subjects", "payloads", "messages"}
	if list == jsondoc.Root {
		names = append(names, "v", "op")
	}
	switch {
	case t.Kind(list) != jsondoc.Object || !onlyMembers(t, list, names...):
		return nil, errLossForm(opLoss, "a member")
	case !decodeErasedDocuments(t, list, e) || len(e.Documents) == 0:
		return nil, errLossForm(opLoss, "documents")
	case keep == jsondoc.None || t.Kind(keep) != jsondoc.Object || json.Unmarshal(t.Raw(keep), &e.Keep) != nil:
		return nil, errLossForm(opLoss, "paths of ids")
	case !decodeSubstitutes(t, list, e):
		return nil, errLossForm(opLoss, "messages")
	}
	return e, nil
}

// onlyMembers tells whether an object has only members of these names.
func onlyMembers(t *jsondoc.Tree, object jsondoc.Node, names ...string) bool {
	for n := t.First(object); n != jsondoc.None; n = t.Next(n) {
		known := false
		for _, name := range names {
			known = known || t.KeyIs(n, name)
		}
		if !known {
			return false
		}
	}
	return true
}

// readUint returns the number at a node, 0 for what is none.
func readUint(t *jsondoc.Tree, n jsondoc.Node) uint64 {
	if n == jsondoc.None || t.Kind(n) != jsondoc.Number {
		return 0
	}
	v, _ := strconv.ParseUint(t.Text(n), 10, 63) // 0 for an error
	return v
}

// readStrings returns the strings in the array at a node, and whether it is one.
func readStrings(t *jsondoc.Tree, array jsondoc.Node) (out []string, ok bool) {
	if array == jsondoc.None || t.Kind(array) != jsondoc.Array {
		return nil, false
	}
	for n := t.First(array); n != jsondoc.None; n = t.Next(n) {
		if t.Kind(n) != jsondoc.String {
			return nil, false
		}
		out = append(out, t.Text(n))
	}
	return out, true
}

// decodeErasedDocuments reads the documents of a list, and tells whether they can be read.
func decodeErasedDocuments(t *jsondoc.Tree, list jsondoc.Node, e *fanfold.Erasure) bool {
	documents := t.Member(list, "documents")
	if documents == jsondoc.None || t.Kind(documents) != jsondoc.Array {
		return false
	}
	for n := t.First(documents); n != jsondoc.None; n = t.Next(n) {
		if t.Kind(n) != jsondoc.Object || !onlyMembers(t, n, "collection", "id", "members") {
			return false
		}
		d := fanfold.ErasedDocument{Key: decodeKey(t, n)}
		if members := t.Member(n, "members"); members != jsondoc.None {
			var ok bool
			if d.Members, ok = readStrings(t, members); !ok || len(d.Members) == 0 {
				return false
			}
		}
		if d.Validate() != nil {
			return false
		}
		e.Documents = append(e.Documents, d)
	}
	return true
}

// decodeSubstitutes reads the messages of a list, and tells whether they can be read.
func decodeSubstitutes(t *jsondoc.Tree, list jsondoc.Node, e *fanfold.Erasure) bool {
	subjects, ok := readStrings(t, t.Member(list, "subjects"))
	stored, messages := t.Member(list, "payloads"), t.Member(list, "messages")
	if !ok || stored == jsondoc.None || messages == jsondoc.None || t.Kind(stored) != jsondoc.Array || t.Kind(messages) != jsondoc.Array {
		return false
	}
	var payloads [][]byte
	for n := t.First(stored); n != jsondoc.None; n = t.Next(n) {
		if t.Kind(n) != jsondoc.Object {
			return false
		}
		payloads = append(payloads, t.Raw(n))
	}
	e.Messages = make([]fanfold.Substitute, 0, t.Len(messages))
	var last uint64
	for n := t.First(messages); n != jsondoc.None; n = t.Next(n) {
		m, ok := decodeSubstitute(t, n, subjects, payloads)
		if !ok || m.Seq <= last {
			return false
		}
		last = m.Seq
		e.Messages = append(e.Messages, m)
	}
	return true
}

// decodeSubstitute reads a message of a list.
func decodeSubstitute(t *jsondoc.Tree, n jsondoc.Node, subjects []string, payloads [][]byte) (m fanfold.Substitute, ok bool) {
	if t.Kind(n) != jsondoc.Object {
		return m, false
	}
	subject, payload := -1, -1
	for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
		ok := true
		switch name := t.Key(c); name {
		case "seq":
			m.Seq = readUint(t, c)
		case "time":
			nanos, err := strconv.ParseInt(t.Text(c), 10, 64)
			m.Time, ok = time.Unix(0, nanos).UTC(), err == nil
		case "subject":
			subject, ok = readIndex(t, c, len(subjects))
		case "payload":
			payload, ok = readIndex(t, c, len(payloads))
		case "claim":
			m.Claim = t.Kind(c) == jsondoc.True
		case "tx":
			m.Tx, ok = readTxPart(t, c)
		case "key":
			m.KeyHash = t.Text(c)
		case "actor":
			m.Actor = t.Text(c)
		default:
			ok = false
		}
		if !ok {
			return m, false
		}
	}
	if m.Seq == 0 || m.Time.IsZero() || subject < 0 || m.Claim == (payload >= 0) {
		return m, false
	}
	m.Subject = subjects[subject]
	if payload >= 0 {
		m.Payload = payloads[payload]
	}
	return m, true
}

// readIndex returns the index below count at a node, and whether it is one.
func readIndex(t *jsondoc.Tree, n jsondoc.Node, count int) (int, bool) {
	i, err := strconv.Atoi(t.Text(n))
	return i, err == nil && t.Kind(n) == jsondoc.Number && i >= 0 && i < count
}

// readTxPart reads the place of a message in its transaction, and tells whether it is one.
func readTxPart(t *jsondoc.Tree, array jsondoc.Node) (p fanfold.TxPart, ok bool) {
	if t.Kind(array) != jsondoc.Array || t.Len(array) != 3 {
		return p, false
	}
	id := t.First(array)
	index := t.Next(id)
	var errs [2]error
	p.ID = t.Text(id)
	p.Index, errs[0] = strconv.Atoi(t.Text(index))
	p.Count, errs[1] = strconv.Atoi(t.Text(t.Next(index)))
	return p, p.ID != "" && errs[0] == nil && errs[1] == nil && p.Index >= 0 && p.Index < p.Count
}
