package flows_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrivateFlows: a value that is made of a private member is private itself, for no more roles, or says that it publishes.
func TestPrivateFlows(t *testing.T) {
	const told = "as.x tells readers of as about %s, which is private"
	for _, c := range []struct{ derive, private, want string }{
		{"x: { value: doc.cost * 2 }", "", "cost of as"},
		{"x: { value: doc.cost * 2, publish: true }", "", ""},
		{"x: { value: doc.cost * 2 }", ", x: [staff]", ""},
		{"x: { value: doc.cost * 2 }", ", x: []", ""},
		{"x: { value: doc.cost * 2 }", ", x: [staff, other]", "cost of as"},
		{"x: { value: doc.other }", "", ""},
		{"x: { value: 'doc.lines.exists(l, l.price > 1)' }", "", "lines[].price of as"},
		{"x: { value: 'doc.lines.exists(l, l.name == doc.name)' }", "", ""},
		{"x: { value: 'doc.lines.filter(l, l.price > 1).exists(l, l.n > 1)' }", "", "lines[].price of as"},
		{"x: { value: size(doc.lines) }", "", "lines[].price of as"}, // the elements are looked at as a whole
		{"x: { sum: 'lines[].price' }", "", "lines[].price of as"},
		{"x: { sum: 'lines[].n' }", "", ""},
		{"x: { sum: 'lines[].n', where: element.price > 1 }", "", "lines[].price of as"},
		{"x: { copy: b, value: doc.secret }", "", "secret of bs"},
		{"x: { copy: b, value: doc.secret }", ", x: [boss]", ""},
		{"x: { copy: b, value: doc.name }", "", ""},
		{"x: { copy: hidden, value: doc.name }", "", "hiddenId of as"}, // it tells to which document it refers
		{"x: { count: bs.a }", "", ""},
		{"x: { count: bs.a, where: doc.secret > 1 }", "", "secret of bs"},
		{"x: { sum: bs.a, of: secret }", "", "secret of bs"},
		{"x: { recent: bs.a, fields: [name], max: 3 }", "", ""},
		{"x: { recent: bs.a, fields: [name, secret], max: 3 }", "", "secret of bs"},
		{"x: { recent: bs.a, fields: [name, secret], max: 3 }", ", 'x[].secret': [boss]", ""},
		{"x: { recent: bs.a, fields: [name, secret], max: 3 }", ", 'x[].secret': [staff]", "secret of bs"},
		{"x: { recent: bs.a, fields: [name], max: 3, orderBy: secret }", ", 'x[].secret': [boss]", "secret of bs"},
		{"x: { ids: bs.hidden }", "", "aId of bs"},
	} {
		m := parse(t, fmt.Sprintf(`
collections:
  as:
    relations: { b: { path: bId, to: bs }, hidden: { path: hiddenId, to: bs } }
    derive: { %s }
    private: { cost: [staff], "lines[].price": [staff], hiddenId: [staff]%s }
  bs:
    relations: { a: { path: a, to: as }, hidden: { path: aId, to: as } }
    private: { secret: [boss], aId: [boss] }
`, c.derive, c.private))
		want := ""
		if c.want != "" {
			want = fmt.Sprintf(told, c.want)
		}
		if got := strings.Join(refused(t, m), "\n"); got != want {
			t.Errorf("%s%s: %q, want %q", c.derive, c.private, got, want)
		}
	}
}
