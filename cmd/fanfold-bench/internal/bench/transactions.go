package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// TransactionModel has collections for plain writes, and one whose documents have a unique member and a strict reference.
const TransactionModel = `{"collections":{"authors":{},"notes":{},"guarded":{"unique":["code"],
"relations":{"author":{"path":"author","to":"authors","strict":true}}}}}`

// TransactionTargets is how many authors there must be.
const TransactionTargets = 1000

// documentBytes is the size of one document of a transaction; a plain one beside it has the size of two.
const documentBytes = 500

// plainPuts writes documents without anything about them.
func plainPuts(name string, size int) Request {
	return func(dst []byte, worker, n int) []byte {
		id := fmt.Sprintf("%s-%d-%d", name, worker, n)
		return appendRequest(dst, "PUT /v1/notes/"+id, appendNote(nil, id, "", size))
	}
}

// pairs writes two documents in each transaction.
func pairs(name string) Request {
	return func(dst []byte, worker, n int) []byte {
		body := []byte(`{"operations":[`)
		for i := range 2 {
			id := fmt.Sprintf("%s-%d-%d-%d", name, worker, n, i)
			if i > 0 {
				body = append(body, ',')
			}
			body = append(body, `{"op":"put","collection":"notes","id":"`+id+`","body":`...)
			body = append(appendNote(body, id, "", documentBytes), '}')
		}
		return appendRequest(dst, "POST /v1/_transactions", append(body, "]}"...))
	}
}

// guardedPuts writes documents with a unique member and a strict reference.
func guardedPuts(name string) Request {
	return func(dst []byte, worker, n int) []byte {
		id := fmt.Sprintf("%s-%d-%d", name, worker, n)
		return appendRequest(dst, "PUT /v1/guarded/"+id, guardedNote(id, worker*7919+n*31))
	}
}

// guardedNote returns a document with a unique member and a strict reference.
func guardedNote(id string, n int) []byte {
	return appendNote(nil, id, fmt.Sprintf(`,"code":"c-%s","author":"%d"`, id, n%TransactionTargets), documentBytes)
}

// Transactions compares transactions of two documents over conns connections with PUTs of one document of their size. Then it
// compares PUTs of documents with a unique member and a strict reference with plain ones of the same size.
func Transactions(ctx context.Context, addr string, conns int) (results []Result, err error) {
	for _, c := range []struct {
		name, limit string
		ours        func(name string) Request
		size        int // of a plain document
	}{
		{"transaction of two", "a PUT of one document of that size, in turn", pairs, 2 * documentBytes},
		{"PUT, unique and strict", "a PUT of a plain document of that size, in turn", guardedPuts, documentBytes},
	} {
		var last []float64
		send := func(kind string, request func(name string) Request) func(round int) (float64, error) {
			return func(round int) (rate float64, err error) {
				rate, last, err = Send(ctx, addr, conns, request(fmt.Sprintf("%s%d-%d-%d", kind, conns, c.size, round)))
				return rate, err
			}
		}
		r, err := Pair{Name: fmt.Sprintf("%s, %d connections", c.name, conns), Unit: "writes/s", Limit: c.limit, Rounds: 3, Ours: send("o", c.ours),
			Plain: send("p", func(name string) Request { return plainPuts(name, c.size) })}.Run()
		if err != nil {
			return nil, err
		}
		r.Notes = append(r.Notes, fmt.Sprintf("ours p50 %.2f ms, p99 %.2f ms", percentile(last, 50), percentile(last, 99)))
		results = append(results, r)
	}
	return results, nil
}

// PutsBesideImport compares PUTs over one connection beside an import of guarded documents, which load stores until the lines
// end, with the same before.
func PutsBesideImport(ctx context.Context, addr string, load func(lines io.Reader) error) (r Result, err error) {
	alone, _, err := Send(ctx, addr, 1, plainPuts("alone", documentBytes))
	if err != nil {
		return r, err
	}
	in, out := io.Pipe()
	loaded := make(chan error, 1)
	go func() { loaded <- load(in) }()
	stop, count := make(chan struct{}), make(chan int, 1)
	go func() {
		w := bufio.NewWriterSize(out, 64<<10)
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				_ = out.CloseWithError(w.Flush())
				count <- n
				return
			default:
			}
			_, _ = fmt.Fprintf(w, "%s\n", guardedNote(fmt.Sprintf("import-%d", n), n)) // fails where the import has, which says so
		}
	}()
	began := time.Now()
	_, _, err = Send(ctx, addr, 1, plainPuts("warm", documentBytes))
	var rate float64
	var lats []float64
	if err == nil {
		rate, lats, err = Send(ctx, addr, 1, plainPuts("beside", documentBytes))
	}
	close(stop)
	imported := <-count
	if err = errors.Join(err, <-loaded); err != nil {
		return r, err
	}
	return One("PUT beside an import of guarded documents", "writes/s", rate, alone, "limit: the same before", fmt.Sprintf("p50 %.2f ms, p99 %.2f ms; the import stored %.0f documents/s",
		percentile(lats, 50), percentile(lats, 99), float64(imported)/time.Since(began).Seconds())), nil
}
