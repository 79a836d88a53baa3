package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// ordersModel has orders of products with a rule, and what else their collection says.
func ordersModel(onDelete, derive, more string) string {
	return fmt.Sprintf("collections: {products: {}, orders: {relations: {item: {path: item, to: products, onDelete: %s}}, derive: {%s}%s}}", onDelete, derive, more)
}

const (
	frozenPrice = "price: {copy: item, value: doc.price, frozen: true}"
	plainPrice  = "price: {copy: item, value: doc.price}"
)

// frozenOrders opens a store in which orders 1 and 2 have a frozen price of 2.50, and pens cost 99 by now.
func frozenOrders(t *testing.T) *harness.Store {
	s := harness.OpenTemp(t, ordersModel("clear", frozenPrice, ""))
	s.Put("products", "pen", `{"price":2.50}`)
	s.Put("orders", "1", `{"item":"pen"}`)
	s.Put("orders", "2", `{"item":"pen"}`)
	s.Put("products", "pen", `{"price":99}`)
	return s
}

// TestFrozenValuesComeBack: what a frozen rule has taken stays stored while the rule is away, and comes back with it, byte
// for byte, however the rule went.
func TestFrozenValuesComeBack(t *testing.T) {
	suite.Parallel(t)
	for name, without := range map[string]string{
		"rule":       "collections: {products: {}, orders: {relations: {item: {path: item, to: products}}}}",
		"relation":   "collections: {products: {}, orders: {derive: {}}}",
		"collection": "collections: {products: {}}",
		"all":        "collections: {}",
	} {
		t.Run(name, func(t *testing.T) {
			s := frozenOrders(t)
			s.Model(without)
			s.WantDoc("orders", "1", `{"id":"1","item":"pen"}`)
			s.Put("orders", "3", `{"item":"pen"}`)
			s.Put("orders", "1", `{"item":"pen","paid":true}`)
			s.Delete("products", "pen")
			s.Put("products", "pen", `{"price":100}`)
			s.Model(ordersModel("clear", frozenPrice, ""))
			s.WantDoc("orders", "1", `{"id":"1","item":"pen","paid":true,"price":2.50}`)
			s.WantDoc("orders", "2", `{"id":"2","item":"pen","price":2.50}`)
			s.WantDoc("orders", "3", `{"id":"3","item":"pen","price":100}`)
		})
	}
}

// TestKeptValuesComeBack: the same of what stayed after a target's delete, until the target returns.
func TestKeptValuesComeBack(t *testing.T) {
	s := harness.OpenTemp(t, ordersModel("keep", plainPrice, ""))
	for _, id := range []string{"ink", "pen"} {
		s.Put("products", id, `{"price":2.50}`)
		s.Put("orders", id, `{"item":"`+id+`"}`)
		s.Delete("products", id)
	}
	s.Model("collections: {products: {}}")
	s.Put("products", "ink", `{"price":7}`)
	s.Delete("products", "ink")
	s.Model(ordersModel("keep", plainPrice, ""))
	s.WantDoc("orders", "pen", `{"id":"pen","item":"pen","price":2.50}`)
	s.WantDoc("orders", "ink", `{"id":"ink","item":"ink"}`)
}

// TestHoldersThatLetGo: while the rule is away, a holder that is deleted, or refers to something else, loses its value as
// it would under the rule.
func TestHoldersThatLetGo(t *testing.T) {
	s := frozenOrders(t)
	s.Model("collections: {}")
	s.Put("orders", "1", `{"item":"ink"}`)
	s.Put("orders", "1", `{"item":"pen"}`)
	s.Delete("orders", "2")
	s.Put("orders", "2", `{"item":"pen"}`)
	wantKept(t, s, ordersModel("clear", "", ", release: [price]"), "")
	s.Model(ordersModel("clear", frozenPrice, ""))
	s.WantDoc("orders", "1", `{"id":"1","item":"pen","price":99}`)
	s.WantDoc("orders", "2", `{"id":"2","item":"pen","price":99}`)
}

