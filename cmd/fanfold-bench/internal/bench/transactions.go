package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// TransactionModel has collections for plain writes, and one whose documents have a unique member and a strict reference.
const TransactionModel = `{"collections":{"authors":{},"notes":{},"guarded":{"unique":["code"],
"relations":{"author":{"path":"author","to":"authors","strict":true}}}}}`

// TransactionTargets is how many authors there must be.
const TransactionTargets = 1000

// transactionRounds is how many pairs of rounds are measured for each figure.
const transactionRounds = 3

// documentBytes is the size of one document of a transaction; a plain one beside it has the size of two.
const documentBytes = 500

// appendNote appends a document of so many bytes, with more members, each with a comma in front.
func appendNote(dst []byte, id, members string, size int) []byte {
	start := len(dst)
	dst = append(dst, `{"id":"`+id+`"`+members+`,"text":"`...)
	for len(dst)-start < size-2 {
		dst = append(dst, 'x')
	}
	return append(dst, `"}`...)
}

// appendPut appends a request that writes a document.
func appendPut(dst []byte, path string, body []byte) []byte {
	return appendRequest(dst, "PUT "+path, body)
}

// appendRequest appends a request with a JSON body.
func appendRequest(dst []byte, line string, body []byte) []byte {
	dst = append(dst, line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "...)
	dst = append(strconv.AppendInt(dst, int64(len(body)), 10), "\r\n\r\n"...)
	return append(dst, body...)
}

// plainRequest writes a document without anything about it.
func plainRequest(size int) func(dst []byte, id string, _ int) []byte {
	return func(dst []byte, id string, _ int) []byte {
		return appendPut(dst, "/v1/notes/"+id, appendNote(nil, id, "", size))
	}
}

// pairRequest writes two documents in a transaction.
func pairRequest(dst []byte, id string, _ int) []byte {
	body := []byte(`{"operations":[`)
	for i, id := range []string{id + "-a", id + "-b"} {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"op":"put","collection":"notes","id":"`+id+`","body":`...)
		body = append(appendNote(body, id, "", documentBytes), '}')
	}
	return appendRequest(dst, "POST /v1/_transactions", append(body, "]}"...))
}

// guardedRequest writes a document with a unique member and a strict reference.
func guardedRequest(dst []byte, id string, n int) []byte {
	return appendPut(dst, "/v1/guarded/"+id, guardedNote(id, n))
}

// guardedNote returns a document with a unique member and a strict reference.
func guardedNote(id string, n int) []byte {
	return appendNote(nil, id, fmt.Sprintf(`,"code":"c-%s","author":"%d"`, id, n%TransactionTargets), documentBytes)
}

// requestRound sends requests over conns connections, one at a time on each, and returns what closedLoop does. name is one that no
// other round has.
func requestRound(ctx context.Context, addr, name string, conns int, request func(dst []byte, id string, n int) []byte) (rate float64, lats []float64, err error) {
	return closedLoop(conns, func(worker int) (func(int) error, func() error, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		r := bufio.NewReaderSize(conn, 4<<10)
		var req []byte
		return func(n int) error {
			req = request(req[:0], fmt.Sprintf("%s-%d-%d", name, worker, n), worker*7919+n*31)
			if _, err := conn.Write(req); err != nil {
				return err
			}
			return readWritten(r)
		}, conn.Close, nil
	})
}

// readWritten reads a 201 or a 200, with a Content-Length or without a body.
func readWritten(r *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if first && line[9:12] != "201" && line[9:12] != "200" {
			return errors.New("answered " + line)
		}
		if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err != nil && len(line) == 2 {
			_, err := io.CopyN(io.Discard, r, int64(length))
			return err
		}
	}
}

// Transactions compares transactions of two documents over conns connections with PUTs of one document of their size. Then it
// compares PUTs of documents with a unique member and a strict reference with plain ones of the same size.
func Transactions(ctx context.Context, addr string, conns int) (results []Result, err error) {
	for _, c := range []struct {
		name, limit string
		ours        func(dst []byte, id string, n int) []byte
		size        int // of a plain document
	}{
		{"transaction of two", "a PUT of one document of that size, in turn", pairRequest, 2 * documentBytes},
		{"PUT, unique and strict", "a PUT of a plain document of that size, in turn", guardedRequest, documentBytes},
	} {
		var last []float64
		round := func(kind string, request func(dst []byte, id string, n int) []byte) func(round int) (float64, error) {
			return func(round int) (rate float64, err error) {
				rate, last, err = requestRound(ctx, addr, fmt.Sprintf("%s%d-%d-%d", kind, conns, c.size, round), conns, request)
				return rate, err
			}
		}
		r, err := somePairs(transactionRounds, fmt.Sprintf("%s, %d connections", c.name, conns), "writes/s", c.limit, round("o", c.ours), round("p", plainRequest(c.size)))
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
	alone, _, err := requestRound(ctx, addr, "alone", 1, plainRequest(documentBytes))
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
	_, _, err = requestRound(ctx, addr, "warm", 1, plainRequest(documentBytes))
	var rate float64
	var lats []float64
	if err == nil {
		rate, lats, err = requestRound(ctx, addr, "beside", 1, plainRequest(documentBytes))
	}
	close(stop)
	imported := <-count
	if err = errors.Join(err, <-loaded); err != nil {
		return r, err
	}
	r = result("PUT beside an import of guarded documents", "writes/s", []float64{rate}, []float64{alone})
	r.Notes = append(r.Notes, "limit: the same before", fmt.Sprintf("p50 %.2f ms, p99 %.2f ms; the import stored %.0f documents/s",
		percentile(lats, 50), percentile(lats, 99), float64(imported)/time.Since(began).Seconds()))
	return r, nil
}
