package query

import (
	"encoding/json"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/mask"
)

// Within asks for the documents that refer to one.
type Within struct {
	Relation string // its full name
	Target   string // the id of the document that they refer to
}

// Request holds what a query asks for.
type Request struct {
	Collection string
	ModelSeq   uint64   // of the event that applied the model which Compile gets; 0 for none
	Within     *Within  // nil for all documents of the collection
	Filter     string   // an expression over doc, params and meta; "" for all
	Params     []byte   // a JSON object; nil for none
	Sort       []string // paths and expressions, with "-" before those that descend
	Group      []string // paths and expressions
	Compute    []string // such as count and sum(price)
	Limit      int      // documents or groups on a page, 1 to MaxLimit
	Cursor     string   // "" for the beginning
	Count      bool     // Result.Count is wanted
	Grouped    bool     // Group or Compute was given: the answer has groups and no documents
	Partial    bool     // a page past a bound ends early
	Explain    bool     // Result.Plan is wanted, and no document
	MaxScan    int      // documents that may be looked at, 1 to MaxScan; 0 for DefaultScan. With Visible these are documents that are seen, but for a Listing
	View       fanfold.View

	// Visible says which documents are in the answer for who asks; nil for all.
	Visible *Visible

	// Before returns what stands before an entry of sort, group or compute where these came in one text, by the parameter's name. Errors
	// tell columns of that text. nil stands for lists; their errors tell the entry and a column in it.
	Before func(parameter string, entry int) string

	Sharing

	// Suggest is called where an answered request looked at more documents than it gave. Plan.Suggest is found out if it returns true.
	// nil stands for one that returns false. It is found out without asking for refused requests and with Explain.
	Suggest func() bool
}

// Visible is what must be true of a document for who asks to see it. It is judged before anything else of the request. So nothing tells of a document
// that is not seen, but that much work of looking at such documents counts.
type Visible struct {
	Bind func() (*expr.Bound, error) // returns the condition, for one run
	Seal Sealer                      // of cursors, which may stand at documents that are not seen
	Mask *mask.Mask                  // hides members of the documents; nil for none
	// Listing asks for a page of a plain list: in order of id, or with Within in order of creation. After a bound the page ends early.
	Listing bool
}

// listing tells whether a page of a plain list is asked for.
func (r *Request) listing() bool { return r.Visible != nil && r.Visible.Listing }

// ruled tells whether a rule decides about each document of a request that is no plain list.
func (r *Request) ruled() bool { return r.Visible != nil && !r.Visible.Listing }

// Sharing is how requests that look at many documents share a process.
type Sharing struct {
	// Heavy is called where more than LightScan documents are looked at, or fewer take long. Run ends with ErrHeavy if it returns false. It may block for a moment.
	// nil stands for one that returns true.
	Heavy func() bool

	// Turns has an element for each run that looks at many documents and has its turn. Runs that share it go on by turns; nil for one that
	// goes on beside all others.
	Turns chan struct{}
}

// Sealer seals texts for those who see the same documents.
type Sealer interface {
	// Seal returns a text as nobody else can read or make it. It is the same for equal texts.
	Seal(text []byte) []byte
	// Open returns the text that Seal has sealed. ok is false for what it has not.
	Open(sealed []byte) (text []byte, ok bool)
}

// Group is one group of documents. Both members are JSON objects, whose members are named as the request named them.
type Group struct {
	Key    json.RawMessage `json:"key"`
	Values json.RawMessage `json:"values"`
}

// Result is the answer of a query, without the documents, which Run has shown.
type Result struct {
	Next   string   // the cursor of the next page; "" where nothing follows
	Count  int64    // how many documents match, where the request asked; otherwise -1
	Groups []Group  // where the request asked; otherwise nil
	Hints  []string // of members that the query names and no document of a sample has, but one with a like name
	Plan   *Plan    // what was done
}

// EachGroup calls fn with each group of the page, until fn returns an error.
func (r *Result) EachGroup(fn func(i int, g Group) error) error {
	for i, g := range r.Groups {
		if err := fn(i, g); err != nil {
			return err
		}
	}
	return nil
}

// Plan tells how a query was answered. Its JSON form is an API.
type Plan struct {
	Index      *string    `json:"index" doc:"What was walked: a declared index, unique:members, relation:name, or id; null for all documents."`
	Conditions []string   `json:"conditions" doc:"The parts of the filter that the index decides."`
	Ranges     int        `json:"ranges" doc:"Of entries, that were walked."`
	Order      string     `json:"order" enum:"index|sorted|plan" doc:"index: the walk has the order of sort; sorted: what matches was sorted; plan: no order was asked for."`
	Residual   string     `json:"residual" doc:"The rest of the filter, which each document was asked."`
	Entries    int64      `json:"entries" doc:"Of the index, that were walked."`
	Documents  int64      `json:"documents" doc:"That were looked at."`
	Matched    int64      `json:"matched"`
	NoValue    int64      `json:"noValue" doc:"Documents for which the filter has no value."`
	Complete   bool       `json:"complete" doc:"false: a bound was passed, and the request without explain is a 422 needs-index."`
	Seconds    float64    `json:"seconds"`
	Rejected   []Rejected `json:"rejected"`
	Suggest    RawPatch   `json:"suggest,omitempty" ref:"Suggestion"` // a merge patch for the model; nil for none
}

// RawPatch is a merge patch as JSON text.
type RawPatch = json.RawMessage

// Rejected says why an index was not taken.
type Rejected struct {
	Index string `json:"index"`
	Why   string `json:"why"`
}

// The values of Plan.Order.
const (
	orderIndex  = "index"  // the walk gives the order that was asked for
	orderSorted = "sorted" // what matches was sorted
	orderPlan   = "plan"   // no order was asked for
)