// wantKept wants what a dry run of a model says of values that stay on documents, "" for nothing.
func wantKept(t *testing.T, s *harness.Store, model, want string) {
	t.Helper()
	if got := harness.KeptValues(t, s, model); got != want {
		t.Errorf("a model says of what is kept\n  %s\nwant\n  %s", got, want)
	}
}

// TestValuesThatWouldBeLost: what a model would lose is counted, and it is taken only with a release of the path.
func TestValuesThatWouldBeLost(t *testing.T) {
	suite.Parallel(t)
	const all = `{"rule":"orders.price","values":2,"kind":"frozen","outcome":"%s"}`
	s := frozenOrders(t)
	wantKept(t, s, "collections: {}", fmt.Sprintf(all, "reserved"))
	wantKept(t, s, ordersModel("clear", strings.Replace(frozenPrice, "doc.price", "doc.cost", 1), ""), "")
	lost := map[string]string{
		"not frozen":     ordersModel("clear", plainPrice, "%s"),
		"kept":           ordersModel("keep", plainPrice, "%s"),
		"other kind":     "collections: {products: {}, orders: {relations: {item: {path: item, to: products}, up: {path: up, to: orders}}, derive: {price: {count: orders.up}}%s}}",
		"other path":     strings.Replace(ordersModel("clear", frozenPrice, "%s"), "path: item", "path: other", 1),
		"other target":   strings.ReplaceAll(ordersModel("clear", frozenPrice, "%s"), "products", "things"),
		"removed":        "collections: {orders: {derive: {}%s}}",
		"removed, still": ordersModel("clear", "", "%s"),
	}
	refused := func(model string) {
		t.Helper()
		before := s.Digest()
		wantKept(t, s, fmt.Sprintf(model, ""), fmt.Sprintf(all, "lost"))
		r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?allowRemoval=true", fmt.Sprintf(model, ""), "Content-Type", harness.YAMLType)
		if want := `{"path":"collections.orders.release","detail":"2 frozen values of orders.price would be lost`; !strings.Contains(string(r.Body), want) {
			t.Errorf("it says %s", r.Body)
		}
		keeps := strings.Contains(model, "frozen") || strings.Contains(model, "onDelete: keep")
		if says := strings.Contains(string(r.Body), "in a model without this rule, and apply this one afterwards"); says != keeps {
			t.Errorf("of a rule that keeps values it says %s", r.Body)
		}
		s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?allowRemoval=true&background=true", fmt.Sprintf(model, ""), "Content-Type", harness.YAMLType)
		if s.Digest() != before {
			t.Error("a refused model changed something")
		}
	}
	for name, model := range lost {
		if !strings.HasPrefix(name, "removed") {
			refused(model)
		}
		if name != "kept" && name != "other path" && name != "other target" { // whose rules keep values, too
			wantKept(t, s, fmt.Sprintf(model, ", release: [price]"), fmt.Sprintf(all, "lost"))
		}
	}
	s.Model("collections: {}")
	for _, name := range []string{"not frozen", "other path", "other target"} {
		refused(lost[name])
	}
	wantKept(t, s, ordersModel("clear", frozenPrice, ""), fmt.Sprintf(all, "restored"))
	wantKept(t, s, "collections: {stock: {}}", "")
	s.Model(ordersModel("clear", plainPrice, ", release: [price]"))
	s.WantDoc("orders", "1", `{"id":"1","item":"pen","price":99}`)
	wantKept(t, s, "collections: {}", "")
}

