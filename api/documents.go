package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api/internal/described"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// open returns what the sender of a request may see.
func (d *documents) open(c echo.Context) view.View { return d.views.Open(rightsOf(c)) }

// DocumentWriter decides about writes of documents.
type DocumentWriter interface {
	// Prepare checks what can be checked of an operation without knowing what is stored, the rights of who asks for it first. After
	// the start it waits until the model is known.
	Prepare(ctx context.Context, op *writer.Operation, by *access.Rights) error
	// Parsing says that a body is about to be parsed, and waits while as much is parsed as may be at a time.
	Parsing(body []byte) (done func())
	// Write stores one operation: see writer.Writer.Write.
	Write(ctx context.Context, op *writer.Operation, req writer.Request) (writer.Result, error)
	// Transact stores all of the operations, or none.
	Transact(ctx context.Context, ops []*writer.Operation, req writer.Request) (writer.Result, error)
	// DeleteNext makes the next step of a delete in steps.
	DeleteNext(ctx context.Context, key fanfold.Key, in writer.Intent) (writer.DeleteStep, error)
}

// Importer stores the lines of imports.
type Importer interface {
	// NewImport begins an import, or goes on with one.
	NewImport(ctx context.Context, opt writer.ImportOptions) (*writer.Import, error)
	// ImportProgress returns how far an import of a principal has come. rev is 0 where it has none with this id.
	ImportProgress(ctx context.Context, id string, by *access.Rights) (p writer.ImportProgress, rev fanfold.Revision, err error)
}

// documents answers requests that read and write documents: one, several, lists, transactions, imports and exports.
type documents struct {
	writer    DocumentWriter
	caller    Caller
	views     *view.Views
	models    Models
	past      pastModels
	folded    Folded
	fresh     *freshness
	queries   *queries
	budget    *admission.Budget
	positions positions
	maxBody   int64 // of a document, in bytes
	maxDepth  int   // of a document
	spoolDir  string
	logger    *slog.Logger

	diffs   diffs
	imports imports
	updates updates
}

// get answers GET and HEAD of one document.
func (d *documents) get(c echo.Context) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	if err := readParameters(c, "view", "expand", "fields", "at"); err != nil {
		return err
	}
	asked, err := shownOf(c)
	if err != nil {
		return err
	}
	if c.Request().URL.RawQuery != "" && c.QueryParams().Has("at") {
		return d.getAt(c, key, asked)
	}
	if err := d.fresh.await(c); err != nil {
		return err
	}
	if c.Request().URL.RawQuery != "" && c.QueryParam("expand") != "" {
		return d.getExpanded(c, key, asked)
	}
	room := d.budget.Answer(c.Request().Context())
	defer room.Release()
	doc, at, err := d.readDocument(c, room, key, asked.view)
	if err != nil {
		return err
	}
	if doc == nil {
		return writer.Missing(key)
	}
	doc.Body = asked.fields.show(doc.Body)
	return d.sendDocument(c, http.StatusOK, doc, at, d.positions.etag(doc))
}

// readDocument reads one document into the room of an answer, nil where there is none. Errors are the read model's, and
// Busy where no room came free in time.
func (d *documents) readDocument(c echo.Context, room *admission.Answer, key fanfold.Key, form fanfold.View) (*fanfold.Document, fanfold.Position, error) {
	for {
		doc, at, err := d.open(c).Get(key, form)
		if err != nil || doc == nil {
			return doc, at, err
		}
		if waited, err := room.Hold(len(doc.Body)); !waited || err != nil { // a document that was waited for may be another one now
			return doc, at, err
		}
	}
}

// lineage answers GET of where a document's derived values come from.
func (d *documents) lineage(c echo.Context) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	if err := readParameters(c, "at"); err != nil {
		return err
	}
	report, err := readLineage(d, c, key)
	if err != nil {
		return err
	}
	return sendJSON(c, d.budget, report)
}

// readLineage returns the lineage of now, or of the moment that at names.
func readLineage(d *documents, c echo.Context, key fanfold.Key) (*wire.Lineage, error) {
	if !c.QueryParams().Has("at") {
		if err := d.fresh.await(c); err != nil {
			return nil, err
		}
		return d.open(c).Lineage(c.Request().Context(), key)
	}
	m, err := d.fresh.parseMoment("at", c.QueryParam("at"))
	if err == nil {
		err = d.awaitState(c, m)
	}
	if err != nil {
		return nil, err
	}
	return d.open(c).LineageAt(c.Request().Context(), key, m.Moment)
}

// Header names in canonical form: setting them directly saves a conversion for each.
var (
	keyETag     = http.CanonicalHeaderKey("ETag")
	keyRevision = http.CanonicalHeaderKey(headerRevision)
	keyPosition = http.CanonicalHeaderKey(headerPosition)
	keyDerived  = http.CanonicalHeaderKey(headerDerived)
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	typeDryRun  = []string{described.DryRunType}

	// mustRevalidate is the Cache-Control of an answer that a cache may hold as long as it asks about its ETag. Without it a
	// cache may take a document for fresh because it was not written of late (RFC 9111, 4.2.2), although its copies have changed.
	mustRevalidate = []string{"no-cache"}
)

// countedByHTTP is how many bytes of an answer net/http counts by itself. A length that this package does not set leaves a
// document's answer with as many header fields as the smallest map holds, which saves a microsecond of 18.
const countedByHTTP = 2048

// sendDocument answers with a document, or with 304 where the client has the one with this tag.
func (d *documents) sendDocument(c echo.Context, status int, doc *fanfold.Document, at fanfold.Position, etag entityTag) error {
	if d.setDocument(c, doc, at, etag) {
		return c.NoContent(http.StatusNotModified)
	}
	c.Response().Header()["Content-Type"] = typeJSON
	if len(doc.Body) > countedByHTTP {
		setLength(c, len(doc.Body))
	}
	c.Response().WriteHeader(status)
	return writePaced(c, doc.Body)
}

// setDocument sets the headers of an answer with a document, and tells whether the client has the one with this tag.
func (d *documents) setDocument(c echo.Context, doc *fanfold.Document, at fanfold.Position, etag entityTag) (known bool) {
	h := c.Response().Header()
	tag := etag.String()
	values := []string{tag, strconv.FormatUint(uint64(doc.Revision), 10), d.positions.mark(at).String(), doc.Updated.Format(http.TimeFormat)}
	h[keyETag], h[keyRevision], h[keyPosition], h["Last-Modified"] = values[0:1:1], values[1:2:2], values[2:3:3], values[3:4:4]
	h["Cache-Control"] = mustRevalidate
	none := c.Request().Header["If-None-Match"]
	if len(none) == 0 {
		return false
	}
	known, h[keyETag][0] = matches(none, tag)
	return known
}

// matches tells whether the lines of an If-None-Match header have a tag, compared weakly (RFC 9110, 13.1.2) and as a
// whole, or are "*". It returns the tag as the client has it, which may be a compressed answer's. A text that lists no
// tags has none.
func matches(lines []string, tag string) (known bool, have string) {
	list := strings.TrimSpace(strings.Join(lines, ","))
	if list == "*" {
		return true, tag
	}
	tags, _ := splitETags(list)
	zipped := strings.TrimSuffix(tag, `"`) + gzipSuffix + `"`
	for _, v := range tags {
		switch v = strings.TrimPrefix(v, "W/"); v {
		case tag:
			return true, tag
		case zipped:
			return true, zipped
		}
	}
	return false, tag
}
