package wire

import "encoding/json"

// ModelCollection holds what a model declares of a collection.
type ModelCollection struct {
	Relations map[string]ModelRelation `json:"relations,omitempty" nullable:"true"`
	Derive    map[string]ModelRule     `json:"derive,omitempty" nullable:"true" doc:"Derived fields by path."`
	Release   []string                 `json:"release,omitempty" doc:"Paths of removed rules that documents may use again. Frozen and kept values of such a rule are not stored any more then; beside a rule that has the path and keeps none, those of an earlier one go. A model is refused in which a rule keeps values at a released path."`
	Access    *ModelCollectionAccess   `json:"access,omitempty" nullable:"true" doc:"Who reads, creates, updates and deletes the collection's documents, in a house that is closed; write stands for the last three, and does not go beside them. A missing member means admin alone; no access at all means the roles read and write."`
	Pages     *ModelCollectionPages    `json:"pages,omitempty" doc:"Documents that refer to one target are kept in fixed pages, in order of arrival: of when each began to refer to it. A place is never given out again."`
	Schema    json.RawMessage          `json:"schema,omitempty" schema:"{'type':['object','boolean'],'additionalProperties':true}" doc:"A JSON Schema, draft 2020-12, that documents as written must fit."`
	Unique    []json.RawMessage        `json:"unique,omitempty" schema:"{'items':{'oneOf':[{'type':'string'},{'type':'array','minItems':2,'maxItems':8,'items':{'type':'string'}}]}}" doc:"What no two documents have alike: the path of a member, a CEL expression over doc, the document as written, or a list of both, which are compared together."`
	Sequences map[string]ModelSequence `json:"sequences,omitempty" nullable:"true" maxProperties:"8" doc:"Numbers that documents get when they are created, by path."`
	Defaults  json.RawMessage          `json:"defaults,omitempty" schema:"{'type':['object','null'],'maxProperties':100,'additionalProperties':true}" doc:"What a new document has where its writer says nothing, by paths."`
	Checks    map[string]ModelCheck    `json:"checks,omitempty" nullable:"true" maxProperties:"32" doc:"Conditions over documents and their derived fields, by name, which no write makes false."`
	Private   map[string][]string      `json:"private,omitempty" nullable:"true" doc:"Members that only some roles see, by their paths, each with a list of roles."`
	Trigger   string                   `json:"trigger,omitempty" minLength:"1" maxLength:"64" doc:"The function of the model that is called with each write of a document, and may change or refuse it. No trigger fires a trigger."`
	Indexes   map[string][]string      `json:"indexes,omitempty" nullable:"true" maxProperties:"64" schema:"{'propertyNames':{'pattern':'^[A-Za-z][A-Za-z0-9_-]*$','maxLength':64},'additionalProperties':{'type':['array','null'],'minItems':1,'maxItems':8,'items':{'type':'string','minLength':1}}}" doc:"Indexes by name: what each is ordered by, as paths and CEL expressions over doc with - before those that descend; _meta.createdAt and _meta.updatedAt, too. One array at most."`
}

// ModelCheck holds a condition of a model.
type ModelCheck struct {
	That    string `json:"that" doc:"A CEL expression over doc, the embedded view."`
	Message string `json:"message,omitempty" maxLength:"1000" doc:"What a writer is told whose write would break it."`
}

// ModelFunction holds a function of a model.
type ModelFunction struct {
	Args      json.RawMessage `json:"args,omitempty" schema:"{'type':['object','boolean'],'additionalProperties':true}" doc:"A JSON Schema, draft 2020-12, that the arguments must fit."`
	Call      []string        `json:"call,omitempty" schema:"{'maxItems':32,'uniqueItems':true}" doc:"Who calls it: any of these roles; [write] unless it is said, none for admin alone."`
	Reads     []string        `json:"reads,omitempty" schema:"{'uniqueItems':true}" doc:"Declared collections that it queries, whose children it asks for, or that it sees in the embedded view."`
	Authority string          `json:"authority,omitempty" enum:"model" doc:"It may do everything, whoever calls it; call must be said then. Without it, it may do what its caller may."`
	Source    string          `json:"source" maxLength:"65536" doc:"A module of JavaScript (ES2024) without imports, whose default export is called with (ctx, args)."`
}

// ModelSequence says which numbers documents get when they are created.
type ModelSequence struct {
	Per    string `json:"per,omitempty" doc:"A CEL expression over doc, the document as written. Each of its values has numbers of its own."`
	Start  int64  `json:"start,omitempty" minimum:"1" maximum:"9007199254740991" default:"1" doc:"The first number."`
	Format string `json:"format,omitempty" maxLength:"255" doc:"Of a text: literals, {n} or {n:6}, and {per}. Without it the number is a JSON number."`
}

// ModelCollectionAccess is a part of a ModelCollection.
type ModelCollectionAccess struct {
	Read   json.RawMessage `json:"read,omitempty" ref:"Right"`
	Create json.RawMessage `json:"create,omitempty" ref:"Right"`
	Update json.RawMessage `json:"update,omitempty" ref:"Right"`
	Delete json.RawMessage `json:"delete,omitempty" ref:"Right"`
	Write  json.RawMessage `json:"write,omitempty" ref:"Right"`
}

