package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
)

// TestBackOff: a batch waits a second, then twice as long each time, a minute at most.
func TestBackOff(t *testing.T) {
	for attempts, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		if got := backOff(attempts); got != want {
			t.Errorf("after %d attempts a batch waits %v, want %v", attempts, got, want)
		}
	}
}

// TestErrorsAreCut: of an error no more than MaxErrorBytes are kept, and no half of a character.
func TestErrorsAreCut(t *testing.T) {
	long := ""
	for len(long) < 3*MaxErrorBytes {
		long += "aé\xff"
	}
	if got := clip(long); len(got) > MaxErrorBytes || len(got) < MaxErrorBytes-4 || fmt.Sprintf("%+q", got) != fmt.Sprintf("%+q", []rune(got)) && string([]rune(got)) != got {
		t.Errorf("%d bytes are kept", len(got))
	}
	if got := clip("short"); got != "short" {
		t.Errorf("a short error is %q", got)
	}
}

// TestQuotas: the quotas of members are together all partitions, or all that they want. Nobody has more than they want, and nobody who
// wants more has two fewer than another.
func TestQuotas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "partitions")
		var all members
		wanted := 0
		for i, most := range rapid.SliceOfN(rapid.IntRange(0, 8), 1, 20).Draw(t, "max") {
			all = append(all, member{Name: fmt.Sprint(i), Max: most})
			if most == 0 {
				most = n
			}
			wanted += most
		}
		total := 0
		for _, m := range all {
			q := all.quota(m.Name, n)
			total += q
			if m.Max > 0 && q > m.Max {
				t.Fatalf("%v has %d", m, q)
			}
			for _, o := range all {
				if (m.Max == 0 || q < m.Max) && all.quota(o.Name, n) > q+1 {
					t.Fatalf("of %d, %v has %d and %v %d", n, m, q, o, all.quota(o.Name, n))
				}
			}
			if most := (n + len(all) - 1) / len(all); !slices.ContainsFunc(all, func(m member) bool { return m.Max > 0 }) && q > most {
				t.Fatalf("%v has %d of %d, more than its share", m, q, n)
			}
		}
		if total != min(n, wanted) {
			t.Fatalf("of %d partitions %d are in the quotas", n, total)
		}
	})
}

// leaseModel is the simplest account of one partition: who was given which lease, and what was acknowledged under the one that
// counts.
type leaseModel struct {
	holder     string // of the newest token
	token      string
	checkpoint fanfold.Position
	ranges     map[int][2]fanfold.Position // parked, by number
	retrying   []int
}

// TestPartitionAgainstModel lets members with clocks that jump lease, acknowledge and fail at random, and holds the partition against a
// model. Only the newest token acknowledges, and the checkpoint never goes back. Every position is before the checkpoint, after it, or
// parked.
func TestPartitionAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &partition{}
		m := leaseModel{ranges: map[int][2]fanfold.Position{}}
		tokens := []string{"none"}
		base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := func() time.Time {
			return base.Add(time.Duration(rapid.IntRange(-3600, 3600).Draw(t, "clock")) * time.Second)
		}
		position := func() fanfold.Position { return fanfold.At(uint64(rapid.IntRange(1, 30).Draw(t, "position")), 0) }
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				now := clock()
				if !p.free(now) {
					if p.Token == "" || !now.Before(p.Expires) {
						t.Fatal("a free partition is refused")
					}
					return
				}
				who := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "member")
				p.take(who, "r", now.Add(time.Minute))
				if slices.Contains(tokens, p.Token) {
					t.Fatalf("token %s is given twice", p.Token)
				}
				tokens, m.token, m.holder = append(tokens, p.Token), p.Token, who
			},
			"release": func(*rapid.T) { p.release(); m.token, m.holder = "", "" },
			"ack": func(t *rapid.T) {
				token, at := rapid.SampledFrom(tokens).Draw(t, "token"), position()
				if err := p.check(token); (err == nil) != (token == m.token) {
					t.Fatalf("token %s where the lease has %q: %v", token, m.token, err)
				} else if err == nil {
					p.ack(at)
					m.ack(at)
				}
			},
			"nack": func(t *rapid.T) {
				token, at := rapid.SampledFrom(tokens).Draw(t, "token"), position()
				if p.check(token) == nil {
					_, parked := p.nack(failure{at: at, error: "e", now: clock(), most: 2, room: rapid.Bool().Draw(t, "room")})
					m.nack(t, at, parked, p)
				}
			},
			"retry": func(t *rapid.T) {
				if len(p.Parked) == 0 {
					return
				}
				i := rapid.IntRange(0, len(p.Parked)-1).Draw(t, "parked")
				p.Parked[i].Retry = true
			},
			"reset": func(*rapid.T) {
				start := position()
				p.reset(p.Generation+1, start)
				m.reset(start)
			},
			"": func(t *rapid.T) { m.check(t, p) },
		})
	})
}

