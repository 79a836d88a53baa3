package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/foreign"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// Bounds of an export of another store in a request.
const (
	maxForeign  = 8 << 20 // bytes of one document, as the export has it
	maxRenames  = 100     // also of members to drop
	maxMember   = 400     // bytes of a name in a parameter, or of two
	maxRefusals = 20      // that a report tells
)

// bytesType is the media type of a body that is looked at before it is known what it is.
const bytesType = "application/octet-stream"

// foreignParameters say how an export is read. An import takes the others with from alone.
var foreignParameters = []string{"from", "name", "list", "keepExtended"}

// repeatedParameters say what becomes of members of an export.
const repeatedParameters = "rename drop"

// exported reads the export of another store in a request's body.
type exported struct {
	reader *foreign.Reader
	body   *admission.Body
}

// readForeign reads the parameters by which an export is read, and the name of what is sent. Errors are Invalid.
func readForeign(c echo.Context, parsing func(text []byte) (done func())) (opt foreign.Options, name string, err error) {
	q := c.QueryParams()
	opt = foreign.Options{From: q.Get("from"), Collection: q.Get("collection"), List: q.Get("list"), Drop: q["drop"], Rename: map[string]string{},
		Most: maxForeign, Parsing: parsing}
	if opt.KeepExtended, err = params.Bool(q, "keepExtended"); err != nil {
		return opt, "", err
	}
	if len(q["rename"]) > maxRenames || len(opt.Drop) > maxRenames {
		return opt, "", fanfold.Errorf(fanfold.Invalid, "rename and drop are given more than %d times", maxRenames)
	}
	for _, text := range slices.Concat(q["rename"], opt.Drop, []string{opt.List, q.Get("name")}) {
		if len(text) > maxMember {
			return opt, "", fanfold.Errorf(fanfold.Invalid, "%s has more than %d bytes", fanfold.Clip(text), maxMember)
		}
	}
	for _, text := range q["rename"] {
		from, to, ok := strings.Cut(text, "=")
		if _, twice := opt.Rename[from]; !ok || twice {
			return opt, "", fanfold.Errorf(fanfold.Invalid, "rename=%s is not OLD=NEW, each OLD once, as in rename=_id=key", fanfold.Clip(text))
		}
		opt.Rename[from] = to
	}
	if opt.Collection != "" {
		if err := fanfold.CheckCollection(opt.Collection); err != nil {
			return opt, "", err
		}
	}
	name = q.Get("name")
	if strings.HasSuffix(strings.ToLower(name), ".csv") {
		return opt, "", fanfold.Errorf(fanfold.Invalid, "%s is CSV, which goes with a mapping: fanfold import --mapping FILE %s", name, name)
	}
	return opt, name, inQuery(opt.Validate())
}

// openForeign looks at the beginning of a body. Errors are Invalid and TooSlow.
func openForeign(body *admission.Body, zipped bool, opt foreign.Options, name string) (*exported, error) {
	body.ByLines()
	body.Ask()
	told := func(in io.Reader) io.Reader { return toldErrors{&lineParts{in, body}} }
	in, decoded := told(body), (func(io.Reader) io.Reader)(nil)
	if zipped {
		in, decoded = body, func(raw io.Reader) io.Reader { return told(newGunzip(raw)) }
	}
	text, _, err := foreign.UnpackedWithin(in, decoded)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = "the body"
	}
	r, err := foreign.Open(text, name, opt)
	return &exported{r, body}, inQuery(err)
}

// enterForeign looks at the beginning of a request's body, once there is a place for what reads it as it comes. ctx ends with the body. The caller calls
// leave at the end. It returns the errors of enter and openForeign.
func enterForeign(c echo.Context, budget *admission.Budget, zipped bool, opt foreign.Options, name string) (ctx context.Context, in *exported, leave func(), err error) {
	body, err := budget.Body(c.Request().Body, http.NewResponseController(c.Response()))
	if err != nil {
		return nil, nil, nil, err
	}
	left, err := enter(c, budget, admission.Imports, admission.Applicant{Body: body})
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := body.Context(c.Request().Context())
	leave = func() { cancel(); left() }
	if in, err = openForeign(body, zipped, opt, name); err != nil {
		leave()
		return nil, nil, nil, err
	}
	return ctx, in, leave, nil
}

// toldErrors reads, and says what is wrong with a body as bodyError does.
type toldErrors struct{ io.Reader }

// Read implements io.Reader.
func (r toldErrors) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyError(err, 0)
	}
	return n, err
}

// next returns the next document, and the errors of foreign.Reader's Next.
func (e *exported) next() (*foreign.Document, error) {
	doc, err := e.reader.Next()
	var refused *foreign.Refusal
	switch {
	case err == nil:
		e.body.Line(max(len(doc.Body), len(doc.Line)))
	case errors.As(err, &refused):
		refused.Reason = foreign.InQuery(refused.Reason)
		e.body.Line(1)
	case errors.Is(err, io.EOF):
		if err := e.body.Complete(); err != nil {
			return nil, bodyError(err, 0)
		}
	default:
		err = inQuery(err)
	}
	return doc, err
}

// inQuery returns an error about an export as it names the parameters of a request.
func inQuery(err error) error {
	if err == nil || fanfold.CodeOf(err) == fanfold.Internal {
		return err
	}
	return fanfold.Wrap(err, fanfold.CodeOf(err), "%s", foreign.InQuery(fanfold.MessageOf(err)))
}

// foreignLines are the documents of an export as the lines of an import. They implement writer.LineReader.
type foreignLines struct {
	*exported
	line []byte
}

