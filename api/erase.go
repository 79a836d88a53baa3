package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/wire"
)

// Eraser erases what documents were. Its requests are valid.
type Eraser interface {
	// PlanErasure tells what an erasure would take away. Errors are NotFound for a document that never was, Conflict where the log's
	// server cannot erase, other work is under way or a member is at a relation, and Unavailable. Others
	// are of the deletes, such as Restricted.
	PlanErasure(ctx context.Context, asked fanfold.EraseRequest) (*wire.ErasurePlan, error)
	// Erase begins an erasure. It returns once the log has it; one whose phase is done has begun nothing. by names who asked, "" where
	// nobody knows. It returns the errors of PlanErasure, and Busy if too many wait.
	Erase(ctx context.Context, asked fanfold.EraseRequest, by string) (*wire.Erasure, error)
	// Erasure tells how far an erasure is. The error is NotFound, or Unavailable.
	Erasure(ctx context.Context, number uint64) (*wire.Erasure, error)
	// Erasures returns all erasures in the order of their numbers. The error is Unavailable.
	Erasures(ctx context.Context) ([]wire.Erasure, error)
	// EachErased calls fn for each document of each erasure, in order. Errors are Unavailable, ctx's and fn's.
	EachErased(ctx context.Context, fn func(wire.ErasedDocument) error) error
}

// Finder looks for texts.
type Finder interface {
	// FindText returns documents that have a text in any version as it was written, a number of them at most, and whether there are more.
	// It reads the whole log. Errors are ctx's and Unavailable.
	FindText(ctx context.Context, text string, limit int) (found []wire.Found, more bool, err error)
}

// The paths of erasures.
const (
	erasePath    = "/v1/_erase"
	erasuresPath = "/v1/_erasures"
	findPath     = "/v1/_find"
)

// Bounds of what is asked for and told.
const (
	maxEraseBody   = 8 << 20   // of a request for documents, in bytes
	maxMembersBody = 256 << 10 // of one for a document in the path
	maxFindBody    = 8 << 10
	maxErasures    = 1000 // that a list tells, the newest
)

// erasures answers requests about what is erased.
type erasures struct {
	eraser   Eraser
	finder   Finder
	fresh    *freshness
	at       positions
	budget   *admission.Budget
	spoolDir string
	logger   *slog.Logger
}

// table returns the routes about erasures.
func (s *erasures) table() []route {
	return []route{
		{"POST", "/v1/:collection/:id/_erase", rightAdmin, byRoom, 0, untimed | lasting, s.eraseOne},
		{"POST", erasePath, rightAdmin, byRoom, 0, untimed | lasting, s.eraseSeveral},
		{"GET", erasuresPath, rightAdmin, atOnce, 0, lasting, s.list},
		{"GET", erasuresPath + "/:number", rightAdmin, atOnce, 0, 0, s.get},
		{"POST", findPath, rightAdmin, byRoom, 0, untimed | lasting, s.find},
	}
}

// eraseOne answers POST of a document's _erase.
func (s *erasures) eraseOne(c echo.Context) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	var body wire.EraseOneBody
	dry, err := s.readErase(c, &body, object{media: []string{jsonType}, size: maxMembersBody, optional: true})
	if err != nil {
		return err
	}
	return s.answer(c, fanfold.EraseRequest{Documents: []fanfold.Key{key}, Members: body.Members}, dry)
}

// eraseSeveral answers POST /v1/_erase.
func (s *erasures) eraseSeveral(c echo.Context) error {
	var body wire.EraseBody
	dry, err := s.readErase(c, &body, object{media: []string{jsonType}, size: maxEraseBody})
	if err != nil {
		return err
	}
	asked := fanfold.EraseRequest{Members: body.Members}
	for _, key := range body.Documents {
		asked.Documents = append(asked.Documents, fanfold.Key(key))
	}
	return s.answer(c, asked, dry)
}

// readErase reads the parameters and the body of a request for an erasure.
func (s *erasures) readErase(c echo.Context, into any, kind object) (dry bool, err error) {
	if err := readParameters(c, "dryRun"); err != nil {
		return false, err
	}
	if dry, err = params.Bool(c.QueryParams(), "dryRun"); err != nil {
		return false, err
	}
	return dry, readObjectAs(c, into, kind)
}