// TestReleaseLosesValues: a released path has nothing stored any more, whether the rule goes with it or went before.
func TestReleaseLosesValues(t *testing.T) {
	for _, steps := range [][]string{
		{ordersModel("clear", "", ", release: [price]")},
		{ordersModel("clear", "", ""), ordersModel("clear", "", ", release: [price]")},
		{"collections: {}", "collections: {orders: {release: [price]}}"},
	} {
		s := frozenOrders(t)
		for _, model := range steps {
			s.Model(model)
		}
		s.Model(ordersModel("clear", frozenPrice, ""))
		s.WantDoc("orders", "1", `{"id":"1","item":"pen","price":99}`)
	}
}

// TestReleaseBesideKeepingRule: a model cannot release the path of a rule that keeps values, whichever of the two came first.
// A line that was left over would let the values go, unasked, with the rule.
func TestReleaseBesideKeepingRule(t *testing.T) {
	const release = ", release: [price]"
	s := frozenOrders(t)
	before := s.Digest()
	refused := func(method, path, body, contentType string) {
		t.Helper()
		harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", method, path, body, []string{"Content-Type", contentType}, []string{"collections.orders.release", `"price"`, "orders.price keeps values there", "take it out of release"}})
	}
	refused("PUT", "/v1/_model?allowRemoval=true", ordersModel("clear", frozenPrice, release), harness.YAMLType)
	refused("PUT", "/v1/_model?dryRun=true", ordersModel("keep", plainPrice, release), harness.YAMLType)
	refused("PATCH", "/v1/_model", `{"collections":{"orders":{"release":["price"]}}}`, harness.MergeType)
	refused("PUT", "/v1/_model/orders", `{"relations":{"item":{"path":"item","to":"products"}},"derive":{"price":{"copy":"item","value":"doc.price","frozen":true}},"release":["price"]}`, "application/json")
	if s.Digest() != before {
		t.Error("a refused model changed something")
	}
	s.Model(ordersModel("clear", plainPrice, release)) // which keeps none
	refused("PATCH", "/v1/_model", `{"collections":{"orders":{"derive":{"price":{"frozen":true}}}}}`, harness.MergeType)
	refused("PATCH", "/v1/_model", `{"collections":{"orders":{"relations":{"item":{"onDelete":"keep"}}}}}`, harness.MergeType)
	s.Model(ordersModel("clear", frozenPrice, ""))
	s.Put("products", "pen", `{"price":100}`)
	s.Model(ordersModel("clear", "", ""))
	s.Model(ordersModel("clear", frozenPrice, ""))
	s.WantDoc("orders", "1", `{"id":"1","item":"pen","price":99}`)
}

// TestChangedRuleKeepsValues: what was taken stays where a rule is said otherwise and keeps the same; what had no value
// gets one by the rule as it is now.
func TestChangedRuleKeepsValues(t *testing.T) {
	s := frozenOrders(t)
	s.Put("products", "ink", `{"cost":5}`)
	s.Put("orders", "3", `{"item":"ink"}`)
	cost := strings.Replace(frozenPrice, "doc.price", "doc.cost", 1)
	s.Model(ordersModel("clear", cost, ""))
	s.WantDoc("orders", "1", `{"id":"1","item":"pen","price":2.50}`)
	s.WantDoc("orders", "3", `{"id":"3","item":"ink","price":5}`)
	renamed := "collections: {products: {}, orders: {relations: {thing: {path: item, to: products, onDelete: unlink}}, derive: {price: {copy: thing, value: doc.cost, frozen: true}}}}"
	s.Model(renamed)
	s.Merge("products", "ink", `{"cost":6}`)
	s.WantDoc("orders", "1", `{"id":"1","item":"pen","price":2.50}`)
	s.WantDoc("orders", "3", `{"id":"3","item":"ink","price":5}`)
}

