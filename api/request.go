package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/writer"
)

// The names of the store's own headers.
const (
	headerRevision    = "Fanfold-Revision"
	headerPosition    = "Fanfold-Position"
	headerMinPosition = "Fanfold-Min-Position"
	headerTimeout     = "Fanfold-Timeout"
	headerClient      = "Fanfold-Client"
	headerDerived     = "Fanfold-Derived-Changes"
	headerDropped     = "Fanfold-Dropped-Members"
)

// param returns a parameter of the path, unescaped. The error is Invalid.
func param(c echo.Context, name string) (string, error) {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return v, nil
	}
	out, err := url.PathUnescape(v)
	if err != nil {
		return "", fanfold.Errorf(fanfold.Invalid, "%s in the path is not percent-encoded rightly", name)
	}
	return out, nil
}

// collectionOf returns the collection in the path. Errors are Invalid, and NotFound for a name that begins with _.
func collectionOf(c echo.Context) (string, error) {
	name, err := param(c, "collection")
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(name, "_") {
		return "", fanfold.Errorf(fanfold.NotFound, "no such route: names that begin with _ are the store's own; see /openapi.json")
	}
	return name, fanfold.CheckCollection(name)
}

// keyOf returns the key of the document in the path. It returns the errors of collectionOf.
func keyOf(c echo.Context) (key fanfold.Key, err error) {
	if key.Collection, err = collectionOf(c); err != nil {
		return key, err
	}
	if key.ID, err = param(c, "id"); err != nil {
		return key, err
	}
	return key, fanfold.CheckID(key.ID)
}

// parameters returns an Invalid where the query has a parameter that is not known, or one twice.
func parameters(c echo.Context, known ...string) error {
	_, err := params.Parse(c.Request().URL.RawQuery, known...)
	return err
}

// viewOf reads the parameter view. The error is Invalid.
func viewOf(c echo.Context) (fanfold.View, error) {
	if c.Request().URL.RawQuery == "" {
		return fanfold.Embedded, nil
	}
	return parseView(c.QueryParam("view"))
}

// parseView reads the name of a view, "" for the embedded one. The error is Invalid.
func parseView(v string) (fanfold.View, error) {
	switch v {
	case "", "embedded":
		return fanfold.Embedded, nil
	case "referenced":
		return fanfold.Referenced, nil
	default:
		return 0, fanfold.Errorf(fanfold.Invalid, "view=%s is not one of embedded and referenced", v)
	}
}

// preferences holds what Prefer (RFC 7240) asks for. As the RFC says, unknown preferences are ignored.
type preferences struct {
	strict         bool
	lenient        bool
	async          bool
	representation bool
	minimal        bool
	dry            bool
	wait           time.Duration // with async: for how long the request would wait first
}

// applied lists the preferences that an answer follows. put, async and body tell whether the request writes a whole
// document, and whether the answer is asynchronous and has a body.
func (p preferences) applied(put, async, body bool) string {
	var list []string
	switch {
	case p.strict && put:
		list = append(list, "handling=strict")
	case p.lenient && put:
		list = append(list, "handling=lenient")
	}
	if p.async && async {
		list = append(list, "respond-async")
	}
	switch {
	case p.representation && body:
		list = append(list, "return=representation")
	case p.minimal && !body:
		list = append(list, "return=minimal")
	}
	return strings.Join(list, ", ")
}

// prefer reads the Prefer headers of a request.
func prefer(c echo.Context) (p preferences) {
	seen := map[string]bool{}
	for _, line := range c.Request().Header.Values("Prefer") {
		for item := range strings.SplitSeq(line, ",") {
			item, _, _ = strings.Cut(item, ";")
			name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(item)), "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			name = strings.TrimSpace(name)
			if seen[name] { // the first counts (RFC 7240, 2)
				continue
			}
			seen[name] = true
			switch {
			case name == "handling" && value == "strict":
				p.strict = true
			case name == "handling" && value == "lenient":
				p.lenient = true
			case name == "respond-async" && value == "":
				p.async = true
			case name == "wait":
				p.wait = waitTime(value)
			case name == "dry-run" && value == "":
				p.dry = true
			case name == "return" && value == "representation":
				p.representation = true
			case name == "return" && value == "minimal":
				p.minimal = true
			}
		}
	}
	return p
}

