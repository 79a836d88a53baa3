package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// billedModel numbers bills, which clients, functions and a trigger create.
const billedModel = `
collections:
  bills: { sequences: { number: {}, ofShop: { per: doc.shop } } }
  orders: { trigger: bill }
  shops: {}
functions:
  bill:
    source: |
      export default (ctx, { after }) => {
        ctx.create("bills", { shop: after.shop, made: "trigger" })
        if (after.refused) ctx.fail("refused")
      }
  sell:
    source: |
      export default (ctx, { shop, n, refused }) => {
        for (let i = 0; i < n; i++) ctx.create("bills", { shop, made: "call" })
        try { ctx.put("orders", ctx.uuid(), { shop, refused: true }) } catch {}
        ctx.put("orders", ctx.uuid(), { shop })
        if (refused) ctx.fail("refused")
      }
`

// TestNumbersOfEveryWriter: 64 writers create numbered documents by calls, triggers, transactions, imports and single writes. Some are refused, and
// nodes are killed meanwhile. In the order of the log the numbers are 1, 2, 3 and so on, in all and in each shop.
func TestNumbersOfEveryWriter(t *testing.T) {
	suite.Parallel(t)
	for count := 1; count <= 2; count++ {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			suite.Parallel(t)
			c := newPlacesCluster(t, count, billedModel)
			most := int64(suite.Amount(300, 6000))
			var wg sync.WaitGroup
			for i := range calledClients {
				rng := rand.New(rand.NewPCG(uint64(count), uint64(i)))
				wg.Go(func() {
					for c.ops.Add(1) < most && !t.Failed() {
						c.bill(i%count, rng)
					}
				})
			}
			kills := c.killEvery(most/4, most, rand.New(rand.NewPCG(uint64(count), 1000)))
			wg.Wait()
			for i := range c.nodes { // others may have been faster than each call
				node := c.nodes[i].Load().Client
				node.Want(http.StatusOK, http.MethodPost, "/v1/_functions/sell", `{"shop":1,"n":1}`, "Fanfold-Timeout", "60")
				node.Put("bills", fmt.Sprint("last", i), `{"shop":1}`)
			}
			requireNumbers(t, c.nodes[0].Load().Client, kills)
			for i := range c.nodes {
				c.nodes[i].Load().Verify(t)
			}
		})
	}
}

// bill sends a random request that creates bills. How it ends is of no account: the log tells.
func (c *placesCluster) bill(node int, rng *rand.Rand) {
	shop, id, method, path, kind := rng.IntN(3), strconv.FormatUint(rng.Uint64(), 36), http.MethodPost, "/v1/_transactions", "application/json"
	bill := fmt.Sprintf(`{"shop":%d}`, shop)
	body := fmt.Sprintf(`{"operations":[{"op":"create","collection":"bills","body":%s},{"op":"create","collection":"bills","body":%s},{"op":"put","collection":"shops","id":"%d","body":{}}`, bill, bill, shop)
	switch rng.IntN(8) {
	case 0:
		method, path, body = http.MethodPut, "/v1/bills/"+id, bill
	case 1:
		method, path, body = http.MethodPut, "/v1/orders/"+id, bill
	case 2:
		method, path, body = http.MethodPut, "/v1/orders/"+id, fmt.Sprintf(`{"shop":%d,"refused":true}`, shop)
	case 3:
		body += "]}"
	case 4:
		body += `,{"op":"check","collection":"shops","id":"none","ifMatch":"*"}]}`
	case 5:
		path, kind = "/v1/_import", "application/x-ndjson"
		body = fmt.Sprintf(`{"collection":"orders","doc":{"id":"%s-1","shop":%d}}`, id, shop) + "\n" + fmt.Sprintf(`{"collection":"bills","doc":{"id":"%s-2","shop":%d}}`, id, shop) + "\n" +
			fmt.Sprintf(`{"collection":"orders","doc":{"id":"%s-3","shop":%d,"refused":true}}`, id, shop)
	default:
		path, body = "/v1/_functions/sell", fmt.Sprintf(`{"shop":%d,"n":%d,"refused":%t}`, shop, rng.IntN(3), rng.IntN(4) == 0)
	}
	headers := []string{"Content-Type", kind}
	if path != "/v1/_import" && rng.IntN(2) == 0 {
		headers = append(headers, "Idempotency-Key", id)
	}
	r, err := c.nodes[node].Load().Do(method, path, []byte(body), headers...)
	for errors.Is(err, syscall.ECONNREFUSED) && !c.t.Failed() { // the node comes back
		time.Sleep(time.Millisecond)
		r, err = c.nodes[node].Load().Do(method, path, []byte(body), headers...)
	}
	if err == nil && (r.Status == http.StatusBadRequest || r.Status == http.StatusNotFound && path != "/v1/_transactions" || r.Status == http.StatusInternalServerError) {
		c.t.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
	}
}

// requireNumbers fails the test unless the bills of a store are numbered in the order of the log.
func requireNumbers(t *testing.T, c *harness.Client, kills int) {
	t.Helper()
	last, made := map[int]int{}, map[string]int{}
	const all = -1
	for since := "0"; ; {
		rows, next := c.Changes("mode=all&include_docs=true&limit=1000&collections=bills&since=" + since)
		for _, row := range rows {
			var doc struct {
				Shop, Number, OfShop int
				Made                 string
			}
			if err := json.Unmarshal(row.Doc, &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Number != last[all]+1 || doc.OfShop != last[doc.Shop]+1 {
				t.Fatalf("after the numbers %d and %d a bill has %s", last[all], last[doc.Shop], row.Doc)
			}
			last[all], last[doc.Shop] = doc.Number, doc.OfShop
			made[doc.Made]++
		}
		if since = next; len(rows) == 0 {
			break
		}
	}
	t.Logf("%d bills, %d kills, made so: %v", last[all], kills, made)
	if made["trigger"] == 0 || made["call"] == 0 || made[""] == 0 || kills == 0 {
		t.Errorf("bills were made so: %v, with %d kills", made, kills)
	}
}
