package modelfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
)

// TestChecks: checks are read by name, with the rules that they depend on, whichever way these lead.
func TestChecks(t *testing.T) {
	m, err := modelfile.Parse([]byte(`
collections:
  customers:
    derive: { spent: { sum: orders.customer, of: total }, rank: { value: 'doc.spent > 10 ? 1 : 0' }, other: { count: orders.customer } }
    checks: { limit: { that: doc.spent <= doc.credit, message: "No credit" }, b: { that: doc.name != "" }, ranked: { that: doc.rank < 5 } }
  orders:
    relations: { customer: { path: customer, to: customers } }
    derive: { total: { sum: lines.order, of: price }, name: { copy: customer, value: doc.name } }
  lines:
    relations: { order: { path: order, to: orders }, product: { path: product, to: products } }
    derive: { price: { copy: product, value: doc.price }, label: { copy: product, value: doc.label } }
  products: {}
`))
	if err != nil {
		t.Fatal(err)
	}
	c := m.Collection("customers")
	var got []string
	for _, k := range c.Checks {
		line := k.Name + " " + k.Message + ":"
		for _, r := range m.RulesOf(c, k) {
			line += " " + r.Name()
		}
		got = append(got, line)
	}
	want := "b :\nlimit No credit: lines.price orders.total customers.spent\nranked : lines.price orders.total customers.spent customers.rank"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("the checks are\n%s\nwant\n%s", text, want)
	}
	if text := string(m.Unguarded()); strings.Contains(text, "checks") {
		t.Errorf("without guards the model is %s", text)
	}
}

// TestCheckMistakes: mistakes in checks are named with their places.
func TestCheckMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{a: {that: "doc.x +"}}`:                    "collections.c.checks.a.that",
		`{a: {message: "no"}}`:                      "that is missing",
		`{a: {that: "doc.x > 1", else: 1}}`:         "a check has that and message",
		`{"a.b": {that: "doc.x > 1"}}`:              "must not be empty nor hold",
		`{a: "doc.x > 1"}`:                          "must be a mapping with that and message",
		`{a: {that: "doc.x > 1", message: 7}}`:      "collections.c.checks.a.message",
		`{a: {that: "unknown(doc.x)"}}`:             "collections.c.checks.a.that",
		`{a: {that: "` + long("doc.x", 999) + `"}}`: "collections.c.checks.a.that",
	} {
		if _, err := modelfile.Parse([]byte("collections: {c: {checks: " + text + "}}")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// long returns an expression of many parts.
func long(term string, n int) string { return strings.Repeat(term+" + ", n) + term + " > 1" }

// TestCheckSizes: a collection has 32 checks, and a message 1,000 bytes.
func TestCheckSizes(t *testing.T) {
	parse := func(checks, message int) error {
		var all []string
		for i := range checks {
			all = append(all, fmt.Sprintf("c%d: {that: doc.x > %d, message: %q}", i, i, strings.Repeat("m", message)))
		}
		_, err := modelfile.Parse([]byte("collections: {c: {checks: {" + strings.Join(all, ", ") + "}}}"))
		return err
	}
	if err := parse(32, 1000); err != nil {
		t.Error(err)
	}
	if err := parse(33, 1); err == nil || !strings.Contains(err.Error(), "more than 32 checks in one collection") {
		t.Errorf("33 checks: %v", err)
	}
	if err := parse(1, 1001); err == nil || !strings.Contains(err.Error(), "at most 1000 bytes") {
		t.Errorf("a long message: %v", err)
	}
}
