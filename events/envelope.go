package events

import (
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// envelopeVersion is the "v" of the payloads this version writes and reads.
const envelopeVersion = "1"

// Encode makes the payload of an event: a small JSON object into which the body's bytes are
// spliced as they are. events/README.md documents it.
func Encode(ev *fanfold.Event) []byte {
	b := make([]byte, 0, len(ev.Body)+64)
	b = append(b, `{"v":`+envelopeVersion+`,"op":"`+string(ev.Kind)+`"`...)
	if ev.Kind == fanfold.KindPatch {
		b = append(b, `,"type":"`+string(ev.Patch)+`","base":`...)
		b = strconv.AppendUint(b, uint64(ev.Base), 10)
	}
	switch ev.Kind {
	case fanfold.KindCheck, fanfold.KindLink, fanfold.KindClaim:
		b = append(b, `,"collection":"`+ev.Key.Collection+`","id":`...)
		b = jsondoc.AppendQuote(b, ev.Key.ID)
	}
	switch ev.Kind {
	case fanfold.KindCheck:
		b = strconv.AppendUint(append(b, `,"base":`...), uint64(ev.Base), 10)
		if ev.Links {
			b = append(b, `,"links":true`...)
		}
	case fanfold.KindLink:
		b = append(b, `,"holder":{"collection":"`+ev.Holder.Collection+`","id":`...)
		b = append(jsondoc.AppendQuote(b, ev.Holder.ID), `},"held":`...)
		b = strconv.AppendBool(b, ev.Held)
	case fanfold.KindClaim:
		b = jsondoc.AppendQuote(append(b, `,"path":`...), ev.Path)
		b = jsondoc.AppendQuote(append(b, `,"value":`...), ev.Value)
		b = strconv.AppendBool(append(b, `,"held":`...), ev.Held)
	}
	if len(ev.Kept) > 0 {
		b = append(append(b, `,"kept":`...), ev.Kept...)
	}
	for i, path := range ev.Refresh {
		if i == 0 {
			b = append(b, `,"refresh":[`...)
		} else {
			b = append(b, ',')
		}
		b = jsondoc.AppendQuote(b, path)
		if i == len(ev.Refresh)-1 {
			b = append(b, ']')
		}
	}
	if len(ev.Body) > 0 {
		b = append(b, `,"body":`...)
		b = append(b, ev.Body...)
	}
	return append(b, '}')
}

// Decode reads a payload into ev, whose Body aliases it. The error is Invalid: an event of an
// unknown version or form, which nobody may skip.
func Decode(payload []byte, ev *fanfold.Event) error {
	var t jsondoc.Tree
	return decode(&t, payload, ev)
}

// decode is Decode with a tree that is used again.
func decode(t *jsondoc.Tree, payload []byte, ev *fanfold.Event) error {
	bad := func(what string) error {
		return fanfold.Errorf(fanfold.Invalid, "the event's payload %s", what)
	}
	if t.Parse(payload) != nil || t.Kind(jsondoc.Root) != jsondoc.Object {
		return bad("is not a JSON object")
	}
	if v := t.Text(t.Member(jsondoc.Root, "v")); v != envelopeVersion {
		return bad("has version " + strconv.Quote(v) + "; this program reads version " + envelopeVersion + ": use a newer one")
	}
	ev.Kind = fanfold.Kind(t.Text(t.Member(jsondoc.Root, "op")))
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
	case fanfold.KindPut, fanfold.KindModel, fanfold.KindPrepare, fanfold.KindCancel, fanfold.KindImport:
		if t.Kind(body) != jsondoc.Object {
			return bad("has no object as its body")
		}
		if kept := t.Member(jsondoc.Root, "kept"); kept != jsondoc.None {
			ev.Kept = t.Raw(kept)
		}
	case fanfold.KindPatch:
		if err := decodeBase(t, ev); err != nil || body == jsondoc.None {
			return bad("is a patch without a base or body")
		}
		ev.Patch = fanfold.PatchType(t.Text(t.Member(jsondoc.Root, "type")))
		if ev.Patch != fanfold.MergePatch && ev.Patch != fanfold.JSONPatch {
			return bad("has an unknown patch type")
		}
	case fanfold.KindCheck:
		ev.Key = fanfold.Key{Collection: t.Text(t.Member(jsondoc.Root, "collection")), ID: t.Text(t.Member(jsondoc.Root, "id"))}
		if decodeBase(t, ev) != nil || ev.Key.Validate() != nil {
			return bad("is a check without a document or base")
		}
		ev.Links = t.Kind(t.Member(jsondoc.Root, "links")) == jsondoc.True
	case fanfold.KindLink, fanfold.KindClaim:
		member := func(n jsondoc.Node, name string) string { return t.Text(t.Member(n, name)) }
		ev.Key = fanfold.Key{Collection: member(jsondoc.Root, "collection"), ID: member(jsondoc.Root, "id")}
		ev.Held = t.Kind(t.Member(jsondoc.Root, "held")) == jsondoc.True
		if ev.Key.Validate() != nil {
			return bad("is about no document")
		}
		if ev.Kind == fanfold.KindClaim {
			if ev.Path, ev.Value = member(jsondoc.Root, "path"), member(jsondoc.Root, "value"); ev.Path == "" || ev.Value == "" {
				return bad("is a claim of no value")
			}
			break
		}
		holder := t.Member(jsondoc.Root, "holder")
		if ev.Holder = (fanfold.Key{Collection: member(holder, "collection"), ID: member(holder, "id")}); ev.Holder.Validate() != nil {
			return bad("is a link of no holder")
		}
	case fanfold.KindDelete, fanfold.KindFence:
	default:
		return bad("has an unknown op " + strconv.Quote(string(ev.Kind)))
	}
	return nil
}

func decodeBase(t *jsondoc.Tree, ev *fanfold.Event) error {
	base, err := strconv.ParseUint(t.Text(t.Member(jsondoc.Root, "base")), 10, 63)
	ev.Base = fanfold.Revision(base)
	return err
}

// Headers of ours.
const (
	headerTx      = "Fanfold-Tx"
	headerTxIndex = "Fanfold-Tx-Index"
	headerTxCount = "Fanfold-Tx-Count"
	headerKey     = "Fanfold-Key"
	headerDigest  = "Fanfold-Digest"
)

// setHeaders writes what an event says besides its payload.
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
}

// readHeaders reads them. The error is Invalid.
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
	return nil
}
