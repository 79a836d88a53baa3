// Package bench measures Fanfold against what its parts can do at best, in the same run.
package bench

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	_ "github.com/mattn/go-sqlite3" // the driver behind database/sql

	"github.com/fanfold/fanfold/sqlite"
)

// Result is one measurement beside its limit.
type Result struct {
	Name  string   `json:"name"`
	Ours  float64  `json:"ours"`  // in Unit
	Limit float64  `json:"limit"` // in Unit
	Unit  string   `json:"unit"`
	Ratio float64  `json:"ratio"` // ours to the limit: 1 is as fast
	Notes []string `json:"notes,omitempty"`
}

func (r Result) String() string {
	out := fmt.Sprintf("%-42s %12.0f %-10s limit %12.0f   ratio %.2f", r.Name, r.Ours, r.Unit, r.Limit, r.Ratio)
	for _, n := range r.Notes {
		out += "\n    " + n
	}
	return out
}

// result makes a Result of rates measured in pairs: the median of the pairs' ratios, because
// a machine's speed drifts.
func result(name, unit string, ours, limit []float64) Result {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / limit[i]
	}
	return Result{Name: name, Unit: unit, Ours: median(ours), Limit: median(limit), Ratio: median(ratios)}
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

func current(store *sqlite.Store) (path string, err error) {
	err = store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil })
	return path, err
}

func openPlain(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+url.PathEscape(path)+"?_journal_mode=WAL&_synchronous=NORMAL&_cache_size=-32768")
}

// Get compares GET of an embedded book through the API at addr with a bare Echo handler that
// reads one SQLite row of the same file, over conns connections.
func Get(ctx context.Context, store *sqlite.Store, addr string, conns, books int) (r Result, err error) {
	path, err := current(store)
	if err != nil {
		return r, err
	}
	bare, stop, err := bareEcho(path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	const rounds = 7
	var ours, limit []float64
	var p99 []float64
	for i := range rounds {
		l, _, err := load(ctx, bare, conns, books)
		if err != nil {
			return r, err
		}
		o, lat, err := load(ctx, addr, conns, books)
		if err != nil {
			return r, err
		}
		if i == 0 {
			continue // a warm-up
		}
		ours, limit, p99 = append(ours, o), append(limit, l), append(p99, lat)
	}
	r = result(fmt.Sprintf("GET of an embedded book, %d connections", conns), "requests/s", ours, limit)
	r.Notes = append(r.Notes, fmt.Sprintf("limit: a bare Echo handler that reads one SQLite row; our p99 %.2f ms", median(p99)))
	return r, nil
}

// bareEcho serves one row by key, as plainly as Echo, database/sql and the driver allow.
func bareEcho(path string) (addr string, stop func() error, err error) {
	db, err := openPlain(path)
	if err != nil {
		return "", nil, err
	}
	db.SetMaxIdleConns(16)
	stmt, err := db.Prepare("SELECT body FROM document WHERE collection = ? AND id = ?")
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	e := echo.New()
	e.GET("/v1/:collection/:id", func(c echo.Context) error {
		var body []byte
		if err := stmt.QueryRow(c.Param("collection"), c.Param("id")).Scan(&body); err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, body)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	srv := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return l.Addr().String(), func() error {
		err := srv.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return errors.Join(err, stmt.Close(), db.Close())
	}, nil
}

const loadTime = 1500 * time.Millisecond

// load sends requests over raw connections, one at a time on each, and returns requests a
// second and the 99th percentile in ms. The client does as little as it can, to leave the
// machine to the server.
func load(ctx context.Context, addr string, conns, books int) (rate, p99 float64, err error) {
	var count atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, conns)
	lats := make([][]float64, conns)
	end := time.Now().Add(loadTime)
	began := time.Now()
	for i := range conns {
		wg.Go(func() {
			n, lat, err := loadOne(ctx, addr, i, books, end)
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

func loadOne(ctx context.Context, addr string, worker, books int, end time.Time) (n int64, lat []float64, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 16<<10)
	req := make([]byte, 0, 128)
	for id := worker * 7919; ; id += 31 {
		began := time.Now()
		if began.After(end) {
			return n, lat, nil
		}
		req = append(req[:0], "GET /v1/books/"...)
		req = strconv.AppendInt(req, int64(id%books), 10)
		req = append(req, " HTTP/1.1\r\nHost: x\r\n\r\n"...)
		if _, err := conn.Write(req); err != nil {
			return n, lat, err
		}
		if err := readResponse(r); err != nil {
			return n, lat, err
		}
		n++
		lat = append(lat, float64(time.Since(began).Microseconds())/1000)
	}
}

// readResponse reads one response with a Content-Length.
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

// Replay compares `fanfold replay --data dir`, a process of its own, with a hand-written loop
// that writes the rows it wrote.
func Replay(ctx context.Context, program, dir string, events int) (r Result, err error) {
	const rounds = 3
	var ours, limit []float64
	memory := 0
	for range rounds {
		n, seconds, peak, err := replay(ctx, program, dir)
		if err != nil {
			return r, err
		}
		ours, memory = append(ours, float64(n)/seconds), max(memory, peak)
		took, err := handWritten(dir)
		if err != nil {
			return r, err
		}
		limit = append(limit, float64(n)/took.Seconds())
	}
	r = result(fmt.Sprintf("replay of %d events", events), "events/s", ours, limit)
	r.Notes = append(r.Notes, "limit: a hand-written SQLite loop writing the same rows",
		fmt.Sprintf("most memory of the replaying process, embedded log included: %d MB", memory))
	return r, nil
}

// replay runs one replay and watches how much memory its process takes, in MB.
func replay(ctx context.Context, program, dir string) (events int, seconds float64, peak int, err error) {
	cmd := exec.CommandContext(ctx, program, "replay", "--data", dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return 0, 0, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		case err := <-done:
			if err != nil {
				return 0, 0, 0, fmt.Errorf("%w: %s", err, out.Bytes())
			}
			ended = true
		}
	}
	if _, err := fmt.Sscanf(out.String(), "replay done: %d events in %f s", &events, &seconds); err != nil {
		return 0, 0, 0, fmt.Errorf("unexpected output %q: %w", out.Bytes(), err)
	}
	return events, seconds, peak, nil
}

// highWater is the most memory a process has taken so far, in MB; 0 where the system does not
// say.
func highWater(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb := 0
	_, _ = fmt.Sscan(rest, &kb) // 0 if it is not there
	return kb / 1024
}

// handWritten writes every row of the read model in dir into a new file of the same schema, a
// thousand documents a transaction, and returns how long the writing took.
func handWritten(dir string) (took time.Duration, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "readmodel", "*.db"))
	if err != nil || len(files) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d read models in %s", len(files), dir))
	}
	from, err := openPlain(files[0])
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to := filepath.Join(dir, "limit.db")
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(to + suffix) // may not be there
		}
	}()
	// In the order in which documents arrive: a loop cannot sort links it has yet to see.
	tables, order := []string{"document", "source", "link", "change"}, []string{"number", "number", "holder", "position"}
	rows := make([][][]any, len(tables))
	for i, t := range tables {
		if rows[i], err = readAll(from, t+" ORDER BY "+order[i]); err != nil {
			return 0, err
		}
	}
	return writeAll(from, to, tables, rows)
}