// ack acknowledges in the model: of a parked batch that is given again where the position is in it.
func (m *leaseModel) ack(at fanfold.Position) {
	if n, r, ok := m.given(at); ok {
		if at == r[1] {
			delete(m.ranges, n)
		} else {
			m.ranges[n] = [2]fanfold.Position{at, r[1]}
		}
		return
	}
	m.checkpoint = max(m.checkpoint, at)
}

// given returns the first batch that is given again, where it has the position.
func (m *leaseModel) given(at fanfold.Position) (number int, r [2]fanfold.Position, ok bool) {
	if len(m.retrying) == 0 {
		return 0, r, false
	}
	number = m.retrying[0]
	r = m.ranges[number]
	return number, r, r[0] < at && at <= r[1]
}

// nack holds what became of a failed batch against the model.
func (m *leaseModel) nack(t *rapid.T, at fanfold.Position, parked *parkedRef, p *partition) {
	if n, _, ok := m.given(at); ok {
		if parked == nil || parked.Number != n || parked.Retry {
			t.Fatalf("a batch that failed again is %+v", parked)
		}
		return
	}
	switch {
	case at <= m.checkpoint && parked != nil:
		t.Fatalf("a batch before the checkpoint is parked")
	case parked != nil:
		m.ranges[parked.Number] = [2]fanfold.Position{m.checkpoint, at}
		m.checkpoint = at
	case at > m.checkpoint && !p.NotBefore.After(time.Time{}):
		t.Fatal("a batch that failed does not wait")
	}
}

// reset begins anew in the model.
func (m *leaseModel) reset(start fanfold.Position) {
	m.checkpoint, m.token, m.holder = start, "", ""
	for n, r := range m.ranges {
		if r[0] >= start {
			delete(m.ranges, n)
		} else {
			m.ranges[n] = [2]fanfold.Position{r[0], min(r[1], start)}
		}
	}
}

// check holds the partition against the model.
func (m *leaseModel) check(t *rapid.T, p *partition) {
	if p.Checkpoint != m.checkpoint || p.Token != m.token || p.Owner != m.holder || len(p.Parked) != len(m.ranges) {
		t.Fatalf("the partition is %+v, the model %+v", p, m)
	}
	m.retrying = nil
	for _, r := range p.Parked {
		if want := m.ranges[r.Number]; want != [2]fanfold.Position{r.From, r.To} || r.From >= r.To || r.To > p.Checkpoint {
			t.Fatalf("parked is %+v, want %v; the checkpoint is %v", r, want, p.Checkpoint)
		}
		if r.Retry {
			m.retrying = append(m.retrying, r.Number)
		}
	}
}

// TestRefold: under another version of the fold a position inside an event becomes its start, and one between two events stays.
func TestRefold(t *testing.T) {
	inside, behind := fanfold.At(5, 3), fanfold.At(5, fanfold.MaxChanges)
	p := &partition{Checkpoint: inside, Parked: []parkedRef{{Number: 1, From: fanfold.At(2, 0), To: fanfold.At(4, 0)}, {Number: 2, From: fanfold.At(5, 1), To: inside}}}
	p.refold()
	if p.Checkpoint != fanfold.At(5, 0)-1 || len(p.Parked) != 1 || p.Parked[0].To != fanfold.At(4, 0) {
		t.Errorf("the partition is %+v", p)
	}
	p.Checkpoint = behind
	if p.refold(); p.Checkpoint != behind {
		t.Errorf("a checkpoint behind an event becomes %v", p.Checkpoint)
	}
}

// TestRefoldKeepsParkedBatches: what was parked stays parked under another version of the fold, in whole events.
func TestRefoldKeepsParkedBatches(t *testing.T) {
	p := &partition{Checkpoint: fanfold.At(20, 0), Parked: []parkedRef{
		{Number: 1, From: fanfold.At(7, 0), To: fanfold.At(10, 3)},
		{Number: 2, From: fanfold.At(12, fanfold.MaxChanges), To: fanfold.At(13, 2)}}}
	p.refold()
	if len(p.Parked) != 2 || p.Parked[0].To < fanfold.At(10, 3) || p.Parked[1].To < fanfold.At(13, 2) {
		t.Errorf("parked is %+v", p.Parked)
	}
}
