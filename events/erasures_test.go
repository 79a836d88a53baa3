package events_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// claimOf is a claim of a value by a document.
func claimOf(id, value string, held bool) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindClaim, Key: targetOf(id), Path: "email", Value: value, Held: held}
}

// mustAppend appends an event, and returns its sequence.
func mustAppend(t *testing.T, l *events.Log, ev *fanfold.Event, expect fanfold.Expect) uint64 {
	t.Helper()
	seq, err := l.Append(t.Context(), ev, expect)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// eraseFrom searches the log for what is to be erased, and appends what lists it. It returns the sequence of the last erase event, 0 for none.
func eraseFrom(t *testing.T, l *events.Log, c events.Collecting) (last uint64) {
	t.Helper()
	found, err := l.Prefix().Collect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	listed, _ := l.Prefix().Erasures()
	before := uint64(listed)
	for _, e := range found.Erasures {
		var writes []fanfold.Write
		for _, d := range e.Documents {
			rev := found.Revisions[d.Key]
			writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: d.Key, Base: rev}, Expect: fanfold.Exactly(rev)})
		}
		writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: e}}, Expect: fanfold.Exactly(fanfold.Revision(before))})
		first, err := l.AppendAll(t.Context(), fmt.Sprint("erase", before), writes)
		if err != nil {
			t.Fatal(err)
		}
		last = first + uint64(len(writes)) - 1
		before = last
	}
	return last
}

// enforce appends that erasures are in force.
func enforce(t *testing.T, l *events.Log, upTo uint64) uint64 {
	t.Helper()
	return mustAppend(t, l, &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{UpTo: fanfold.AsOf(upTo), List: &fanfold.Erasure{}}}, fanfold.Exactly(fanfold.Revision(l.Prefix().LastErased())))
}

// eventsAs reads the log as of an erasure, up to an event.
func eventsAs(t *testing.T, l *events.Log, erasure, last uint64) (out []*fanfold.Event, err error) {
	t.Helper()
	r, err := l.ReadAs(t.Context(), l.Prefix().Base().Seq+1, fanfold.AsOf(erasure))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			return out, err
		}
		if out = append(out, ev); ev.Seq >= last {
			return out, nil
		}
	}
}

// lines returns events as text, digests included.
func lines(evs []*fanfold.Event) (out []string) {
	for _, ev := range evs {
		out = append(out, fmt.Sprintf("%d %v %s %s/%s %s kept %s tx %v key %v actor %q %s", ev.Seq, ev.Time.UnixNano(), ev.Kind, ev.Key.Collection, ev.Key.ID, ev.Body, ev.Kept, ev.Tx, ev.IdempotencyKey, ev.Actor, ev.Digest))
	}
	return out
}

