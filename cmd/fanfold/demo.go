package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/inspect"
)

// demoFiles are the bookshop: a model, and NDJSON with one file a collection.
//
//go:embed demo
var demoFiles embed.FS

func demoCommand() *cobra.Command {
	cfg := node.Config{Durability: "always"}
	var once bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start with a bookshop on a temporary directory, and show a rename reaching its copies",
		Long: `Start a node on a temporary directory, load a bookshop of real books and authors, and show
what the store does by itself: a rename that reaches every copy, counts, the change feed. The
node then stays up, with commands to try, until it is interrupted; the directory is removed.`,
		Example: "  fanfold demo\n  fanfold demo --listen 127.0.0.1:0   (any free port)\n  fanfold demo --once",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8080", "address of the HTTP API")
	f.StringVar(&cfg.Data, "data", "", "directory for the log and the read model, kept at the end (default a temporary one)")
	f.BoolVar(&once, "once", false, "end after the tour")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		return demo(cmd.Context(), cmd.OutOrStdout(), cfg, once)
	}
	return cmd
}

// demo runs the tour on a node of its own. An interrupt is how it is meant to end, so it is no
// error.
func demo(ctx context.Context, out io.Writer, cfg node.Config, once bool) (err error) {
	place := "in " + cfg.Data
	if cfg.Data == "" {
		if cfg.Data, err = os.MkdirTemp("", "fanfold-demo-"); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "cannot make a temporary directory: %v", err)
		}
		place = "on a temporary directory"
		defer func() { err = errors.Join(err, os.RemoveAll(cfg.Data)) }()
	} else if _, err := os.Stat(filepath.Join(cfg.Data, "nats")); err == nil {
		return fanfold.Errorf(fanfold.Invalid, "%s holds a store already, and the demo wants an empty one: name a new directory, or run fanfold serve --data %s", cfg.Data, cfg.Data)
	}
	n, err := node.Open(ctx, cfg)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fanfold.Wrap(err, fanfold.Unavailable, "%s is in use by another program; choose another port with --listen, or any free one:\n  fanfold demo --listen 127.0.0.1:0", cfg.Listen)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	err = n.Run(running, func(running context.Context) error {
		t := newTour(baseURL(n.Addr()), out)
		t.say("Fanfold demo: a bookshop at %s, %s.", t.client.server, place)
		err := t.run(running)
		if once {
			stop()
		} else if err == nil {
			t.say("\nPress Ctrl-C to stop.")
		}
		return err
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// baseURL is where a client on this machine finds the address: one that stands for all
// interfaces is not one to send requests to.
func baseURL(addr string) string {
	if a, err := netip.ParseAddrPort(addr); err == nil && a.Addr().IsUnspecified() {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(a.Port())))
	}
	return "http://" + addr
}

// demoWidth is how many columns the tour takes.
const demoWidth = 100

// tour loads the bookshop and tells what happens. Everything goes through the HTTP API.
type tour struct {
	client *client
	out    io.Writer
}

func newTour(base string, out io.Writer) *tour {
	return &tour{client: &client{server: base}, out: out}
}

func (t *tour) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t *tour) run(ctx context.Context) error {
	defer t.client.http.CloseIdleConnections()
	for _, step := range []func(context.Context) error{t.load, t.before, t.rename, t.publish, t.verify} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	t.commands()
	return nil
}

// send writes.
func (t *tour) send(ctx context.Context, method, path, body string, h header) error {
	resp, err := t.client.do(ctx, method, path, strings.NewReader(body), h)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// get reads a document into out, and returns the answer's header and the text itself.
func (t *tour) get(ctx context.Context, path string, out any) (http.Header, []byte, error) {
	resp, err := t.client.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("GET %s: %w", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, out)
	}
	return resp.Header, body, err
}

// demoCollections are in the order in which the tour names them.
var demoCollections = []string{"books", "authors", "publishers", "shelves", "reviews", "stocks", "portfolios"}

// load applies the model, then writes all documents, in no order: copies come right whichever
// side arrives first.
func (t *tour) load(ctx context.Context) error {
	model, err := demoFiles.ReadFile("demo/model.yaml")
	if err != nil {
		return err
	}
	if err := t.send(ctx, http.MethodPut, "/v1/_model", string(model), header{"Content-Type": "application/yaml"}); err != nil {
		return err
	}
	m, err := modelfile.Parse(model)
	if err != nil {
		return err
	}
	began, total := time.Now(), 0
	var counts []string
	for _, collection := range demoCollections {
		n, err := t.loadFile(ctx, collection)
		if err != nil {
			return err
		}
		counts, total = append(counts, fmt.Sprintf("%d %s", n, collection)), total+n
	}
	took := time.Since(began).Seconds()
	t.say("\n1. Loaded\n\n   %s:\n   %d documents in %.2f s (%.0f a second), each on disk before it was answered.", strings.Join(counts, ", "), total, took, float64(total)/took)
	t.say("   The model declares %d derived fields; see it with the last curl command below.", len(m.Rules))
	return nil
}

