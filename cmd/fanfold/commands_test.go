package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestDocumentsHaveTheCommands: every command stands in docs/use/commands.md.
func TestDocumentsHaveTheCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/use/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, found := strings.Cut(string(text), "\n## Exit codes\n")
	if !found {
		t.Fatal("docs/use/commands.md has no list of commands")
	}
	for _, c := range command().Commands() {
		if !strings.Contains(table, "`"+c.Name()+"`") {
			t.Errorf("docs/use/commands.md does not have the command %s", c.Name())
		}
	}
}

// TestWebhooks: a group's posts are verified and printed by a command, and another one lists what they were answered.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }})
	defer s.Close()
	harness.AwaitReady(t, s, http.StatusOK)
	at := func(args ...string) ran { return runCommand(t, "", append(args, "--server", s.URL)...) }
	made := at("group", "create", "hook", "--partitions", "1", "--push", "https://receiver.example/hook")
	made.want(t, exitDone, "whsec_", "not shown again")
	secret := writeTemp(t, "secret", made.out)
	ctx, stop := context.WithCancel(t.Context())
	posts, out := io.Pipe()
	said, errs := io.Pipe()
	root := command()
	root.SetOut(out)
	root.SetErr(errs)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, root, []string{"webhooks", "listen", "--at", "127.0.0.1:0", "--secret-file", secret})
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "posts are taken at "), ";")
	if err != nil || !found {
		t.Fatal(line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	at("group", "create", "hook", "--partitions", "1", "--push", address).want(t, exitDone, "group is there")
	at("group", "create", "other", "--partitions", "1").want(t, exitDone, "group is there")
	s.Put("books", "b1", `{"title":"Emma"}`)
	var post struct {
		Group   string
		Changes []struct{ ID string }
	}
	lines := bufio.NewReader(posts)
	text, err := lines.ReadBytes('\n')
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	if err != nil || json.Unmarshal(text, &post) != nil || post.Group != "hook" || len(post.Changes) != 1 || post.Changes[0].ID != "b1" {
		t.Errorf("the post is %+v, %v", post, err)
	}
	harness.Await(t, "the answer is told", time.Minute, func() bool { return strings.Contains(at("webhooks").out, "delivered (204)") })
	if list := at("webhooks"); !strings.Contains(list.out, address) || strings.Contains(list.out, "other") {
		t.Errorf("the list is %s", list.out)
	}
	at("webhooks", "--json").want(t, exitDone, `"outcome": "delivered"`)
	at("group", "create", "hook", "--partitions", "1").want(t, exitDone)
	if list := at("webhooks"); !strings.Contains(list.out, "hook") {
		t.Errorf("settings without --push have ended the posts: %s", list.out)
	}
	at("group", "create", "hook", "--partitions", "1", "--push", "none").want(t, exitDone)
	if list := at("webhooks"); strings.Contains(list.out, "hook") {
		t.Errorf("--push none has not ended the posts: %s", list.out)
	}
	stop()
	if code := <-ended; code != exitDone {
		t.Errorf("the receiver ends with %d", code)
	}
	runCommand(t, "", "webhooks", "listen", "--at", "nowhere").want(t, exitUsage, "--at nowhere")
	runCommand(t, "", "webhooks", "listen", "--secret-file", writeTemp(t, "wrong", "hunter2!")).want(t, exitUsage, "the secret is not whsec_")
}
