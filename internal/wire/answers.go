package wire

import (
	"encoding/json"
	"time"

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
	Collections []CollectionCount `json:"collections"`
	Next        string            `json:"next,omitempty" minLength:"1" doc:"Cursor of the next page; absent on the last one."`
}

// CollectionCount says how many documents a collection holds.
type CollectionCount struct {
	Name      string `json:"name" ref:"CollectionName"`
	Documents *int64 `json:"documents,omitempty" doc:"How many there are; deleted ones do not count. Absent where it depends on each document whether you may read it."`
	Declared  bool   `json:"declared" doc:"The model that applies declares it."`
}

// Counters holds a page of the counters of sequences.
type Counters struct {
	Items []fanfold.Counter `json:"items"`
	Next  string            `json:"next,omitempty" minLength:"1" doc:"Cursor of the next page; absent on the last one."`
}

// DeleteStep holds the answer to one step of a delete in steps.
type DeleteStep struct {
	Done     bool             `json:"done" doc:"The document itself is deleted."`
	Deleted  int              `json:"deleted" doc:"Documents deleted by this step, of collections that you read."`
	Changed  int              `json:"changed" doc:"Documents that lost their reference, of collections that you read."`
	Position fanfold.Bookmark `json:"position"`
}

// TransactionResult holds the answer to a transaction.
type TransactionResult struct {
	Tx         string            `json:"tx,omitempty" doc:"The transaction's id on its rows of the change feed; absent until it is folded."`
	Position   string            `json:"position" ref:"Position"`
	Operations []OperationResult `json:"operations"`
}

// OperationResult holds what the answer to a transaction says about one operation.
type OperationResult struct {
	Op         string `json:"op"`
	Collection string `json:"collection" ref:"CollectionName"`
	ID         string `json:"id,omitempty" doc:"Absent where it is not known until the transaction is folded."`
	Status     int    `json:"status,omitempty" schema:"{'enum':[201,204]}" doc:"What the operation by itself would be answered with; absent until it is folded."`
	Revision   uint64 `json:"revision,omitempty" ref:"Revision"`
	ETag       string `json:"etag,omitempty"`
	// Assigned holds the numbers of a document that the operation created.
	Assigned map[string]json.RawMessage `json:"assigned,omitempty" schema:"{'additionalProperties':{'type':['string','number']}}" doc:"The numbers that the created document got, by the paths of its sequences."`
	Dropped  []string                   `json:"dropped,omitempty" doc:"The members of the body that are not stored, as Fanfold-Dropped-Members has them."`
}

// Problem holds a problem document (RFC 9457).
type Problem struct {
	Type      string            `json:"type" doc:"Stable."`
	Title     string            `json:"title" minLength:"1"`
	Status    int               `json:"status" minimum:"400" maximum:"599"`
	Detail    string            `json:"detail,omitempty" doc:"What is wrong, where, and what to do."`
	Problems  []fanfold.Problem `json:"problems,omitempty" doc:"Every mistake, where there can be several."`
	Revision  fanfold.Revision  `json:"revision,omitempty" minimum:"1" doc:"The current revision, where it is known."`
	Operation *int              `json:"operation,omitempty" doc:"Of a transaction: the index of the operation at fault, from 0."`
	Line      int               `json:"line,omitempty" minimum:"1" doc:"Of a body that is not JSON, or of a model that is not YAML: the line with the mistake."`
	Column    int               `json:"column,omitempty" minimum:"1" doc:"With line: the column, in Unicode code points."`
	Oldest    string            `json:"oldest,omitempty" ref:"Position" doc:"With store-changed, position-gone and rights-changed: the oldest position from which the feed can be read."`
	Large
	// Suggest holds a merge patch of the model with the index that a query needs; nil for none.
	Suggest json.RawMessage `json:"suggest,omitempty" ref:"Suggestion"`
	FunctionFault
	Request string `json:"requestId,omitempty" minLength:"1" maxLength:"64" doc:"The request's id, where the server is at fault: the node's log has it, too. It is that of the header X-Request-Id, which every answer has."`
}

