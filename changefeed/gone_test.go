package changefeed_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/tests/suite"
)

// cutAfterOnePage returns a store of three pages whose first changes go once one page was read.
func cutAfterOnePage() *memoryStore {
	store := newMemoryStore()
	for seq := range uint64(600) {
		store.add(create(seq+1, fmt.Sprint("b", seq+1)))
	}
	reads := 0
	store.onRead = func() {
		if reads++; reads == 2 {
			store.cut(fanfold.At(500, 0))
		}
	}
	return store
}

// TestFeedEndsWhereChangesGo: an answer that is before the oldest change when that moves on ends there, and says so. It skips nothing.
func TestFeedEndsWhereChangesGo(t *testing.T) {
	suite.Concurrent(t)
	for _, kind := range streams {
		t.Run(kind, func(t *testing.T) {
			h := newHouse(t)
			c := consume(t, h.serve(t, changefeed.New(cutAfterOnePage(), changefeed.Options{}))+"admin", kind, "mode=all")
			for seq := range 256 {
				if m := c.change(); m.Seq != fmt.Sprint(seq+1, "-0") {
					t.Fatalf("change %d is %+v", seq+1, m)
				}
			}
			m, err := c.readToEnd()
			if m.End != "position-gone" || m.Oldest != "500-0" || m.LastSeq != "256-0" {
				t.Errorf("it ends with %+v, %v", m, err)
			}
			if kind == "websocket" && websocket.CloseStatus(err) != websocket.StatusPolicyViolation || kind != "websocket" && err != nil {
				t.Errorf("it ends with %v", err)
			}
		})
	}
	for _, kind := range []string{"normal", "longpoll"} {
		feed := changefeed.New(cutAfterOnePage(), changefeed.Options{})
		defer feed.Close()
		w := httptest.NewRecorder()
		want := map[string]string{"normal": `"end":"position-gone","oldest":"500-0"}` + "\n", "longpoll": "\"last_seq\":\"256-0\"}\n"}[kind]
		err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/v1/_changes?mode=all&feed="+kind, nil))
		if err != nil || strings.Count(w.Body.String(), `"op"`) != 256 || !strings.HasSuffix(w.Body.String(), want) {
			t.Errorf("%s: %v, %.300s", kind, err, w.Body.String()[max(0, w.Body.Len()-300):])
		}
	}
}

// TestNothingSentIsRefused: where the changes go before one was sent, the answer is the status.
func TestNothingSentIsRefused(t *testing.T) {
	store := newMemoryStore(create(1, "b1"), create(2, "b2"))
	store.onRead = func() { store.cut(fanfold.At(2, 0)) }
	feed := changefeed.New(store, changefeed.Options{})
	defer feed.Close()
	var gone *fanfold.Error
	err := answer(feed, httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/_changes", nil))
	if !errors.As(err, &gone) || gone.Code != fanfold.PositionGone || gone.Oldest.String() != "2-0" {
		t.Errorf("the error is %v", err)
	}
}

// TestSharedFeedEndsWhereChangesGo: consumers that share the reading end as others do.
func TestSharedFeedEndsWhereChangesGo(t *testing.T) {
	suite.Concurrent(t)
	for _, kind := range streams {
		h, store := newHouse(t), newMemoryStore(create(1, "b1"))
		url := h.serve(t, changefeed.New(store, changefeed.Options{}))
		all := []*consumer{consume(t, url+"admin.one", kind, "mode=all"), consume(t, url+"admin.two", kind, "mode=all")}
		for _, c := range all {
			c.change()
		}
		store.cut(fanfold.At(3, 0))
		store.add(create(2, "b2"), create(3, "b3"), create(4, "b4"))
		for _, c := range all {
			if m, _ := c.readToEnd(); m.End != "position-gone" || m.Oldest != "3-0" || m.LastSeq != "1-0" {
				t.Errorf("%s ends with %+v", kind, m)
			}
		}
	}
}
