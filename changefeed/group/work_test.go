package group

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
)

// manyChanges is a changefeed.Store with so many changes of the collection books; the last one is of authors.
type manyChanges uint64

func (n manyChanges) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	page.Last, page.Head, page.Changes = max(q.After, fanfold.At(uint64(n), 0)), fanfold.At(uint64(n), 0), int64(n)
	looked := 0
	for seq := q.After.Seq() + 1; seq <= uint64(n); seq++ {
		if looked++; looked > q.Limit {
			page.Last, page.Pending = fanfold.At(seq-1, 0), int64(uint64(n)-seq+1)
			break
		}
		if key := (fanfold.Key{Collection: "authors", ID: "a"}); seq == uint64(n) && slices.Contains(q.Collections, key.Collection) {
			page.Rows = append(page.Rows, fanfold.ChangeRow{Change: &fanfold.Change{Position: fanfold.At(seq, 0), Ordinal: int64(seq), Key: key, Op: fanfold.OpCreate, Revision: fanfold.Revision(seq), Time: begin}})
		}
	}
	return page, nil
}

func (n manyChanges) Bounds() (oldest, head fanfold.Position, err error) {
	return 0, fanfold.At(uint64(n), 0), nil
}
func (manyChanges) Before(time.Time) (fanfold.Position, error)     { return 0, nil }
func (manyChanges) Changed(uint64) <-chan struct{}                 { return nil }
func (n manyChanges) Wait(ctx context.Context, _ uint64) error     { <-ctx.Done(); return ctx.Err() }
func (manyChanges) Ordinal(fanfold.Position) (int64, int64, error) { return 0, 0, nil }
func (manyChanges) Oldest() (fanfold.Position, error)              { return 0, nil }
func (manyChanges) EachChange(fanfold.ChangeQuery, func(ch *fanfold.Change) bool) error {
	return nil
}

// givenFeed is a feed that resolves positions without a store.
type givenFeed struct{ *changefeed.Feed }

func (givenFeed) Resolve(ctx context.Context, text string) (fanfold.Position, error) {
	return memoryModel{}.Resolve(ctx, text)
}

// TestWorkOfAGroupsAnswer: an answer of a group ends once it has looked at many changes without a row for it. Nothing needs to be
// acknowledged: the next answer goes on there. A parked batch without anything left ends likewise.
func TestWorkOfAGroupsAnswer(t *testing.T) {
	const bound, changes = 65_536, 100_000
	feed := changefeed.New(manyChanges(changes), changefeed.Options{})
	defer feed.Close()
	g := newGroups(newMemoryKV(), givenFeed{feed}, manyChanges(changes), Options{Now: fixed})
	ctx := t.Context()
	for _, transport := range []string{changefeed.Normal, changefeed.LongPoll} {
		name := transport
		put := func(collection string) {
			_, err := g.Put(ctx, name, Settings{Partitions: 1, MaxAttempts: 1, Collections: []string{collection}})
			want(t, "", err)
		}
		put("authors")
		leases, err := g.Lease(ctx, name, "m", 0)
		want(t, "", err)
		ask := func() (rows int, last, end string) {
			t.Helper()
			var a struct {
				Results []struct{ ID string }
				LastSeq string `json:"last_seq"`
				End     string
			}
			w := httptest.NewRecorder()
			want(t, "", g.ServeChanges(w, httptest.NewRequest(http.MethodGet, "/x", nil), Reading{Group: name, Token: leases[0].Token, Query: changefeed.Query{Transport: transport, Timeout: new(time.Duration)}}))
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			return len(a.Results), a.LastSeq, a.End
		}
		if rows, last, end := ask(); rows > 0 || last != fanfold.At(bound, 0).String() || transport == changefeed.Normal && end != "work-bound" {
			t.Errorf("%s: %d rows, up to %s, %s", transport, rows, last, end)
		}
		if rows, last, end := ask(); rows != 1 || last != fanfold.At(changes, 0).String() || end != "" {
			t.Errorf("%s: then %d rows, up to %s, %s", transport, rows, last, end)
		}
		want(t, "", g.Reset(ctx, name, "0", true))
		leases, err = g.Lease(ctx, name, "m", 0)
		want(t, "", err)
		want(t, "", g.Nack(ctx, name, Batch{Token: leases[0].Token, Position: "100000-0"}, "it broke"))
		put("nothing")
		want(t, "", g.Retry(ctx, name, "0-1"))
		for i, left := range []int{1, 0} {
			rows, last, _ := ask()
			list, err := g.Parked(ctx, name)
			want(t, "", err)
			if rows > 0 || len(list) != left || left > 0 && list[0].From != fanfold.At(bound, 0).String() {
				t.Errorf("%s, answer %d to a retry: %d rows, up to %s; parked are %+v", transport, i, rows, last, list)
			}
		}
	}
}
