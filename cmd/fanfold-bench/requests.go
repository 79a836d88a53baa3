package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// request appends request n of a worker to dst.
type request func(dst []byte, worker, n int) []byte

// gets asks for one path after the other.
func gets(path func(n int) string) request {
	return func(dst []byte, worker, n int) []byte {
		dst = append(append(dst, "GET "...), path(worker*7919+n*31)...)
		return append(dst, " HTTP/1.1\r\nHost: localhost\r\n\r\n"...)
	}
}

// books asks for one book after the other, of so many.
func books(count int) request {
	return gets(func(n int) string { return "/v1/books/" + strconv.Itoa(n%count) })
}

// puts writes new books. name is one that no other round has.
func puts(name string) request {
	return func(dst []byte, worker, n int) []byte {
		id := fmt.Sprintf("%s-%d-%d", name, worker, n)
		return appendRequest(dst, "PUT /v1/books/"+id, appendBook(nil, id))
	}
}

// scatteredPuts does what puts does, in no order of the ids.
func scatteredPuts(name string) request {
	return func(dst []byte, worker, n int) []byte {
		id := fmt.Sprintf("%016x-%s", (uint64(worker)<<32|uint64(n))*0x9e3779b97f4a7c15, name) // an odd factor gives each pair an id of its own
		return appendRequest(dst, "PUT /v1/books/"+id, appendBook(nil, id))
	}
}

// increments adds to a member of one of so many books.
func increments(count int) request {
	patch := []byte(`[{"op":"increment","path":"/sold","value":1}]`)
	return func(dst []byte, worker, n int) []byte {
		return appendBody(dst, "PATCH /v1/books/"+strconv.Itoa((worker*7919+n*31)%count), "application/json-patch+json", patch)
	}
}

// rewrites writes one of so many books that exist. Each request of a round writes other content, and so does each round.
func rewrites(count, round int) request {
	return func(dst []byte, worker, n int) []byte {
		id := strconv.Itoa((worker*7919 + n*31) % count)
		return appendRequest(dst, "PUT /v1/books/"+id, appendNote(nil, id, fmt.Sprintf(`,"sold":%d,"title":"A book","year":%d,"authors":[{"id":"17"},{"id":"23"}]`, n, round)))
	}
}

// appendRequest appends a request with a JSON body.
func appendRequest(dst []byte, line string, body []byte) []byte {
	return appendBody(dst, line, "application/json", body)
}

