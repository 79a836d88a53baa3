package api

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
)

// tarType is the media type of a backup.
const tarType = "application/x-tar"

// backups answers requests for backups.
type backups struct {
	source    Backups
	fresh     *freshness
	positions positions
	logger    *slog.Logger
}

// backup answers GET and HEAD of all events after one, as a stream whose last file is the manifest.
func (b *backups) backup(c echo.Context) error {
	if err := readParameters(c, "after", "base"); err != nil {
		return err
	}
	base, err := readBase(c)
	if err != nil {
		return err
	}
	after, err := b.readAfter(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	out := &tarAnswer{ctx: c.Request().Context(), judge: func() error { return judgeAgain(c) }, response: c.Response(), control: http.NewResponseController(c.Response())}
	err = b.source.Backup(ctx, after, base, func(at fanfold.Position) io.Writer {
		out.position = b.positions.mark(at).String()
		if c.Request().Method == http.MethodHead {
			cancel() // before anything is read
		}
		return out
	})
	switch {
	case c.Request().Method == http.MethodHead && out.position != "":
		out.begin()
		return nil
	case err != nil && out.began:
		cut(c.Request().Context(), b.logger, "a backup", err)
	}
	return err
}

// readBase reads the parameter base, a sequence.
func readBase(c echo.Context) (base uint64, err error) {
	if c.QueryParams().Has("base") {
		if base, err = strconv.ParseUint(c.QueryParam("base"), 10, 64); err != nil {
			return 0, fanfold.Errorf(fanfold.Invalid, "base is the sequence of an event")
		}
	}
	return base, nil
}

// readAfter reads the parameter after, and waits until the node has that event. It returns the event's sequence. Errors are Invalid,
// StoreChanged, Timeout and Unavailable.
func (b *backups) readAfter(c echo.Context) (after uint64, err error) {
	if text := c.QueryParam("after"); c.QueryParams().Has("after") {
		if len(text) > fanfold.MaxMomentText {
			return 0, fanfold.Errorf(fanfold.Invalid, "after has %d bytes: a position has %d at most", len(text), fanfold.MaxMomentText)
		}
		mark, err := fanfold.ParseBookmark(text)
		if err != nil {
			return 0, fanfold.Errorf(fanfold.Invalid, "after: %s", fanfold.MessageOf(err))
		}
		if _, err := b.fresh.issuer.Resolve(mark); err != nil {
			return 0, err
		}
		after = mark.Seq()
	}
	if err := b.fresh.await(c); err != nil {
		return 0, err
	}
	limit, err := b.fresh.timeout(c)
	if err != nil {
		return 0, err
	}
	return after, b.fresh.waitUpTo(c.Request().Context(), after, limit)
}

// tarAnswer is an answer that begins with the first byte that is written. The client has some time for each piece.
type tarAnswer struct {
	ctx      context.Context // ends what is sent
	judge    func() error    // judges the reader again before each piece
	response *echo.Response
	control  *http.ResponseController
	position string
	began    bool
}

// begin sends the headers.
func (a *tarAnswer) begin() {
	h := a.response.Header()
	h.Set("Content-Type", tarType)
	h.Set(headerPosition, a.position)
	h.Set("Content-Disposition", time.Now().UTC().Format(`attachment; filename="fanfold-2006-01-02T150405Z.tar"`))
	h.Set(gzhttp.HeaderNoCompression, "1") // its files are compressed
	a.response.WriteHeader(http.StatusOK)
	a.began = true
}

// Write implements io.Writer.
func (a *tarAnswer) Write(b []byte) (n int, err error) {
	if !a.began {
		a.begin()
	}
	for n < len(b) {
		if err := cmp.Or(a.judge(), admission.NextPiece(a.control), a.ctx.Err()); err != nil {
			return n, err
		}
		written, err := a.response.Write(b[n:min(n+admission.LargePiece, len(b))])
		if n += written; err != nil {
			return n, err
		}
	}
	return n, nil
}
