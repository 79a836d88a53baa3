package events

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

func FuzzToken(f *testing.F) {
	for _, s := range []string{"a", "a.b", "*", ">", "%", "%41", "a b", "😀", "", "\x00", "~:@+=", strings.Repeat("é", 127)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := UnescapeToken(s); err == nil && EscapeToken(id) != s {
			t.Fatalf("%q and %q are tokens of one id", s, EscapeToken(id))
		}
		if fanfold.CheckID(s) != nil {
			return
		}
		token := EscapeToken(s)
		if strings.ContainsAny(token, ".*> \t\r\n\x00") {
			t.Fatalf("%q has characters that NATS takes apart", token)
		}
		if back, err := UnescapeToken(token); err != nil || back != s {
			t.Fatalf("%q came back as %q, %v", s, back, err)
		}
		sub := subjects{"db"}
		kind, key, err := sub.parse(sub.document(fanfold.Key{Collection: "c", ID: s}))
		if err != nil || kind != "" || key.ID != s || key.Collection != "c" {
			t.Fatalf("subject of %q came back as %v, %v", s, key, err)
		}
	})
}

// golden are the payloads that events/README.md documents; anybody may read them.
var golden = map[string]fanfold.Event{
	"put.json":             {Kind: fanfold.KindPut, Body: []byte(`{ "id":"b1", "price": 2.50, "name":"Gr\u00fc\u00dfe" }`)},
	"patch-merge.json":     {Kind: fanfold.KindPatch, Patch: fanfold.MergePatch, Base: 41, Body: []byte(`{"name":null}`)},
	"patch-json.json":      {Kind: fanfold.KindPatch, Patch: fanfold.JSONPatch, Base: 42, Body: []byte(`[{"op":"remove","path":"/name"}]`)},
	"delete.json":          {Kind: fanfold.KindDelete},
	"model.json":           {Kind: fanfold.KindModel, Body: []byte(`{"collections":{"books":{}}}`)},
	"prepare.json":         {Kind: fanfold.KindPrepare, Body: []byte(`{"collections":{"books":{}}}`)},
	"cancel.json":          {Kind: fanfold.KindCancel, Body: []byte(`{"reason":"asked for"}`)},
	"fence.json":           {Kind: fanfold.KindFence},
	"check.json":           {Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: "books", ID: "b 1"}, Base: 41},
	"import.json":          {Kind: fanfold.KindImport, Body: []byte(`{"line":1000,"written":998,"refused":2}`)},
	"model-kept.json":      {Kind: fanfold.KindModel, Kept: []byte(`[{"collection":"books","path":"price","refers":"pub-id","to":"publishers","frozen":true}]`), Body: []byte(`{"collections":{"books":{}}}`)},
	"model-fold.json":      {Kind: fanfold.KindModel, Fold: 9, Body: []byte(`{"collections":{"books":{}}}`)},
	"prepare-fold.json":    {Kind: fanfold.KindPrepare, Fold: 9, Body: []byte(`{"collections":{"books":{}}}`)},
	"check-links.json":     {Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: "authors", ID: "a 1"}, Base: 17, Links: true},
	"gate.json":            {Kind: fanfold.KindGate, Key: fanfold.Key{Collection: "events", ID: "e1"}},
	"gate-collection.json": {Kind: fanfold.KindGate, Key: fanfold.Key{Collection: "seats"}},
	"check-gate.json":      {Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: "seats"}, Base: 17},
	"sequence.json":        {Kind: fanfold.KindSequence, Key: fanfold.Key{Collection: "invoices"}, Path: "number", Value: "a94f5f32c1a1f0e5a3c0d5e2ad7a1ac1f4d9b0ad2f6f4c1fb0a0a9b8c7d6e5f4", Body: []byte(`{"last":17,"rest":1}`)},
	"call.json":            {Kind: fanfold.KindCall, Call: &fanfold.Call{Function: "reserve", Model: 9, Writes: 2}},
	"call-result.json":     {Kind: fanfold.KindCall, Call: &fanfold.Call{Function: "reserve \"it\"", Model: 9, Result: []byte(`{ "seat":"s1", "price":0.10000000000000000001}`)}},
	"link.json":            {Kind: fanfold.KindLink, Key: fanfold.Key{Collection: "authors", ID: "a \"1\""}, Holders: []fanfold.Key{{Collection: "books", ID: "b1"}}, Held: true},
	"claim.json":           {Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: "books", ID: "b1"}, Path: "isbn.13", Value: "s978", Held: true},
	"claim-freed.json":     {Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: "books", ID: "b1"}, Path: "n", Value: "n1.5"},
	"put-refresh.json":     {Kind: fanfold.KindPut, Refresh: []string{"publisherName", "authors[].name"}, Body: []byte(`{"id":"b1","pub-id":"p1"}`)},
	"delete-cause.json":    {Kind: fanfold.KindDelete, ByDelete: &fanfold.ByDelete{Key: fanfold.Key{Collection: "posts", ID: "p \"1\""}, Relations: []string{"comments.post"}, Back: 3}},
	"patch-cause.json":     {Kind: fanfold.KindPatch, Patch: fanfold.JSONPatch, Base: 41, ByDelete: &fanfold.ByDelete{Key: fanfold.Key{Collection: "tags", ID: "t"}, Relations: []string{"posts.tags", "posts.main"}}, Body: []byte(`[{"op":"remove","path":"/tags/0"}]`)},
	"loss-base.json": {Kind: fanfold.KindLoss, Loss: &fanfold.Loss{Base: &fanfold.Compaction{
		Horizon: fanfold.Horizon{Seq: 41, Event: fanfold.Digest{1}, Digest: fanfold.Digest{2}, Position: fanfold.At(40, 3), Changes: 57, Time: time.Date(2026, 11, 26, 5, 0, 0, 123456789, time.UTC)},
		Base:    fanfold.BaseFile{Name: "base-41", Bytes: 1234, Sum: fanfold.Digest{3}}}}},
	"loss-base-upto.json": {Kind: fanfold.KindLoss, Loss: &fanfold.Loss{Base: &fanfold.Compaction{
		Horizon: fanfold.Horizon{Seq: 41, Digest: fanfold.Digest{2}, Position: fanfold.At(40, 3), Changes: 57, Time: time.Date(2026, 11, 26, 5, 0, 0, 0, time.UTC)},
		Base:    fanfold.BaseFile{Name: "base-41", Bytes: 1234, Sum: fanfold.Digest{3}}, AsOf: 39}, UpTo: 39}},
	"loss-list.json": {Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: &fanfold.Erasure{
		Documents: []fanfold.ErasedDocument{{Key: fanfold.Key{Collection: "people", ID: "p \"1\""}}, {Key: fanfold.Key{Collection: "books", ID: "b1"}, Members: []string{"/email", "/a~1b"}}},
		Keep:      map[string][]string{"books": {"author", "tags[].id"}},
		Messages: []fanfold.Substitute{
			{Seq: 3, Time: time.Unix(1, 5).UTC(), Subject: "fanfold.db.doc.books.b1", Payload: []byte(`{"v":1,"op":"put","body":{ "id":"b1", "n": 1.0}}`)},
			{Seq: 7, Time: time.Unix(2, 0).UTC(), Subject: "fanfold.db.claim.books.0_y6XqW0WGYdPw70XhknjyN1CC7Js0ZJPXDZdAq-U4s", Claim: true, Tx: fanfold.TxPart{ID: "t", Index: 1, Count: 3}, Actor: "key:a \"b\""},
			{Seq: 8, Time: time.Unix(3, 0).UTC(), Subject: "fanfold.db.doc.books.b1", KeyHash: "h", Payload: []byte(`{"v":1,"op":"put","body":{ "id":"b1", "n": 1.0}}`)}}}}},
	"loss-list-more.json": {Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: &fanfold.Erasure{Of: 41, Documents: []fanfold.ErasedDocument{{Key: fanfold.Key{Collection: "people", ID: "p"}}},
		Keep: map[string][]string{}, Messages: []fanfold.Substitute{}}}},
	"loss-upto-base.json": {Kind: fanfold.KindLoss, Loss: &fanfold.Loss{UpTo: 44, List: &fanfold.Erasure{Documents: []fanfold.ErasedDocument{{Key: fanfold.Key{Collection: "books", ID: "b \"1\""}}}}, Base: &fanfold.Compaction{
		Horizon: fanfold.Horizon{Seq: 41, Digest: fanfold.Digest{2}, Position: fanfold.At(40, 3), Changes: 57, Time: time.Date(2026, 11, 26, 5, 0, 0, 0, time.UTC)},
		Base:    fanfold.BaseFile{Name: "base-41-44", Bytes: 1234, Sum: fanfold.Digest{3}}, AsOf: 44}}},
	"loss-upto.json": {Kind: fanfold.KindLoss, Loss: &fanfold.Loss{UpTo: 44, List: &fanfold.Erasure{}}},
	"put-kept.json":  {Kind: fanfold.KindPut, Kept: []byte(`{"books.publisherName":{"p1":"Press"}}`), Body: []byte(`{"id":"b1","pub-id":"p1"}`)},
}