// appendBody appends a request with a body.
func appendBody(dst []byte, line, contentType string, body []byte) []byte {
	dst = append(append(dst, line...), " HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+contentType+"\r\nContent-Length: "...)
	dst = append(strconv.AppendInt(dst, int64(len(body)), 10), "\r\n\r\n"...)
	return append(dst, body...)
}

// appendBook appends a document of 500 bytes that refers to two authors.
func appendBook(dst []byte, id string) []byte {
	return appendNote(dst, id, `,"title":"A book","year":1984,"authors":[{"id":"17"},{"id":"23"}]`)
}

// appendNote appends a document of 500 bytes, with more members, each with a comma in front.
func appendNote(dst []byte, id, members string) []byte {
	const size = 500
	start := len(dst)
	dst = append(dst, `{"id":"`+id+`"`+members+`,"summary":"`...)
	for len(dst)-start < size-2 {
		dst = append(dst, 'x')
	}
	return append(dst, `"}`...)
}

// starter prepares a worker, and returns what it calls over and over, with 0, 1, 2 and so on, and what it calls at the
// end.
type starter func(worker int) (call func(n int) error, done func() error, err error)

// closedLoop runs conns workers for roundTime. Each waits for one call, and then for pause, before the next. It returns calls a
// second and their latencies in ms, sorted. An error of a call ends its worker.
func closedLoop(conns int, pause time.Duration, start starter) (rate float64, lats []float64, err error) {
	var wg sync.WaitGroup
	var total atomic.Int64
	errs, all := make([]error, conns), make([][]float64, conns)
	began := time.Now()
	end := began.Add(roundTime)
	for i := range conns {
		wg.Go(func() {
			call, done, err := start(i)
			if err != nil {
				errs[i] = err
				return
			}
			defer func() { errs[i] = errors.Join(errs[i], done()) }()
			for n := 0; ; n++ {
				before := time.Now()
				if before.After(end) {
					return
				}
				if errs[i] = call(n); errs[i] != nil {
					return
				}
				total.Add(1)
				all[i] = append(all[i], float64(time.Since(before).Microseconds())/1000)
				time.Sleep(pause)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	lats = slices.Concat(all...)
	slices.Sort(lats)
	return float64(total.Load()) / took.Seconds(), lats, errors.Join(errs...)
}

// send sends requests for a round over conns connections, one at a time on each, and returns what closedLoop does. It does as little as
// it can, to leave the machine to the server.
func send(ctx context.Context, addr string, conns int, request request) (rate float64, lats []float64, err error) {
	return sendPaused(ctx, addr, conns, 0, request)
}

// sendPaused does what send does, with a pause between two requests on a connection.
func sendPaused(ctx context.Context, addr string, conns int, pause time.Duration, request request) (rate float64, lats []float64, err error) {
	return closedLoop(conns, pause, func(worker int) (func(int) error, func() error, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		r := bufio.NewReaderSize(conn, 16<<10)
		var req []byte
		return func(n int) error {
			req = request(req[:0], worker, n)
			if _, err := conn.Write(req); err != nil {
				return err
			}
			return readAnswer(r)
		}, conn.Close, nil
	})
}

// rateOf does what send does, and returns requests a second alone.
func rateOf(ctx context.Context, addr string, conns int, request request) func(round int) (float64, error) {
	return func(int) (float64, error) {
		rate, _, err := send(ctx, addr, conns, request)
		return rate, err
	}
}

// readAnswer reads an answer to its end. The error says that its status is not 200, 201 or 204.
func readAnswer(r *bufio.Reader) error {
	length, chunked := 0, false
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(line, []byte(" 200 ")) && !bytes.Contains(line, []byte(" 201 ")) && !bytes.Contains(line, []byte(" 204 ")) {
			return fmt.Errorf("answered %s", bytes.TrimSpace(line))
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return err
			}
		}
		chunked = chunked || bytes.HasPrefix(line, []byte("Transfer-Encoding: chunked"))
		if len(line) == 2 {
			break
		}
	}
	if !chunked {
		_, err := r.Discard(length)
		return err
	}
	_, err := io.Copy(io.Discard, httputil.NewChunkedReader(r))
	for line := []byte(nil); err == nil && len(line) != 2; { // trailers, and the empty line
		line, err = r.ReadSlice('\n')
	}
	return err
}

// ask asks once, and reads the answer to its end.
func ask(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err == nil {
		_, _, err = answer(http.DefaultClient, req, http.StatusOK)
	}
	return err
}

// answer sends a request, and reads its answer to the end. The error says so where it has none of the statuses, if any are given.
func answer(web *http.Client, req *http.Request, statuses ...int) (status int, header http.Header, err error) {
	resp, err := web.Do(req)
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && len(statuses) > 0 && !slices.Contains(statuses, resp.StatusCode) {
		err = fmt.Errorf("%s %s: %s %.300s", req.Method, req.URL, resp.Status, text)
	}
	return resp.StatusCode, resp.Header, err
}

// beside compares the 99th percentile of requests over 16 connections alone with theirs beside others. The figures are requests a second
// at one connection as slow as that percentile, so that a ratio of 0.5 is twice the time. The others are work, whose ctx ends with the
// requests; what it returns then has not failed. note is called once all is measured.
func (b *bench) beside(ctx context.Context, name, addr string, requests func(round string) request, note func() string, work func(ctx context.Context) error) error {
	p99 := func(round string) (float64, error) {
		_, lats, err := send(ctx, addr, 16, requests(round))
		return 1000 / percentile(lats, 99), err
	}
	return b.pair(pair{name: name, unit: "1/p99", limit: "the same alone", note: note, ours: func(round int) (float64, error) {
		during, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			err := work(during)
			if during.Err() != nil {
				err = nil
			}
			ended <- err
		}()
		rate, err := p99(fmt.Sprint("beside-", round))
		end()
		return rate, errors.Join(err, <-ended)
	}, plain: func(round int) (float64, error) { return p99(fmt.Sprint("alone-", round)) }})
}

// hammer sends one request again and again over conns connections until ctx ends. Any answer will do.
func hammer(ctx context.Context, conns int, url string) error {
	var group errgroup.Group
	for range conns {
		group.Go(func() error {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err == nil {
					_, _, err = answer(http.DefaultClient, req)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// params returns a query string of names and values.
func params(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteString("?&"[min(i, 1):min(i, 1)+1] + pairs[i] + "=" + strings.ReplaceAll(url.QueryEscape(pairs[i+1]), "+", "%20"))
	}
	return b.String()
}
