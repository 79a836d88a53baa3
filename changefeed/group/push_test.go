package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// TestBadPush: push that cannot be asked for is refused, at its bounds and beyond, and says where.
func TestBadPush(t *testing.T) {
	long := func(n int) string { return "https://a.example/" + strings.Repeat("x", n-len("https://a.example/")) }
	many := func(n, bytes int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprintf("X-%02d", i)] = strings.Repeat("x", bytes)
		}
		return out
	}
	secret := func(bytes int) string {
		return "whsec_" + strings.Repeat("QUJD", bytes/3) + map[int]string{0: "", 1: "QQ==", 2: "QUE="}[bytes%3]
	}
	for _, c := range []struct {
		push wire.Push
		path string // of the problem; "" for none
	}{
		{wire.Push{URL: long(MaxPushURL)}, ""},
		{wire.Push{URL: long(MaxPushURL + 1)}, "/push/url"},
		{wire.Push{}, ""},
		{wire.Push{Headers: many(1, 1)}, "/push"},
		{wire.Push{Secret: secret(30)}, "/push"},
		{wire.Push{URL: "ftp://a.example"}, "/push/url"},
		{wire.Push{URL: "https:///x"}, "/push/url"},
		{wire.Push{URL: "https:a.example"}, "/push/url"},
		{wire.Push{URL: "https://u:p@a.example"}, "/push/url"},
		{wire.Push{URL: "https://a.example/#x"}, "/push/url"},
		{wire.Push{URL: "https://a.example:65536"}, "/push/url"},
		{wire.Push{URL: "https://a.example:0"}, "/push/url"},
		{wire.Push{URL: "https://a.example:65535/?q=1"}, ""},
		{wire.Push{URL: "https://a.example/\r\nX: y"}, "/push/url"},
		{wire.Push{URL: "https://a.example", Secret: secret(24)}, ""},
		{wire.Push{URL: "https://a.example", Secret: secret(64)}, ""},
		{wire.Push{URL: "https://a.example", Secret: secret(23)}, "/push/secret"},
		{wire.Push{URL: "https://a.example", Secret: secret(65)}, "/push/secret"},
		{wire.Push{URL: "https://a.example", Secret: secret(30)[6:]}, "/push/secret"},
		{wire.Push{URL: "https://a.example", Secret: secret(30) + "\n"}, "/push/secret"},
		{wire.Push{URL: "https://a.example", Secret: "whsec_" + strings.Repeat("-", 40)}, "/push/secret"},
		{wire.Push{URL: "https://a.example", Headers: many(MaxPushHeaders, 1)}, ""},
		{wire.Push{URL: "https://a.example", Headers: many(MaxPushHeaders+1, 1)}, "/push/headers"},
		{wire.Push{URL: "https://a.example", Headers: many(MaxPushHeaders, MaxHeaderBytes/MaxPushHeaders-4)}, ""},
		{wire.Push{URL: "https://a.example", Headers: many(MaxPushHeaders, MaxHeaderBytes/MaxPushHeaders-3)}, "/push/headers"},
		{wire.Push{URL: "https://a.example", Headers: map[string]string{"Authorization": "Bearer a b"}}, ""},
		{wire.Push{URL: "https://a.example", Headers: map[string]string{"X-A": "a", "x-a": "b"}}, "/push/headers"},
		{wire.Push{URL: "https://a.example", Headers: map[string]string{"X-A": ""}}, "/push/headers"},
		{wire.Push{URL: "https://a.example", Headers: map[string]string{"X-A": "a\r\nHost: b"}}, "/push/headers"},
		{wire.Push{URL: "https://a.example", Headers: map[string]string{"X-A": "ä"}}, "/push/headers"},
		{wire.Push{URL: "https://a.example", Headers: map[string]string{"X A": "a"}}, "/push/headers"},
		{wire.Push{URL: "https://a.example", Headers: map[string]string{strings.Repeat("x", 65): "a"}}, "/push/headers"},
	} {
		s := Settings{Push: &c.push}
		s.setDefaults()
		wantProblem(t, s.check(), c.path, fmt.Sprintf("%.100v", c.push))
	}
	for _, name := range []string{"Host", "content-length", "Transfer-Encoding", "webhook-id", "Webhook-Signature", "Fanfold-Group", "Connection", "Content-Type", "Proxy-Authorization", "TE", "Expect", "Sec-X"} {
		s := Settings{Push: &wire.Push{URL: "https://a.example", Headers: map[string]string{name: "a"}}}
		s.setDefaults()
		wantProblem(t, s.check(), "/push/headers", name)
	}
	s := Settings{Partitions: MaxPushed + 1, Push: &wire.Push{URL: "https://a.example"}}
	s.setDefaults()
	wantProblem(t, s.check(), "/partitions", "too many partitions")
}

// wantProblem fails the test unless an error has one problem at a path, or is nil for "".
func wantProblem(t *testing.T, err error, path, of string) {
	t.Helper()
	if path == "" {
		if err != nil {
			t.Errorf("%s: %v", of, err)
		}
		return
	}
	var failure *fanfold.Error
	if !errors.As(err, &failure) || len(failure.Problems) != 1 || failure.Problems[0].Path != path {
		t.Errorf("%s: %v, want a problem at %s", of, err, path)
	}
}

// TestPushIsBounded: a database has MaxPushing groups with push, and a group that has it may be changed then.
func TestPushIsBounded(t *testing.T) {
	g := newGroups(newMemoryKV(), memoryModel{}, memoryModel{}, Options{Now: fixed})
	ctx := context.Background()
	put := func(name string) error {
		_, err := g.Put(ctx, name, Settings{Push: &wire.Push{URL: "https://a.example/" + name}})
		return err
	}
	for i := range MaxPushing {
		want(t, "", put(fmt.Sprint("g", i)))
	}
	want(t, fanfold.Unprocessable, put("more"))
	_, err := g.Put(ctx, "g1", Settings{Push: &wire.Push{URL: "https://b.example"}})
	want(t, "", err)
	_, err = g.Put(ctx, "g2", Settings{})
	want(t, "", err)
	want(t, fanfold.Unprocessable, put("more")) // g2 keeps what it has
	_, err = g.Put(ctx, "g2", Settings{Push: &wire.Push{}})
	want(t, "", err)
	want(t, "", put("more"))
	targets, err := Targets(ctx, g)
	if err != nil || len(targets) != MaxPushing {
		t.Fatalf("%d targets, %v", len(targets), err)
	}
}