func readAll(db *sql.DB, ordered string) (all [][]any, err error) {
	rows, err := db.Query("SELECT * FROM " + ordered)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, ptr := make([]any, len(cols)), make([]any, len(cols))
		for i := range row {
			ptr[i] = &row[i]
		}
		if err := rows.Scan(ptr...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

func writeAll(from *sql.DB, path string, tables []string, rows [][][]any) (took time.Duration, err error) {
	// The settings of our own replay: nothing is synced until the file is finished.
	db, err := sql.Open("sqlite3", "file:"+url.PathEscape(path)+"?_journal_mode=OFF&_synchronous=OFF&_cache_size=-32768")
	if err != nil {
		return 0, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := copySchema(from, db); err != nil {
		return 0, err
	}
	began := time.Now()
	const batch = 1000 // documents
	documents := len(rows[0])
	for start := 0; start < documents; start += batch {
		tx, err := db.Begin()
		if err != nil {
			return 0, err
		}
		for i, t := range tables {
			n := len(rows[i])
			if err := insert(tx, t, rows[i][n*start/documents:n*min(start+batch, documents)/documents]); err != nil {
				return 0, errors.Join(err, tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func copySchema(from, to *sql.DB) (err error) {
	rows, err := from.Query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%' ORDER BY type DESC")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if _, err := to.Exec(text); err != nil {
			return err
		}
	}
	return nil
}

func insert(tx *sql.Tx, table string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	marks := bytes.Repeat([]byte(",?"), len(rows[0]))[1:]
	stmt, err := tx.Prepare("INSERT INTO " + table + " VALUES (" + string(marks) + ")")
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := stmt.Exec(row...); err != nil {
			return errors.Join(err, stmt.Close())
		}
	}
	return stmt.Close()
}

// Rename compares a rename that reaches holders copies, feed rows included, with one UPDATE
// that sets the same member of the same rows, at path, by json_set, on a copy of the file.
func Rename(ctx context.Context, store *sqlite.Store, dir, name, path string, holders int, rename func(name string) error) (r Result, err error) {
	file, err := current(store)
	if err != nil {
		return r, err
	}
	plain := filepath.Join(dir, "limit.db")
	db, err := openPlain(file)
	if err != nil {
		return r, err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", plain); err != nil {
		return r, errors.Join(err, db.Close())
	}
	if err := db.Close(); err != nil {
		return r, err
	}
	const rounds = 5
	var ours, limit []float64
	for i := range rounds {
		l, err := update(plain, path, holders, fmt.Sprintf("Bob%d Author", i))
		if err != nil {
			return r, err
		}
		began := time.Now()
		if err := rename(fmt.Sprintf("Bob%d", i)); err != nil {
			return r, err
		}
		o := time.Since(began)
		if i == 0 {
			continue // a warm-up
		}
		ours, limit = append(ours, float64(holders)/o.Seconds()), append(limit, float64(holders)/l.Seconds())
	}
	r = result(name, "copies/s", ours, limit)
	r.Notes = append(r.Notes, "limit: one UPDATE ... json_set over the same rows, without feed rows")
	return r, nil
}

func update(file, path string, holders int, name string) (took time.Duration, err error) {
	db, err := openPlain(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	began := time.Now()
	res, err := db.Exec("UPDATE document SET body = json_set(body, ?, ?) WHERE collection = 'books'", path, name)
	if err != nil {
		return 0, err
	}
	took = time.Since(began)
	if n, err := res.RowsAffected(); err != nil || n != int64(holders) {
		return 0, errors.Join(err, fmt.Errorf("%d rows updated", n))
	}
	return took, nil
}