// FunctionFault says which function of the model a problem comes from.
type FunctionFault struct {
	Function string          `json:"function,omitempty" doc:"That was called, and is at fault. Line and column are of its source."`
	Trigger  string          `json:"trigger,omitempty" doc:"That ran for a write, and refuses it."`
	Code     string          `json:"code,omitempty" pattern:"^[a-z0-9-]{1,64}$" doc:"With function-failed: what the function gave to ctx.fail."`
	Details  json.RawMessage `json:"details,omitempty" schema:"{'type':['object','array','string','number','boolean','null']}" doc:"With function-failed: what the function gave to ctx.fail; any JSON."`
	Limit    string          `json:"limit,omitempty" doc:"With function-limit: the bound that was passed."`
}

// Function says what GET /v1/_functions tells of one function. The figures are of the node that answers, since it started.
type Function struct {
	Name       string          `json:"name"`
	Args       json.RawMessage `json:"args,omitempty" doc:"The JSON Schema of its arguments."`
	Calls      uint64          `json:"calls" doc:"Runs, each attempt of a call by itself."`
	Errors     uint64          `json:"errors" doc:"Runs that ended with a problem of the function."`
	LastCalled time.Time       `json:"lastCalled,omitzero"`
}

// FunctionList holds the functions of the model.
type FunctionList struct {
	Functions []Function `json:"functions"`
}

// CallResult holds the answer to a call of a function.
type CallResult struct {
	Result     json.RawMessage   `json:"result" schema:"{'type':['object','array','string','number','boolean','null']}" doc:"What the function returned; null for nothing."`
	Position   string            `json:"position" ref:"Position"`
	Tx         string            `json:"tx,omitempty" doc:"The transaction's id on its rows of the change feed; absent until it is folded, and where nothing was written."`
	Attempts   int               `json:"attempts" minimum:"0" doc:"How often the function ran; 0 where an earlier request under the Idempotency-Key has called it."`
	Operations []OperationResult `json:"operations" doc:"What the function wrote: one a document."`
}

// Accepted is the answer to a write that is stored and not folded yet.
type Accepted struct {
	Detail   string           `json:"detail"` // why
	Position fanfold.Bookmark `json:"position"`
	Result   any              `json:"result,omitempty" doc:"Of a transaction: its result as far as it is known."`
}

// Front says what GET / tells of the API.
type Front struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version" minLength:"1" doc:"Of the program."`
	Links       []Link `json:"links"`
}

// Alive holds the answer of a node that lives, or is ready.
type Alive struct {
	Status string `json:"status" enum:"ok|ready"`
}

// Meta holds the metadata of a document.
type Meta struct {
	Rev       fanfold.Revision `json:"rev"`
	Position  fanfold.Bookmark `json:"position"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt" doc:"Time of the last write; derived changes do not alter it."`
}

// List holds a page of documents.
type List struct {
	Items   []json.RawMessage `json:"items" items:"DocumentWithMeta"`
	Hints   []string          `json:"hints,omitempty" maxItems:"8" schema:"{'items':{'type':'string','minLength':1}}" doc:"Members that the query names and that none of the first 32 documents looked at has, where one has a like name: did you mean it?"`
	NoValue int64             `json:"noValue,omitempty" minimum:"1" doc:"Of an answer in which nothing matches the filter: the documents for which it has no value, because a member is missing or types do not go together."`
	Next    string            `json:"next,omitempty" minLength:"1" doc:"Cursor of the next page; absent on the last one."`
	Missing []string          `json:"missing,omitempty" schema:"{'items':{'type':'string','minLength':1}}" doc:"With ids or id: those of them without a document, in the order in which they were asked for."`
	Count   int64             `json:"count,omitempty" doc:"With count=true: how many documents match, on all pages."`
}

// Query holds the body of a query.
type Query struct {
	Filter  string          `json:"filter,omitempty" minLength:"1" maxLength:"4096"`
	Params  json.RawMessage `json:"params,omitempty" schema:"{'type':'object','additionalProperties':true}"`
	Sort    []string        `json:"sort,omitempty" maxItems:"8" schema:"{'items':{'type':'string','minLength':1}}"`
	Fields  []string        `json:"fields,omitempty" maxItems:"100" schema:"{'items':{'type':'string','minLength':1}}"`
	Limit   int             `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100"`
	Cursor  string          `json:"cursor,omitempty"`
	Count   bool            `json:"count,omitempty"`
	Group   []string        `json:"group,omitempty" maxItems:"4" schema:"{'items':{'type':'string','minLength':1}}"`
	Compute []string        `json:"compute,omitempty" maxItems:"16" schema:"{'items':{'type':'string','minLength':1}}"`
	MaxScan int             `json:"maxScan,omitempty" minimum:"1" maximum:"100000" default:"10000"`
	Partial bool            `json:"partial,omitempty"`
	Explain bool            `json:"explain,omitempty"`
	View    string          `json:"view,omitempty" enum:"embedded|referenced"`
	Expand  string          `json:"expand,omitempty" minLength:"1" minItems:"1" schema:"{'type':['string','array'],'items':{'type':'string','minLength':1}}" doc:"relation[,relation.relation], or an array of such paths."`
}

