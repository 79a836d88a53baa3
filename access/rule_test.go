package access_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// rightsUnder returns what a principal may do under a model.
func rightsUnder(t *testing.T, source string, p *access.Principal) (*access.Rights, *access.Judge) {
	t.Helper()
	m, err := modelfile.Parse([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	j := access.NewJudge(access.Everybody{}, func() *model.Model { return m })
	return j.Of(p), j
}

// TestRules: the rule of a right says yes or no of a document, and whatever is not true is a no.
func TestRules(t *testing.T) {
	ann := &access.Principal{ID: "a", Sub: "ann", Roles: []string{"staff"}, Claims: json.RawMessage(`{"tenant":"t1","teams":["x","y"]}`)}
	doc := `{"owner":"ann","members":["bob","ann"],"tenant":"t1","n":1,"zero":0,"team":"y","many":[` + strings.Repeat("1,", 99) + `1]}`
	for rule, want := range map[string]bool{
		"auth.sub in doc.members":                                 true,
		"doc.owner == auth.sub":                                   true,
		"doc.owner != auth.sub":                                   false,
		"doc.tenant == auth.claims.tenant":                        true,
		"doc.team in auth.claims.teams":                           true,
		"auth.claims.teams.exists(t, t == doc.team)":              true,
		`"staff" in auth.roles`:                                   true,
		`"everyone" in auth.roles`:                                false,
		`auth.iss == ""`:                                          true,
		"doc.tenant == auth.claims.nothing":                       false,
		"doc.tenant != auth.claims.nothing":                       false,
		"doc.nothing != auth.sub":                                 false,
		"!has(doc.nothing) && doc.owner == auth.sub":              true,
		"doc.n / doc.zero != 7":                                   false,
		"doc.n > auth.sub":                                        false,
		"doc.n":                                                   false,
		"doc.owner":                                               false,
		"auth.claims.teams":                                       false,
		"true":                                                    true,
		"doc.owner.matches(auth.sub)":                             true,
		"doc.owner.matches(auth.claims.nothing)":                  false,
		"doc.members.exists(m, m == auth.sub && m != doc.team)":   true,
		"doc.many.all(a, doc.many.all(b, doc.many.all(c, true)))": false, // it costs too much
	} {
		source := fmt.Sprintf("collections: {tasks: {access: {read: {where: %q}}}}", rule)
		rights, _ := rightsUnder(t, source, ann)
		g := rights.Grant("tasks", model.ActRead)
		if got := g.Reads([]byte(doc)); got != want {
			t.Errorf("%s: %t, want %t", rule, got, want)
		}
		if rights.Reads("tasks") || fanfold.CodeOf(rights.CheckRead("tasks")) != fanfold.Forbidden {
			t.Errorf("%s: a conditional right is taken for one to all", rule)
		}
	}
}

// TestRulesOfWrites: the rule of each right to write sees the document as it is, as it is to be, or both.
func TestRulesOfWrites(t *testing.T) {
	const source = `collections: {tasks: {access: {
		read: {roles: [support], where: "auth.sub in doc.members"},
		create: {where: "doc.owner == auth.sub"},
		update: {where: "old.owner == auth.sub && doc.owner == old.owner"},
		delete: {roles: [chief], where: "old.owner == auth.sub"}}}}`
	const mine, others = `{"owner":"ann","members":[]}`, `{"owner":"bob","members":["ann"]}`
	rights, judge := rightsUnder(t, source, &access.Principal{ID: "a", Sub: "ann"})
	for _, c := range []struct {
		act, old, doc string
		want          bool
	}{
		{model.ActCreate, "", mine, true}, {model.ActCreate, "", others, false},
		{model.ActUpdate, mine, mine, true}, {model.ActUpdate, mine, others, false}, {model.ActUpdate, others, mine, false}, {model.ActUpdate, others, others, false},
		{model.ActDelete, mine, "", true}, {model.ActDelete, others, "", false},
	} {
		g := rights.Grant("tasks", c.act)
		of := func(text string) []byte {
			if text == "" {
				return nil
			}
			return []byte(text)
		}
		if got := g.Writes(of(c.old), of(c.doc)); got != c.want {
			t.Errorf("%s: %s to %s: %t", c.act, c.old, c.doc, got)
		}
	}
	if got, want := fmt.Sprint(judge.Refusals()), "[{tasks create 1} {tasks delete 1} {tasks read 0} {tasks update 3}]"; got != want {
		t.Errorf("refusals are %s, want %s", got, want)
	}
	for role, want := range map[string]string{"support": "[true false false false]", "chief": "[true false false true]", "admin": "[true true true true]", "other": "[false false false false]"} {
		rights, _ := rightsUnder(t, source, &access.Principal{ID: "a", Roles: []string{role}})
		var got []bool
		for _, act := range model.Acts {
			g := rights.Grant("tasks", act)
			got = append(got, g.All())
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s has %v, want %s", role, got, want)
		}
	}
}

// TestRightsKeysHaveTheIssuer: where a rule reads auth.iss, principals of two issuers, and of none, have other rights keys. Elsewhere they share one.
func TestRightsKeysHaveTheIssuer(t *testing.T) {
	key := func(rule string, p *access.Principal) string {
		rights, _ := rightsUnder(t, fmt.Sprintf("collections: {tasks: {access: {read: {where: %q}}}}", rule), p)
		return rights.Key()
	}
	all := []*access.Principal{{Sub: "ann"}, {Sub: "ann", Issuer: "https://a.example"}, {Sub: "ann", Issuer: "https://b.example"}}
	for rule, reads := range map[string]bool{"doc.owner == auth.sub": false, "doc.owner == auth.sub && auth.iss == doc.iss": true, `auth.iss.startsWith("https://a")`: true, `doc.open || auth.iss == "https://a.example"`: true} {
		keys := map[string]bool{}
		for _, p := range all {
			keys[key(rule, p)] = true
		}
		if want := map[bool]int{true: len(all), false: 1}[reads]; len(keys) != want || keys[""] {
			t.Errorf("%s: %d principals have %d keys, want %d", rule, len(all), len(keys), want)
		}
	}
}

// TestRightsKeys: those have one key who see the same, whatever else they are.
func TestRightsKeys(t *testing.T) {
	const source = `collections: {tasks: {access: {read: {roles: [support], where: "auth.sub in doc.members && auth.claims.tenant == doc.tenant"}}}, news: {access: {read: [everyone, press]}}}`
	key := func(p *access.Principal) string {
		rights, _ := rightsUnder(t, source, p)
		return rights.Key()
	}
	ann := key(&access.Principal{ID: "1", Sub: "ann", Claims: json.RawMessage(`{"tenant":"a"}`)})
	for name, p := range map[string]struct {
		key  string
		same bool
	}{
		"another key of hers": {key(&access.Principal{ID: "2", Sub: "ann", Roles: []string{"x"}, Claims: json.RawMessage(`{"more":1,"tenant":"a"}`)}), true},
		"somebody else":       {key(&access.Principal{ID: "1", Sub: "bob", Claims: json.RawMessage(`{"tenant":"a"}`)}), false},
		"another tenant":      {key(&access.Principal{ID: "1", Sub: "ann", Claims: json.RawMessage(`{"tenant":"b"}`)}), false},
		"no claims":           {key(&access.Principal{ID: "1", Sub: "ann"}), false},
		"a number":            {key(&access.Principal{ID: "1", Sub: "ann", Claims: json.RawMessage(`{"tenant":1}`)}), false},
	} {
		if (p.key == ann) != p.same || p.key == "" {
			t.Errorf("%s has the same key: %t", name, !p.same)
		}
	}
	for _, role := range []string{"support", "admin"} {
		if k := key(&access.Principal{Roles: []string{role}}); k != "" {
			t.Errorf("%s reads everything by a rule", role)
		}
	}
	if a, b := key(&access.Principal{Sub: "ann"}), key(&access.Principal{Sub: "ann", Roles: []string{"read"}}); a == b {
		t.Error("who reads other collections has the key of who does not")
	}
}

// TestKeysToCollections: a key to some collections changes with what the reader sees of those alone. The key to all does with what it sees of any, and not
// with rights to write or with a collection more that it does not see.
func TestKeysToCollections(t *testing.T) {
	keys := func(source string) [3]string {
		rights, _ := rightsUnder(t, source, &access.Principal{ID: "1", Sub: "ann", Roles: []string{"member"}, Claims: json.RawMessage(`{"level":1}`)})
		return [3]string{rights.Key(), rights.KeyTo([]string{"tasks"}), rights.KeyTo([]string{"tasks", "news"})}
	}
	const tasks, news = `tasks: {access: {read: {where: "auth.claims.level > doc.level"}, write: [%s]}}`, `news: {access: {read: [%s]}}`
	model := func(writer, reader, more string) string {
		return fmt.Sprintf("collections: {"+tasks+", "+news+more+"}", writer, reader)
	}
	first := keys(model("a", "member", ""))
	for what, c := range map[string]struct {
		source string
		same   [3]bool
	}{
		"the same":                       {model("a", "member", ""), [3]bool{true, true, true}},
		"other writers":                  {model("b", "member", ""), [3]bool{true, true, true}},
		"other readers of news":          {model("a", "staff", ""), [3]bool{false, true, false}},
		"a collection more":              {model("a", "member", ", more: {access: {}}"), [3]bool{true, true, true}},
		"a collection more that is read": {model("a", "member", ", more: {access: {read: [member]}}"), [3]bool{false, true, true}},
		"another rule":                   {strings.Replace(model("a", "member", ""), "auth.claims.level >", "auth.claims.level >=", 1), [3]bool{}},
	} {
		for i, key := range keys(c.source) {
			if key == "" || (key == first[i]) != c.same[i] {
				t.Errorf("%s: key %d is the same: %t", what, i, key == first[i])
			}
		}
	}
	rights, _ := rightsUnder(t, model("a", "member", ""), &access.Principal{ID: "1", Roles: []string{"member"}})
	if key := rights.KeyTo([]string{"news"}); key != "" {
		t.Errorf("no rule decides about news, and its key is %q", key)
	}
	later, _ := rightsUnder(t, strings.Replace(model("a", "member", ""), "> doc.level", "> doc.limit", 1), rights.Principal)
	if later.Key() == rights.Key() || later.KeyTo([]string{"tasks"}) == rights.KeyTo([]string{"tasks"}) {
		t.Error("the same principal has the same key under another model")
	}
}

// sealedHouse knows nobody, and has a secret.
type sealedHouse struct{ access.Everybody }

func (sealedHouse) Secret() []byte { return []byte("a secret of a test, of some bytes") }

// TestSeals: a sealed text comes back to those who see the same alone, it is the same each time, and its length tells nothing of a name's.
func TestSeals(t *testing.T) {
	m, err := modelfile.Parse([]byte(`collections: {tasks: {access: {read: {where: "auth.sub in doc.members"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	j := access.NewJudge(sealedHouse{}, func() *model.Model { return m })
	seal := func(sub string) *access.Seal {
		s, err := j.Of(&access.Principal{Sub: sub}).Seal()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	short, long := seal("ann").Seal([]byte("a")), seal("ann").Seal([]byte(strings.Repeat("a", fanfold.MaxIDLen)))
	if len(short) != len(long) || string(short) != string(seal("ann").Seal([]byte("a"))) || strings.Contains(string(long), "aaaa") {
		t.Errorf("two texts are %d and %d bytes", len(short), len(long))
	}
	if text, ok := seal("ann").Open(short); !ok || string(text) != "a" {
		t.Errorf("a sealed text comes back as %q, %t", text, ok)
	}
	for i := range short {
		forged := []byte(string(short))
		forged[i] ^= 1
		if _, ok := seal("ann").Open(forged); ok {
			t.Fatalf("byte %d may be another one", i)
		}
	}
	if _, ok := seal("bob").Open(short); ok {
		t.Error("another reader opens it")
	}
	for n := range 700 {
		text := strings.Repeat("x", n)
		if got, ok := seal("ann").Open(seal("ann").Seal([]byte(text))); !ok || string(got) != text {
			t.Fatalf("a text of %d bytes comes back as %d, %t", n, len(got), ok)
		}
	}
}
