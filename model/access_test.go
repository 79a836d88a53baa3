package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/model"
)

// TestAccessInWords: a comparison says of every step of a collection's access what it opens and what it closes.
func TestAccessInWords(t *testing.T) {
	for _, c := range []struct{ before, after, change, detail string }{
		{"", "{read: [everyone]}", "added", "everyone may read it now; role write may not write it any more"},
		{"{read: [everyone]}", "", "removed", "everyone may not read it any more; role write may write it now"},
		{"", "{}", "added", "roles read and write may not read it any more; role write may not write it any more"},
		{"{}", "", "removed", "roles read and write may read it now; role write may write it now"},
		{"", "{read: [read], write: [write]}", "added", "nothing opens or closes"},
		{"{read: [read], write: [write]}", "", "removed", "nothing opens or closes"},
		{"{read: [a]}", "{read: [b]}", "changed", "role b may read it now; role a may not read it any more"},
		{"{read: [a]}", "{read: [a, b, c, d]}", "changed", "roles b, c and d may read it now"},
		{"{read: [a], write: [b]}", "{read: [a, b]}", "changed", "role b may not write it any more"},
		{"{read: [a]}", "{write: [a]}", "changed", "role a may write it now"},
		{"{read: [everyone]}", "{read: [everyone], write: [a]}", "changed", "role a may write it now"},
		{"{read: [everyone]}", "{read: [a]}", "changed", "everyone may not read it any more"},
		{"{read: [a]}", "{write: [everyone]}", "changed", "everyone may read it now; everyone may write it now"},
		{"{read: [a, b]}", "{read: [b, a]}", "", ""},
		{"{}", "{read: [], write: []}", "", ""},
	} {
		of := func(access string) *model.Model {
			if access == "" {
				return parse(t, "collections: {news: {}}")
			}
			return parse(t, "collections: {news: {access: "+access+"}}")
		}
		before, after := of(c.before), of(c.after)
		got := model.Compare(before, after).Differences()
		if c.change == "" {
			if len(got) > 0 || !model.SameAccess(before, after) {
				t.Errorf("%s to %s: %+v", c.before, c.after, got)
			}
			continue
		}
		want := model.Difference{Path: "collections.news.access", Change: c.change, Detail: "news: " + c.detail, Removes: c.change == "removed"}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s to %s: %+v, want %+v", c.before, c.after, got, want)
		}
		if same := c.detail == "nothing opens or closes"; model.SameAccess(before, after) != same {
			t.Errorf("%s and %s: the same %t", c.before, c.after, !same)
		}
	}
}

// TestAccessOfCollectionsThatGo: a collection that is not declared any more loses its access, which is a removal, and a new one
// may have one.
func TestAccessOfCollectionsThatGo(t *testing.T) {
	none, some := parse(t, "collections: {}"), parse(t, "collections: {news: {access: {read: [everyone]}}}")
	for _, c := range []struct {
		before, after *model.Model
		removes       bool
	}{{none, some, false}, {some, none, true}} {
		all := model.Compare(c.before, c.after).Differences()
		i := slices.IndexFunc(all, func(d model.Difference) bool { return d.Path == "collections.news.access" })
		if i < 0 || all[i].Removes != c.removes || !strings.Contains(all[i].Detail, "everyone may") || (len(model.Removals(all)) > 0) != c.removes {
			t.Errorf("%+v", all)
		}
	}
}

// TestAccessTo: a collection without access, also one that nobody declares, has the standard one; a missing list is empty.
func TestAccessTo(t *testing.T) {
	m := parse(t, "collections: {a: {}, b: {access: {}}, c: {access: {write: [z, y]}}, d: {access: {read: [x]}}, e: {access: {read: [x], create: [y], update: [w], delete: [v]}}}")
	for name, want := range map[string]string{"a": "[read write] [write] [write] [write]", "none": "[read write] [write] [write] [write]", "": "[read write] [write] [write] [write]",
		"b": "[] [] [] []", "c": "[y z] [y z] [y z] [y z]", "d": "[x] [] [] []", "e": "[v w x] [y] [w] [v]"} {
		if a := m.AccessTo(name); fmt.Sprint(a.Read.Roles, " ", a.Create.Roles, " ", a.Update.Roles, " ", a.Delete.Roles) != want {
			t.Errorf("%q has %v, want %s", name, a, want)
		}
	}
}
