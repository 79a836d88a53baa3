package events

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/tracing"
)

// The member "v" of the payloads that this program writes and reads. Version 2 has the member "fold" besides: a program that
// does not know of fold versions must not take such an event for a model like others. Version 3 is the short form of links and claims, which
// lacks what their subjects say.
const (
	envelopeVersion      = "1"
	foldEnvelopeVersion  = "2"
	shortEnvelopeVersion = "3"
)

// maxFold is the greatest fold version that a payload can have.
const maxFold = 1<<31 - 1

// Encode returns the payload of an event: a small JSON object into which the body's bytes are
// spliced as they are. A link has one holder. README.md documents it.
func Encode(ev *fanfold.Event) []byte {
	if ev.Loss != nil {
		return encodeLoss(ev.Loss)
	}
	b := make([]byte, 0, len(ev.Body)+64)
	version := envelopeVersion
	if ev.Fold != 0 {
		version = foldEnvelopeVersion
	}
	b = append(b, `{"v":`+version+`,"op":"`+string(ev.Kind)+`"`...)
	if ev.Fold != 0 {
		b = strconv.AppendInt(append(b, `,"fold":`...), int64(ev.Fold), 10)
	}
	if ev.Kind == fanfold.KindPatch {
		b = append(b, `,"type":"`+string(ev.Patch)+`","base":`...)
		b = strconv.AppendUint(b, uint64(ev.Base), 10)
	}
	switch ev.Kind {
	case fanfold.KindCheck, fanfold.KindLink, fanfold.KindClaim, fanfold.KindGate:
		b = append(b, `,"collection":"`+ev.Key.Collection+`"`...)
		if ev.Key.ID != "" {
			b = jsondoc.AppendQuote(append(b, `,"id":`...), ev.Key.ID)
		}
	}
	b = appendGuardMembers(b, ev)
	if len(ev.Kept) > 0 {
		b = append(append(b, `,"kept":`...), ev.Kept...)
	}
	b = appendRefresh(b, ev.Refresh)
	b = appendByDelete(b, ev.ByDelete)
	if len(ev.Body) > 0 {
		b = append(b, `,"body":`...)
		b = append(b, ev.Body...)
	}
	return append(b, '}')
}

// encodeShort returns the payload of a link or a claim in the short form.
func encodeShort(ev *fanfold.Event) []byte {
	b := append(make([]byte, 0, 128), `{"v":`+shortEnvelopeVersion...)
	if ev.Held {
		b = append(b, `,"held":`...)
	} else {
		b = append(b, `,"freed":`...)
	}
	if ev.Kind == fanfold.KindClaim {
		b = jsondoc.AppendQuote(b, ev.Key.ID)
		b = jsondoc.AppendQuote(append(b, `,"path":`...), ev.Path)
		b = jsondoc.AppendQuote(append(b, `,"value":`...), ev.Value)
		return append(b, '}')
	}
	for i, holder := range ev.Holders {
		b = jsondoc.AppendQuote(append(b, "[,"[min(i, 1)]), holder.ID)
	}
	return append(b, "]}"...)
}

// appendGuardMembers appends the members that only checks, links, claims, sequences and calls have.
func appendGuardMembers(b []byte, ev *fanfold.Event) []byte {
	switch ev.Kind {
	case fanfold.KindCheck:
		b = strconv.AppendUint(append(b, `,"base":`...), uint64(ev.Base), 10)
		if ev.Links {
			b = append(b, `,"links":true`...)
		}
	case fanfold.KindLink:
		b = append(b, `,"holder":{"collection":"`+ev.Holders[0].Collection+`","id":`...)
		b = append(jsondoc.AppendQuote(b, ev.Holders[0].ID), `},"held":`...)
		b = strconv.AppendBool(b, ev.Held)
	case fanfold.KindClaim:
		b = jsondoc.AppendQuote(append(b, `,"path":`...), ev.Path)
		b = jsondoc.AppendQuote(append(b, `,"value":`...), ev.Value)
		b = strconv.AppendBool(append(b, `,"held":`...), ev.Held)
	case fanfold.KindSequence:
		b = append(b, `,"collection":"`+ev.Key.Collection+`","path":`...)
		b = append(jsondoc.AppendQuote(b, ev.Path), `,"key":`...)
		b = jsondoc.AppendQuote(b, ev.Value)
	case fanfold.KindCall:
		b = jsondoc.AppendQuote(append(b, `,"function":`...), ev.Call.Function)
		b = strconv.AppendUint(append(b, `,"model":`...), ev.Call.Model, 10)
		b = strconv.AppendInt(append(b, `,"writes":`...), int64(ev.Call.Writes), 10)
		if ev.Call.Result != nil {
			b = append(append(b, `,"result":`...), ev.Call.Result...)
		}
	}
	return b
}

