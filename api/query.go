package api

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/query"
)

// maxQueryBody bounds the body of a query, in bytes, and queryDepth how deep it nests. Its params have a bound of their own.
const (
	maxQueryBody = 64 << 10
	queryDepth   = 64
)

// queryParameters are those that make a list a query. Every list has fields, limit, cursor, view and expand.
var queryParameters = []string{"filter", "params", "sort", "count", "group", "compute", "maxScan", "partial", "explain"}

// listParameters are what lists take: of a collection, and of the documents that refer to one.
var listParameters = append([]string{"limit", "cursor", "view", "expand", "fields", "consistency", "maxLag", "at"}, queryParameters...)

// isQuery tells whether a list is to be answered as a query.
func isQuery(q url.Values) bool {
	for _, name := range queryParameters {
		if q.Has(name) {
			return true
		}
	}
	return false
}

// withoutQuery returns an Invalid where a list that is chosen by the parameter with takes more than fields of a query.
func withoutQuery(q url.Values, with string) error {
	for _, name := range queryParameters {
		if q.Has(name) {
			return fanfold.Errorf(fanfold.Invalid, "%s does not go with %s", name, with)
		}
	}
	return nil
}

// queryForm holds what a query asks for, by parameters or in a body. A nil member is not given.
type queryForm struct {
	Filter  *string         `json:"filter"`
	Params  json.RawMessage `json:"params"`
	Sort    []string        `json:"sort"`
	Fields  []string        `json:"fields"`
	Limit   *int            `json:"limit"`
	Cursor  string          `json:"cursor"`
	Count   bool            `json:"count"`
	Group   []string        `json:"group"`
	Compute []string        `json:"compute"`
	MaxScan *int            `json:"maxScan"`
	Partial bool            `json:"partial"`
	Explain bool            `json:"explain"`
	View    *string         `json:"view"`
	Expand  *commaList      `json:"expand"`

	before  func(parameter string, entry int) string // what query.Request.Before has; nil for a body
	listing bool                                     // it is a plain list
}

// commaList is a text with commas, which a body may give as an array of texts.
type commaList string