// waitTime returns how long a request waits before it would rather have its answer in the background. The preference wait says
// it in seconds (RFC 7240, 4.3), maxWait at most. A malformed one does not wait.
func waitTime(value string) time.Duration {
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxWait)
}

// header returns the value of a header that must not be given more than once, nor without a value: whoever sends it empty
// meant something by it. It returns "" where the header is absent. The error is Invalid.
func header(r *http.Request, name string) (string, error) {
	values := r.Header.Values(name)
	if len(values) == 0 {
		return "", nil
	}
	v := strings.TrimSpace(values[0])
	switch {
	case len(values) > 1:
		return "", fanfold.Errorf(fanfold.Invalid, "the header %s is given more than once", name)
	case v == "":
		return "", fanfold.Errorf(fanfold.Invalid, "the header %s has no value: give it one, or leave it out", name)
	}
	return v, nil
}

// conditionHeaders lists the headers with conditions of a write.
var conditionHeaders = []string{"If-Match", "If-None-Match", "If-Unmodified-Since"}

// without returns what makes a handler refuse headers that it does not go by: a write must not be made although a
// condition that it came with does not hold.
func without(names ...string) func(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(handle echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			for _, name := range names {
				if len(c.Request().Header.Values(name)) > 0 {
					return fanfold.Errorf(fanfold.Invalid, "%s does not go with %s %s: leave it out", name, c.Request().Method, c.Path())
				}
			}
			return handle(c)
		}
	}
}

// parseConditions reads the If-Match and If-None-Match headers of a write. The error is Invalid.
func (p positions) parseConditions(r *http.Request) (cond writer.Conditions, err error) {
	if len(r.Header.Values("If-Unmodified-Since")) > 0 {
		return cond, fanfold.Errorf(fanfold.Invalid, "If-Unmodified-Since is not a condition that is known here: send If-Match with the ETag")
	}
	if cond.Exists, cond.Revisions, err = p.tagged(r, "If-Match"); err != nil {
		return cond, err
	}
	if cond.Absent, cond.Not, err = p.tagged(r, "If-None-Match"); err != nil {
		return cond, err
	}
	if (cond.Absent || cond.Not != nil) && (cond.Exists || cond.Revisions != nil) {
		return cond, fanfold.Errorf(fanfold.Invalid, "If-Match and If-None-Match exclude each other")
	}
	return cond, nil
}

// tagged reads a header that is * or lists entity tags, and returns their revisions. A tag that this store did not make is
// writer.NoRevision, which is no mistake and matches nothing. Both are zero where the header is absent. The error is Invalid.
func (p positions) tagged(r *http.Request, name string) (any bool, revisions []fanfold.Revision, err error) {
	lines := r.Header.Values(name)
	if len(lines) == 0 {
		return false, nil, nil
	}
	list := strings.TrimSpace(strings.Join(lines, ","))
	switch list {
	case "*":
		return true, nil, nil
	case "":
		return false, nil, fanfold.Errorf(fanfold.Invalid, "the header %s has no value: give it one, or leave it out", name)
	}
	tags, err := splitETags(list)
	if err != nil {
		return false, nil, fanfold.Errorf(fanfold.Invalid, "%s takes * alone, or ETags: %s", name, fanfold.MessageOf(err))
	}
	for _, tag := range tags {
		if tag == `"*"` && name == "If-None-Match" { // would write over what it was hardly meant to
			return false, nil, fanfold.Errorf(fanfold.Invalid, `If-None-Match: "*" in quotes is a tag that no document has; leave the quotes out`)
		}
		revisions = append(revisions, p.revision(tag))
	}
	return false, revisions, nil
}
