package api

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/tracing"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/query"
)

// Bounds of what is kept of queries.
const (
	maxShapes      = 1000 // shapes that are kept
	maxShownShapes = 100  // of them, those in the node's status
	maxShapeBytes  = 1024 // of the text of a filter, a sort or a group in a shape
)

// Queried says what became of a query.
type Queried struct {
	Group     bool // it answers groups; otherwise a list
	Took      time.Duration
	Documents int64  // that it looked at
	Refused   string // the code of the error that it was refused with; "" where it was answered
}

// queries keeps what the node tells of queries.
type queries struct {
	tracer *tracing.Tracer
	told   func(Queried) // nil for nobody

	mu      sync.Mutex
	shapes  map[string]*shape   // by all that tells them apart
	indexes map[indexName]int64 // queries that an index served
}

// shape is one of queries.
type shape struct {
	wire.QueryShape
	model  uint64 // the event that applied the model for which Suggest holds
	judged bool   // Suggest is known
}

// indexName names a declared index.
type indexName struct{ collection, name string }

// newQueries returns what is kept of queries, and so far is nothing.
func newQueries(opt *Options) *queries {
	return &queries{tracer: opt.Tracer, told: opt.Queried, shapes: map[string]*shape{}, indexes: map[indexName]int64{}}
}

// tell tells whoever counts queries of one.
func (qs *queries) tell(q Queried) {
	if qs.told != nil {
		qs.told(q)
	}
}

// refused counts a query that is refused, and returns why it is.
func (qs *queries) refused(r query.Request, err error) error {
	if code := fanfold.CodeOf(err); code != fanfold.NeedsIndex && code != fanfold.Internal {
		qs.tell(Queried{Group: r.Grouped, Refused: string(code)})
	}
	return err
}

// ran counts a query that has asked a snapshot. result is nil where err is not.
func (qs *queries) ran(r *queryRun, span *tracing.Span, result *query.Result, took time.Duration, err error) {
	plan := planOf(result, err)
	if plan == nil {
		span.End()
		return
	}
	span.Planned(tracing.Plan{Index: indexOf(plan), Order: plan.Order, Entries: plan.Entries, Documents: plan.Documents, Complete: plan.Complete})
	q := Queried{Group: r.asked.request.Grouped, Took: took, Documents: plan.Documents}
	if err != nil {
		q.Refused = string(fanfold.CodeOf(err))
	}
	qs.tell(q)
	qs.keep(r, plan, took)
}

// indexOf names the index that served a query, "" for none.
func indexOf(plan *query.Plan) string {
	if plan.Index == nil {
		return ""
	}
	return *plan.Index
}

// keep adds a query to the queries of its shape and of its index.
func (qs *queries) keep(r *queryRun, plan *query.Plan, took time.Duration) {
	request, filter := &r.asked.request, r.query.Shape()
	key := r.shapeKey()
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if index := indexOf(plan); index != "" && !strings.Contains(index, ":") { // unique and relations have no counts
		qs.indexes[indexName{request.Collection, index}]++
	}
	known := qs.shapes[key]
	if known == nil {
		if len(qs.shapes) >= maxShapes {
			qs.forget()
		}
		known = &shape{QueryShape: shapeOf(request, filter)}
		qs.shapes[key] = known
	}
	known.Queries++
	if r.console {
		known.Console++
	}
	known.Documents += plan.Documents
	known.Given += gave(r, plan)
	known.Seconds += took.Seconds()
	known.Index = plan.Index
	known.begin(request.ModelSeq)
	if r.judges || plan.Suggest != nil {
		known.Suggest, known.judged = plan.Suggest, true
	}
}

// begin forgets what was suggested for another model.
func (s *shape) begin(model uint64) {
	if s.model != model {
		s.model, s.judged, s.Suggest = model, false, nil
	}
}

// suggest is called by a query that looked at more than it gave. It tells whether a suggestion for its shape is still to be found: once for
// each model.
func (r *queryRun) suggest() bool {
	qs, key := r.d.queries, r.shapeKey()
	qs.mu.Lock()
	defer qs.mu.Unlock()
	known := qs.shapes[key]
	r.judges = known == nil || !known.judged || known.model != r.asked.request.ModelSeq
	return r.judges
}