// Groups holds a page of groups.
type Groups struct {
	Groups  []GroupsGroup `json:"groups"`
	Hints   []string      `json:"hints,omitempty" maxItems:"8" schema:"{'items':{'type':'string','minLength':1}}" doc:"Members that the query names and that none of the first 32 documents looked at has, where one has a like name: did you mean it?"`
	NoValue int64         `json:"noValue,omitempty" minimum:"1" doc:"Of an answer in which nothing matches the filter: the documents for which it has no value, because a member is missing or types do not go together."`
	Next    string        `json:"next,omitempty" minLength:"1" doc:"Cursor of the next page; absent on the last one."`
}

// GroupsGroup is a part of a Groups.
type GroupsGroup struct {
	Key    map[string]any `json:"key" schema:"{'additionalProperties':true}" doc:"The values of group, named as they were asked for. One that a document lacks is absent."`
	Values map[string]any `json:"values" schema:"{'additionalProperties':true}" doc:"The values of compute, named as they were asked for. One without a value is absent."`
}

// Explained holds how a query was answered.
type Explained struct {
	Explain json.RawMessage `json:"explain" ref:"Plan"`
}

// PatchOperation holds an operation of a JSON Patch.
type PatchOperation struct {
	Op    string          `json:"op" enum:"add|remove|replace|move|copy|test|increment"`
	Path  string          `json:"path" doc:"A JSON pointer."`
	From  string          `json:"from,omitempty" doc:"A JSON pointer; of move and copy."`
	Value json.RawMessage `json:"value,omitempty" doc:"Of add, replace, test and increment: there, the number that is added."`
	Min   json.Number     `json:"min,omitempty" doc:"Of increment: the least that it may come to."`
	Max   json.Number     `json:"max,omitempty" doc:"Of increment: the most that it may come to."`
}

// DeltaOperation holds an operation of a JSON Patch, with the value before.
type DeltaOperation struct {
	Op    string          `json:"op" enum:"add|remove|replace"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty" doc:"The new value."`
	Old   json.RawMessage `json:"old,omitempty" doc:"The value before; absent where there was none."`
}

// Operation holds an operation of a transaction.
type Operation struct {
	Op          string            `json:"op" enum:"put|create|patch|delete|check"`
	Collection  string            `json:"collection" ref:"CollectionName"`
	ID          json.RawMessage   `json:"id,omitempty" schema:"{'anyOf':[{'$ref':'#/components/schemas/ID'},{'type':'object','description':'The id of the document that an earlier operation of that name creates.','properties':{'ref':{'type':'string'}},'required':['ref'],'additionalProperties':false}]}"`
	Body        json.RawMessage   `json:"body,omitempty" ref:"DocumentIn" doc:"Of put and create: the document."`
	Patch       json.RawMessage   `json:"patch,omitempty" schema:"{'anyOf':[{'$ref':'#/components/schemas/MergePatch'},{'$ref':'#/components/schemas/JSONPatch'}]}" doc:"Of patch: an object is a merge patch (RFC 7396), an array a JSON Patch (RFC 6902)."`
	IfMatch     json.RawMessage   `json:"ifMatch,omitempty" schema:"{'type':['string','integer']}" doc:"Of put, patch, delete and check: the ETag the document must have, with or without its quotes, or its revision; \"*\" for any. A tag of another store matches nothing."`
	IfNoneMatch string            `json:"ifNoneMatch,omitempty" const:"*" doc:"Of put and check: the document must not be there."`
	If          string            `json:"if,omitempty" minLength:"1" maxLength:"4096" doc:"Of put, patch, delete and check: what must be true of the document as it was written: CEL over doc, params and meta. All of a transaction have 64 KiB at most."`
	Params      json.RawMessage   `json:"params,omitempty" schema:"{'type':'object','additionalProperties':true}" doc:"With if: the values of params."`
	Refresh     []string          `json:"refresh,omitempty" minItems:"1" doc:"Of put and patch: paths of frozen fields to take anew from their targets."`
	As          string            `json:"as,omitempty" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" maxLength:"64" doc:"Of create: a name by which later operations take the document's id, also one that the store makes. It is once in a transaction."`
	Refs        map[string]string `json:"refs,omitempty" minProperties:"1" maxProperties:"100" doc:"Of put, create and patch: names of earlier operations, by JSON pointers into body or patch. Each leads to a null, which the id replaces."`
}

