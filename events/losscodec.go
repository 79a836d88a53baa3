package events

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// opLoss is the op of events of kind loss. Earlier programs wrote each of the three forms as an op of its own.
const opLoss = string(fanfold.KindLoss)

// encodeLoss returns the payload of a loss. Subjects and payloads that several of its messages have are in it once.
func encodeLoss(l *fanfold.Loss) []byte {
	b := []byte(`{"v":3,"op":"` + opLoss + `"`)
	if l.UpTo != 0 {
		b = strconv.AppendUint(append(b, `,"upTo":`...), uint64(l.UpTo), 10)
	}
	if l.Base != nil {
		base, _ := json.Marshal(storedBegin{l.Base.Seq, l.Base.Digest, storedBaseOf(l.Base)}) // no value of it fails
		b = append(append(b, `,"base":`...), base...)
	}
	switch {
	case l.Erases():
		b = append(appendErasedDocuments(append(b, `,"list":{"documents":`...), l.List.Documents), '}')
	case l.Lists():
		w := newErasureWriter(l.List)
		for i := range l.List.Messages {
			w.add(&l.List.Messages[i])
		}
		b = append(append(b, `,"list":`...), w.payload()...)
	}
	return append(b, '}')
}

// decodeLoss reads the payload of a loss, which the result aliases. The error is Invalid.
func decodeLoss(t *jsondoc.Tree) (l *fanfold.Loss, err error) {
	if !onlyMembers(t, jsondoc.Root, "v", "op", "upTo", "base", "list") {
		return nil, errLossForm(opLoss, "a member")
	}
	l = &fanfold.Loss{}
	if upTo := t.Member(jsondoc.Root, "upTo"); upTo != jsondoc.None {
		if l.UpTo = fanfold.AsOf(readUint(t, upTo)); l.UpTo == 0 {
			return nil, errLossForm(opLoss, "an end")
		}
	}
	if base := t.Member(jsondoc.Root, "base"); base != jsondoc.None {
		var s storedBegin
		if !readStrictly(t.Raw(base), maxBaseBytes, &s) || !s.valid(s.Before) {
			return nil, errLossForm(opLoss, "a base")
		}
		l.Base = s.compaction(s.Before, s.Digest, l.UpTo)
	}
	if list := t.Member(jsondoc.Root, "list"); list != jsondoc.None {
		if l.List, err = decodeLossList(t, list, l.UpTo); err != nil {
			return nil, err
		}
	}
	if l.List == nil && l.Base == nil || l.Lists() && l.Base != nil {
		return nil, errLossForm(opLoss, "a form")
	}
	return l, nil
}

// decodeLossList reads the list of a loss up to an event: one with messages, or, where lists come into force, one with documents alone. The error is Invalid.
func decodeLossList(t *jsondoc.Tree, list jsondoc.Node, upTo fanfold.AsOf) (*fanfold.Erasure, error) {
	if upTo == 0 {
		return decodeList(t, list)
	}
	e := &fanfold.Erasure{}
	if t.Kind(list) != jsondoc.Object || !onlyMembers(t, list, "documents") || !decodeErasedDocuments(t, list, e) {
		return nil, errLossForm(opLoss, "a list")
	}
	return e, nil
}

// readStrictly reads JSON of at most so many bytes, and tells whether it has nothing else.
func readStrictly(text []byte, most int, into any) bool {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	return len(text) <= most && in.Decode(into) == nil
}

// storedBegin says with which base the log begins.
type storedBegin struct {
	Before uint64         `json:"before"` // the horizon's event
	Digest fanfold.Digest `json:"digest"` // of all events up to it
	storedBase
}

// storedBase says what the base of a compaction is, and what is known of the log up to it.
type storedBase struct {
	Name     string           `json:"name"`
	Bytes    int64            `json:"bytes"`
	Sum      fanfold.Digest   `json:"sha256"`
	Event    fanfold.Digest   `json:"event"`    // of the horizon's event
	Position fanfold.Position `json:"position"` // of the last change up to the horizon
	Changes  int64            `json:"changes"`  // how many there were up to it
	Time     time.Time        `json:"time"`     // the latest time of an event up to it, in UTC
}

