package group

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// anybody takes every principal for one whose key works.
type anybody struct{ access.Everybody }

func (anybody) Valid(*access.Principal) bool { return true }

// TestRolesOfGroups: a group that was stored before roles is admin's. Settings without a role leave it as it is, and are the same as
// those with it.
func TestRolesOfGroups(t *testing.T) {
	kv, m := newMemoryKV(), model.Empty()
	judge := access.NewJudge(anybody{}, func() *model.Model { return m })
	all := New(kv, memoryModel{}, memoryModel{}, Options{Now: fixed})
	as := func(role string) *Groups { return all.By(judge.Of(access.OfRole(role))) }
	ctx := context.Background()
	put := func(g *Groups, role string) error {
		_, err := g.Put(ctx, "g", Settings{Role: role})
		return err
	}
	want(t, "", put(as("admin"), ""))
	key := groupsPrefix + ".g"
	old, err := kv.Get(ctx, key)
	want(t, "", err)
	if old.Value = []byte(strings.Replace(string(old.Value), `,"role":"admin"`, "", 1)); strings.Contains(string(old.Value), "role") {
		t.Fatalf("%s", old.Value)
	}
	if _, err := kv.Set(ctx, key, old.Value, old.Revision); err != nil {
		t.Fatal(err)
	}
	roleNow := func() (role string, revision uint64) {
		e, err := kv.Get(ctx, key)
		want(t, "", err)
		var s group
		if err := json.Unmarshal(e.Value, &s); err != nil {
			t.Fatal(err)
		}
		d, err := as("admin").Describe(ctx, "g")
		want(t, "", err)
		return d.Settings.Role, e.Revision
	}
	role, before := roleNow()
	want(t, "", put(as("admin"), ""))
	want(t, "", put(as("admin"), "admin"))
	if now, after := roleNow(); role != "admin" || now != "admin" || after != before {
		t.Errorf("an old group has the role %s, then %s; it was written: %v", role, now, after != before)
	}
	_, err = as("a").Describe(ctx, "g")
	want(t, fanfold.Forbidden, err)
	want(t, "", put(as("admin"), "a"))
	want(t, "", put(as("admin"), ""))
	if role, _ := roleNow(); role != "a" {
		t.Errorf("without a role it becomes %s", role)
	}
	_, err = as("a").Describe(ctx, "g")
	want(t, "", err)
	want(t, fanfold.Forbidden, put(as("a"), "a"))
	for _, nobody := range []*Groups{all, all.By(nil)} {
		want(t, fanfold.Forbidden, put(nobody, "a"))
		want(t, fanfold.Forbidden, nobody.Check(ctx, "g"))
		want(t, fanfold.Forbidden, nobody.CheckPut(ctx, "h"))
		_, err = nobody.Backlog(ctx, "g")
		want(t, fanfold.Forbidden, err)
		if list, err := nobody.List(ctx); err != nil || len(list) > 0 {
			t.Errorf("nobody has the groups %v, %v", list, err)
		}
	}
	long := "g" + strings.Repeat("x", MaxName)
	want(t, fanfold.Forbidden, as("a").Check(ctx, long))
	_, err = as("admin").Describe(ctx, long)
	want(t, fanfold.Invalid, err)
}