// Transaction holds the body of a transaction.
type Transaction struct {
	Operations []Operation `json:"operations" minItems:"1" maxItems:"1000" doc:"Each document at most once."`
}

// DocumentHistory holds a page of the history of a document.
type DocumentHistory struct {
	Items  []Version        `json:"items"`
	Next   string           `json:"next,omitempty" minLength:"1" doc:"Cursor of the next page; absent on the last one."`
	Oldest fanfold.Bookmark `json:"oldest" doc:"The oldest position whose history is kept."`
}

// Version holds a change of a document, and the document after it.
type Version struct {
	Seq        fanfold.Bookmark `json:"seq"`
	Collection string           `json:"collection" ref:"CollectionName"`
	ID         string           `json:"id"`
	Op         string           `json:"op" enum:"create|replace|patch|delete|derive|erase" doc:"derive: a derived value changed, and the revision did not. erase: the document was deleted before, and all that it ever was is erased."`
	Rev        fanfold.Revision `json:"rev"`
	Time       time.Time        `json:"time" doc:"The log's time; it never decreases."`
	Cause      *Cause           `json:"cause,omitempty"`
	Tx         string           `json:"tx,omitempty" doc:"The transaction's id, where the change is part of one."`
	Call       string           `json:"call,omitempty" doc:"The function that was called in the change's transaction. A change that follows from one by a rule has it, too."`
	Within     bool             `json:"within,omitempty" doc:"A derived change of a document that its transaction also writes: the written change has the document as of the transaction's end, so this one may be passed over."`
	Actor      string           `json:"actor,omitempty" pattern:"^(key:[a-z0-9]{12}|sub:[0-9a-f]{32})$" doc:"For the role admin: who sent the request that the change comes from, as key:<id>, or sub:<MAC> for the holder of a token. Absent where nobody in particular did."`
	Patch      []DeltaOperation `json:"patch,omitempty" doc:"A JSON Patch from the version before to this one (of a written change: from the transaction's beginning to its end), in the view that was asked for, with the old values. Of a create it adds the whole document, and of a delete it removes it. With view=referenced a derived change has an empty one. Absent where it would have more than 16 MiB."`
	Omitted    map[string]int64 `json:"omitted,omitempty" schema:"{'additionalProperties':{'type':'integer','minimum':1}}" doc:"Where the embedded document after the change has no room for derived values: how many of them, by rule."`
	Doc        json.RawMessage  `json:"doc,omitempty" ref:"DocumentWithMeta" doc:"The document after the change, and after a written one at the end of its transaction. Absent of a delete, and with include_docs=false."`
}

// DocumentDifference holds how a document differs between two states.
type DocumentDifference struct {
	Collection string          `json:"collection" ref:"CollectionName"`
	ID         string          `json:"id"`
	Op         string          `json:"op" enum:"create|change|delete" doc:"create: it was not there in the earlier state; delete: it is not there in the later one."`
	Before     json.RawMessage `json:"before,omitempty" ref:"DocumentWithMeta" doc:"The document in the earlier state. Absent of a create."`
	After      json.RawMessage `json:"after,omitempty" ref:"DocumentWithMeta" doc:"The document in the later state. Absent of a delete."`
	Patch      json.RawMessage `json:"patch,omitempty" schema:"{'type':'array','items':{'$ref':'#/components/schemas/DeltaOperation'}}" doc:"A JSON Patch from the one to the other, in the view that was asked for, with the old values. Of a create it adds the whole document, and of a delete it removes it."`
	Raw        json.RawMessage `json:"-"` // the difference as the server wrote it
}

// DocumentDifferences holds a page of what differs between two states.
type DocumentDifferences struct {
	From  fanfold.Bookmark     `json:"from" doc:"The position of the earlier state."`
	To    fanfold.Bookmark     `json:"to" doc:"The position of the later state."`
	Items []DocumentDifference `json:"items"`
	Next  string               `json:"next,omitempty" minLength:"1" doc:"Cursor of the next page; absent on the last one."`
}

