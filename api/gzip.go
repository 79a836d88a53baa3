package api

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// gzipFrom is the size from which on an answer is compressed for clients that accept it, in bytes.
const gzipFrom = 1024

// compressed returns a handler that answers with gzip where the client accepts that. It compresses each piece by itself and
// keeps no state between two, so that an open feed costs no compressor. The tag of a compressed answer is another one
// (RFC 9110, 8.8.3.3): it ends with gzipSuffix.
func compressed(handler http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(gzipFrom), gzhttp.CompressionLevel(gzip.StatelessCompression), gzhttp.EnableZstd(false),
		gzhttp.SuffixETag(gzipSuffix), gzhttp.ContentTypeFilter(gzhttp.CompressAllContentTypeFilter), gzhttp.SetContentType(false))
	if err != nil {
		return nil, err
	}
	return wrap(handler), nil
}

// isGzip tells whether the request's body is compressed. The error is UnsupportedMedia for a content coding other than gzip.
func isGzip(c echo.Context) (bool, error) {
	lines := c.Request().Header.Values("Content-Encoding")
	if len(lines) == 0 {
		return false, nil
	}
	switch coding := strings.ToLower(strings.TrimSpace(strings.Join(lines, ","))); coding {
	case "identity":
		return false, nil
	case "gzip", "x-gzip":
		return true, nil
	default:
		c.Response().Header().Set("Accept-Encoding", "gzip")
		return false, fanfold.Errorf(fanfold.UnsupportedMedia, "Content-Encoding %q is not read here: send the body as it is, or as gzip", coding)
	}
}

// gunzip reads what a compressed body holds.
type gunzip struct {
	body io.Reader
	zip  *gzip.Reader // nil before the first read
	err  error        // of body, other than io.EOF
}

// newGunzip returns a reader of what a compressed body holds. It reads nothing before it is read.
func newGunzip(body io.Reader) *gunzip { return &gunzip{body: body} }

// compressedBody reads the compressed body and remembers its error.
type compressedBody struct{ g *gunzip }

// Read reads from the compressed body.
func (s compressedBody) Read(b []byte) (int, error) {
	n, err := s.g.body.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.g.err = err
	}
	return n, err
}

// Read reads a piece of what the body holds. Errors are the body's, and Invalid where it is not gzip.
func (g *gunzip) Read(b []byte) (n int, err error) {
	if g.zip == nil {
		g.zip, err = gzip.NewReader(compressedBody{g})
	}
	if err == nil {
		n, err = g.zip.Read(b)
	}
	switch {
	case g.err != nil:
		return n, g.err
	case err == nil || errors.Is(err, io.EOF) && g.zip != nil:
		return n, err
	}
	g.zip = nil
	return n, fanfold.Wrap(err, fanfold.Invalid, "the body is not what Content-Encoding says, or ends early: %v", err)
}

// Close does nothing: the body is the server's.
func (g *gunzip) Close() error { return nil }