// checkCall returns why a call is not to be appended, nil where it is. Errors are TooLarge, and Internal for what is no call.
func checkCall(c *fanfold.Call) error {
	switch {
	case len(c.Result) > fanfold.MaxCallResult:
		return fanfold.Errorf(fanfold.TooLarge, "the result of function %q has %d bytes; the log takes at most %d: return less, or call it without an Idempotency-Key", c.Function, len(c.Result), fanfold.MaxCallResult)
	case c.Function == "" || len(c.Function) > fanfold.MaxFunction || c.Writes < 0 || c.Result != nil && !json.Valid(c.Result):
		return fanfold.Errorf(fanfold.Internal, "a call of function %q with %d writes and %d bytes of result is none", fanfold.Clip(c.Function), c.Writes, len(c.Result))
	}
	return nil
}

// appendRefresh appends the paths of the frozen copies to be taken anew; nothing where there are none.
func appendRefresh(b []byte, paths []string) []byte {
	if len(paths) == 0 {
		return b
	}
	b = append(b, `,"refresh":[`...)
	for i, path := range paths {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsondoc.AppendQuote(b, path)
	}
	return append(b, ']')
}

// appendByDelete appends the delete that an event follows from; nothing where there is none.
func appendByDelete(b []byte, by *fanfold.ByDelete) []byte {
	if by == nil {
		return b
	}
	b = append(b, `,"cause":{"collection":"`+by.Key.Collection+`","id":`...)
	b = jsondoc.AppendQuote(b, by.Key.ID)
	b = append(b, `,"relations":[`...)
	for i, name := range by.Relations {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsondoc.AppendQuote(b, name)
	}
	b = append(b, ']')
	if by.Back > 0 {
		b = strconv.AppendInt(append(b, `,"back":`...), int64(by.Back), 10)
	}
	return append(b, '}')
}

// decodeByDelete reads the delete that an event follows from, which a delete, a put or a patch may have.
func decodeByDelete(t *jsondoc.Tree, ev *fanfold.Event) error {
	cause := t.Member(jsondoc.Root, "cause")
	if cause == jsondoc.None {
		return nil
	}
	by := &fanfold.ByDelete{Key: decodeKey(t, cause)}
	if relations := t.Member(cause, "relations"); relations != jsondoc.None {
		for n := t.First(relations); n != jsondoc.None; n = t.Next(n) {
			by.Relations = append(by.Relations, t.Text(n))
		}
	}
	if back := t.Member(cause, "back"); back != jsondoc.None {
		n, err := strconv.Atoi(t.Text(back))
		if err != nil || n < 0 {
			return invalidPayload("has a cause that cannot be read")
		}
		by.Back = n
	}
	if t.Kind(cause) != jsondoc.Object || by.Key.Validate() != nil || len(by.Relations) == 0 {
		return invalidPayload("has a cause that cannot be read")
	}
	ev.ByDelete = by
	return nil
}

// Decode reads a payload into ev, whose Body aliases it. The error is Invalid, for an event of an
// unknown version or form; such an event must not be skipped. A link or a claim in the short form cannot be read without its subject.
func Decode(payload []byte, ev *fanfold.Event) error {
	var t jsondoc.Tree
	return decode(&t, "", payload, ev)
}