// Cause holds which write caused a change.
type Cause struct {
	Seq        string   `json:"seq,omitempty" ref:"Position" doc:"Of that write or delete. Absent where the delete was still to come, as in a delete in steps."`
	Collection string   `json:"collection,omitempty" doc:"Of the document that was written or deleted; absent, as id is, where a model was applied, and where one does not read the collection."`
	ID         string   `json:"id,omitempty"`
	Rule       string   `json:"rule,omitempty" doc:"The rule whose value changed, or the relation whose delete policy made the write; the first where several did."`
	Rules      []string `json:"rules,omitempty" minItems:"2" doc:"All rules whose values changed, or up to eight relations, where there are several."`
}

// Change holds a row of the feed.
type Change struct {
	Seq        string          `json:"seq" ref:"Position"`
	Collection string          `json:"collection" ref:"CollectionName"`
	ID         string          `json:"id"`
	Op         string          `json:"op" enum:"create|replace|patch|delete|derive|erase|leave|enter" doc:"derive: a derived value changed, and the revision did not. erase: the document was deleted before, and all that it ever was is erased: forget what you kept of it. leave: with a filter, the document matched before the change, and does not any more; the row has no doc, previous and patch. enter and leave, where a rule of access decides: the document may be read from here on, and comes with doc; or it may not be read any more, and the row has seq, collection, id and op alone."`
	Rev        uint64          `json:"rev,omitempty" ref:"Revision"`
	Time       time.Time       `json:"time,omitzero" doc:"The log's time; it never decreases."`
	Cause      *Cause          `json:"cause,omitempty"`
	Previous   json.RawMessage `json:"previous,omitempty" ref:"Document" doc:"mode=all: the view before a direct change, and before its transaction."`
	Patch      json.RawMessage `json:"patch,omitempty" schema:"{'type':'array','items':{'$ref':'#/components/schemas/DeltaOperation'}}" doc:"mode=all&view=embedded: what a derived change did, with the old values. Absent where an erasure caused it (its rule is erase): fetch the document anew."`
	Doc        json.RawMessage `json:"doc,omitempty" ref:"DocumentWithMeta" doc:"include_docs: mode=all: the document as it was after the change, and after a direct one at the end of its transaction; mode=latest: as it is now. Absent where it was deleted."`
	Tx         string          `json:"tx,omitempty" doc:"The transaction's id, where the change is part of one."`
	Call       string          `json:"call,omitempty" doc:"The function that was called in the change's transaction. A change that follows from one by a rule has it, too."`
	Within     bool            `json:"within,omitempty" doc:"mode=all: A derived change of a document that its transaction also writes: the written change has the document as of the transaction's end, so this one may be passed over."`
	Omitted    json.RawMessage `json:"omitted,omitempty" schema:"{'type':'object','additionalProperties':{'type':'integer','minimum':1}}" doc:"Where the embedded document after the change has no room for derived values: how many of them, by rule."`
	Actor      string          `json:"actor,omitempty" pattern:"^(key:[a-z0-9]{12}|sub:[0-9a-f]{32})$" doc:"mode=all, for the role admin: who sent the request that the change comes from, as key:<id>, or sub:<MAC> for the holder of a token. Absent where nobody in particular did."`
	Raw        json.RawMessage `json:"-"` // the change as the server wrote it
}

// Gone reports whether a consumer must drop the document: it was deleted or erased, or it matched the filter and does not match it
// any more. Such a change has no Doc. It may be about a document that the consumer never had.
func (c *Change) Gone() bool { return c.Op == "delete" || c.Op == "erase" || c.Op == "leave" }

// Erased reports whether all that the document ever was is erased. A consumer that keeps older versions, or values taken from them,
// forgets these, too.
func (c *Change) Erased() bool { return c.Op == "erase" }

// Anew reports whether an erasure has changed the document. The change says nothing more of it: older versions of it are others, too. A
// consumer of mode All that applies Patch fetches the document anew, or asks for IncludeDocs.
func (c *Change) Anew() bool { return c.Op == "derive" && c.Cause != nil && c.Cause.Rule == "erase" }

// Heartbeat holds how far a quiet feed is.
type Heartbeat struct {
	LastSeq string `json:"last_seq" doc:"Everything up to this position was looked at."`
	Head    string `json:"head,omitempty" doc:"Where this node is, if that is before last_seq."`
}

