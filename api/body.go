package api

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// mediaType returns the request's content type. The error is UnsupportedMedia where it is none of media.
func mediaType(c echo.Context, media ...string) (string, error) {
	if lines := c.Request().Header.Values(echo.HeaderContentType); len(lines) > 1 {
		return "", fanfold.Errorf(fanfold.Invalid, "the header Content-Type is given more than once")
	}
	contentType, parameters, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
	contentType = strings.ToLower(strings.TrimSpace(contentType))
	if contentType == "" {
		return "", fanfold.Errorf(fanfold.UnsupportedMedia, "the header Content-Type is missing: send %s", strings.Join(media, " or "))
	}
	if !slices.Contains(media, contentType) {
		return "", fanfold.Errorf(fanfold.UnsupportedMedia, "Content-Type %q is not read here: send %s", contentType, strings.Join(media, " or "))
	}
	return contentType, checkCharset(parameters)
}

// checkCharset returns an UnsupportedMedia where the parameters of a content type name another character set than UTF-8: the bytes would be
// taken for other characters.
func checkCharset(parameters string) error {
	_, all, err := mime.ParseMediaType("x/x;" + parameters)
	if charset := strings.ToLower(all["charset"]); err == nil && charset != "" && !slices.Contains([]string{"utf-8", "utf8", "us-ascii"}, charset) {
		return fanfold.Errorf(fanfold.UnsupportedMedia, "the character set %q is not read here: send UTF-8", fanfold.Clip(charset))
	}
	return nil
}

// readBody reads a body of at most maxBody bytes in one of the media types, and returns it without a byte order mark before it, with its type. A body that came
// as gzip has at most maxBody bytes both as it came and as it is returned. Errors are UnsupportedMedia, TooLarge, TooSlow,
// Busy and Invalid.
func readBody(c echo.Context, maxBody int64, media ...string) (body []byte, contentType string, err error) {
	return readWatched(c, maxBody, nil, media...)
}

// readWatched does what readBody does. It gives each piece of what the body holds to watch, unless that is nil, and reads no
// further where watch refuses the body with an error.
func readWatched(c echo.Context, maxBody int64, watch func([]byte) error, media ...string) (body []byte, contentType string, err error) {
	if contentType, err = mediaType(c, media...); err != nil {
		return nil, "", err
	}
	zipped, err := isGzip(c)
	if err != nil {
		return nil, "", err
	}
	length := c.Request().ContentLength
	if length > maxBody {
		return nil, "", fanfold.Errorf(fanfold.TooLarge, "the body has %d bytes; at most %d are taken", length, maxBody)
	}
	limited := http.MaxBytesReader(c.Response(), c.Request().Body, maxBody)
	if zipped {
		limited, length = http.MaxBytesReader(nil, newGunzip(limited), maxBody), -1
	}
	body, err = contextOf(c).lease.Receive(c.Request().Context(), admission.Incoming{From: limited, Length: length, Max: maxBody, Watch: watch})
	if err = cmp.Or(judgeAgain(c), bodyError(err, maxBody)); err != nil { // a body may take minutes
		return nil, "", err
	}
	return jsondoc.WithoutMark(body), contentType, nil
}
