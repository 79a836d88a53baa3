package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/sqlite"
)

// Get compares GET of an embedded book through the API at addr with a bare Echo handler that reads one SQLite row of
// the same file, over conns connections. books is how many there are.
func Get(ctx context.Context, store *sqlite.Store, addr string, conns, books int) (r Result, err error) {
	path, err := CurrentFile(store)
	if err != nil {
		return r, err
	}
	bare, stop, err := bareEcho(path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	const rounds = 7
	var ours, limit, p99 []float64
	for i := range rounds {
		plainRate, _, err := load(ctx, Target{Addr: bare}, conns, books)
		if err != nil {
			return r, err
		}
		rate, slowest, err := load(ctx, Target{Addr: addr}, conns, books)
		if err != nil {
			return r, err
		}
		if i == 0 {
			continue // a warm-up
		}
		ours, limit, p99 = append(ours, rate), append(limit, plainRate), append(p99, slowest)
	}
	r = result(fmt.Sprintf("GET of an embedded book, %d connections", conns), "requests/s", ours, limit)
	r.Notes = append(r.Notes,
		fmt.Sprintf("limit: a bare Echo handler that reads one SQLite row; our p99 %.2f ms", median(p99)))
	return r, nil
}

// bareEcho serves one row by key, as plainly as Echo, database/sql and the driver allow, until stop is called.
func bareEcho(path string) (addr string, stop func() error, err error) {
	db, err := OpenPlain(path)
	if err != nil {
		return "", nil, err
	}
	db.SetMaxIdleConns(16)
	stmt, err := db.Prepare("SELECT body FROM document WHERE collection = ? AND id = ?")
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	addr, stopServer, err := serveEcho("/v1/:collection/:id", func(c echo.Context) error {
		var body []byte
		if err := stmt.QueryRow(c.Param("collection"), c.Param("id")).Scan(&body); err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, body)
	})
	if err != nil {
		return "", nil, errors.Join(err, stmt.Close(), db.Close())
	}
	return addr, func() error { return errors.Join(stopServer(), stmt.Close(), db.Close()) }, nil
}

// serveEcho serves a bare handler until stop is called.
func serveEcho(path string, handle echo.HandlerFunc) (addr string, stop func() error, err error) {
	e := echo.New()
	e.GET(path, handle)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return l.Addr().String(), func() error {
		err := srv.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// loadTime is how long one round of reads lasts.
const loadTime = 1500 * time.Millisecond

// Target is a node that requests are sent to.
type Target struct {
	Addr   string
	Header string        // a line of each request's header, with its line break; "" for none
	Pause  time.Duration // between two requests on a connection
}

// load sends requests over conns connections, one at a time on each, and returns requests a second and the 99th
// percentile of the latency in ms. The client does as little as it can, to leave the machine to the server.
func load(ctx context.Context, to Target, conns, books int) (rate, p99 float64, err error) {
	var count atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, conns)
	lats := make([][]float64, conns)
	end := time.Now().Add(loadTime)
	began := time.Now()
	for i := range conns {
		wg.Go(func() {
			n, lat, err := loadOne(ctx, to, i, books, end)
			errs[i], lats[i] = err, lat
			count.Add(n)
		})
	}
	wg.Wait()
	took := time.Since(began)
	all := slices.Concat(lats...)
	slices.Sort(all)
	if len(all) == 0 {
		return 0, 0, errors.Join(append(errs, errors.New("no request was answered"))...)
	}
	return float64(count.Load()) / took.Seconds(), all[len(all)*99/100], errors.Join(errs...)
}

// loadOne sends requests over one connection until end, and returns how many, and their latencies in ms.
func loadOne(ctx context.Context, to Target, worker, books int, end time.Time) (n int64, lat []float64, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", to.Addr)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 16<<10)
	req := make([]byte, 0, 256)
	for id := worker * 7919; ; id += 31 {
		began := time.Now()
		if began.After(end) {
			return n, lat, nil
		}
		req = append(req[:0], "GET /v1/books/"...)
		req = strconv.AppendInt(req, int64(id%books), 10)
		req = append(req, " HTTP/1.1\r\nHost: localhost\r\n"...)
		req = append(append(req, to.Header...), "\r\n"...)
		if _, err := conn.Write(req); err != nil {
			return n, lat, err
		}
		if err := readResponse(r); err != nil {
			return n, lat, err
		}
		n++
		lat = append(lat, float64(time.Since(began).Microseconds())/1000)
		if to.Pause > 0 {
			time.Sleep(to.Pause)
		}
	}
}

// readResponse reads a 200 with a Content-Length.
func readResponse(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(line, []byte(" 200 ")) {
			return fmt.Errorf("answered %s", bytes.TrimSpace(line))
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	if length < 0 {
		return errors.New("a response without Content-Length")
	}
	_, err := r.Discard(length)
	return err
}
