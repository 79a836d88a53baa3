package flows_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/flows"
	"github.com/fanfold/fanfold/internal/modelfile"
)

// rawRule is a rule as the oracle knows it: whose field it is, along which relation it goes, and which fields it looks at.
type rawRule struct {
	collection, field, text string
	source                  string      // the collection along the relation; "" of a value alone
	reads                   [][2]string // collection and field; the field "*" stands for all
	publish                 bool
}

// rawAccess is the access of a collection.
type rawAccess struct {
	declared             bool
	read, update, delete []string
	create               []string
	where                bool // of read
}

// rawModel is a random model. Fields are x and y, which are written, and d0 to d2, which rules may own.
type rawModel struct {
	names  []string
	access map[string]rawAccess
	ids    map[string]string // by "collection.relation": the field that has the ids
	to     map[string]string
	rules  []*rawRule
}

// randomRaw draws a model.
func randomRaw(r *rand.Rand) *rawModel {
	m := &rawModel{names: []string{"a", "b", "c", "d"}, access: map[string]rawAccess{}, ids: map[string]string{}, to: map[string]string{}}
	roles := func() (list []string) {
		for _, role := range []string{"read", "write", "p", "q", "admin", "everyone"} {
			if r.IntN(4) == 0 {
				list = append(list, role)
			}
		}
		return list
	}
	for _, c := range m.names {
		if r.IntN(3) > 0 {
			m.access[c] = rawAccess{declared: true, read: roles(), update: roles(), delete: roles(), create: roles(), where: r.IntN(4) == 0}
		}
		for i := range 2 {
			if r.IntN(3) > 0 {
				name := fmt.Sprintf("%s.r%d", c, i)
				m.ids[name], m.to[name] = []string{"x", "y", "d0", "d1"}[r.IntN(4)], m.names[r.IntN(len(m.names))]
			}
		}
	}
	for _, c := range m.names {
		for i := range 3 {
			if r.IntN(3) > 0 {
				m.addRule(r, c, fmt.Sprintf("d%d", i))
			}
		}
	}
	return m
}

// addRule draws the rule of a field.
func (m *rawModel) addRule(r *rand.Rand, c, field string) {
	read := func() string { return []string{"x", "y", "d0", "d1", "d2"}[r.IntN(5)] }
	rule := &rawRule{collection: c, field: field, publish: r.IntN(2) == 0}
	var out, in []string // relations of the collection, and those that lead to it
	for name, to := range m.to {
		if strings.HasPrefix(name, c+".") {
			out = append(out, name)
		}
		if to == c {
			in = append(in, name)
		}
	}
	slices.Sort(out)
	slices.Sort(in)
	one, other := read(), read()
	switch kind := r.IntN(6); {
	case kind == 0:
		rule.text = fmt.Sprintf("value: 'doc.%s + doc.%s'", one, other)
		rule.reads = [][2]string{{c, one}, {c, other}}
	case kind == 1 && len(out) > 0:
		relation := out[r.IntN(len(out))]
		rule.source = m.to[relation]
		rule.text, rule.reads = fmt.Sprintf("copy: %s, value: doc.%s", relation[2:], one), [][2]string{{rule.source, one}, {c, m.ids[relation]}}
		if r.IntN(4) == 0 {
			rule.text, rule.reads[0][1] = fmt.Sprintf("copy: %s, value: size(doc)", relation[2:]), "*"
		}
	case kind > 1 && len(in) > 0:
		relation := in[r.IntN(len(in))]
		rule.source = relation[:1]
		rule.reads = [][2]string{{rule.source, m.ids[relation]}}
		switch kind {
		case 2:
			rule.text = fmt.Sprintf("ids: %s", relation)
		case 3:
			rule.text = fmt.Sprintf("count: %s, where: doc.%s == 1", relation, one)
			rule.reads = append(rule.reads, [2]string{rule.source, one})
		case 4:
			rule.text = fmt.Sprintf("sum: %s, of: %s, where: doc.%s == 1", relation, one, other)
			rule.reads = append(rule.reads, [2]string{rule.source, one}, [2]string{rule.source, other})
		case 5:
			rule.text = fmt.Sprintf("recent: %s, max: 2, fields: [%s], orderBy: %s", relation, one, other)
			rule.reads = append(rule.reads, [2]string{rule.source, one}, [2]string{rule.source, other})
		}
	default:
		return
	}
	m.rules = append(m.rules, rule)
}