// UnmarshalJSON implements json.Unmarshaler.
func (l *commaList) UnmarshalJSON(text []byte) error {
	var list []string
	if text[0] != '[' {
		return json.Unmarshal(text, (*string)(l))
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*l = commaList(strings.Join(list, ","))
	return nil
}

// formOf reads a query from the parameters of a list. The error is Invalid.
func formOf(q url.Values) (f queryForm, err error) {
	text := func(name string) *string {
		if !q.Has(name) {
			return nil
		}
		v := q.Get(name)
		return &v
	}
	f = queryForm{Filter: text("filter"), View: text("view"), Expand: (*commaList)(text("expand")), Cursor: q.Get("cursor"),
		before: func(parameter string, entry int) string { return params.BeforeTerm(q.Get(parameter), entry) }}
	if q.Has("params") {
		f.Params = []byte(q.Get("params"))
	}
	f.Sort, f.Fields = params.Terms(q.Get("sort")), params.Terms(q.Get("fields"))
	f.Group, f.Compute = params.Terms(q.Get("group")), params.Terms(q.Get("compute"))
	limit, err := params.Int(q, "limit", defaultLimit, 1, maxLimit)
	if err != nil {
		return f, err
	}
	scan, err := params.Int(q, "maxScan", query.DefaultScan, 1, query.MaxScan)
	if err != nil {
		return f, err
	}
	f.Limit, f.MaxScan = &limit, &scan
	for name, into := range map[string]*bool{"count": &f.Count, "partial": &f.Partial, "explain": &f.Explain} {
		if *into, err = params.Bool(q, name); err != nil {
			return f, err
		}
	}
	return f, nil
}

// readForm reads a query from the body of a request. It returns the errors of readObjectAs.
func (d *documents) readForm(c echo.Context) (f queryForm, err error) {
	err = readObjectAs(c, &f, object{media: []string{jsonType}, size: maxQueryBody, depth: queryDepth})
	return f, err
}

// asked is a query that has been read.
type asked struct {
	page
	request query.Request
}

// ask returns what a form asks of a collection's documents. The error is Invalid.
func (d *documents) ask(f *queryForm, collection string, within *query.Within) (a asked, err error) {
	a.request = query.Request{Collection: collection, Within: within, Params: f.Params, Sort: f.Sort, Group: f.Group, Compute: f.Compute,
		Cursor: f.Cursor, Count: f.Count, Partial: f.Partial, Explain: f.Explain, Grouped: len(f.Group) > 0 || len(f.Compute) > 0, Before: f.before}
	if a.request.Limit, err = inRange(f.Limit, "limit", defaultLimit, maxLimit); err != nil {
		return a, err
	}
	if a.request.MaxScan, err = inRange(f.MaxScan, "maxScan", query.DefaultScan, query.MaxScan); err != nil {
		return a, err
	}
	texts := map[string]string{}
	for name, v := range map[string]*string{"filter": f.Filter, "view": f.View, "expand": (*string)(f.Expand)} {
		if v != nil && *v == "" {
			return a, fanfold.Errorf(fanfold.Invalid, "%s has no value: give it one, or leave it out", name)
		}
		if v != nil {
			texts[name] = *v
		}
	}
	a.request.Filter = texts["filter"]
	if a.form, err = parseView(texts["view"]); err != nil {
		return a, err
	}
	a.request.View = a.form
	if a.fields, err = parseFields(f.Fields); err != nil {
		return a, err
	}
	for name, list := range map[string][]string{"fields": f.Fields, "expand": nonEmpty(texts["expand"])} {
		if list != nil && a.request.Grouped {
			return a, fanfold.Errorf(fanfold.Invalid, "%s does not go with group and compute, which answer no documents", name)
		}
	}
	if texts["expand"] != "" {
		m, _, _ := d.models.Model()
		a.tree, err = parseExpand(m, collection, texts["expand"])
	}
	return a, err
}

// nonEmpty returns a text as a list, nil for "".
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// inRange returns a number from 1 to most, standard where it is not given. The error is Invalid.
func inRange(given *int, name string, standard, most int) (int, error) {
	switch {
	case given == nil:
		return standard, nil
	case *given < 1 || *given > most:
		return 0, fanfold.Errorf(fanfold.Invalid, "%s=%d is not a whole number from 1 to %d", name, *given, most)
	}
	return *given, nil
}

// query answers POST of a query of a collection, which is a read.
func (d *documents) query(c echo.Context) error {
	collection, err := collectionOf(c)
	if err != nil {
		return err
	}
	if err := readParameters(c); err != nil {
		return err
	}
	f, err := d.readForm(c)
	if err != nil {
		return err
	}
	if f.Expand != nil { // the ones in a URL are judged before
		rights := rightsOf(c)
		if err := enterExpanded(string(*f.Expand), collection, rights, rights.CheckSees); err != nil {
			return err
		}
	}
	return d.answerQuery(c, &f, collection, nil, nil)
}

// listQuery answers GET of a collection's documents, or of those that refer to one, as a query. A plain list is one where it depends on each document whether
// it may be read.
func (d *documents) listQuery(c echo.Context, collection string, within *query.Within, before func(*view.Prefix) error) error {
	f, err := formOf(c.QueryParams())
	if err != nil {
		return err
	}
	if f.listing = !isQuery(c.QueryParams()); f.listing && f.Expand != nil && *f.Expand == "" {
		f.Expand = nil
	}
	return d.answerQuery(c, &f, collection, within, before)
}

// answerQuery answers a query. It calls before, unless that is nil, with the snapshot that is asked. It returns Invalid,
// NeedsIndex, Busy, UnknownCollection, and the errors of freshness.await and before.
func (d *documents) answerQuery(c echo.Context, f *queryForm, collection string, within *query.Within, before func(*view.Prefix) error) error {
	asked, err := d.ask(f, collection, within)
	if err != nil {
		return err
	}
	run := &queryRun{d: d, c: c, asked: asked, listing: f.listing, before: before, console: c.Request().Header.Get(headerClient) == "console"}
	request := &run.asked.request
	request.Heavy, request.Turns, request.Suggest = run.heavy, d.budget.Turns, run.suggest
	if err := run.compile(); err != nil {
		return d.queries.refused(*request, err)
	}
	if err := d.fresh.await(c); err != nil {
		return err
	}
	defer run.leave()
	a, err := d.budget.Answer(c.Request().Context()).Assemble(run.build)
	run.leave() // before the client reads, however slowly
	if err != nil {
		return d.queries.refused(*request, err)
	}
	return sendAnswer(c, a)
}
