package api

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/writer"
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

// maxObject bounds the body of a request about groups, or with settings, in bytes.
const maxObject = 32 << 10

// objectDepth bounds how deep such a body nests.
const objectDepth = 4

// object says which JSON objects a route takes.
type object struct {
	media    []string // types
	nullable []string // members that may be null
	filled   []string // members that are never 0 or empty
	size     int64    // the most bytes; 0 for maxObject
	depth    int      // how deep it may nest; 0 for objectDepth
	optional bool     // no body stands for no members
}

// readObject reads a body that is a JSON object into a struct that has all its members. Those in filled are never 0 or empty. It returns
// the errors of readBody, and Invalid.
func readObject(c echo.Context, into any, filled ...string) error {
	return readObjectAs(c, into, object{media: []string{jsonType}, filled: filled})
}

// readObjectAs does what readObject does, for objects of a kind.
func readObjectAs(c echo.Context, into any, kind object) error {
	members, isZero := membersOf(into)
	body, _, err := readBody(c, cmp.Or(kind.size, maxObject), kind.media...)
	if err != nil || kind.optional && len(body) == 0 {
		return err
	}
	if err := writer.CheckDepth(body, cmp.Or(kind.depth, objectDepth)); err != nil {
		return err
	}
	t := jsondoc.MustParse(body)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return fanfold.Errorf(fanfold.Invalid, "the body must be a JSON object")
	}
	for m := t.First(jsondoc.Root); m != jsondoc.None; m = t.Next(m) {
		switch name := t.Key(m); {
		case !slices.Contains(members, name):
			return fanfold.Errorf(fanfold.Invalid, "unknown member %q: this takes %s", clipText(name), strings.Join(members, ", "))
		case t.Kind(m) == jsondoc.Null && !slices.Contains(kind.nullable, name):
			return withoutValue(name, "null")
		}
	}
	err = json.Unmarshal(body, into)
	var known *fanfold.Error
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return fanfold.Wrap(err, fanfold.Invalid, "member %q has a %s where it wants %s", mistyped.Field, mistyped.Value, wanted(mistyped.Type))
	case err != nil && !errors.As(err, &known):
		return fanfold.Wrap(err, fanfold.Invalid, "the body is not as it should be")
	}
	for _, name := range kind.filled {
		if m := t.Member(jsondoc.Root, name); err == nil && m != jsondoc.None && isZero(name) {
			return withoutValue(name, clipText(string(t.Raw(m))))
		}
	}
	return err
}

// membersOf returns the names of the members that JSON has of a struct, and what tells whether one is 0 or empty.
func membersOf(into any) (names []string, isZero func(name string) bool) {
	v, index := reflect.ValueOf(into).Elem(), map[string][]int{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names, index[name] = append(names, name), f.Index
		}
	}
	return names, func(name string) bool { return v.FieldByIndex(index[name]).IsZero() }
}

// withoutValue returns the error for a member that is null, 0 or empty.
func withoutValue(name, text string) error {
	return fanfold.Errorf(fanfold.Invalid, "member %q is %s: give it a value, or leave it out", name, text)
}

// wanted says which JSON a type takes.
func wanted(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.String || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "a text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int:
		return "a whole number"
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.String:
		return "a list of objects"
	}
	return "a list of texts"
}

// clipText returns at most 80 bytes of a text, for a message.
func clipText(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