// TestRetiredInBackground: a model that is prepared may take a rule away while writes go on under it, and is withdrawn
// where values have come meanwhile that it would lose.
func TestRetiredInBackground(t *testing.T) {
	suite.Parallel(t)
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	s.Model(ordersModel("clear", frozenPrice, ""))
	s.Put("products", "pen", `{"price":2.50}`)
	seq := s.Propose(ordersModel("clear", plainPrice, ""))
	s.Prepared()
	s.Put("orders", "1", `{"item":"pen"}`)
	hold.Release()
	if _, err := s.Node.Projector.Settled(t.Context(), seq); err == nil || !strings.Contains(err.Error(), "1 frozen values of orders.price") {
		t.Fatalf("the model settled as %v", err)
	}
	hold.Renew()

	seq = s.Propose("collections: {}")
	s.Prepared()
	s.Put("orders", "2", `{"item":"pen"}`)
	s.Put("products", "pen", `{"price":99}`)
	s.Put("orders", "3", `{"item":"pen"}`)
	s.Delete("orders", "2")
	hold.Release()
	s.Activated(seq)
	s.Put("products", "pen", `{"price":100}`)
	const both = `{"rule":"orders.price","values":2,"kind":"frozen","outcome":"restored"}`
	wantKept(t, s, ordersModel("clear", frozenPrice, ""), both)
	hold.Renew()

	s.Put("orders", "4", `{"item":"pen"}`)
	seq = s.Propose(ordersModel("clear", frozenPrice, ""))
	s.Prepared()
	s.Put("orders", "3", `{"item":"ink"}`)
	s.Put("orders", "3", `{"item":"pen"}`)
	s.Put("orders", "1", `{"item":"pen","paid":true}`)
	s.Put("products", "pen", `{"price":101}`)
	hold.Release()
	s.Activated(seq)
	s.Put("products", "pen", `{"price":102}`)
	for id, want := range map[string]string{"1": `"paid":true,"price":2.50`, "3": `"price":101`, "4": `"price":101`} {
		s.WantDoc("orders", id, `{"id":"`+id+`","item":"pen",`+want+`}`)
	}
	changed := ordersModel("clear", strings.Replace(frozenPrice, "doc.price", "doc.cost", 1), "")
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?background=true", changed, "Content-Type", harness.YAMLType)
	sameAfterReplay(t, s)
}

// TestExportOfRetiredValues: an export takes the values of removed rules along, and a store that loads it shows them under the same rule.
// A store that has other rules loads the documents alone.
func TestExportOfRetiredValues(t *testing.T) {
	suite.Parallel(t)
	s := frozenOrders(t)
	s.Model("collections: {products: {}}")
	export := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body)
	const retired = `"retired":[{"collection":"orders","path":"price","refers":"item","to":"products","frozen":true}]`
	if !strings.Contains(export, retired) {
		t.Fatalf("the export is %s", export)
	}
	other := harness.OpenTemp(t, "")
	for range 2 { // the second time nothing is new
		if got := harness.ImportText(t, other.Client, "", export); !strings.Contains(got, `"refused":0`) {
			t.Fatalf("the import says %s", got)
		}
	}
	other.Want(http.StatusUnprocessableEntity, http.MethodPatch, "/v1/orders/1", `{"price":1}`, "Content-Type", harness.MergeType)
	other.Model(ordersModel("clear", frozenPrice, ""))
	other.WantDoc("orders", "1", `{"id":"1","item":"pen","price":2.50}`)
	sameAfterReplay(t, other)
	third := harness.OpenTemp(t, "collections: {orders: {release: [price]}}")
	if got := harness.ImportText(t, third.Client, "allowRemoval=true", strings.Replace(export, `"collections":{`, `"collections":{"orders":{"release":["price"]},`, 1)); !strings.Contains(got, `"refused":0`) {
		t.Fatalf("the import says %s", got)
	}
	third.Model(ordersModel("clear", frozenPrice, ""))
	third.WantDoc("orders", "1", `{"id":"1","item":"pen","price":99}`)
}

