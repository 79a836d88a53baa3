package access_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/suite"
)

// roles are those that principals and lists draw from.
var roles = []string{"admin", "write", "read", "monitor", "support", "accounting"}

// collections are those that models declare, and one that none does.
var collections = []string{"invoices", "news", "others"}

// accessList is a collection's access as a model has it; nil for none.
type accessList struct{ read, write []string }

// drawRoles draws some roles, sorted, each once.
func drawRoles(t *rapid.T, from []string, label string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 3, rapid.ID[string]).Draw(t, label)
}

// modelWith returns a model with the access of its collections.
func modelWith(t interface {
	Fatalf(format string, args ...any)
}, lists map[string]*accessList) *model.Model {
	var src strings.Builder
	src.WriteString("collections:\n")
	for _, name := range collections[:2] {
		src.WriteString("  " + name + ":\n    relations: {}\n")
		if a := lists[name]; a != nil {
			src.WriteString("    access: {read: [" + strings.Join(a.read, ", ") + "], write: [" + strings.Join(a.write, ", ") + "]}\n")
		}
	}
	m, err := modelfile.Parse([]byte(src.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, src.String())
	}
	return m
}

// may says in the plainest way what the issue says: who has one of some roles.
func may(has []string, lists ...string) bool {
	if slices.Contains(has, "admin") {
		return true
	}
	for _, role := range lists {
		if role == "everyone" || slices.Contains(has, role) {
			return true
		}
	}
	return false
}

// TestAccessOfRoles: random principals under random models read and write what the lists say, and nothing else.
func TestAccessOfRoles(t *testing.T) {
	listed := append(slices.Clone(roles), "everyone")
	rapid.Check(t, func(t *rapid.T) {
		lists := map[string]*accessList{}
		for _, name := range collections[:2] {
			if rapid.Bool().Draw(t, "declares") {
				lists[name] = &accessList{drawRoles(t, listed, "read"), drawRoles(t, listed, "write")}
			}
		}
		m := modelWith(t, lists)
		p := &access.Principal{ID: "a", Roles: slices.Sorted(slices.Values(drawRoles(t, roles, "roles")))}
		r := access.NewJudge(access.Everybody{}, func() *model.Model { return m }).Of(p)
		all := true
		for _, name := range collections {
			a := lists[name]
			if a == nil {
				a = &accessList{[]string{"read"}, []string{"write"}}
			}
			writes := may(p.Roles, a.write...)
			reads := writes || may(p.Roles, a.read...)
			all = all && reads
			if r.Reads(name) != reads || r.Writes(name) != writes {
				t.Fatalf("%v in %s with %+v: reads %v, want %v; writes %v, want %v", p.Roles, name, a, r.Reads(name), reads, r.Writes(name), writes)
			}
			if code := fanfold.CodeOf(r.CheckRead(name)); reads != (code == "") || !reads && code != fanfold.Forbidden {
				t.Fatalf("to read %s: %q", name, code)
			}
			if code := fanfold.CodeOf(r.CheckSome(name, model.Acts[1:]...)); writes != (code == "") || !writes && code != fanfold.Forbidden {
				t.Fatalf("to write %s: %q", name, code)
			}
		}
		if r.ReadsAll() != all {
			t.Fatalf("%v reads every collection: %v, want %v", p.Roles, r.ReadsAll(), all)
		}
		for _, role := range roles {
			if r.Has(role) != may(p.Roles, role) {
				t.Fatalf("%v has %s: %v", p.Roles, role, r.Has(role))
			}
		}
		if !r.Has("everyone") || (*access.Rights)(nil).Reads("news") || (*access.Rights)(nil).ReadsAll() {
			t.Fatal("everybody has everyone, and nobody has rights without being let in")
		}
	})
}

// TestSamePrincipalsShareShapes: two principals whose shapes are equal have the same rights.
func TestSamePrincipalsShareShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := modelWith(t, map[string]*accessList{"news": {drawRoles(t, roles, "read"), drawRoles(t, roles, "write")}})
		j := access.NewJudge(access.Everybody{}, func() *model.Model { return m })
		draw := func() *access.Rights {
			return j.Of(&access.Principal{ID: "a", Roles: slices.Sorted(slices.Values(drawRoles(t, roles, "roles")))})
		}
		a, b := draw(), draw()
		if a.Shape() != b.Shape() {
			return
		}
		for _, name := range collections {
			if a.Reads(name) != b.Reads(name) || a.Writes(name) != b.Writes(name) {
				t.Fatalf("%v and %v share %q", a.Roles, b.Roles, a.Shape())
			}
		}
	})
}