// decode does what Decode does, for an event on a subject, with a tree that the caller uses again for the next payload.
func decode(t *jsondoc.Tree, subject string, payload []byte, ev *fanfold.Event) error {
	if t.Parse(payload) != nil || t.Kind(jsondoc.Root) != jsondoc.Object {
		return invalidPayload("is not a JSON object")
	}
	if t.Text(t.Member(jsondoc.Root, "v")) == shortEnvelopeVersion {
		return decodeThird(t, subject, ev)
	}
	ev.Kind = fanfold.Kind(t.Text(t.Member(jsondoc.Root, "op")))
	if err := decodeFold(t, ev); err != nil {
		return err
	}
	body := t.Member(jsondoc.Root, "body")
	if body != jsondoc.None {
		ev.Body = t.Raw(body)
	}
	refresh := t.Member(jsondoc.Root, "refresh")
	if refresh != jsondoc.None {
		for n := t.First(refresh); n != jsondoc.None; n = t.Next(n) {
			ev.Refresh = append(ev.Refresh, t.Text(n))
		}
	}
	switch ev.Kind {
	case fanfold.KindPut, fanfold.KindPatch, fanfold.KindDelete:
		if err := decodeByDelete(t, ev); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case fanfold.KindPut, fanfold.KindModel, fanfold.KindPrepare, fanfold.KindCancel, fanfold.KindImport:
		if t.Kind(body) != jsondoc.Object {
			return invalidPayload("has no object as its body")
		}
		if kept := t.Member(jsondoc.Root, "kept"); kept != jsondoc.None {
			ev.Kept = t.Raw(kept)
		}
	case fanfold.KindPatch:
		if err := decodeBase(t, ev); err != nil || body == jsondoc.None {
			return invalidPayload("is a patch without a base or body")
		}
		ev.Patch = fanfold.PatchType(t.Text(t.Member(jsondoc.Root, "type")))
		if ev.Patch != fanfold.MergePatch && ev.Patch != fanfold.JSONPatch {
			return invalidPayload("has an unknown patch type")
		}
	case fanfold.KindCheck, fanfold.KindLink, fanfold.KindClaim, fanfold.KindGate:
		return decodeGuard(t, ev)
	case fanfold.KindSequence:
		return decodeSequence(t, ev)
	case fanfold.KindCall:
		return decodeCall(t, ev)
	case fanfold.KindDelete, fanfold.KindFence:
	default:
		return errUnknownOp(string(ev.Kind))
	}
	return nil
}

// errUnknownOp is the error for an op that this program does not know.
func errUnknownOp(op string) error {
	return invalidPayload("has an unknown op " + strconv.Quote(op) + ": a newer Fanfold may have written it; use that one")
}

// decodeThird reads a payload of version 3. It has a guard in the short form, without op, or an event that earlier programs must not pass
// over.
func decodeThird(t *jsondoc.Tree, subject string, ev *fanfold.Event) (err error) {
	op := t.Member(jsondoc.Root, "op")
	if op == jsondoc.None {
		return decodeShort(t, subject, ev)
	}
	ev.Kind = fanfold.KindLoss
	if name := t.Text(op); name != opLoss {
		ev.Loss, err = decodeOldLoss(name, t)
	} else {
		ev.Loss, err = decodeLoss(t)
	}
	return err
}

// decodeFold reads the payload's version, and the fold version that one of version 2 has.
func decodeFold(t *jsondoc.Tree, ev *fanfold.Event) error {
	fold := t.Member(jsondoc.Root, "fold")
	switch v := t.Text(t.Member(jsondoc.Root, "v")); {
	case v == envelopeVersion && fold == jsondoc.None:
		return nil
	case v == envelopeVersion:
		return invalidPayload("has a fold version, which one of version " + envelopeVersion + " cannot have")
	case v != foldEnvelopeVersion:
		return invalidPayload("has version " + strconv.Quote(v) + "; this program reads versions " + envelopeVersion + " to " + shortEnvelopeVersion + ": use a newer one")
	}
	version, err := strconv.ParseInt(t.Text(fold), 10, 64)
	if err != nil || t.Kind(fold) != jsondoc.Number || version < 1 || version > maxFold || ev.Kind != fanfold.KindModel && ev.Kind != fanfold.KindPrepare {
		return invalidPayload("of version " + foldEnvelopeVersion + " is no model with a fold version")
	}
	ev.Fold = int(version)
	return nil
}

// invalidPayload returns the error for a payload; problem completes "the event's payload ...".
func invalidPayload(problem string) error {
	return fanfold.Errorf(fanfold.Invalid, "the event's payload %s", problem)
}

// decodeGuard reads the members of a check, a link, a claim or a gate.
func decodeGuard(t *jsondoc.Tree, ev *fanfold.Event) error {
	ev.Key = decodeKey(t, jsondoc.Root)
	if ev.Kind == fanfold.KindCheck {
		ev.Links = t.Kind(t.Member(jsondoc.Root, "links")) == jsondoc.True
		if decodeBase(t, ev) != nil || ev.Key.Validate() != nil && (ev.Links || !isCollection(t, ev.Key)) {
			return invalidPayload("is a check without a document or base")
		}
		return nil
	}
	if ev.Key.Validate() != nil && (ev.Kind != fanfold.KindGate || !isCollection(t, ev.Key)) {
		return invalidPayload("is about no document")
	}
	if ev.Kind == fanfold.KindGate {
		return nil
	}
	ev.Held = t.Kind(t.Member(jsondoc.Root, "held")) == jsondoc.True
	if ev.Kind == fanfold.KindClaim {
		ev.Path, ev.Value = t.Text(t.Member(jsondoc.Root, "path")), t.Text(t.Member(jsondoc.Root, "value"))
		if ev.Path == "" || ev.Value == "" {
			return invalidPayload("is a claim of no value")
		}
		return nil
	}
	holder := decodeKey(t, t.Member(jsondoc.Root, "holder"))
	if holder.Validate() != nil {
		return invalidPayload("is a link of no holder")
	}
	ev.Holders = []fanfold.Key{holder}
	return nil
}