// TestRetiredRulesOfImports: what an import says of removed rules has bounds, and is refused with its line.
func TestRetiredRulesOfImports(t *testing.T) {
	s := harness.OpenTemp(t, "")
	rule := func(collection, path, refers string) string {
		return fmt.Sprintf(`{"collection":%q,"path":%q,"refers":%q,"to":"c"}`, collection, path, refers)
	}
	var many []string
	for i := range 2001 {
		many = append(many, rule("a", fmt.Sprint("p", i), "r"))
	}
	for name, retired := range map[string]string{
		"no list": `{}`, "none": `[]`, "unknown member": `[{"collection":"a","path":"p","refers":"r","to":"c","x":1}]`,
		"collection": "[" + rule("_a", "p", "r") + "]", "path": "[" + rule("a", "p.", "r") + "]", "relation": "[" + rule("a", "p", "r[") + "]",
		"no target": `[{"collection":"a","path":"p","refers":"r"}]`, "twice": "[" + rule("a", "p", "r") + "," + rule("a", "p", "q") + "]",
		"long": "[" + rule("a", strings.Repeat("p", 2001), "r") + "]", "many": "[" + strings.Join(many, ",") + "]",
	} {
		if got := harness.ImportText(t, s.Client, "", `{"model":{"collections":{}},"retired":`+retired+"}"); !strings.Contains(got, `"refused":1`) || !strings.Contains(got, `"status":400`) {
			t.Errorf("%s: the import says %s", name, got)
		}
	}
	if got := harness.ImportText(t, s.Client, "", `{"collection":"a","doc":{},"retired":[`+rule("a", "p", "r")+"]}"); !strings.Contains(got, `"refused":1`) {
		t.Errorf("of a document the import says %s", got)
	}
	if got := harness.ImportText(t, s.Client, "", `{"model":{"collections":{}},"retired":[`+strings.Join(many[:2000], ",")+"]}"); !strings.Contains(got, `"refused":0`) {
		t.Errorf("of 2,000 rules the import says %s", got)
	}
	if got := harness.ImportText(t, s.Client, "", `{"model":{"collections":{}},"retired":[`+many[2000]+"]}"); !strings.Contains(got, `"status":422`) {
		t.Errorf("of one more the import says %s", got)
	}
}

// TestRetiredRulesSpareMembers: a removed rule that comes with an import reserves no path that stored documents use.
func TestRetiredRulesSpareMembers(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {books: {unique: [isbn]}}")
	s.Put("books", "1", `{"title":"mine","isbn":"1"}`)
	for _, path := range []string{"title", "isbn"} {
		line := fmt.Sprintf(`{"model":{"collections":{"books":{"unique":["isbn"]}}},"retired":[{"collection":"books","path":%q,"refers":"r","to":"c"}]}`, path)
		if got := harness.ImportText(t, s.Client, "", line); !strings.Contains(got, `"status":422`) || !strings.Contains(got, "books/1 has a member of its own") {
			t.Errorf("the import says %s", got)
		}
	}
	s.Put("books", "1", `{"title":"mine","isbn":"1","n":2}`)
	s.WantDoc("books", "1", `{"id":"1","title":"mine","isbn":"1","n":2}`)
}

// TestManyLosses: of many rules whose values a model would lose an error names the first.
func TestManyLosses(t *testing.T) {
	frozen, plain := make([]string, 25), make([]string, 25)
	for i := range frozen {
		plain[i] = fmt.Sprintf("p%02d: {copy: item, value: doc.price}", i)
		frozen[i] = strings.Replace(plain[i], "}", ", frozen: true}", 1)
	}
	s := harness.OpenTemp(t, ordersModel("clear", strings.Join(frozen, ", "), ""))
	s.Put("products", "pen", `{"price":2.50}`)
	s.Put("orders", "1", `{"item":"pen"}`)
	r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?allowRemoval=true", ordersModel("clear", strings.Join(plain, ", "), ""), "Content-Type", harness.YAMLType)
	if n := strings.Count(string(r.Body), "would be lost"); n != 20 {
		t.Errorf("it names %d rules: %s", n, r.Body)
	}
}