// Next implements writer.LineReader.
func (l *foreignLines) Next() ([]byte, error) {
	doc, err := l.next()
	var refused *foreign.Refusal
	switch {
	case errors.As(err, &refused):
		l.line = foreign.AppendRefusal(l.line[:0], refused)
	case err != nil:
		return nil, err
	default:
		l.line = foreign.AppendLine(l.line[:0], doc)
	}
	return l.line, nil
}

// Stop implements writer.LineReader.
func (l *foreignLines) Stop() { l.body.Cut(errImportEnded) }

// answerForeign answers POST /v1/_import?from=: it stores the documents of what another store exports, or tells what it would store. The answer is
// one report at the end, because a browser reads no answer before it has sent all of a body.
func (ip *imports) answerForeign(c echo.Context) error {
	opt, err := readImportOptions(c)
	if err != nil {
		return err
	}
	dry, err := params.Bool(c.QueryParams(), "dryRun")
	if err != nil {
		return err
	}
	how, name, err := readForeign(c, ip.writer.Parsing)
	if err != nil {
		return err
	}
	if opt.ID != "" || opt.Resume || c.QueryParams().Has("first") {
		return fanfold.Errorf(fanfold.Invalid, "id, resume and first do not go with from: fanfold import resumes exports of other stores")
	}
	zipped, err := isGzip(c)
	if err != nil {
		return err
	}
	ctx, in, leave, err := enterForeign(c, ip.budget, zipped, how, name)
	if err != nil {
		return err
	}
	defer leave()
	t := &foreignImport{in: in, seen: ip.open(c)}
	if dry {
		t.rehearse(ctx, ip.writer.Parsing, name)
		return t.send(c)
	}
	if from := in.reader.Report().From[0]; how.Collection == "" && from != foreign.Own && from != foreign.Firestore {
		return fanfold.Errorf(fanfold.Invalid, "the documents do not say where they go: give collection=NAME, such as collection=%s", foreign.Proposed(name))
	}
	opt.Collection = "" // each line says it
	im, err := ip.importer.NewImport(ctx, opt)
	if err != nil {
		return err
	}
	end := t.load(ctx, im, ip.positions)
	if _, why := end.told(t.seen); end.isFault(why) {
		ip.logger.Error("an import ended early", "err", end.failed)
	}
	return t.send(c)
}

// foreignImport is one import of an export, or its dry run.
type foreignImport struct {
	in     *exported
	seen   view.View
	report wire.ImportReport
}

// send answers with the report. An import that ended early has ended its body, and with it the context by which other answers wait for room.
func (t *foreignImport) send(c echo.Context) error {
	if c.Request().ProtoMajor == 1 && !t.report.Done {
		c.Response().Header().Set("Connection", "close") // which has a deadline that has passed
	}
	var text bytes.Buffer
	if err := encode(&text, t.report); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	c.Response().WriteHeader(http.StatusOK)
	return writePaced(c, text.Bytes())
}

// refuse counts a line that is refused.
func (t *foreignImport) refuse(line int, err error) {
	if t.report.Refused++; len(t.report.Refusals) < maxRefusals {
		t.report.Refusals = append(t.report.Refusals, refusalOf(t.seen, line, err))
	}
}

// found notes what the export had.
func (t *foreignImport) found() {
	r := t.in.reader.Report()
	delete(r.Collections, "")
	t.report.From, t.report.Documents, t.report.Collections, t.report.Dropped, t.report.Left = r.From[0], r.Documents, r.Collections, r.Dropped, r.Left
}

// rehearse reads everything, and stores nothing.
func (t *foreignImport) rehearse(ctx context.Context, parsing func([]byte) func(), name string) {
	t.report.DryRun = true
	var ids foreign.IDs
	placeless := false
	err := t.each(ctx, func(doc *foreign.Document) error {
		if doc.Body != nil {
			done := parsing(doc.Body)
			ids.Add(doc.Body)
			done()
			placeless = placeless || doc.Collection == ""
		}
		return nil
	})
	t.found()
	if t.report.WithoutID = ids.Without(); t.report.WithoutID > 0 {
		t.report.IDs = ids.Members()
	}
	if placeless {
		t.report.Proposed = foreign.Proposed(name)
	}
	t.conclude(conclusion{failed: err})
	t.report.Folded = nil
}

// each calls fn with each document, and counts those that cannot be had. Errors are ctx's, the body's and fn's.
func (t *foreignImport) each(ctx context.Context, fn func(doc *foreign.Document) error) error {
	for {
		doc, err := t.in.next()
		var refused *foreign.Refusal
		switch {
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case errors.As(err, &refused):
			t.refuse(refused.Place.Line, fanfold.Errorf(fanfold.Invalid, "%s", refused.Reason))
			err = ctx.Err()
		case err == nil:
			if err = ctx.Err(); err == nil {
				err = fn(doc)
			}
		}
		if err != nil {
			return err
		}
	}
}

// load stores everything, and returns how that ended.
func (t *foreignImport) load(ctx context.Context, im *writer.Import, at positions) conclusion {
	err := im.Run(ctx, &foreignLines{exported: t.in}, func(r writer.ImportReport) error {
		for _, refused := range r.Refusals {
			t.refuse(refused.Line, refused.Err)
		}
		return nil
	})
	end := conclusion{failed: err}
	if err == nil {
		end.late = im.WaitFolded(ctx)
	}
	t.found()
	r := im.Report()
	t.report.Written, t.report.Refused = r.Progress.Written, r.Progress.Refused
	t.report.Position = at.markEvent(r.Last)
	t.conclude(end)
	return end
}

// conclude notes how it ended.
func (t *foreignImport) conclude(end conclusion) {
	folded, why := end.told(t.seen)
	t.report.Done, t.report.Folded, t.report.Status, t.report.Type, t.report.Detail = end.failed == nil, folded, why.Status, why.Type, why.Detail
}
