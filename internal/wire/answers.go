package wire

import (
	"encoding/json"

	"github.com/fanfold/fanfold"
)

// Link leads from the first page to a part of the API.
type Link struct {
	Rel   string `json:"rel"`
	Href  string `json:"href"`
	Title string `json:"title"`
}

// Collections holds a page of the collections.
type Collections struct {
	Collections []fanfold.CollectionCount `json:"collections"`
	Next        string                    `json:"next,omitempty"`
}

// DeleteStep holds the answer to one step of a delete in steps.
type DeleteStep struct {
	Done     bool             `json:"done"`    // the document itself is deleted
	Deleted  int              `json:"deleted"` // how many documents that the sender may read, this one included
	Changed  int              `json:"changed"` // how many documents lost their reference
	Position fanfold.Bookmark `json:"position"`
}

// TransactionResult holds the answer to a transaction.
type TransactionResult struct {
	Tx         string            `json:"tx,omitempty"`
	Position   fanfold.Bookmark  `json:"position"`
	Operations []OperationResult `json:"operations"`
}

// OperationResult holds what the answer to a transaction says about one operation.
type OperationResult struct {
	Op         string           `json:"op"`
	Collection string           `json:"collection"`
	ID         string           `json:"id,omitempty"` // "" where it is not known yet
	Status     int              `json:"status,omitempty"`
	Revision   fanfold.Revision `json:"revision,omitempty"`
	ETag       string           `json:"etag,omitempty"`
	Dropped    []string         `json:"dropped,omitempty"` // as Fanfold-Dropped-Members has them
}

// Problem holds a problem document (RFC 9457).
type Problem struct {
	Type     string            `json:"type"`
	Title    string            `json:"title"`
	Status   int               `json:"status"`
	Detail   string            `json:"detail,omitempty"`
	Problems []fanfold.Problem `json:"problems,omitempty"`
	Revision fanfold.Revision  `json:"revision,omitempty"`
	// Operation holds the index of the transaction's operation at fault, from 0; nil for none.
	Operation *int `json:"operation,omitempty"`
	// Line and Column say where a body is not JSON, or a model not YAML; 0 for any other problem.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Oldest holds the oldest position from which the feed can be read; nil where that is not the problem.
	Oldest *fanfold.Bookmark `json:"oldest,omitempty"`
	// Suggest holds a merge patch of the model with the index that a query needs; nil for none.
	Suggest json.RawMessage `json:"suggest,omitempty"`
	// Request holds the request's id, where the server is at fault.
	Request string `json:"requestId,omitempty"`
}

// Accepted is the answer to a write that is stored and not folded yet.
type Accepted struct {
	Detail   string           `json:"detail"` // why
	Position fanfold.Bookmark `json:"position"`
	Result   any              `json:"result,omitempty"` // what is known of it, a TransactionResult or a DeleteStep; absent for a write of one document
}

// Front says what GET / tells of the API.
type Front struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Links       []Link `json:"links"`
}
