package events

import (
	"strconv"

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
	if len(ev.Body) > 0 {
		b = append(b, `,"body":`...)
		b = append(b, ev.Body...)
	}
	return append(b, '}')
}

// Decode reads a payload into ev, whose Body aliases it. The error is Invalid: an event of an
// unknown version or form, which nobody may skip.
func Decode(payload []byte, ev *fanfold.Event) error {
	bad := func(what string) error {
		return fanfold.Errorf(fanfold.Invalid, "the event's payload %s", what)
	}
	var t jsondoc.Tree
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
	switch ev.Kind {
	case fanfold.KindPut, fanfold.KindModel:
		if t.Kind(body) != jsondoc.Object {
			return bad("has no object as its body")
		}
	case fanfold.KindPatch:
		base, err := strconv.ParseUint(t.Text(t.Member(jsondoc.Root, "base")), 10, 63)
		if err != nil || body == jsondoc.None {
			return bad("is a patch without a base or body")
		}
		ev.Base = fanfold.Revision(base)
		ev.Patch = fanfold.PatchType(t.Text(t.Member(jsondoc.Root, "type")))
		if ev.Patch != fanfold.MergePatch && ev.Patch != fanfold.JSONPatch {
			return bad("has an unknown patch type")
		}
	case fanfold.KindDelete, fanfold.KindFence:
	default:
		return bad("has an unknown op " + strconv.Quote(string(ev.Kind)))
	}
	return nil
}