// person makes a document with two versions and a unique value, and deletes it. It returns the sequences of its tombstone and of its last claim.
func person(t *testing.T, l *events.Log, id, secret string) (tombstone, claim uint64) {
	t.Helper()
	key := fanfold.IdempotencyKey{Hash: "hash-" + id, Digest: "digest-" + id}
	first, err := l.AppendAll(t.Context(), "tx-"+id, []fanfold.Write{
		{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: targetOf("t"), Holders: []fanfold.Key{targetOf(id)}, Held: true, IdempotencyKey: key, Actor: "an actor"}},
		{Event: &fanfold.Event{Kind: fanfold.KindPut, Key: targetOf(id), Body: []byte(`{"id":"` + id + `","author":"t","email":"` + secret + `"}`), Actor: "an actor"}, Expect: fanfold.Exactly(0)},
		{Event: claimOf(id, "s"+secret, true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	rev := fanfold.Revision(first + 1)
	patch := &fanfold.Event{Kind: fanfold.KindPatch, Key: targetOf(id), Patch: fanfold.MergePatch, Base: rev, Body: []byte(`{"note":"` + secret + `"}`), Refresh: []string{"a"}}
	rev = fanfold.Revision(mustAppend(t, l, patch, fanfold.Exactly(rev)))
	first, err = l.AppendAll(t.Context(), "gone-"+id, []fanfold.Write{
		{Event: &fanfold.Event{Kind: fanfold.KindDelete, Key: targetOf(id), IdempotencyKey: fanfold.IdempotencyKey{Hash: "delete-" + id, Digest: "d"}}, Expect: fanfold.Exactly(rev)},
		{Event: claimOf(id, "s"+secret, false), Expect: fanfold.Exactly(fanfold.Revision(first + 2))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return first, first + 1
}

// TestEraseFromLog: readers see the same as of an erasure before and after its messages are deleted, and after a start. The log is whole. A reader
// as of before is told that it comes too late.
func TestEraseFromLog(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		mustAppend(t, l, put("other", `{"id":"other","text":"stays"}`), fanfold.Exactly(0))
		person(t, l, "p", "SECRET")
		kept := put("holder", `{"id":"holder", "b":1}`)
		kept.Kept = []byte(`{"c.name":{"p":"SECRET","q":"stays"}}`)
		mustAppend(t, l, kept, fanfold.Exactly(0))
		end, err := l.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		whole, err := eventsAs(t, l, 0, end)
		if err != nil {
			t.Fatal(err)
		}
		c := events.Collecting{Documents: []fanfold.ErasedDocument{{Key: targetOf("p")}}, Keep: map[string][]string{"c": {"author"}},
			Copies: func(_, rule string, _ fanfold.ErasedDocument) bool { return rule == "c.name" }}
		e := eraseFrom(t, l, c)
		if last, inForce := l.Prefix().Erasures(); uint64(last) != e || inForce != 0 {
			t.Fatalf("the log knows erasures %d, %d", last, inForce)
		}
		want, err := eventsAs(t, l, e, e)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(lines(want[:end]), "\n")
		if strings.Contains(text, "SECRET") || strings.Contains(text, "digest-p") || !strings.Contains(text, `{"id":"p","author":"t"}`) || !strings.Contains(text, `{"c.name":{"q":"stays"}}`) {
			t.Fatal(text)
		}
		for i, ev := range want[:end] {
			if before := whole[i]; ev.Seq != before.Seq || !ev.Time.Equal(before.Time) || ev.Tx != before.Tx || ev.Actor != before.Actor || ev.IdempotencyKey.Hash != before.IdempotencyKey.Hash {
				t.Errorf("%+v, and was %+v", ev, before)
			}
		}
		d := enforce(t, l, e)
		if err := l.Prefix().EraseMessages(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			have, err := eventsAs(t, l, e, e)
			if a, b := lines(have), lines(want); err != nil || strings.Join(a, "\n") != strings.Join(b, "\n") {
				t.Fatalf("%v: %s\nwant\n%s", err, strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
			if _, err := eventsAs(t, l, 0, e); !errors.Is(err, events.ErrErased) || fanfold.CodeOf(err) != fanfold.PositionGone {
				t.Errorf("as of before: %v", err)
			}
			if err := l.Check(t.Context(), events.Known{Seq: whole[2].Seq, Event: whole[2].Digest}); err != nil {
				t.Error(err)
			}
			if n, residue, err := l.Prefix().Unerased(t.Context()); n != 0 || residue || err != nil {
				t.Errorf("%d are left, %t, %v", n, residue, err)
			}
			if _, inForce := l.Prefix().Erasures(); uint64(inForce) != e || l.Prefix().LastErased() != d {
				t.Errorf("in force is %d by %d", inForce, l.Prefix().LastErased())
			}
			if after := l.Prefix().ErasuresAfter(0, fanfold.AsOf(e)); len(after) != 1 || after[0].Seq != e || len(after[0].Documents) != 1 {
				t.Errorf("erasures %+v", after)
			}
			if again, err := l.Prefix().Collect(t.Context(), c); err != nil || len(again.Erasures) > 0 {
				t.Errorf("to be erased again: %+v, %v", again, err)
			}
			l = k.again()
		}
	})
}

// TestConditionsOnErased: what nodes with older and newer read models expect of erased subjects is met, and nothing else.
func TestConditionsOnErased(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		free := map[string]uint64{} // claims of others before
		for _, id := range []string{"b", "d", "f"} {
			free[id] = mustAppend(t, l, claimOf("other", "ssecret-"+id, true), fanfold.Exactly(0))
			free[id] = mustAppend(t, l, claimOf("other", "ssecret-"+id, false), fanfold.Exactly(fanfold.Revision(free[id])))
		}
		c := events.Collecting{}
		tombs, claims := map[string]uint64{}, map[string]uint64{}
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			tombs[id], claims[id] = person(t, l, id, "secret-"+id)
			c.Documents = append(c.Documents, fanfold.ErasedDocument{Key: targetOf(id)})
		}
		e := eraseFrom(t, l, c)
		expectAll := func(ids string, early bool) {
			t.Helper()
			for i, id := range strings.Split(ids, "") {
				ev := claimOf("new"+id, "ssecret-"+id, true)
				for _, rev := range []uint64{1, claims[id] + 1} {
					if _, err := l.Append(t.Context(), ev, fanfold.Exactly(fanfold.Revision(rev))); fanfold.CodeOf(err) != fanfold.Stale {
						t.Errorf("a claim of %s after %d: %v", id, rev, err)
					}
				}
				rev := free[id] // as a read model has it that knows of no claim
				if early && i%2 == 0 {
					rev = claims[id]
				}
				seq := mustAppend(t, l, ev, fanfold.Exactly(fanfold.Revision(rev)))
				for _, rev := range []uint64{free[id], claims[id]} {
					_, err := l.Append(t.Context(), ev, fanfold.Exactly(fanfold.Revision(rev)))
					var stale *fanfold.Error
					if !errors.As(err, &stale) || stale.Code != fanfold.Stale || uint64(stale.Current) != seq {
						t.Errorf("another claim of %s after %d: %v", id, rev, err)
					}
				}
				if _, err := l.Append(t.Context(), put(id, `{}`), fanfold.Exactly(0)); fanfold.CodeOf(err) != fanfold.Stale {
					t.Errorf("%s is made as if it had never been: %v", id, err)
				}
				writes := []fanfold.Write{{Event: put(id, `{"id":"x"}`), Expect: fanfold.Exactly(fanfold.Revision(tombs[id]))},
					{Event: claimOf(id, "sother-"+id, true), Expect: fanfold.Exactly(0)}}
				if _, err := l.AppendAll(t.Context(), "again-"+id, writes); err != nil {
					t.Errorf("%s is not made again: %v", id, err)
				}
				if _, err := l.Append(t.Context(), put(id, `{}`), fanfold.Exactly(fanfold.Revision(tombs[id]))); fanfold.CodeOf(err) != fanfold.Stale {
					t.Errorf("%s is made twice: %v", id, err)
				}
			}
		}
		expectAll("ab", true)
		enforce(t, l, e)
		expectAll("cd", false)
		if err := l.Prefix().EraseMessages(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		l = k.again()
		expectAll("ef", false)
		if err := l.Check(t.Context(), events.Known{}); err != nil {
			t.Error(err)
		}
	})
}

// TestEraseMembers: only versions with a member change, and patches that were made on them; the claim that the document has stays.
func TestEraseMembers(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		key, rev := targetOf("p"), fanfold.Revision(0)
		write := func(ev *fanfold.Event) uint64 {
			t.Helper()
			ev.Key, ev.Base = key, rev
			rev = fanfold.Revision(mustAppend(t, l, ev, fanfold.Exactly(rev)))
			return uint64(rev)
		}
		merge := func(body string) *fanfold.Event {
			return &fanfold.Event{Kind: fanfold.KindPatch, Patch: fanfold.MergePatch, Body: []byte(body)}
		}
		write(put("p", `{"id":"p", "name":"n"}`))
		write(merge(`{"name":"m"}`))
		want := []string{fmt.Sprintf(`%d false {"v":1,"op":"put","body":{"id":"p", "name":"n" }}`, write(put("p", `{"id":"p", "email":"SECRET", "name":"n" }`)))}
		want = append(want, fmt.Sprintf("%d true ", mustAppend(t, l, claimOf("p", "sSECRET", true), fanfold.Exactly(0))))
		for _, ev := range []*fanfold.Event{merge(`{"name":"o"}`),
			{Kind: fanfold.KindPatch, Patch: fanfold.JSONPatch, Body: []byte(`[{"op":"remove","path":"/email"}]`)},
			{Kind: fanfold.KindPatch, Patch: fanfold.JSONPatch, Body: []byte(`[{"op":"add","path":"/email","value":"SECRET"},{"op":"remove","path":"/email"}]`)}} {
			want = append(want, fmt.Sprintf(`%d false {"v":1,"op":"put","body":{"id":"p","name":"o"}}`, write(ev)))
		}
		stays := claimOf("p", "sn", true)
		stays.Path = "name"
		mustAppend(t, l, stays, fanfold.Exactly(0))
		write(put("p", `{"id":"p","name":"q"}`))
		last := write(merge(`{"name":"r"}`))
		e := eraseFrom(t, l, events.Collecting{Documents: []fanfold.ErasedDocument{{Key: key, Members: []string{"/email"}}}})
		var listed []string
		for _, s := range l.Prefix().ErasuresAfter(0, fanfold.AsOf(e))[0].Messages {
			listed = append(listed, fmt.Sprintf("%d %t %s", s.Seq, s.Claim, s.Payload))
		}
		if strings.Join(listed, "\n") != strings.Join(want, "\n") {
			t.Errorf("listed are\n%s\nwant\n%s", strings.Join(listed, "\n"), strings.Join(want, "\n"))
		}
		enforce(t, l, e)
		if err := l.Prefix().EraseMessages(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), put("p", `{}`), fanfold.Exactly(fanfold.Revision(last))); err != nil {
			t.Error(err)
		}
	})
}