// String returns the model as YAML.
func (m *rawModel) String() string {
	var all []string
	for _, c := range m.names {
		var relations, rules []string
		for name, to := range m.to {
			if strings.HasPrefix(name, c+".") {
				relations = append(relations, fmt.Sprintf("%s: { path: %s, to: %s }", name[2:], m.ids[name], to))
			}
		}
		for _, r := range m.rules {
			if r.collection == c {
				rules = append(rules, fmt.Sprintf("%s: { %s, publish: %t }", r.field, r.text, r.publish))
			}
		}
		access := ""
		if a := m.access[c]; a.declared {
			list := func(roles []string) string { return "[" + strings.Join(roles, ", ") + "]" }
			where := ""
			if a.where {
				where = ", where: doc.x == auth.sub"
			}
			access = fmt.Sprintf("access: { read: { roles: %s%s }, create: %s, update: %s, delete: %s }, ", list(a.read), where, list(a.create), list(a.update), list(a.delete))
		}
		all = append(all, fmt.Sprintf("  %s: { %srelations: { %s }, derive: { %s } }", c, access, strings.Join(relations, ", "), strings.Join(rules, ", ")))
	}
	return "collections:\n" + strings.Join(all, "\n") + "\n"
}

// mayRead tells whether a principal with some roles may read any document of a collection, and whether it may read every one.
func (m *rawModel) mayRead(roles []string, c string) (some, all bool) {
	a := m.access[c]
	lists := [][]string{a.read, a.update, a.delete}
	if !a.declared {
		lists = [][]string{{"read", "write"}}
	}
	all = slices.Contains(roles, "admin")
	for _, list := range lists {
		for _, role := range list {
			all = all || role == "everyone" || slices.Contains(roles, role)
		}
	}
	return all || a.where, all
}

// needed tries all principals: whether one of them reads something of the one collection, and not all of the other.
func (m *rawModel) needed(from, to string) bool {
	names := []string{"read", "write", "p", "q", "admin"}
	for bits := range 1 << len(names) {
		var roles []string
		for i, name := range names {
			if bits>>i&1 == 1 {
				roles = append(roles, name)
			}
		}
		some, _ := m.mayRead(roles, to)
		_, all := m.mayRead(roles, from)
		if some && !all {
			return true
		}
	}
	return false
}

// sources returns the collections that each rule tells about. It goes over all rules until nothing more is found.
func (m *rawModel) sources() map[*rawRule]map[string]bool {
	found := map[*rawRule]map[string]bool{}
	for _, r := range m.rules {
		if found[r] = map[string]bool{}; r.source != "" {
			found[r][r.source] = true
		}
	}
	for more := true; more; {
		more = false
		for _, r := range m.rules {
			for _, read := range r.reads {
				for _, o := range m.rules {
					if o.collection != read[0] || o.field != read[1] && o.field+"Truncated" != read[1] && read[1] != "*" {
						continue
					}
					for c := range found[o] {
						more = more || !found[r][c]
						found[r][c] = true
					}
				}
			}
		}
	}
	return found
}

// TestRandomFlows: random models have the flows that an oracle finds, which knows what each rule looks at and tries every principal.
func TestRandomFlows(t *testing.T) {
	models, refusals, chains, allowed := 0, 0, 0, 0
	for seed := range uint64(6_000) {
		raw := randomRaw(rand.New(rand.NewPCG(seed, 51))) //nolint:gosec // it need not be secret
		m, err := modelfile.Parse([]byte(raw.String()))
		if err != nil { // a value would depend on itself, or ids that are derived cannot be so
			continue
		}
		models++
		var want, wantTold []string
		sources := raw.sources()
		for _, r := range raw.rules {
			if len(sources[r]) > 1 {
				chains++
			}
			for _, from := range raw.names {
				if !sources[r][from] {
					continue
				}
				name := r.collection + "." + r.field
				want = append(want, fmt.Sprintf("%s %s %s %t", name, from, r.collection, r.publish))
				if needed := raw.needed(from, r.collection); needed && !r.publish {
					wantTold = append(wantTold, fmt.Sprintf("%s tells readers of %s about %s", name, r.collection, from))
				} else if !needed {
					allowed++
				}
			}
		}
		var got []string
		for _, f := range flows.Of(m) {
			got = append(got, fmt.Sprintf("%s %s %s %t", f.Rule, f.From, f.To, f.Publish))
		}
		told := refused(t, m)
		if len(told) > 0 {
			refusals++
		}
		if !slices.Equal(got, want) || !slices.Equal(told, wantTold) {
			t.Fatalf("seed %d:\n%s\nflows %q\nwant  %q\ntold %q\nwant %q", seed, raw, got, want, told, wantTold)
		}
	}
	if models < 1000 || refusals < 500 || chains < 500 || allowed < 500 {
		t.Errorf("only %d models, %d refused, %d fields with several sources, %d flows that need no publish", models, refusals, chains, allowed)
	}
}