// shortGolden are the payloads of guards in the short form, with the rest of their subjects.
var shortGolden = map[string]struct {
	subject string
	event   fanfold.Event
}{
	"link-short.json": {"link.authors.a%2E1.books", fanfold.Event{Kind: fanfold.KindLink, Key: fanfold.Key{Collection: "authors", ID: "a.1"},
		Holders: []fanfold.Key{{Collection: "books", ID: "b1"}, {Collection: "books", ID: "b \"2\""}}, Held: true}},
	"link-freed-short.json": {"link.authors.a1.books", fanfold.Event{Kind: fanfold.KindLink, Key: fanfold.Key{Collection: "authors", ID: "a1"}, Holders: []fanfold.Key{{Collection: "books", ID: "b1"}}}},
	"claim-short.json": {"claim.books.0_y6XqW0WGYdPw70XhknjyN1CC7Js0ZJPXDZdAq-U4s",
		fanfold.Event{Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: "books", ID: "b1"}, Path: "isbn.13", Value: "s978", Held: true}},
	"claim-freed-short.json": {"claim.books.7Iv7x80UERYj2WwLNcmRJLmVSERQ3nCrvt3tQLQB_iI", fanfold.Event{Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: "books", ID: "b 1"}, Path: "n", Value: "n1.5"}},
}