// movingKeys are keys that a test changes.
type movingKeys struct {
	version atomic.Uint64
	invalid atomic.Bool
}

func (k *movingKeys) Authenticate([]string) (*access.Principal, error) { return access.Anonymous, nil }

func (k *movingKeys) Holder(string, []byte) (*access.Principal, error) { return nil, nil }

func (k *movingKeys) Valid(*access.Principal) bool { return !k.invalid.Load() }

func (k *movingKeys) Version() uint64 { return k.version.Load() }

func (k *movingKeys) Secret() []byte { return nil }

// TestRightsEnd: rights hold until the key is invalid or the model says something else about access, and Changed tells of it.
// Another change of the model leaves them in force.
func TestRightsEnd(t *testing.T) {
	suite.Concurrent(t)
	var current atomic.Pointer[model.Model]
	current.Store(modelWith(t, nil))
	k := &movingKeys{}
	j := access.NewJudge(k, current.Load)
	go func() { _ = j.Run(t.Context()) }()
	first, err := j.Authenticate(nil)
	if err != nil || !first.Current() {
		t.Fatal(err)
	}
	changed := first.Changed()
	current.Store(modelWith(t, nil))
	<-changed
	if !first.Current() {
		t.Fatal("a model that says the same about access ended rights")
	}
	changed = first.Changed()
	current.Store(modelWith(t, map[string]*accessList{"news": {[]string{"everyone"}, nil}}))
	<-changed
	second, err := j.Authenticate(nil)
	if err != nil || first.Current() || !second.Current() || first.Reads("news") || !second.Reads("news") || first.Shape() == second.Shape() {
		t.Fatalf("rights under two models: %v %v, %v", first.Current(), second.Current(), err)
	}
	changed = second.Changed()
	k.invalid.Store(true)
	k.version.Add(1)
	<-changed
	if second.Current() {
		t.Fatal("the rights of an invalid key hold")
	}
}

// TestRightsOfTheNewestModel: the rights of a principal are of the model that applies when it asks, and the same as long as that one applies.
func TestRightsOfTheNewestModel(t *testing.T) {
	var current atomic.Pointer[model.Model]
	models := []*model.Model{modelWith(t, nil), modelWith(t, map[string]*accessList{"news": {[]string{"support"}, nil}}), modelWith(t, nil)}
	current.Store(models[0])
	judges := []*access.Judge{access.NewJudge(&movingKeys{}, current.Load), access.NewJudge(&movingKeys{}, current.Load)}
	p := &access.Principal{ID: "a", Roles: []string{"support"}}
	for i := range 30 {
		m := models[i*i%len(models)]
		current.Store(m)
		for _, j := range judges {
			r := j.Of(p)
			if r.Model() != m || !r.Current() || r.Reads("news") != (m == models[1]) {
				t.Fatalf("%d: the rights are of another model, current %t", i, r.Current())
			}
			if j.Of(p) != r {
				t.Fatalf("%d: other rights under the same model", i)
			}
		}
	}
}

// TestRightsOfARole: a role's own rights belong to that role alone, they end with their holder's, and an open store has none.
func TestRightsOfARole(t *testing.T) {
	m := modelWith(t, map[string]*accessList{"news": {[]string{"support"}, nil}})
	k := &movingKeys{}
	j := access.NewJudge(k, func() *model.Model { return m })
	support := j.Of(&access.Principal{ID: "a", Roles: []string{"admin"}}).As("support")
	if !support.Reads("news") || support.Reads("invoices") || support.Writes("news") || !support.Current() {
		t.Fatal("a role has rights that are not its own")
	}
	k.invalid.Store(true)
	if support.Current() {
		t.Fatal("they outlive those of their holder")
	}
	if open := j.Of(access.Open).As("support"); !open.Writes("invoices") || !open.IsOpen() {
		t.Fatal("in an open store a role has all rights")
	}
	if p, err := (access.Everybody{}).Authenticate(nil); p != access.Open || err != nil || !(access.Everybody{}).Valid(p) || (access.Everybody{}).Valid(access.Anonymous) {
		t.Fatalf("%v, %v", p, err)
	}
}
