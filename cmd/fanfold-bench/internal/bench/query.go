package bench

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// pairRounds is how many pairs of rounds are measured after a warm-up.
const pairRounds = 6

// Pairs measures rates in pairs, ours and the limit's, after a warm-up.
func Pairs(name, unit, limit string, ours, plain func(round int) (float64, error)) (r Result, err error) {
	return somePairs(pairRounds, name, unit, limit, ours, plain)
}

// somePairs does what Pairs does, in so many rounds.
func somePairs(rounds int, name, unit, limit string, ours, plain func(round int) (float64, error)) (r Result, err error) {
	var rates, limits []float64
	for i := range rounds + 1 {
		p, err := plain(i)
		if err != nil {
			return r, err
		}
		o, err := ours(i)
		if err != nil {
			return r, err
		}
		if i > 0 {
			rates, limits = append(rates, o), append(limits, p)
		}
	}
	r = result(name, unit, rates, limits)
	r.Notes = append(r.Notes, "limit: "+limit)
	return r, nil
}

// Rate sends requests over conns connections, one at a time on each, for a round, and returns requests a second. path returns the path
// and the query of request n.
func Rate(ctx context.Context, addr string, conns int, path func(n int) string) (float64, error) {
	rate, _, err := getRound(ctx, addr, conns, path)
	return rate, err
}

// getRound does what Rate does, and returns the latencies in ms, sorted.
func getRound(ctx context.Context, addr string, conns int, path func(n int) string) (float64, []float64, error) {
	return closedLoop(conns, func(worker int) (func(int) error, func() error, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		r := bufio.NewReaderSize(conn, 64<<10)
		return func(n int) error {
			if _, err := io.WriteString(conn, "GET "+path(worker*7919+n*31)+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				return err
			}
			return skipResponse(r)
		}, conn.Close, nil
	})
}

// skipResponse reads a response whose length is known, or which comes in chunks. The error says that its status is not 200.
func skipResponse(r *bufio.Reader) error {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return errors.Join(fmt.Errorf("answered %s: %s", resp.Status, text), err)
}

// Seconds asks once, and returns how many seconds the answer took.
func Seconds(ctx context.Context, url string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	took := time.Since(began).Seconds()
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %.300s", url, resp.Status, text)
	}
	return took, err
}

// PlainSeconds returns how many seconds a statement takes that reads all its rows from a file.
func PlainSeconds(ctx context.Context, db *sql.DB, statement string, args ...any) (seconds float64, err error) {
	began := time.Now()
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	row := make([]any, len(columns))
	for i := range row {
		row[i] = new(sql.RawBytes)
	}
	for rows.Next() {
		if err := rows.Scan(row...); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds(), rows.Err()
}

// PlainPages serves the page that a statement gives, as plainly as Echo, database/sql and the driver allow, until stop is called.
func PlainPages(path, statement string) (addr string, stop func() error, err error) {
	db, err := OpenPlain(path)
	if err != nil {
		return "", nil, err
	}
	db.SetMaxIdleConns(64)
	stmt, err := db.Prepare(statement)
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	addr, stopServer, err := serveEcho("/page", func(c echo.Context) (err error) {
		rows, err := stmt.Query()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		text := bytes.NewBufferString(`{"items":[`)
		for n := 0; rows.Next(); n++ {
			var body sql.RawBytes
			if err := rows.Scan(&body); err != nil {
				return err
			}
			if n > 0 {
				text.WriteByte(',')
			}
			text.Write(body)
		}
		text.WriteString("]}")
		return errors.Join(rows.Err(), c.JSONBlob(http.StatusOK, text.Bytes()))
	})
	if err != nil {
		return "", nil, errors.Join(err, stmt.Close(), db.Close())
	}
	return addr, func() error { return errors.Join(stopServer(), stmt.Close(), db.Close()) }, nil
}

// Beside compares the 99th percentile of requests alone with theirs beside others. The figures are requests a second at one connection
// as slow as that percentile, so that a ratio of 0.5 is twice the time.
func Beside(ctx context.Context, name, addr string, path func(n int) string, others string, begin func(ctx context.Context) (wait func() error)) (Result, error) {
	return beside(ctx, name, func() (float64, error) {
		_, lats, err := getRound(ctx, addr, 16, path)
		return 1000 / percentile(lats, 99), err
	}, others, begin)
}

// beside does what Beside does for requests whose percentile p99 measures.
func beside(ctx context.Context, name string, p99 func() (float64, error), others string, begin func(ctx context.Context) (wait func() error)) (Result, error) {
	r, err := Pairs(name, "1/p99", "the same alone", func(int) (float64, error) {
		beside, end := context.WithCancel(ctx)
		wait := begin(beside)
		rate, err := p99()
		end()
		return rate, errors.Join(err, wait())
	}, func(int) (float64, error) { return p99() })
	r.Notes = append(r.Notes, others)
	return r, err
}

// Hammer sends one request again and again over conns connections until ctx ends. Any answer will do.
func Hammer(ctx context.Context, conns int, url string) (wait func() error) {
	var wg sync.WaitGroup
	errs := make([]error, conns)
	for i := range conns {
		wg.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err != nil {
					errs[i] = err
					return
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					if ctx.Err() == nil {
						errs[i] = err
					}
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	return func() error { wg.Wait(); return errors.Join(errs...) }
}

// BareIndex reads the bodies of all books from a file, makes keys of them, sorts these and stores them in a new table of a new file. It
// returns how many seconds that took.
func BareIndex(ctx context.Context, from, to string, key func(body []byte) ([]byte, error)) (seconds float64, err error) {
	db, err := OpenPlain(from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	out, err := OpenPlain(to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	began := time.Now()
	type entry struct {
		key    []byte
		number int64
	}
	var all []entry
	rows, err := db.QueryContext(ctx, "SELECT number, body FROM document WHERE collection = 'books'")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e entry
		var body sql.RawBytes
		if err := rows.Scan(&e.number, &body); err != nil {
			return 0, err
		}
		if e.key, err = key(body); err != nil {
			return 0, err
		}
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	if _, err := out.ExecContext(ctx, "CREATE TABLE entry (idx INTEGER, key BLOB, tie INTEGER, PRIMARY KEY (idx, key, tie)) WITHOUT ROWID"); err != nil {
		return 0, err
	}
	tx, err := out.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO entry VALUES (1, ?, ?)")
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		if _, err := stmt.ExecContext(ctx, e.key, e.number); err != nil {
			return 0, err
		}
	}
	err = errors.Join(stmt.Close(), tx.Commit())
	return time.Since(began).Seconds(), err
}

// PutBeside compares durable PUTs of new documents to one node with those to another, in turn. p99s are in the notes.
func PutBeside(ctx context.Context, name, limit, addr, plain string, conns int) (Result, error) {
	var p99 [2][]float64
	measure := func(i int, addr string) func(round int) (float64, error) {
		return func(round int) (float64, error) {
			rate, lats, err := putRound(ctx, Target{Addr: addr}, round, conns)
			if round > 0 {
				p99[i] = append(p99[i], percentile(lats, 99))
			}
			return rate, err
		}
	}
	r, err := Pairs(name, "writes/s", limit, measure(0, addr), measure(1, plain))
	if err == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("p99 %.2f ms, limit %.2f ms: %.2f times", median(p99[0]), median(p99[1]), median(p99[0])/median(p99[1])))
	}
	return r, err
}

// Escape returns a query string of names and values.
func Escape(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(pairs[i] + "=")
		for _, c := range []byte(pairs[i+1]) {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
				b.WriteByte(c)
				continue
			}
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