// Bounds of what is stored of a base.
const (
	maxBaseBytes = 4 << 10
	maxBaseName  = 200 // bytes
)

// storedBaseOf returns what is stored of a base.
func storedBaseOf(c *fanfold.Compaction) storedBase {
	return storedBase{c.Base.Name, c.Base.Bytes, c.Base.Sum, c.Event, c.Position, c.Changes, c.Time.UTC()}
}

// valid tells whether a horizon can have this base.
func (b *storedBase) valid(before uint64) bool {
	return before > 0 && b.Name != "" && len(b.Name) <= maxBaseName && b.Bytes > 0 && b.Changes >= 0 && b.Position.Seq() <= before
}

// compaction returns what a base, which knows the lists up to one, says with its horizon.
func (b *storedBase) compaction(before uint64, digest fanfold.Digest, asOf fanfold.AsOf) *fanfold.Compaction {
	return &fanfold.Compaction{
		Horizon: fanfold.Horizon{Seq: before, Event: b.Event, Digest: digest, Position: b.Position, Changes: b.Changes, Time: b.Time.UTC()},
		Base:    fanfold.BaseFile{Name: b.Name, Bytes: b.Bytes, Sum: b.Sum}, AsOf: asOf}
}

// Earlier programs wrote the payloads that follow. This one reads them and never writes them.

// oldCompaction is the payload of a compact event.
type oldCompaction struct {
	Version int            `json:"v"`
	Op      string         `json:"op"`
	Before  uint64         `json:"before"`
	Digest  fanfold.Digest `json:"digest"`
	Base    storedBase     `json:"base"`
	Erasure fanfold.AsOf   `json:"erasure"`
}

// oldErased is the payload of an erased event.
type oldErased struct {
	Version   int          `json:"v"`
	Op        string       `json:"op"`
	UpTo      fanfold.AsOf `json:"upTo"`
	Documents [][2]string  `json:"documents"`
	Base      *storedBegin `json:"base"`
}

// decodeOldLoss reads the payload of one of the three earlier ops. The error is Invalid.
func decodeOldLoss(op string, t *jsondoc.Tree) (*fanfold.Loss, error) {
	switch op {
	case "compact":
		var s oldCompaction
		if !readStrictly(t.Raw(jsondoc.Root), maxBaseBytes, &s) || !s.Base.valid(s.Before) {
			return nil, errLossForm(op, "a horizon or a base")
		}
		return &fanfold.Loss{UpTo: s.Erasure, Base: s.Base.compaction(s.Before, s.Digest, s.Erasure)}, nil
	case "erase":
		list, err := decodeList(t, jsondoc.Root)
		return &fanfold.Loss{List: list}, err
	case "erased":
		return decodeOldErased(t.Raw(jsondoc.Root))
	}
	return nil, errUnknownOp(op)
}

// decodeOldErased reads the payload of an erased event. The error is Invalid.
func decodeOldErased(payload []byte) (*fanfold.Loss, error) {
	var s oldErased
	if !readStrictly(payload, len(payload), &s) || s.UpTo == 0 {
		return nil, errLossForm("erased", "something")
	}
	l := &fanfold.Loss{UpTo: s.UpTo, List: &fanfold.Erasure{}}
	for _, pair := range s.Documents {
		d := fanfold.ErasedDocument{Key: fanfold.Key{Collection: pair[0], ID: pair[1]}}
		if d.Validate() != nil {
			return nil, errLossForm("erased", "a document")
		}
		l.List.Documents = append(l.List.Documents, d)
	}
	if s.Base != nil {
		if !s.Base.valid(s.Base.Before) {
			return nil, errLossForm("erased", "a base")
		}
		l.Base = s.Base.compaction(s.Base.Before, s.Base.Digest, s.UpTo)
	}
	return l, nil
}