// ModelCollectionPages is a part of a ModelCollection.
type ModelCollectionPages struct {
	By   string `json:"by" doc:"A relation of this collection."`
	Size int64  `json:"size" minimum:"1" maximum:"1000"`
}

// ModelRelation holds a relation of a model.
type ModelRelation struct {
	Path     string `json:"path" doc:"Such as authors[].id. It may lead to, through or over a member that a rule gives, such as customerId that is copied from a ticket."`
	To       string `json:"to" ref:"CollectionName"`
	OnDelete string `json:"onDelete,omitempty" default:"clear" enum:"clear|keep|unlink|cascade|restrict" doc:"What becomes of a holder when its target is deleted: the id stays and the copies go (clear) or stay (keep); the id goes, or the array element that holds it (unlink; the target cannot be deleted where a holder that fits its schema would not fit it then); the holder is deleted too (cascade); the target cannot be deleted (restrict)."`
	Strict   bool   `json:"strict,omitempty" default:"false" doc:"The target must exist when it is referred to, and cannot be deleted while it is. Not with derived ids, of which unlink and frozen copies are refused as well."`
}

// ModelRule holds a rule of a model.
type ModelRule struct {
	Copy     string          `json:"copy,omitempty" doc:"A relation of this collection."`
	Value    string          `json:"value,omitempty" doc:"Of copy: a CEL expression over doc, the target's embedded view. Alone: a CEL expression over doc, the document's own embedded view."`
	Count    string          `json:"count,omitempty" doc:"<collection>.<relation> that leads here."`
	Where    string          `json:"where,omitempty" doc:"Of count, sum, min, max, avg and recent: a CEL expression over doc, the child's referenced view."`
	IDs      string          `json:"ids,omitempty" doc:"<collection>.<relation> that leads here."`
	Limit    int64           `json:"limit,omitempty" minimum:"1" maximum:"100000" default:"1000" doc:"Of ids."`
	TakeOver bool            `json:"takeOver,omitempty" doc:"Own a member that stored documents have."`
	Publish  bool            `json:"publish,omitempty" doc:"Readers of the collection may learn by it about documents that they may not read. A model is refused in which such a rule does not say so."`
	Sum      string          `json:"sum,omitempty" doc:"<collection>.<relation> that leads here."`
	Min      string          `json:"min,omitempty" doc:"<collection>.<relation> that leads here."`
	Avg      string          `json:"avg,omitempty" doc:"<collection>.<relation> that leads here."`
	Recent   string          `json:"recent,omitempty" doc:"<collection>.<relation> that leads here."`
	Max      json.RawMessage `json:"max,omitempty" minimum:"1" maximum:"1000" schema:"{'type':['string','integer']}" doc:"<collection>.<relation> that leads here. Of recent: how many documents at most, a number."`
	Of       string          `json:"of,omitempty" doc:"Of sum, min, max and avg: the path of a number in the child's referenced view."`
	Fields   []string        `json:"fields,omitempty" minItems:"1" doc:"Of recent: members of the child's embedded view."`
	OrderBy  json.RawMessage `json:"orderBy,omitempty" schema:"{'type':['string','object'],'additionalProperties':false,'properties':{'_meta':{'type':'string','enum':['updatedAt','createdAt']}}}" doc:"Of recent: the path of what children are ordered by, the greatest first, in their referenced view: texts, by the bytes of their first 1,024, then numbers, then what is neither or absent; of equal ones the newest first. _meta.updatedAt: by their last writes, the latest first; _meta.createdAt: by creation, as without it. These two are kept and answered as {\"_meta\":\"updatedAt\"}."`
	Frozen   bool            `json:"frozen,omitempty" doc:"Of copy: the value stays as it was when the document began to refer to the target."`
}

// LargestTargets holds the target of each relation to which most documents refer.
type LargestTargets struct {
	Relations []LargestTarget `json:"relations" doc:"By name."`
}

// LargestTarget holds the target of a relation to which most documents refer.
type LargestTarget struct {
	Relation  string `json:"relation" doc:"<collection>.<relation>."`
	To        string `json:"to" ref:"CollectionName"`
	ID        string `json:"id,omitempty" doc:"The first by id of those to which as many refer. The document need not exist. Absent where none refers to any."`
	Documents int64  `json:"documents" doc:"How many refer to it."`
	Partial   bool   `json:"partial,omitempty" doc:"The relation has more links than are looked at: more may refer to it, or to another target."`
}

// ModelFlows holds what the derived fields of the model tell.
type ModelFlows struct {
	Flows []ModelFlow `json:"flows" doc:"By collection, then by path."`
}

// ModelFlow holds a derived field with one collection that it tells about.
type ModelFlow struct {
	Rule    string `json:"rule" doc:"<collection>.<path>."`
	From    string `json:"from" ref:"CollectionName" doc:"About its documents it tells, by itself or through other derived fields."`
	To      string `json:"to" ref:"CollectionName" doc:"Whose readers it tells."`
	Publish bool   `json:"publish" doc:"The rule says publish: true."`
	Member  string `json:"member,omitempty" doc:"The path of a private member of from, where the field tells about that."`
}