// TestGoldenShortGuards: links and claims have the subjects and payloads that events/README.md documents, and come back from them.
func TestGoldenShortGuards(t *testing.T) {
	for name, g := range shortGolden {
		path := filepath.Join("testdata", name)
		if got := (subjects{"db"}).forEvent(&g.event, true); got != "fanfold.db."+g.subject {
			t.Errorf("%s is on %s", name, got)
		}
		got := encodeShort(&g.event)
		if *rewrite {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		var back fanfold.Event
		if err := decode(new(jsondoc.Tree), "fanfold.db."+g.subject, want, &back); err != nil || !reflect.DeepEqual(back, g.event) {
			t.Errorf("%s came back as %+v, %v", name, back, err)
		}
	}
}

func TestGoldenEnvelopes(t *testing.T) {
	for name, ev := range golden {
		path := filepath.Join("testdata", name)
		got := Encode(&ev)
		if *rewrite {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		var back fanfold.Event
		if err := Decode(want, &back); err != nil || !reflect.DeepEqual(back, ev) {
			t.Errorf("%s came back as %+v, %v", name, back, err)
		}
	}
}

// TestUnknownMembers: members that a later program may add to an event do not keep this one from reading it.
func TestUnknownMembers(t *testing.T) {
	for _, payload := range []string{`{"v":1,"op":"delete","later":{"a":[1]}}`, `{"v":1,"op":"put","later":1,"cause":{"collection":"a","id":"1","relations":["b.a"],"later":2},"body":{}}`} {
		var ev fanfold.Event
		if err := Decode([]byte(payload), &ev); err != nil {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

// TestOldLosses: what earlier programs wrote as three ops is read as if this one had written it.
func TestOldLosses(t *testing.T) {
	for old, now := range map[string]string{"compact.json": "loss-base.json", "compact-erasure.json": "loss-base-upto.json", "erase.json": "loss-list.json",
		"erase-more.json": "loss-list-more.json", "erased.json": "loss-upto-base.json", "erased-plain.json": "loss-upto.json"} {
		payload, err := os.ReadFile(filepath.Join("testdata", old))
		var back fanfold.Event
		if err == nil {
			err = Decode(payload, &back)
		}
		if err != nil || !reflect.DeepEqual(back, golden[now]) {
			t.Errorf("%s came back as %+v, %v", old, back, err)
		}
		for _, change := range [][2]string{{`"v":3`, `"v":3,"later":1`}, {`"upTo":44`, `"upTo":0`}, {`["books"`, `["."`}, {`"before":41`, `"before":0`}, {`"documents":[{`, `"documents":[],"x":[{`}} {
			changed := strings.Replace(string(payload), change[0], change[1], 1)
			if err := Decode([]byte(changed), new(fanfold.Event)); changed != string(payload) && fanfold.CodeOf(err) != fanfold.Invalid {
				t.Errorf("%s in place of %s in %s is read: %v", change[1], change[0], old, err)
			}
		}
	}
}

// TestBadErasures: a list, or what brings it into force, that is not as it is written is refused.
func TestBadErasures(t *testing.T) {
	ev := golden["loss-list.json"]
	erase, erased := string(Encode(&ev)), string(encodeLoss(golden["loss-upto-base.json"].Loss))
	for _, change := range [][2]string{{`"seq":3`, `"seq":0`}, {`"seq":7`, `"seq":3`}, {`"subject":0`, `"subject":9`}, {`"subject":0`, `"subject":-1`}, {`"payload":0`, `"payload":1`}, {`,"claim":true`, ``},
		{`"claim":true`, `"claim":true,"payload":0`}, {`"time":1000000005`, `"time":"x"`}, {`["t",1,3]`, `["t",3,3]`}, {`["t",1,3]`, `["t",1]`}, {`"key":"h"`, `"later":1`}, {`"keep"`, `"later":1,"keep"`},
		{`"collection":"books"`, `"collection":"."`}, {`["/email","/a~1b"]`, `[]`}, {`["/email","/a~1b"]`, `[1]`}, {`"keep":{`, `"keep":{"x":1,`}, {`"keep":`, `"of":0,"keep":`}, {`"op":"loss"`, `"op":"loss","upTo":7`}, {`"list"`, `"later":1,"list"`},
		{`"subjects":[`, `"subjects":[1,`}, {`"payloads":[`, `"payloads":[1,`}} {
		var ev fanfold.Event
		if changed := strings.Replace(erase, change[0], change[1], 1); changed == erase || fanfold.CodeOf(Decode([]byte(changed), &ev)) != fanfold.Invalid {
			t.Errorf("%s in place of %s is read", change[1], change[0])
		}
	}
	for _, change := range [][2]string{{`"upTo":44`, `"upTo":0`}, {`"documents"`, `"later":1,"documents"`}, {`"collection"`, `"x"`}, {`"books"`, `"."`}, {`"list":{`, `"list":{"keep":{},`}, {`"before":41`, `"before":0`}, {`"bytes":1234`, `"bytes":0`}} {
		var ev fanfold.Event
		if changed := strings.Replace(erased, change[0], change[1], 1); changed == erased || fanfold.CodeOf(Decode([]byte(changed), &ev)) != fanfold.Invalid {
			t.Errorf("%s in place of %s is read", change[1], change[0])
		}
	}
}

// compactText is a compact event's payload.
var compactText = string(encodeLoss(golden["loss-base.json"].Loss))

func TestDecodeRefuses(t *testing.T) {
	for _, payload := range []string{``, `{`, `[]`, `{}`, `{"v":4,"op":"put","body":{}}`, `{"v":3,"op":"put","body":{}}`, `{"v":3,"held":["b1"]}`, `{"v":2,"op":"put","body":{}}`, `{"v":2,"op":"put","fold":9,"body":{}}`,
		`{"v":2,"op":"model","body":{}}`, `{"v":2,"op":"model","fold":0,"body":{}}`, `{"v":2,"op":"model","fold":"9","body":{}}`, `{"v":2,"op":"model","fold":2147483648,"body":{}}`,
		`{"v":2,"op":"cancel","fold":9,"body":{}}`, `{"v":1,"op":"model","fold":9,"body":{}}`,
		`{"v":1,"op":"delete","cause":1}`, `{"v":1,"op":"delete","cause":{"collection":"a","id":"1"}}`, `{"v":1,"op":"delete","cause":{"collection":"a","relations":["a.b"]}}`,
		`{"v":1,"op":"delete","cause":{"collection":"a","id":"1","relations":["a.b"],"back":-1}}`,
		`{"v":3,"op":"loss"}`, `{"v":1,"op":"loss"}`, `{"v":3,"op":"loss","upTo":7}`, `{"v":3,"op":"compact"}`, `{"v":3,"op":"erase"}`, `{"v":3,"op":"erased","upTo":0}`, `{"v":3,"op":"fence"}`, strings.Replace(compactText, `"before":41`, `"before":0`, 1), strings.Replace(compactText, `"bytes":1234`, `"bytes":0`, 1),
		strings.Replace(compactText, `"name":"base-41"`, `"name":""`, 1), strings.Replace(compactText, `"before":41`, `"before":39`, 1), strings.Replace(compactText, `"op"`, `"later":1,"op"`, 1),
		strings.Replace(compactText, "base-41", strings.Repeat("b", maxBaseName+1), 1), strings.Replace(compactText, "base-41", strings.Repeat("b", maxBaseBytes), 1),
		`{"v":1,"op":"check","collection":"seats","id":"","base":1}`, `{"v":1,"op":"check","collection":"seats"}`, `{"v":1,"op":"check","collection":"seats","base":1,"links":true}`, `{"v":1,"op":"check","collection":".","base":1}`,
		`{"v":1,"op":"gate"}`, `{"v":1,"op":"gate","collection":"seats","id":""}`, `{"v":1,"op":"gate","collection":"."}`,
		`{"v":1,"op":"call"}`, `{"v":1,"op":"call","function":"","model":9,"writes":2}`, `{"v":1,"op":"call","function":"f","model":-9,"writes":2}`, `{"v":1,"op":"call","function":"f","model":9,"writes":-2}`, `{"v":1,"op":"call","function":"f","model":9}`, `{"v":1,"op":"call","function":"f","writes":2}`,
		`{"v":1,"op":"nope"}`, `{"v":1,"op":"put"}`,
		`{"v":1,"op":"put","body":[]}`, `{"v":1,"op":"patch","body":{}}`, `{"v":1,"op":"patch","type":"x","base":1,"body":{}}`, `{"v":1,"op":"patch","type":"merge","base":-1,"body":{}}`} {
		var ev fanfold.Event
		if err := Decode([]byte(payload), &ev); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

// TestShortRefuses: what is no guard in the short form is not taken for one.
func TestShortRefuses(t *testing.T) {
	const link, claim = "fanfold.db.link.authors.a1.books", "fanfold.db.claim.books.x"
	for _, c := range [][2]string{
		{link, `{"v":3}`}, {link, `{"v":3,"held":[]}`}, {link, `{"v":3,"held":["b1"],"freed":["b2"]}`}, {link, `{"v":3,"held":"b1"}`}, {link, `{"v":3,"held":{"a":"b1"}}`}, {link, `{"v":3,"held":[""]}`},
		{link + ".b1", `{"v":3,"held":["b1"]}`}, {"fanfold.db.link.authors.%61.books", `{"v":3,"held":["b1"]}`}, {"fanfold.db.link.authors.a1._x", `{"v":3,"held":["b1"]}`},
		{claim, `{"v":3,"held":"b1"}`}, {claim, `{"v":3,"held":"b1","path":"p"}`}, {claim, `{"v":3,"held":"","path":"p","value":"s"}`}, {claim, `{"v":3,"path":"p","value":"s"}`},
		{"fanfold.db.doc.books.b1", `{"v":3,"held":["b1"]}`}, {"fanfold.db.doc.books.b1", `{"v":3,"op":"put","body":{}}`}, {"fanfold.db.model", `{"v":3,"op":"model","body":{}}`},
	} {
		var ev fanfold.Event
		if err := decode(new(jsondoc.Tree), c[0], []byte(c[1]), &ev); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s on %s: %v", c[1], c[0], err)
		}
	}
}

// FuzzShortGuard: a guard in the short form that can be read is written with the same meaning again.
func FuzzShortGuard(f *testing.F) {
	for _, g := range shortGolden {
		f.Add("fanfold.db."+g.subject, encodeShort(&g.event))
	}
	f.Fuzz(func(t *testing.T, subject string, payload []byte) {
		var ev, again fanfold.Event
		var tree jsondoc.Tree
		if jsondoc.Check(payload, 64) != nil || decode(&tree, subject, payload, &ev) != nil || tree.Text(tree.Member(jsondoc.Root, "v")) != shortEnvelopeVersion {
			return
		}
		if err := decode(new(jsondoc.Tree), subjects{"db"}.forEvent(&ev, true), encodeShort(&ev), &again); err != nil || !reflect.DeepEqual(ev, again) {
			t.Fatalf("%s on %s: %+v came back as %+v, %v", payload, subject, ev, again, err)
		}
	})
}

func FuzzEnvelope(f *testing.F) {
	for _, ev := range golden {
		f.Add(Encode(&ev))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var ev fanfold.Event
		if jsondoc.Check(payload, 64) != nil || Decode(payload, &ev) != nil {
			return
		}
		var again fanfold.Event
		if err := Decode(Encode(&ev), &again); err != nil || !reflect.DeepEqual(ev, again) {
			t.Fatalf("%s: %+v came back as %+v, %v", payload, ev, again, err)
		}
	})
}
