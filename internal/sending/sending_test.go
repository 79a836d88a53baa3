package sending

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/suite"
)

// TestLeases: what is held never exceeds the budget, whoever waits is served, and everything comes back.
func TestLeases(t *testing.T) {
	suite.Concurrent(t)
	b := NewBudget(4 << 20)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			l := b.Lease()
			for range 200 {
				n := r.IntN(6 << 20)
				if r.IntN(2) == 0 {
					n = r.IntN(Small + 1)
				}
				if !l.TryHold(n) {
					if err := l.WaitToHold(context.Background(), n); err != nil {
						t.Error(err)
					}
				}
				l.Shrink(r.IntN(n + 1))
				if r.IntN(2) == 0 {
					l.TryHold(r.IntN(6 << 20))
				}
				l.Release()
			}
		})
	}
	wg.Wait()
	for _, lane := range []*lane{&b.small, &b.large} {
		if !lane.free.TryAcquire(lane.size) {
			t.Errorf("not everything of %d bytes came back", lane.size)
		}
	}
}

// TestSmallBesideLarge: small answers find room while large ones have taken theirs.
func TestSmallBesideLarge(t *testing.T) {
	b := NewBudget(4 << 20)
	large, small := b.Lease(), b.Lease()
	if !large.TryHold(100<<20) || !small.TryHold(Small) || !b.Lease().TryHold(Free) {
		t.Fatal("there is no room")
	}
	if b.Lease().TryHold(Small + 1) {
		t.Error("there is more room than there should be")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := b.Lease().WaitToHold(ctx, Small+1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ended with %v", err)
	}
	large.Release()
	if !b.Lease().TryHold(Small + 1) {
		t.Error("what was released is not there")
	}
}

// TestBuffer: what is added comes out, whatever was cut away between.
func TestBuffer(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(2, seed))
		var b Buffer
		var want []byte
		var mark Mark
		at := -1
		for range 60 {
			text := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(3*copied))
			switch r.IntN(5) {
			case 0:
				mark, at = b.Mark(), len(want)
			case 1:
				if at >= 0 {
					b.Cut(mark)
					want = want[:at]
				}
			case 2:
				b.AddString(text)
				want = append(want, text...)
			default:
				b.Add([]byte(text))
				want = append(want, text...)
			}
			if at > len(want) {
				at = -1
			}
		}
		if b.Len() != len(want) {
			t.Fatalf("seed %d: %d bytes, want %d", seed, b.Len(), len(want))
		}
		var out bytes.Buffer
		left := len(want)
		if err := b.WriteTo(&out, func(n int) error {
			if n > left {
				t.Errorf("seed %d: %d bytes are left of %d", seed, n, left)
			}
			left = n
			return nil
		}); err != nil || !bytes.Equal(out.Bytes(), want) || b.Len() != 0 {
			t.Fatalf("seed %d: %v, %d bytes, want %d", seed, err, out.Len(), len(want))
		}
	}
}

// TestOpenObject: members go after those that are there.
func TestOpenObject(t *testing.T) {
	for object, want := range map[string]string{"{}": `{"a":1}`, "{ \n}": "{ \n\"a\":1}", `{"b":{}}`: `{"b":{},"a":1}`, "{\"b\":1 \n}": "{\"b\":1 \n,\"a\":1}"} {
		var b Buffer
		separator := b.AddOpenObject([]byte(object))
		b.AddString(separator + `"a":1}`)
		var out bytes.Buffer
		if err := b.WriteTo(&out, nil); err != nil || out.String() != want {
			t.Errorf("%s became %s, want %s", object, out.String(), want)
		}
	}
}