// loadFile imports the documents of one collection and counts them.
func (t *tour) loadFile(ctx context.Context, collection string) (n int, err error) {
	text, err := demoFiles.ReadFile("demo/" + collection + ".ndjson")
	if err != nil {
		return 0, err
	}
	im := &importer{client: t.client, collection: collection, stderr: io.Discard}
	result, err := im.send(ctx, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}, 0)
	if err == nil && result.Refused > 0 {
		err = fmt.Errorf("%d lines of %s.ndjson were refused", result.Refused, collection)
	}
	return result.Written, err
}

// The author whose story the tour tells.
const (
	heroID   = "samuel-clemens"
	heroPath = "/v1/authors/" + heroID
	heroBook = "/v1/books/huckleberry-finn"
	penName  = `{"firstName":"Mark","lastName":"Twain"}`
)

func (t *tour) before(ctx context.Context) error {
	_, body, err := t.get(ctx, heroPath, &struct{}{})
	if err != nil {
		return err
	}
	t.say("\n2. An author: countOfBooks and books are the store's, nobody wrote them\n\n   GET %s\n%s", heroPath, layout(body, "   "))
	return nil
}

// demoBook is what the tour reads of a book.
type demoBook struct {
	Title   string
	Year    int
	Authors []struct{ ID, Name string }
}

// hero is the copy of the author's name that stands on the book.
func (b *demoBook) hero() string {
	for _, a := range b.Authors {
		if a.ID == heroID {
			return a.Name
		}
	}
	return "none"
}

// heroBooks are the author's books, oldest first; the list itself is in order of arrival.
func (t *tour) heroBooks(ctx context.Context) (http.Header, []demoBook, error) {
	var list struct{ Items []demoBook }
	h, _, err := t.get(ctx, heroPath+"/books", &list)
	slices.SortFunc(list.Items, func(a, b demoBook) int { return a.Year - b.Year })
	return h, list.Items, err
}

// rename is what the product is for: one write, and every copy is right.
func (t *tour) rename(ctx context.Context) error {
	book, _, err := t.get(ctx, heroBook, &demoBook{})
	if err != nil {
		return err
	}
	h, old, err := t.heroBooks(ctx)
	if err != nil {
		return err
	}
	since, began := h.Get("Fanfold-Position"), time.Now()
	if err := t.send(ctx, http.MethodPatch, heroPath, penName, header{"Content-Type": "application/merge-patch+json"}); err != nil {
		return err
	}
	took := time.Since(began)
	_, now, err := t.heroBooks(ctx)
	if err != nil {
		return err
	}
	if len(now) != len(old) {
		return fmt.Errorf("the author had %d books before the rename and has %d after it", len(old), len(now))
	}
	t.say("\n3. He takes a pen name: one write, to the author alone\n\n   PATCH %s  %s", heroPath, penName)
	t.say("\n   Answered after %s; these books show it, and no reader ever saw some old and some new:\n", took.Round(100*time.Microsecond))
	for i := range now {
		t.say("   %-46s %d  %s -> %s", now[i].Title, now[i].Year, old[i].hero(), now[i].hero())
	}
	if err := t.feed(ctx, since); err != nil {
		return err
	}
	return t.revision(ctx, book)
}

// feed shows the rows of the change feed since a position: the first few and the last.
func (t *tour) feed(ctx context.Context, since string) error {
	var rows []string
	err := t.client.changesOnce(ctx, url.Values{"since": {since}, "mode": {"all"}, "feed": {"normal"}}, func(data []byte) error {
		var b strings.Builder
		err := showChange(&b, data, false)
		rows = append(rows, wrap(strings.TrimSuffix(b.String(), "\n"), "   "))
		return err
	})
	if err != nil {
		return err
	}
	t.say("\n   The change feed has a row for each document, the last a shelf that copies from the books:\n")
	const first = 3
	for i, row := range rows {
		switch {
		case i < first || i == len(rows)-1:
			t.say("%s", row)
		case i == first:
			t.say("   ... %d more ...", len(rows)-first-1)
		}
	}
	return nil
}

// revision shows that a copy that changed does not make the book's writers fail.
func (t *tour) revision(ctx context.Context, old http.Header) error {
	now, _, err := t.get(ctx, heroBook, &demoBook{})
	if err != nil {
		return err
	}
	tag := old.Get("ETag")
	t.say("\n   Nobody wrote to the book itself: its ETag is new for caches, its revision the old for writers.\n")
	t.say("   %s", heroBook)
	t.say("   revision  %s -> %s\n   ETag      %s -> %s", old.Get("Fanfold-Revision"), now.Get("Fanfold-Revision"), tag, now.Get("ETag"))
	if err := t.send(ctx, http.MethodPatch, heroBook, `{"shelfmark":"PS1305"}`, header{"Content-Type": "application/merge-patch+json", "If-Match": tag}); err != nil {
		return err
	}
	t.say("   PATCH with If-Match: %s, read before the rename, is still accepted.", tag)
	return nil
}

// newBook is one that the shop does not have yet.
const newBook = `{"id":"following-the-equator","title":"Following the Equator","year":1897,"language":"en",
    "pub-id":"american-publishing","authors":[{"id":"samuel-clemens"}]}`