// answer answers a request for an erasure: 202 for one that has begun, 200 for a plan, and where nothing is left to erase. The log says
// who asked, whatever comes of it.
func (s *erasures) answer(c echo.Context, asked fanfold.EraseRequest, dry bool) error {
	if err := asked.Validate(); err != nil {
		return err
	}
	if err := s.fresh.await(c); err != nil {
		return err
	}
	if dry {
		plan, err := s.eraser.PlanErasure(c.Request().Context(), asked)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, plan)
	}
	rights := rightsOf(c)
	report, err := s.eraser.Erase(c.Request().Context(), asked, rights.Actor())
	number := uint64(0)
	if err == nil {
		number = report.Number
	}
	s.logger.Info("an erasure was asked for", "documents", len(asked.Documents), "members", len(asked.Members), "erasure", number, "by", rights.String(), "refused", fanfold.CodeOf(err))
	switch {
	case err != nil:
		return err
	case report.Phase == wire.PhaseDone, report.Phase == wire.PhaseResidue: // nothing was begun
		return c.JSON(http.StatusOK, report)
	}
	h := c.Response().Header()
	h.Set("Location", erasuresPath+"/"+strconv.FormatUint(number, 10))
	h.Set(headerPosition, s.at.markEvent(number).String()) // whoever asks another node waits until it knows of it
	return c.JSON(http.StatusAccepted, report)
}

// get answers GET of an erasure.
func (s *erasures) get(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	text, err := param(c, "number")
	if err != nil {
		return err
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "an erasure has a number: GET %s lists them", erasuresPath)
	}
	if err := s.fresh.await(c); err != nil {
		return err
	}
	report, err := s.eraser.Erasure(c.Request().Context(), number)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}

// list answers GET /v1/_erasures: the newest erasures, or with export=true every document of all, in lines.
func (s *erasures) list(c echo.Context) error {
	if err := readParameters(c, "export"); err != nil {
		return err
	}
	export, err := params.Bool(c.QueryParams(), "export")
	if err != nil {
		return err
	}
	if err := s.fresh.await(c); err != nil {
		return err
	}
	if export {
		return exporting(s.budget, s.export)(c)
	}
	all, err := s.eraser.Erasures(c.Request().Context())
	if err != nil {
		return err
	}
	slices.Reverse(all)
	newest := all[:min(len(all), maxErasures)]
	return c.JSON(http.StatusOK, wire.Erasures{Erasures: append([]wire.Erasure{}, newest...), More: len(all) > len(newest)})
}

// export sends a line for each document of each erasure. They are in a file before the first is sent.
func (s *erasures) export(c echo.Context) (err error) {
	out, err := admission.NewSpool(s.spoolDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	ctx, buffered := c.Request().Context(), bufio.NewWriterSize(out, admission.LargePiece)
	lines := json.NewEncoder(buffered)
	if err := s.eraser.EachErased(ctx, func(d wire.ErasedDocument) error { return lines.Encode(d) }); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	out.Finish(nil)
	c.Response().Header().Set("Content-Type", ndjsonType)
	if err := sendSpooled(ctx, c, out); err != nil {
		cut(ctx, s.logger, "an export of erasures", err)
	}
	return nil
}

// find answers POST /v1/_find: which documents have a text in any version as it was written.
func (s *erasures) find(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	var asked wire.FindBody
	if err := readObjectAs(c, &asked, object{media: []string{jsonType}, size: maxFindBody}); err != nil {
		return err
	}
	if n := len(asked.Text); n == 0 || n > wire.MaxFindText || !utf8.ValidString(asked.Text) {
		return fanfold.Errorf(fanfold.Invalid, `member "text" has %d bytes: give a text of 1 to %d`, n, wire.MaxFindText)
	}
	if err := s.fresh.await(c); err != nil {
		return err
	}
	leave, err := enter(c, s.budget, admission.Searches, admission.Applicant{})
	if err != nil {
		return err
	}
	defer leave()
	found, more, err := s.finder.FindText(c.Request().Context(), asked.Text, wire.MaxFound)
	s.logger.Info("a text was looked for", "by", rightsOf(c).String(), "documents", len(found), "refused", fanfold.CodeOf(err))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.FoundList{Found: append([]wire.Found{}, found...), More: more})
}