// End holds why a feed ends.
type End struct {
	End     string           `json:"end" enum:"rights-changed|position-gone"`
	LastSeq fanfold.Bookmark `json:"last_seq" doc:"Everything up to this position was looked at."`
	Oldest  fanfold.Bookmark `json:"oldest,omitzero" doc:"position-gone: the oldest position from which the feed can be read."`
}

// Changes holds an answer of the feed.
type Changes struct {
	Results []Change         `json:"results"`
	NoValue int64            `json:"noValue,omitempty" minimum:"1" doc:"Of an answer without results: the changes for which the filter has no value, because a member is missing or types do not go together."`
	Unknown []string         `json:"unknown,omitempty" minItems:"1" items:"CollectionName" doc:"Those of the collections that were asked for which are not there."`
	LastSeq fanfold.Bookmark `json:"last_seq" doc:"Give it as since to go on."`
	Pending int64            `json:"pending,omitempty" doc:"Changes behind last_seq that the request would give; absent where they cannot be counted without looking at them: behind the end of an answer, unless mode is all and nothing is left out. Whoever does not read every collection is not told."`
	Head    fanfold.Bookmark `json:"head,omitzero" doc:"Where this node stands, if the position asked for is beyond it: nothing was skipped, and last_seq is that position."`
	End     string           `json:"end,omitempty" enum:"rights-changed|position-gone|work-bound" doc:"feed=normal: changes behind last_seq are left out. rights-changed: the rights have changed with which the answer began. position-gone: changes that follow are no longer kept. work-bound: the answer has looked at as many changes as one may without a row for it; go on from last_seq."`
	Oldest  fanfold.Bookmark `json:"oldest,omitzero" doc:"position-gone: the oldest position from which the feed can be read."`
}

