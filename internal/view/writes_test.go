package view

import (
	"maps"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// viewIn returns what roles see of a model in which an editor has articles, everybody reads news, and an admin alone has the rest.
func viewIn(roles ...string) View {
	m := model.Empty()
	editor := model.Right{Roles: []string{"editor"}}
	m.Collections = []*model.Collection{{Name: "articles", Access: &model.Access{Read: editor, Create: editor, Update: editor, Delete: editor}},
		{Name: "news", Access: &model.Access{Read: model.Right{Roles: []string{model.RoleEveryone}}}},
		{Name: "hidden", Access: &model.Access{}}}
	m.Index()
	return New(Dependencies{}).Open(access.NewJudge(access.Everybody{}, func() *model.Model { return m }).Of(&access.Principal{Roles: roles}))
}

// TestRefusalNames: a refusal names and counts the documents that its reader may read. An admin is told all of it.
func TestRefusalNames(t *testing.T) {
	key := func(collection string) fanfold.Key { return fanfold.Key{Collection: collection, ID: "1"} }
	refusal := &fanfold.Error{Code: fanfold.Restricted, Message: "hidden/1 is in the way", About: []fanfold.Key{key("articles"), key("hidden")}, Problems: []fanfold.Problem{
		{Path: "/name", Detail: "is missing"},
		{Key: key("articles"), Path: "articles/1/a", Detail: "refers to hidden/1 by articles.h", Target: key("hidden")},
		{Key: key("hidden"), Path: "hidden/1", Detail: "refers to articles/1"},
		{Key: fanfold.Key{Collection: "hidden"}, Path: "hidden", Detail: "7 documents"},
		{Key: fanfold.Key{Collection: "news"}, Path: "news", Detail: "8 documents"},
	}}
	told := []fanfold.Problem{{Path: "/name", Detail: "is missing"}, {Path: "articles/1/a", Detail: "refers to " + unnamed + " by articles.h"}, {Path: unnamed, Detail: unnamedHolds}, {Path: "news", Detail: "8 documents"}}
	got := viewIn("editor").Refusal(refusal)
	same := func(a, b fanfold.Problem) bool { return a.Path == b.Path && a.Detail == b.Detail }
	if got.Message != unnamedInTheWay || !slices.EqualFunc(got.Problems, told, same) || len(refusal.Problems) != 5 {
		t.Errorf("an editor is told %q, %+v", got.Message, got.Problems)
	}
	refusal.Discreet = "something is in the way"
	if got := viewIn("editor").Refusal(refusal); got.Message != refusal.Discreet {
		t.Errorf("an editor is told %q", got.Message)
	}
	if got := viewIn(model.RoleAdmin).Refusal(refusal); got != refusal {
		t.Errorf("an admin is told %+v", got)
	}
	if got := New(Dependencies{}).Open(nil).Refusal(refusal); got.Message != refusal.Discreet || len(got.Problems) != 2 || got.Problems[1].Path != unnamed {
		t.Errorf("nobody is told %q, %+v", got.Message, got.Problems)
	}
	for _, plain := range []*fanfold.Error{{Code: fanfold.Stale, Message: "articles/1 is at revision 3", About: []fanfold.Key{key("articles")}, Current: 3}, {Code: fanfold.Invalid, Message: "no"}} {
		if got := viewIn("editor").Refusal(plain); got.Message != plain.Message || got.Current != plain.Current || got.Problems != nil {
			t.Errorf("an editor is told %+v", got)
		}
	}
	counts := &fanfold.Error{Code: fanfold.FanoutLimit, Message: "9 changes", Problems: []fanfold.Problem{{Key: fanfold.Key{Collection: "hidden"}, Path: "hidden.a", Detail: "9 documents"}}}
	if got := viewIn("editor").Refusal(counts); len(got.Problems) != 1 || got.Problems[0].Detail != countedElsewhere {
		t.Errorf("an editor is told %+v", got.Problems)
	}
}

// TestDryRunsShow: a dry run tells of writes and counts in the collections that its reader may read.
func TestDryRunsShow(t *testing.T) {
	all := []fanfold.Write{{Event: &fanfold.Event{Key: fanfold.Key{Collection: "articles", ID: "1"}}}, {Event: &fanfold.Event{Key: fanfold.Key{Collection: "hidden", ID: "2"}}}}
	fan := &model.Fanout{Derived: 6, Rules: map[string]int64{"articles.a": 1, "news.b": 2, "hidden.c": 3}, Collections: map[string]int64{"articles": 1, "news": 2, "hidden": 3}}
	if v := viewIn(model.RoleAdmin); len(v.Writes(all)) != 2 || v.Fanout(fan) != fan {
		t.Error("an admin is not told all")
	}
	v := viewIn("editor")
	if writes := v.Writes(all); len(writes) != 1 || writes[0].Event.Key.ID != "1" {
		t.Errorf("an editor is told of %v", writes)
	}
	got := v.Fanout(fan)
	if got.Derived != 3 || !maps.Equal(got.Rules, map[string]int64{"articles.a": 1, "news.b": 2}) || !maps.Equal(got.Collections, map[string]int64{"articles": 1, "news": 2}) || len(fan.Rules) != 3 {
		t.Errorf("an editor is told %+v", got)
	}
	if nobody := New(Dependencies{}).Open(nil); len(nobody.Writes(all)) != 0 || nobody.Fanout(fan).Derived != 0 {
		t.Error("nobody is told something")
	}
}