// decodeSequence reads the members of a sequence, whose body is read.
func decodeSequence(t *jsondoc.Tree, ev *fanfold.Event) error {
	ev.Key.Collection = t.Text(t.Member(jsondoc.Root, "collection"))
	ev.Path, ev.Value = t.Text(t.Member(jsondoc.Root, "path")), t.Text(t.Member(jsondoc.Root, "key"))
	if fanfold.CheckCollection(ev.Key.Collection) != nil || ev.Path == "" || ev.Value == "" {
		return invalidPayload("is a sequence of no collection")
	}
	_, err := ev.Given()
	return err
}

// decodeCall reads the members of a call.
func decodeCall(t *jsondoc.Tree, ev *fanfold.Event) error {
	var errs [2]error
	c := &fanfold.Call{Function: t.Text(t.Member(jsondoc.Root, "function"))}
	c.Model, errs[0] = strconv.ParseUint(t.Text(t.Member(jsondoc.Root, "model")), 10, 63)
	c.Writes, errs[1] = strconv.Atoi(t.Text(t.Member(jsondoc.Root, "writes")))
	if result := t.Member(jsondoc.Root, "result"); result != jsondoc.None {
		c.Result = t.Raw(result)
	}
	if c.Function == "" || errs[0] != nil || errs[1] != nil || c.Writes < 0 {
		return invalidPayload("is a call of no function")
	}
	ev.Call = c
	return nil
}

// isCollection tells whether what a payload is about is a collection as a whole: it has no id.
func isCollection(t *jsondoc.Tree, k fanfold.Key) bool {
	return t.Member(jsondoc.Root, "id") == jsondoc.None && fanfold.CheckCollection(k.Collection) == nil
}

// decodeShort reads a link or a claim in the short form.
func decodeShort(t *jsondoc.Tree, subject string, ev *fanfold.Event) error {
	kind, about, holders := guardOn(subject)
	held, freed := t.Member(jsondoc.Root, "held"), t.Member(jsondoc.Root, "freed")
	ev.Kind, ev.Key, ev.Held = kind, about, held != jsondoc.None
	if ev.Held == (freed != jsondoc.None) {
		return invalidPayload("says neither what begins nor what ends")
	}
	who := max(held, freed)
	switch kind {
	case fanfold.KindClaim:
		ev.Key.ID, ev.Path, ev.Value = t.Text(who), t.Text(t.Member(jsondoc.Root, "path")), t.Text(t.Member(jsondoc.Root, "value"))
		if ev.Path == "" || ev.Value == "" {
			return invalidPayload("is a claim of no value")
		}
	case fanfold.KindLink:
		for n := t.First(who); n != jsondoc.None; n = t.Next(n) {
			ev.Holders = append(ev.Holders, fanfold.Key{Collection: holders, ID: t.Text(n)})
		}
		if t.Kind(who) != jsondoc.Array || len(ev.Holders) == 0 || slices.ContainsFunc(ev.Holders, func(k fanfold.Key) bool { return k.Validate() != nil }) {
			return invalidPayload("is a link of no holder")
		}
	default:
		return invalidPayload("has version " + shortEnvelopeVersion + ", which only a link or a claim can have")
	}
	if ev.Key.Validate() != nil {
		return invalidPayload("is about no document")
	}
	return nil
}

// decodeKey reads the members collection and id of an object, without checking them.
func decodeKey(t *jsondoc.Tree, object jsondoc.Node) fanfold.Key {
	return fanfold.Key{Collection: t.Text(t.Member(object, "collection")), ID: t.Text(t.Member(object, "id"))}
}

// decodeBase reads the member base. The error is strconv's.
func decodeBase(t *jsondoc.Tree, ev *fanfold.Event) error {
	base, err := strconv.ParseUint(t.Text(t.Member(jsondoc.Root, "base")), 10, 63)
	ev.Base = fanfold.Revision(base)
	return err
}