// publish shows counts that follow a write.
func (t *tour) publish(ctx context.Context) error {
	const publisher = "/v1/publishers/american-publishing"
	var old, now struct{ Author, Publisher struct{ CountOfBooks int } }
	_, _, err1 := t.get(ctx, heroPath, &old.Author)
	_, _, err2 := t.get(ctx, publisher, &old.Publisher)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := t.send(ctx, http.MethodPost, "/v1/books", newBook, header{"Content-Type": "application/json"}); err != nil {
		return err
	}
	_, _, err1 = t.get(ctx, heroPath, &now.Author)
	_, _, err2 = t.get(ctx, publisher, &now.Publisher)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	t.say("\n4. A new book: the counts are made at the write, a read computes nothing\n\n   POST /v1/books\n   %s\n", newBook)
	t.say("   countOfBooks of the author     %d -> %d", old.Author.CountOfBooks, now.Author.CountOfBooks)
	t.say("   countOfBooks of the publisher  %d -> %d", old.Publisher.CountOfBooks, now.Publisher.CountOfBooks)
	return nil
}

// verify has the store compare every copy with where it came from.
func (t *tour) verify(ctx context.Context) error {
	var v inspect.Verified
	if err := t.client.json(ctx, http.MethodPost, "/v1/_verify", &v); err != nil {
		return err
	}
	if len(v.Wrong) > 0 {
		return fmt.Errorf("verify found wrong values: %v", v.Wrong)
	}
	t.say("\n5. Verified: everything derived in %d documents was computed anew, and nothing is wrong.", v.Documents)
	return nil
}

// commands prints what to try; SERVER stands for the server's URL.
func (t *tour) commands() {
	t.say("\nNow try, in another terminal:")
	for _, c := range [][2]string{
		{"Mary Ann Evans becomes George Eliot, on every book and on the shelf that copies from one", `curl -sw '%{http_code}\n' -X PATCH SERVER/v1/authors/mary-ann-evans \
  -H 'Content-Type: application/merge-patch+json' -d '{"firstName":"George","lastName":"Eliot"}'
curl -sw '\n' SERVER/v1/shelves/pen-names`},
		{"A book with its copies and counts, and as somebody wrote it", `curl -sw '\n' SERVER/v1/books/gilded-age
curl -sw '\n' 'SERVER/v1/books/gilded-age?view=referenced'`},
		{"A portfolio that only refers to its stocks, with their quotes, in one request",
			`curl -sw '\n' 'SERVER/v1/portfolios/1?expand=stock'`},
		{"A publisher goes; the book keeps the name it had (onDelete: keep)", `curl -sw '%{http_code}\n' -X DELETE SERVER/v1/publishers/newby
curl -sw '\n' SERVER/v1/books/wuthering-heights`},
		{"Every change of a shelf so far, with its cause",
			`curl -sw '\n' 'SERVER/v1/_changes?since=0&mode=all&collections=shelves'`},
		{"The model", `curl -sw '\n' SERVER/v1/_model`},
	} {
		text := strings.ReplaceAll(c[0]+":"+"\n"+c[1], "SERVER", t.client.server)
		t.say("\n   %s", strings.ReplaceAll(text, "\n", "\n   "))
	}
	t.say("\n   The change feed, as it goes on:\n   fanfold changes --server %s", t.client.server)
}

// layout writes a JSON object a member a line; arrays that are too long for one are folded.
func layout(doc []byte, indent string) string {
	t := jsondoc.MustParse(doc)
	var b strings.Builder
	b.WriteString(indent + "{\n")
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		line := fmt.Sprintf("%s  %s: %s", indent, jsondoc.Quote(t.Key(n)), t.Raw(n))
		if len(line) > demoWidth && t.Kind(n) == jsondoc.Array {
			line = fmt.Sprintf("%s  %s: [\n", indent, jsondoc.Quote(t.Key(n))) + foldArray(t, n, indent+"    ") + "]"
		}
		b.WriteString(line)
		if t.Next(n) != jsondoc.None {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	return b.String() + indent + "}"
}

// foldArray puts as many elements on a line as it has room for.
func foldArray(t *jsondoc.Tree, array jsondoc.Node, indent string) string {
	var lines []string
	line := indent
	for n := t.First(array); n != jsondoc.None; n = t.Next(n) {
		element := string(t.Raw(n))
		if t.Next(n) != jsondoc.None {
			element += ", "
		}
		if line != indent && len(line)+len(element) > demoWidth {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += element
	}
	return strings.Join(append(lines, line), "\n")
}

// wrap breaks a line of the change feed between its parts, where it has two spaces.
func wrap(line, indent string) string {
	const room = "        "
	var b strings.Builder
	b.WriteString(indent)
	for start := 0; len(line) > demoWidth-len(indent); start = len(room) {
		at := strings.LastIndex(line[:demoWidth-len(indent)], "  ")
		if at < start+1 { // the first part is too long by itself
			next := strings.Index(line[start:], "  ")
			if next < 0 {
				break
			}
			at = start + next
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n" + indent)
		line = room + strings.TrimLeft(line[at:], " ")
	}
	return b.String() + line
}
