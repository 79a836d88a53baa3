package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// functionsModel has a function that reads and writes documents, a collection with a trigger, one that a function asks about, and others beside them.
const functionsModel = `{"collections":{"counters":{},"plain":{},"checked":{"trigger":"check"},"gated":{},"unique":{"unique":["code"]}},"functions":{
	"add":{"source":"export default (ctx, ids) => { for (const id of ids) { const d = ctx.get('counters', id) ?? { n: 0 }; d.n++; ctx.put('counters', id, d) } }"},
	"check":{"source":"export default (ctx, { after }) => { if (after && after.n < 0) ctx.fail('negative') }"},
	"run":{"reads":["plain"],"source":"export default (ctx, source) => new Function('ctx', source)(ctx)"},
	"ask":{"reads":["gated"],"source":"export default (ctx) => ctx.query('gated', { limit: 1 })"}}}`

// functionDocuments is how many documents of each collection the requests write again.
const functionDocuments = 10_000

// benchFunctions compares calls with transactions that write the same, and PUTs that fire a trigger or pass a gate with PUTs under other conditions.
func benchFunctions(ctx context.Context, b *bench) error {
	s := benchStore{model: functionsModel}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
		var lines bytes.Buffer
		for _, collection := range []string{"counters", "plain", "checked"} {
			for i := range functionDocuments {
				fmt.Fprintf(&lines, `{"collection":%q,"doc":{"id":"%d","n":0}}`+"\n", collection, i)
			}
		}
		if _, err := c.Import(ctx, &lines, client.ImportOptions{}); err != nil {
			return err
		}
		for _, p := range functionPairs {
			for _, conns := range []int{16, 64} {
				write := func(request func(dst []byte, seed int) []byte) func(round int) (float64, error) {
					return func(round int) (float64, error) {
						rate, _, err := send(ctx, n.Addr(), conns, func(dst []byte, worker, i int) []byte {
							return request(dst, conns*1_000_003+round*70_001+worker*7919+i*31)
						})
						return rate, err
					}
				}
				if err := b.pair(pair{name: fmt.Sprintf("%s, %d connections", p.name, conns), unit: "requests/s", limit: p.limit, ours: write(p.ours), plain: write(p.plain)}); err != nil {
					return err
				}
			}
		}
		return benchWorstFunctions(ctx, b, n)
	})
}

// functionPairs are kinds of requests that are compared. Each request writes other documents than the one before.
var functionPairs = []struct {
	name, limit string
	ours, plain func(dst []byte, seed int) []byte
}{
	{"call that writes one document", "the same by a transaction", callOf(1), transactionOf(1)},
	{"call that writes ten documents", "the same by a transaction", callOf(10), transactionOf(10)},
	{"PUT with a trigger that checks", "PUT with If-Match", rewrite("checked", ""), rewrite("plain", "If-Match: *\r\n")},
	{"PUT in a gated collection", "PUT with a unique member", newIn("gated"), newIn("unique")},
}

// callOf returns a call that counts in so many documents.
func callOf(documents int) func(dst []byte, seed int) []byte {
	return func(dst []byte, seed int) []byte {
		ids := make([]string, documents)
		for i := range ids {
			ids[i] = fmt.Sprintf(`"%d"`, (seed+i)%functionDocuments)
		}
		return appendRequest(dst, "POST /v1/_functions/add", []byte("["+strings.Join(ids, ",")+"]"))
	}
}

// transactionOf returns a transaction that writes so many documents that are there.
func transactionOf(documents int) func(dst []byte, seed int) []byte {
	return func(dst []byte, seed int) []byte {
		ops := make([]string, documents)
		for i := range ops {
			ops[i] = fmt.Sprintf(`{"op":"put","collection":"counters","id":"%d","ifMatch":"*","body":{"n":%d}}`, (seed+i)%functionDocuments, seed)
		}
		return appendRequest(dst, "POST /v1/_transactions", []byte(`{"operations":[`+strings.Join(ops, ",")+`]}`))
	}
}

// rewrite returns a PUT of a document that is there, with a header.
func rewrite(collection, header string) func(dst []byte, seed int) []byte {
	return func(dst []byte, seed int) []byte {
		id := strconv.Itoa(seed % functionDocuments)
		body := appendNote(nil, id, fmt.Sprintf(`,"n":%d`, seed))
		dst = fmt.Appendf(dst, "PUT /v1/%s/%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", collection, id, header, len(body))
		return append(dst, body...)
	}
}

// newIn returns a PUT of a new document.
func newIn(collection string) func(dst []byte, seed int) []byte {
	return func(dst []byte, seed int) []byte {
		id := fmt.Sprintf("%d-%d", seed, time.Now().UnixNano())
		return appendRequest(dst, "PUT /v1/"+collection+"/"+id, appendNote(nil, id, `,"code":"`+id+`"`))
	}
}

// worstFunctions take as much as a function may: of a core, of memory, of the host, of the store.
var worstFunctions = []string{
	`for (;;);`,
	`for (;;) new Uint8Array(2 ** 24)`,
	`const a = new Uint8Array(2 ** 24); for (;;) a.fill(1)`,
	`const a = new Uint8Array(2 ** 23), b = new Uint8Array(2 ** 23); for (;;) a.set(b)`,
	`/^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60))`,
	`const a = Array.from({ length: 100000 }, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5)`,
	`let s = "x".repeat(1000); for (;;) s = s.replaceAll("x", "xx")`,
	`let n = 3n; for (;;) n *= n`,
	`const m = new Map(); for (let i = 0; ; i++) m.set(i, i)`,
	`const f = () => { try { f() } catch { f() } }; f()`,
	`let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; JSON.stringify(a)`,
	`for (;;) ctx.uuid()`,
	`for (let i = 0; ; i++) ctx.get("plain", i)`,
	`for (let i = 0; ; i++) ctx.put("plain", i, { i })`,
	`for (;;) try { ctx.put("plain", "x", []) } catch {}`,
	`for (;;) ctx.query("plain", { filter: "doc.n > 0", limit: 1 })`,
}

// benchWorstFunctions compares PUTs of another collection beside calls of the worst functions with PUTs alone.
func benchWorstFunctions(ctx context.Context, b *bench, n *node.Node) error {
	puts := func(round string) request {
		return func(dst []byte, worker, i int) []byte {
			return appendRequest(dst, fmt.Sprintf("PUT /v1/counters/%s-%d-%d", round, worker, i), []byte(`{"n":1}`))
		}
	}
	note := func() string {
		return fmt.Sprintf("most memory of the process, log and client included: %d MB", memoryOf(os.Getpid(), "VmHWM")/1024)
	}
	return b.beside(ctx, "p99 of PUT beside the 16 worst functions", n.Addr(), puts, note, func(ctx context.Context) error {
		var group errgroup.Group
		for i := range worstFunctions {
			group.Go(func() error {
				for ; ctx.Err() == nil; i++ {
					body, err := json.Marshal(worstFunctions[i%len(worstFunctions)])
					if err != nil {
						return err
					}
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL()+"/v1/_functions/run", bytes.NewReader(body))
					if err != nil {
						return err
					}
					req.Header.Set("Content-Type", "application/json")
					if _, _, err = answer(http.DefaultClient, req, http.StatusUnprocessableEntity); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return group.Wait()
	})
}