// The headers that Fanfold adds to a message. All begin with headerPrefix.
const (
	headerPrefix  = "Fanfold-"
	headerTx      = fanfold.HeaderTx
	headerTxIndex = fanfold.HeaderTxIndex
	headerTxCount = fanfold.HeaderTxCount
	headerKey     = fanfold.HeaderKey
	headerDigest  = fanfold.HeaderDigest
	headerActor   = fanfold.HeaderActor      // as EscapeToken writes it
	headerTime    = "Fanfold-Time"           // when the event was stored first, in nanoseconds since 1970, in a log that was restored
	headerBatch   = fanfold.HeaderBatchCount // of the first of messages that are no transaction and were stored together: how many these are
)

// digest returns the digest of a message: of its sequence, time, subject and payload, and of the headers that an event is
// read from. buf, which may be nil, is used for these and returned.
func digest(buf []byte, seq uint64, at time.Time, subject string, h nats.Header, payload []byte) (d fanfold.Digest, used []byte) {
	return fanfold.EventDigest(buf, seq, at, subject, func(name string) (string, bool) {
		if values := h[name]; len(values) > 0 {
			return values[0], true
		}
		return "", false
	}, payload)
}

// setHeaders writes what an event says besides its payload: its transaction, its key and its actor.
func setHeaders(h nats.Header, ev *fanfold.Event) {
	if ev.Tx.ID != "" {
		h[headerTx] = []string{ev.Tx.ID}
		h[headerTxIndex] = []string{strconv.Itoa(ev.Tx.Index)}
		h[headerTxCount] = []string{strconv.Itoa(ev.Tx.Count)}
	}
	if ev.IdempotencyKey.Hash != "" {
		h[headerKey] = []string{ev.IdempotencyKey.Hash}
		h[headerDigest] = []string{ev.IdempotencyKey.Digest}
	}
	if ev.Actor != "" {
		h[headerActor] = []string{EscapeToken(ev.Actor)}
	}
}

// readHeaders reads what setHeaders wrote into ev. The error is Invalid.
func readHeaders(h nats.Header, ev *fanfold.Event) (err error) {
	if len(h[headerTx]) > 0 {
		var errs [2]error
		ev.Tx.ID = h.Get(headerTx)
		ev.Tx.Index, errs[0] = strconv.Atoi(h.Get(headerTxIndex))
		ev.Tx.Count, errs[1] = strconv.Atoi(h.Get(headerTxCount))
		if errs[0] != nil || errs[1] != nil || ev.Tx.Index < 0 || ev.Tx.Index >= ev.Tx.Count {
			return fanfold.Errorf(fanfold.Invalid, "the event's transaction headers cannot be read")
		}
	}
	if len(h[headerKey]) > 0 {
		ev.IdempotencyKey = fanfold.IdempotencyKey{Hash: h.Get(headerKey), Digest: h.Get(headerDigest)}
	}
	if actor := h[headerActor]; len(actor) > 0 {
		if ev.Actor, err = UnescapeToken(actor[0]); err != nil {
			return fanfold.Errorf(fanfold.Invalid, "the event's actor cannot be read")
		}
	}
	return nil
}

// BatchPart is what a message says of the batch with which it was stored.
type BatchPart struct {
	Tx     fanfold.TxPart // of a transaction
	Count  int            // of the first message of another batch: how many these are
	Single bool           // it is of no batch, or the first of one: it has an id of its own
}

// Begins tells whether the message is the first of several.
func (p BatchPart) Begins() bool { return p.Tx.Open() && p.Tx.Index == 0 || p.Count > 1 }

// BatchPartIn returns what a message's headers, as they are sent, say of its batch. The zero value stands for headers that cannot be read.
func BatchPartIn(headers []byte) (p BatchPart) {
	if !bytes.Contains(headers, []byte(headerPrefix)) && !bytes.Contains(headers, []byte(jetstream.MsgIDHeader)) {
		return p
	}
	h, err := nats.DecodeHeadersMsg(headers)
	if err != nil {
		return p
	}
	var ev fanfold.Event
	if readHeaders(h, &ev) == nil {
		p.Tx = ev.Tx
	}
	if count := h[headerBatch]; len(count) > 0 {
		p.Count, _ = strconv.Atoi(count[0])
	}
	p.Single = len(h[jetstream.MsgIDHeader]) > 0 && len(h[headerKey]) == 0
	return p
}

// HeadersOf returns the headers of a message from how they are sent, none where an event has nothing to do with any of them.
func HeadersOf(text []byte) (nats.Header, error) {
	if !bytes.Contains(text, []byte(headerPrefix)) && !bytes.Contains(text, []byte(tracing.Header)) {
		return nil, nil
	}
	return nats.DecodeHeadersMsg(text)
}
