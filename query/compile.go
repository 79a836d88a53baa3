package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// Query is a request that was found right. It may be run several times, one after the other.
type Query struct {
	request    Request
	model      *model.Model
	sort       *model.Index // its components are what is sorted by; nil for no sort
	grouping   *grouping    // nil for documents
	conditions []condition  // nothing else says which documents match
	shape      string       // of the filter
	bound      *filter      // of the conditions, for the next run; nil where it has run
	place      *cursor      // where the page begins; nil for the beginning
	work       work         // that is done for it at most
	spent      int          // on the terms of sort, group and compute, by the run so far
}

// Collection returns the collection whose documents are asked for.
func (q *Query) Collection() string { return q.request.Collection }

// Shape returns the filter with ? in place of constants and params, "" for none. Filters that differ in these alone have one shape.
func (q *Query) Shape() string { return q.shape }

// Restricted tells whether the answer has those documents alone that who asks may see: see Request.Visible.
func (q *Query) Restricted() bool { return q.request.Visible != nil }

// Grouped tells whether the answer has groups, and no documents.
func (q *Query) Grouped() bool { return q.request.Grouped }

// Compile returns the query that a request asks for. The error is Invalid, and names the parameter at fault. m is the model in
// force.
func Compile(r Request, m *model.Model) (*Query, error) {
	q := &Query{request: r, model: m, work: allowed}
	if q.request.MaxScan == 0 {
		q.request.MaxScan = DefaultScan
	}
	for _, check := range []func() error{q.checkNumbers, q.compileFilter, q.compileSort, q.compileGroup, q.checkPrivate, q.compileCursor} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// checkNumbers checks the request's numbers. The error is Invalid.
func (q *Query) checkNumbers() error {
	r := &q.request
	switch {
	case r.Limit < 1 || r.Limit > MaxLimit:
		return fanfold.Errorf(fanfold.Invalid, "limit=%d is not a number from 1 to %d", r.Limit, MaxLimit)
	case r.MaxScan < 1 || r.MaxScan > MaxScan:
		return fanfold.Errorf(fanfold.Invalid, "maxScan=%d is not a number from 1 to %d", r.MaxScan, MaxScan)
	case r.Within != nil && !strings.HasPrefix(r.Within.Relation, r.Collection+"."):
		return fanfold.Errorf(fanfold.Invalid, "relation %s is none of %s", fanfold.Clip(r.Within.Relation), r.Collection)
	case r.Partial && r.Count:
		return fanfold.Errorf(fanfold.Invalid, "partial does not go with count: a part of the count would be a lie")
	case r.Partial && r.Grouped:
		return fanfold.Errorf(fanfold.Invalid, "partial does not go with group: a part of a group would be a lie")
	case r.Grouped && r.Count:
		return fanfold.Errorf(fanfold.Invalid, "count does not go with group and compute: say compute=count")
	}
	return nil
}

// components reads a list of paths and expressions that a parameter holds. The error is Invalid.
func (q *Query) components(parameter string, list []string, most int) ([]model.Component, error) {
	if len(list) > most {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s has %d entries; at most %d are taken", parameter, len(list), most)
	}
	out := make([]model.Component, len(list))
	for i, text := range list {
		c, err := q.component(text)
		if err != nil {
			return nil, q.request.misplaced(parameter, i, "", err)
		}
		out[i] = c
	}
	return out, nil
}

// component reads a path or an expression. The cost of its evaluation is counted. It returns the errors of modelfile.ParseComponent.
func (q *Query) component(text string) (model.Component, error) {
	c, err := modelfile.ParseComponent(text)
	if err != nil || c.Expression == "" {
		return c, err
	}
	term, err := expr.CompileTerm(c.Expression)
	if err != nil {
		return c, err
	}
	measure := func(f model.IndexFacts) ([]byte, error) {
		text, cost, err := term.Measure(expr.Facts{Doc: f.Doc, Created: f.Created, Updated: f.Updated})
		q.spent += cost
		return text, err
	}
	c.Named = term.Named()
	if c.Timed != nil {
		c.Timed = measure
	}
	c.Try = func(doc *jsondoc.Tree) ([]byte, error) { return measure(model.IndexFacts{Doc: doc}) }
	c.Evaluate = func(doc *jsondoc.Tree) ([]byte, bool) {
		text, err := c.Try(doc)
		return text, err == nil
	}
	return c, nil
}

// misplaced returns the Invalid of an entry of a parameter that is wrong. prefix is what stands in the entry before the text that err is of.
func (r *Request) misplaced(parameter string, entry int, prefix string, err error) error {
	message := fanfold.MessageOf(err)
	var at *expr.LocatedError
	switch {
	case !errors.As(err, &at):
	case r.Before != nil:
		message = at.After(r.Before(parameter, entry) + prefix).Error()
	default:
		parameter, message = fmt.Sprintf("%s[%d]", parameter, entry), at.After(prefix).Error()
	}
	return fanfold.Errorf(fanfold.Invalid, "%s: %s", parameter, message)
}

// compileSort reads what the documents are sorted by.
func (q *Query) compileSort() error {
	if q.request.Grouped || len(q.request.Sort) == 0 {
		return nil
	}
	list, err := q.components("sort", q.request.Sort, MaxSort)
	if err != nil {
		return err
	}
	q.sort = &model.Index{Collection: q.request.Collection, Components: list}
	if array := q.sort.Array(); array != nil {
		return fanfold.Errorf(fanfold.Invalid, "sort goes through the array %s, which has several values: sort by one", array)
	}
	return nil
}

// compileCursor reads the place where the page begins.
func (q *Query) compileCursor() error {
	text := q.request.Cursor
	if text == "" {
		return nil
	}
	if len(text) > MaxCursor {
		return fanfold.Errorf(fanfold.Invalid, "cursor has %d bytes; at most %d are taken", len(text), MaxCursor)
	}
	c, ok := decodeCursor(text)
	if v := q.request.Visible; v != nil {
		c, ok = openCursor(text, v.Seal)
	}
	switch {
	case !ok:
		return errCursor()
	case c.request != q.identify():
		return fanfold.Errorf(fanfold.Invalid, "cursor belongs to another request: filter, params, sort, group and compute stay the same from page to page")
	}
	q.place = c
	return nil
}

// identify returns what tells the request from others, its pages aside, for cursors.
func (q *Query) identify() (id [16]byte) {
	r := &q.request
	var params bytes.Buffer
	if len(r.Params) > 0 && json.Compact(&params, r.Params) != nil {
		params.Reset()
	}
	within := ""
	if r.Within != nil {
		within = r.Within.Relation + "\x00" + r.Within.Target
	}
	h := sha256.New()
	for _, part := range []string{r.Collection, within, r.Filter, params.String(), list(r.Sort), list(r.Group), list(r.Compute), fmt.Sprint(r.Grouped)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	copy(id[:], h.Sum(nil))
	return id
}

// list returns texts as one.
func list(texts []string) string {
	var b strings.Builder
	for _, t := range texts {
		fmt.Fprintf(&b, "%d:%s", len(t), t)
	}
	return b.String()
}