// ImportRefusal is the line of an import's answer about a line that was not stored.
type ImportRefusal struct {
	Line   int    `json:"line"`
	Status int    `json:"status"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
	// Trigger and Code are as of a problem.
	Trigger string `json:"trigger,omitempty" doc:"The trigger that refuses the document."`
	Code    string `json:"code,omitempty" doc:"With function-failed: what the trigger gave to ctx.fail."`
}

// ImportState is a line that says how far an import has come.
type ImportState struct {
	Position fanfold.Bookmark `json:"position"`
	Progress ImportCounts     `json:"progress"`
}

// ImportCounts say what became of the lines of an import.
type ImportCounts struct {
	Line    int `json:"line"`
	Written int `json:"written"`
	Refused int `json:"refused"`
}

// ImportSummary is the last line of the answer to an import.
type ImportSummary struct {
	Detail   string           `json:"detail,omitempty"` // why not all is stored, or shown
	Done     bool             `json:"done"`             // everything was read, and is stored or was refused
	Folded   *bool            `json:"folded,omitempty"` // what is stored is shown; absent where the import failed
	Line     int              `json:"line"`
	Position fanfold.Bookmark `json:"position"`
	Refused  int              `json:"refused"`
	Status   int              `json:"status,omitempty"` // of the failure
	Type     string           `json:"type,omitempty"`
	Written  int              `json:"written"`
}

// ImportReport is the answer to an import of what another store exports, and to its dry run.
type ImportReport struct {
	Collections map[string]int   `json:"collections,omitempty" doc:"Documents by collection."`
	Detail      string           `json:"detail,omitempty" doc:"Why not all was read, or is shown."`
	Documents   int              `json:"documents" doc:"That the body gave."`
	Done        bool             `json:"done" doc:"Everything was read. What was not refused is stored, unless it is a dry run."`
	Dropped     map[string]int   `json:"dropped,omitempty" doc:"Members that were left out, by their names."`
	DryRun      bool             `json:"dryRun,omitempty" doc:"Nothing is stored."`
	Folded      *bool            `json:"folded,omitempty" doc:"What is stored is shown; absent where the import failed, and of a dry run."`
	From        string           `json:"from" doc:"What the body was taken for."`
	IDs         []string         `json:"ids,omitempty" doc:"Of a dry run: members that could be the id of documents without one, the most likely ones first."`
	Left        map[string]int   `json:"left,omitempty" doc:"Documents that were left out, such as deleted ones."`
	Position    fanfold.Bookmark `json:"position,omitzero" doc:"Of the last document that is stored; absent of a dry run."`
	Proposed    string           `json:"proposed,omitempty" doc:"Of a dry run: a name for the collection of documents that do not say where they go."`
	Refusals    []ImportRefusal  `json:"refusals,omitempty" doc:"The first 20 lines that are refused."`
	Refused     int              `json:"refused"`
	Status      int              `json:"status,omitempty" doc:"Of the failure."`
	Type        string           `json:"type,omitempty"`
	WithoutID   int              `json:"withoutId,omitempty" doc:"Of a dry run: documents without an id. Each gets a new one."`
	Written     int              `json:"written"`
}

// DriftReport says what documents brought for derived members, beside what the rules give.
type DriftReport struct {
	Documents int              `json:"documents" doc:"That were compared."`
	From      string           `json:"from" doc:"What the body was taken for."`
	NotThere  int              `json:"notThere,omitempty" doc:"Documents of the body that the store does not have."`
	Position  fanfold.Bookmark `json:"position" doc:"Up to which the store showed what is right."`
	Refused   int              `json:"refused,omitempty" doc:"Lines of the body that are no documents."`
	Rules     []DriftRule      `json:"rules"`
	WithoutID int              `json:"withoutId,omitempty" doc:"Documents of the body without an id, which cannot be compared."`
}

// DriftRule counts the values that documents brought for one rule.
type DriftRule struct {
	Rule     string            `json:"rule"`
	Right    int               `json:"right"`
	Wrong    int               `json:"wrong" doc:"Another value was brought than the rule gives."`
	Missing  int               `json:"missing" doc:"No value was brought where the rule gives one, and other documents have brought one."`
	Orphaned int               `json:"orphaned" doc:"A copy was brought of a document that is not there."`
	New      bool              `json:"new,omitempty" doc:"No document brought a value: the rule is a new one."`
	Frozen   bool              `json:"frozen,omitempty" doc:"Values that stay as they were have no right one, and are not compared."`
	Examples []DriftDifference `json:"examples,omitempty" doc:"Up to 20."`
}

// Drifted tells whether a value is not right.
func (r *DriftRule) Drifted() bool { return r.Wrong+r.Orphaned > 0 || r.Missing > 0 && !r.New }

// DriftDifference is one value that is not right.
type DriftDifference struct {
	Rule       string          `json:"rule"`
	Kind       string          `json:"kind" enum:"wrong|missing|orphaned"`
	Collection string          `json:"collection" ref:"CollectionName"`
	ID         string          `json:"id"`
	Path       string          `json:"path" doc:"A JSON pointer."`
	Brought    json.RawMessage `json:"brought,omitempty" doc:"Absent where none was."`
	Right      json.RawMessage `json:"right,omitempty" doc:"Absent where the rule gives none."`
}

// RefusedDocument tells of a document that an update by query has not written.
type RefusedDocument struct {
	ID     string `json:"id"`
	Status int    `json:"status"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
	Large
}

// Large tells of a delete that one transaction does not take.
type Large struct {
	Steps     bool `json:"steps,omitempty" doc:"true: one transaction does not take the delete; DELETE with steps=true does it."`
	Documents int  `json:"documents,omitempty" minimum:"1" doc:"With steps: how many documents the request would write, deletes included. Absent where the reader may not read all collections of them."`
	AtLeast   bool `json:"atLeast,omitempty" doc:"true: there may be more documents. They are counted up to 100,000."`
}

// UpdateState is a line that says how far an update by query has come.
type UpdateState struct {
	Position fanfold.Bookmark `json:"position"`
	Progress UpdateCounts     `json:"progress"`
}

// UpdateCounts say what became of the documents that the filter of an update matches.
type UpdateCounts struct {
	Matched   int `json:"matched"`
	Written   int `json:"written"`
	Unchanged int `json:"unchanged"`
	Refused   int `json:"refused"`
}

// UpdateSummary is the last line of the answer to an update by query.
type UpdateSummary struct {
	Detail string   `json:"detail,omitempty"` // why not all is done, or shown
	Done   bool     `json:"done"`             // every document that matches is written or was refused
	Folded *bool    `json:"folded,omitempty"` // what is stored is shown; absent where the update failed
	Hints  []string `json:"hints,omitempty"`  // as of a query, about the filter
	UpdateCounts
	Position fanfold.Bookmark `json:"position"`
	Status   int              `json:"status,omitempty"` // of the failure
	Type     string           `json:"type,omitempty"`
}