// shapeKey returns what tells the shape of the query from others.
func (r *queryRun) shapeKey() string {
	if r.shape == "" {
		r.shape = shapeKey(&r.asked.request, r.query.Shape())
	}
	return r.shape
}

// forget forgets the shape that looked at the fewest documents for what it gave.
func (qs *queries) forget() {
	least := ""
	for key, s := range qs.shapes {
		if least == "" || s.Wasted() < qs.shapes[least].Wasted() {
			least = key
		}
	}
	delete(qs.shapes, least)
}

// shown returns the shapes that looked at the most documents for what they gave, those first that gave the least.
func (qs *queries) shown() []wire.QueryShape {
	qs.mu.Lock()
	list := make([]wire.QueryShape, 0, len(qs.shapes))
	for _, s := range qs.shapes {
		list = append(list, s.QueryShape)
	}
	qs.mu.Unlock()
	slices.SortFunc(list, func(a, b wire.QueryShape) int {
		return cmp.Or(cmp.Compare(b.Wasted(), a.Wasted()), strings.Compare(a.Collection, b.Collection), strings.Compare(a.Filter, b.Filter),
			strings.Compare(a.Sort, b.Sort), strings.Compare(a.Group, b.Group))
	})
	return list[:min(len(list), maxShownShapes)]
}

// served returns how many queries an index has served.
func (qs *queries) served(collection, index string) int64 {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.indexes[indexName{collection, index}]
}

// Queries returns the shapes of queries that looked at the most documents for what they gave, since the start.
func (s *Server) Queries() []wire.QueryShape { return s.queries.shown() }

// IndexQueries returns how many queries an index has served since the start.
func (s *Server) IndexQueries(collection, index string) int64 {
	return s.queries.served(collection, index)
}

// shapeKey returns what tells the shape of a query from others.
func shapeKey(r *query.Request, filter string) string {
	parts := []string{r.Collection, clipShape(filter), clipShape(termShapes(r.Sort))}
	if r.Grouped {
		parts = append(parts, clipShape(termShapes(r.Group)), clipShape(termShapes(r.Compute)))
	}
	return strings.Join(parts, "\x00")
}

// shapeOf returns the shape of a query, whose filter has the shape filter.
func shapeOf(r *query.Request, filter string) wire.QueryShape {
	s := wire.QueryShape{Collection: r.Collection, Filter: clipShape(filter), Sort: clipShape(termShapes(r.Sort))}
	if r.Grouped {
		s.Group = clipShape(termShapes(r.Group) + " " + termShapes(r.Compute))
	}
	return s
}

// clipShape returns a part of a shape, or its beginning where it is long.
func clipShape(text string) string {
	if len(text) > maxShapeBytes {
		return strings.ToValidUTF8(text[:maxShapeBytes], "") + "…"
	}
	return text
}

// termShapes returns terms without the texts and numbers in their expressions.
func termShapes(terms []string) string {
	if len(terms) == 0 {
		return ""
	}
	shapes := make([]string, len(terms))
	for i, term := range terms {
		shapes[i] = withoutConstants(term)
	}
	return strings.Join(shapes, ",")
}

// withoutConstants returns an expression with ? in place of texts and numbers. A path stays as it is.
func withoutConstants(term string) string {
	var b strings.Builder
	for i := 0; i < len(term); {
		switch c := term[i]; {
		case c == '"' || c == '\'':
			b.WriteByte('?')
			i = params.EndOfText(term, i)
		case c >= '0' && c <= '9' && (i == 0 || !inName(term[i-1])):
			b.WriteByte('?')
			for i < len(term) && (inName(term[i]) || term[i] == '.') {
				i++
			}
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// inName tells whether a byte may stand in a name, after its first.
func inName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// gave returns how many documents a query gave for the documents that it looked at: its page, or the documents in its groups
// and its count.
func gave(r *queryRun, plan *query.Plan) int64 {
	if r.asked.request.Grouped || r.asked.request.Count || r.asked.request.Explain {
		return plan.Matched
	}
	return r.given
}
