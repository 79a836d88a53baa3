package group

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/model"
)

// memoryKV is a KV in memory that remembers every value of every key.
type memoryKV struct {
	mu      sync.Mutex
	last    uint64
	entries map[string]fanfold.Entry
	history map[string][][]byte
}

func newMemoryKV() *memoryKV {
	return &memoryKV{entries: map[string]fanfold.Entry{}, history: map[string][][]byte{}}
}

func (kv *memoryKV) Get(_ context.Context, key string) (fanfold.Entry, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	e := kv.entries[key]
	e.Key = key
	return e, nil
}

func (kv *memoryKV) Set(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if kv.entries[key].Revision != revision {
		return 0, fanfold.Errorf(fanfold.Stale, "%s has changed", key)
	}
	kv.last++
	kv.entries[key] = fanfold.Entry{Key: key, Value: value, Revision: kv.last}
	kv.history[key] = append(kv.history[key], value)
	return kv.last, nil
}

func (kv *memoryKV) All(_ context.Context, prefix string) (out []fanfold.Entry, err error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	for key, e := range kv.entries {
		if strings.HasPrefix(key, prefix+".") && e.Value != nil {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b fanfold.Entry) int { return int(int64(a.Revision) - int64(b.Revision)) })
	return out, nil
}

func (kv *memoryKV) Drop(_ context.Context, prefix string) error {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	for key := range kv.entries {
		if key == prefix || strings.HasPrefix(key, prefix+".") {
			delete(kv.entries, key)
		}
	}
	return nil
}

// memoryModel is a Feed and a ReadModel over a list of changes.
type memoryModel []fanfold.Change

func (m memoryModel) Resolve(_ context.Context, text string) (fanfold.Position, error) {
	if text == "0" {
		return 0, nil
	}
	return fanfold.ParsePosition(text)
}

func (m memoryModel) CheckSelection(changefeed.Selection) error { return nil }

func (m memoryModel) EachSelected(_ context.Context, _ *access.Rights, s *changefeed.Scope, fn func(*fanfold.Change)) (bool, error) {
	return true, m.EachChange(fanfold.ChangeQuery{After: s.Since}, func(ch *fanfold.Change) bool {
		fn(ch)
		return true
	})
}

func (m memoryModel) ServeScope(http.ResponseWriter, *http.Request, changefeed.Query, *changefeed.Scope) error {
	return nil
}

func (m memoryModel) Ordinal(at fanfold.Position) (upTo, all int64, err error) {
	for _, ch := range m {
		if ch.Position <= at {
			upTo++
		}
	}
	return upTo, int64(len(m)), nil
}

func (m memoryModel) Oldest() (fanfold.Position, error) {
	if len(m) == 0 || m[0].Ordinal <= 1 {
		return 0, nil
	}
	return m[0].Position - 1, nil
}

func (m memoryModel) EachChange(q fanfold.ChangeQuery, fn func(ch *fanfold.Change) bool) error {
	for i := range m {
		if (len(q.Collections) == 0 || slices.Contains(q.Collections, m[i].Key.Collection)) && m[i].Position > q.After && !fn(&m[i]) {
			break
		}
	}
	return nil
}

// newGroups returns the groups of a store of keys for everybody in an open store.
func newGroups(kv KV, feed Feed, changes ReadModel, opt Options) *Groups {
	m := model.Empty()
	return New(kv, feed, changes, opt).By(access.NewJudge(access.Everybody{}, func() *model.Model { return m }).Of(access.Open))
}

// begin is when tests begin.
var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fixed is a clock that stands still.
func fixed() time.Time { return begin }
