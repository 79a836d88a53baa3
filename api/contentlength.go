package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/access"
)

// jsonSerializer makes JSON of answers as echo does, and sets their Content-Length, which HEAD needs too.
type jsonSerializer struct{ echo.DefaultJSONSerializer }

// Serialize implements echo.JSONSerializer. Nothing asks for an indented answer.
func (jsonSerializer) Serialize(c echo.Context, v any, _ string) error {
	var text bytes.Buffer
	if err := encode(&text, v); err != nil {
		return err
	}
	setLength(c, text.Len())
	_, err := c.Response().Write(text.Bytes())
	return err
}

// encode writes v as JSON, in which < and > stay as they are: no answer is put into a page.
func encode(to *bytes.Buffer, v any) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// setLength sets the length of an answer, in bytes.
func setLength(c echo.Context, n int) {
	c.Response().Header()["Content-Length"] = []string{strconv.Itoa(n)}
}

// sendText answers with a text, and its length.
func sendText(c echo.Context, status int, contentType string, text []byte) error {
	setLength(c, len(text))
	return c.Blob(status, contentType, text)
}

// buffered returns a handler that answers with what another one writes, once that has written all of it, and so knows its
// length. It is for short answers. The handler finds the sender's rights in the request's context.
func buffered(handler http.Handler) echo.HandlerFunc {
	return func(c echo.Context) error {
		w := &bufferedWriter{header: c.Response().Header(), status: http.StatusOK}
		handler.ServeHTTP(w, c.Request().WithContext(access.WithRights(c.Request().Context(), rightsOf(c))))
		return sendText(c, w.status, w.header.Get("Content-Type"), w.text.Bytes())
	}
}

// bufferedWriter keeps an answer. It implements http.ResponseWriter.
type bufferedWriter struct {
	header http.Header
	status int
	text   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *bufferedWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *bufferedWriter) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *bufferedWriter) Write(text []byte) (int, error) { return w.text.Write(text) }
