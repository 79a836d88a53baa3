package modelfile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sequence"
	"github.com/fanfold/fanfold/model"
)

// A mapping of a model is declared once. The parser refuses what its declaration does not have, and JSONSchema writes it down for editors.

// mapping is what one kind of mapping in a model may have.
type mapping struct {
	name    string // among the definitions of the schema
	has     string // such as "a relation has"
	members []member
	says    string // of unknown members, instead of has and their names
	null    bool   // stands for no members
}

// member is one that a mapping may have.
type member struct {
	name  string
	about string // a sentence for who writes a model
	takes shape
	must  bool
	hint  string // where a required one is missing
}

// shape is a JSON Schema of a member's value, as far as one can say what is taken.
type shape map[string]any

// The shapes that members share.
var (
	someText = shape{"type": "string", "minLength": 1}
	somePath = shape{"type": "string", "minLength": 1, "maxLength": MaxPath}
	yesOrNo  = shape{"type": "boolean"}
)

// whole returns the shape of a whole number from 1 to most.
func whole(most int) shape { return shape{"type": "integer", "minimum": 1, "maximum": most} }

// listOf returns the shape of a list of from least to most different values.
func listOf(value shape, least, most int) shape {
	s := shape{"type": "array", "items": value, "uniqueItems": true, "maxItems": most}
	if least > 0 {
		s["minItems"] = least
	}
	return s
}

// byName returns the shape of a mapping from names, or nothing, to values. most is how many there are at most.
func byName(name, value shape, most int) shape {
	return shape{"type": []string{"object", "null"}, "propertyNames": name, "additionalProperties": value, "maxProperties": most}
}

// of returns the shape that a mapping's declaration has among the definitions.
func of(definition string) shape { return shape{"$ref": "#/definitions/" + definition} }

// Names in mappings.
var (
	collectionName = shape{"pattern": "^[a-zA-Z][a-zA-Z0-9_-]*$", "maxLength": fanfold.MaxCollectionLen}
	partName       = shape{"pattern": `^[^.,\[\] ]+$`, "maxLength": maxName}
	indexNames     = shape{"pattern": indexName.String(), "maxLength": maxIndexName}
	functionNames  = shape{"pattern": functionName.String(), "maxLength": maxFunctionName}
	functionText   = shape{"type": "string", "pattern": functionName.String(), "maxLength": maxFunctionName}
	collectionText = shape{"type": "string", "pattern": collectionName["pattern"], "maxLength": fanfold.MaxCollectionLen}
	roleName       = shape{"type": "string", "pattern": "^[a-z][a-z0-9_-]*$", "maxLength": model.MaxRoleLen}
	ownPath        = shape{"minLength": 1, "maxLength": MaxPath, "not": shape{"pattern": `^(_|id($|[.\[]))`}}
	ownPlainPath   = shape{"minLength": 1, "maxLength": MaxPath, "not": shape{"pattern": `^(_|id($|[.\[]))|\[\]`}}
	numberPath     = shape{"minLength": 1, "maxLength": MaxPath, "not": shape{"pattern": `^(_|id$)|\[\]`}}
	roleList       = listOf(roleName, 0, model.MaxRoles)
)

// The mappings below collections.
var (
	aCollection = &mapping{name: "collection", has: "a collection has", null: true, members: []member{
		{name: "relations", about: "Where documents hold ids of others.", takes: byName(partName, of("relation"), maxRelations)},
		{name: "derive", about: "The fields that the store derives, by their paths, such as authors[].name.", takes: byName(ownPath, of("rule"), maxRules)},
		{name: "pages", about: "Documents that refer to one stand in fixed pages, in order of arrival.", takes: of("pages")},
		{name: "schema", about: "A JSON Schema (draft 2020-12) that documents as written must fit.", takes: shape{"type": []string{"object", "boolean"}}},
		{name: "defaults", about: "What a new document has where its writer says nothing, by paths.", takes: byName(ownPlainPath, shape{}, maxDefaults)},
		{name: "unique", about: "What no two documents share: paths, expressions over doc, and lists of up to eight that count together.",
			takes: listOf(shape{"anyOf": []shape{someText, listOf(someText, 2, maxUniqueParts)}}, 0, maxUnique)},
		{name: "sequences", about: "Numbers that documents get when they are created, by the paths that hold them.", takes: byName(numberPath, of("sequence"), maxSequences)},
		{name: "indexes", about: "What queries find documents by: paths and expressions over doc, with - before those that descend.",
			takes: byName(indexNames, listOf(someText, 1, maxComponents), maxIndexesOf)},
		{name: "checks", about: "Conditions over documents and their derived fields, which no write makes false.", takes: byName(partName, of("check"), maxChecks)},
		{name: "trigger", about: "The function of the model that is called with each write of a document, and may change or refuse it.", takes: functionText},
		{name: "access", about: "Who reads and writes the documents.", takes: of("access")},
		{name: "private", about: "Members that only some roles see, by their paths, each with a list of roles.", takes: byName(ownPath, roleList, maxPrivate)},
		{name: "release", about: "Paths whose rules were removed, and whose stored values may go.", takes: shape{"type": "array", "maxItems": maxRelease}},
	}}
	aRelation = &mapping{name: "relation", has: "a relation has", members: []member{
		{name: "path", about: "Where the ids stand: a member, an array of ids (tags[]), or a member of an array's elements (authors[].id).", takes: somePath, must: true},
		{name: "to", about: "The collection whose ids they are; the model must declare it.", takes: someText, must: true},
		{name: "onDelete", about: "What becomes of a document whose target is deleted: by default its copies go and the id stays.", takes: shape{"enum": policies}},
		{name: "strict", about: "Whether the target must exist when a document refers to it.", takes: yesOrNo},
	}}
	aCheck = &mapping{name: "check", has: "a check has", members: []member{
		{name: "that", about: "A CEL expression over doc which must hold after every write.", takes: someText, must: true, hint: ": the condition over doc which must hold"},
		{name: "message", about: "What a writer is told whose write would break it.", takes: shape{"type": "string", "minLength": 1, "maxLength": maxMessage}},
	}}
	somePages = &mapping{name: "pages", has: "pages have", members: []member{
		{name: "by", about: "The relation whose targets have the pages.", takes: someText, must: true},
		{name: "size", about: "How many documents a page has.", takes: whole(maxPageSize), must: true},
	}}
	aSequence = &mapping{name: "sequence", has: "a sequence has", members: []member{
		{name: "per", about: "A CEL expression over doc: each of its values has numbers of its own.", takes: someText},
		{name: "start", about: "The first number: by default 1.", takes: whole(sequence.MaxNumber)},
		{name: "format", about: "The text that holds the number, such as {per}-{n:6}; without it the member is a number.", takes: someText},
	}}
	someAccess = &mapping{name: "access", has: "access has", members: []member{
		{name: model.ActRead, about: "Who reads: roles, or roles and an expression over doc and auth.", takes: shape{"anyOf": []shape{roleList, of("right")}}},
		{name: actWrite, about: "Who creates, updates and deletes; it does not go beside those.", takes: shape{"anyOf": []shape{roleList, of("right")}}},
		{name: model.ActCreate, about: "Who creates documents; an expression sees doc and auth.", takes: shape{"anyOf": []shape{roleList, of("right")}}},
		{name: model.ActUpdate, about: "Who changes documents; an expression sees old, doc and auth.", takes: shape{"anyOf": []shape{roleList, of("right")}}},
		{name: model.ActDelete, about: "Who deletes documents; an expression sees old and auth.", takes: shape{"anyOf": []shape{roleList, of("right")}}},
	}}
	aFunction = &mapping{name: "function", has: "a function has", members: []member{
		{name: "args", about: "A JSON Schema (draft 2020-12) that the arguments must fit.", takes: shape{"type": []string{"object", "boolean"}}},
		{name: "call", about: "Who calls it: any of these roles; [write] unless it is said.", takes: roleList},
		{name: "reads", about: "The collections that it queries, whose children it asks for, or that it sees in the embedded view.", takes: listOf(collectionText, 0, maxCollections)},
		{name: "authority", about: "What it may do: with model everything, otherwise what its caller may. It needs call.", takes: shape{"enum": []string{authorityModel}}},
		{name: "source", about: "A module of JavaScript (ES2024) without imports, whose default export is called with (ctx, args).",
			takes: shape{"type": "string", "minLength": 1, "maxLength": maxSource}, must: true, hint: ": a module of JavaScript, whose default export is called with (ctx, args)"},
	}}
	aRight = &mapping{name: "right", has: "a right has", members: []member{
		{name: "roles", about: "Who has the right: any of these roles.", takes: roleList},
		{name: "where", about: "A CEL expression: the right is to documents of which it is true.", takes: someText},
	}}

	aRule = &mapping{name: "rule", says: "a derived field has one of " + kindNames + ", what goes with it, takeOver and publish", members: []member{
		{name: string(model.Copy), about: "A relation of this collection, from whose target the value is copied.", takes: someText},
		{name: string(model.Count), about: "How many documents refer to this one by a relation, such as books.authors, or how many elements an array of this one has (lines[]).", takes: someText},
		{name: string(model.Sum), about: "The sum of a number: of the documents that refer to this one by a relation, or of an array of this one (lines[].amount).", takes: someText},
		{name: string(model.Min), about: "The least number, of what sum takes.", takes: someText},
		{name: string(model.Max), about: "The greatest number, of what sum takes; beside recent, how many documents at most.", takes: shape{"anyOf": []shape{someText, whole(maxRecent)}}},
		{name: string(model.Avg), about: "The mean, of what sum takes.", takes: someText},
		{name: string(model.IDs), about: "The ids of the documents that refer to this one by a relation, in order of creation.", takes: someText},
		{name: string(model.Recent), about: "Some members of the newest documents that refer to this one by a relation.", takes: someText},
		{name: string(model.Computed), about: "A CEL expression over doc: of a copy the target, alone the document itself; element beside elements of an array.", takes: someText},
		{name: "frozen", about: "Whether a copy stays as it was when the document began to refer to its target.", takes: yesOrNo},
		{name: "where", about: "A CEL expression over doc, the document that refers to this one, or over doc and element: only where it is true it counts.", takes: someText},
		{name: "of", about: "The path of a number in the documents that refer to this one.", takes: somePath},
		{name: "limit", about: "How many ids at most: by default " + strconv.Itoa(model.DefaultIDsLimit) + ".", takes: whole(maxIDsLimit)},
		{name: "fields", about: "The members that are shown of each document.", takes: listOf(someText, 1, maxFields)},
		{name: "orderBy", about: "The path by which the greatest comes first, or _meta.updatedAt; by default the newest.", takes: shape{"anyOf": []shape{somePath, byTime}}},
		{name: "takeOver", about: "Whether the field may hide a member that stored documents have already.", takes: yesOrNo},
		{name: "publish", about: "Whether the field may tell readers about documents that they may not all read.", takes: yesOrNo},
	}}
)

// byTime is an order by a time as the log has it.
var byTime = shape{"type": "object", "required": []string{metaMember}, "additionalProperties": false,
	"properties": shape{metaMember: shape{"enum": []string{updatedAt, createdAt}}}}

// names returns the names of the mapping's members.
func (d *mapping) names() (names []string) {
	for _, m := range d.members {
		names = append(names, m.name)
	}
	return names
}

// read calls fn for each member of the object n that the mapping declares, and reports the others, and those that must be there and are not.
// at is where n stands, "" for the whole model.
func (d *mapping) read(p *parser, n jsondoc.Node, at string, fn func(name, at string, value jsondoc.Node)) {
	names := d.names()
	p.members(n, at, func(name string, v jsondoc.Node) {
		at := strings.TrimPrefix(at+"."+name, ".")
		if slices.Contains(names, name) {
			fn(name, at, v)
			return
		}
		says := d.says
		if says == "" {
			says = d.has + " " + sentenceOf(names)
		}
		p.problem(at, "unknown member; %s", says)
	})
	for _, m := range d.members {
		if m.must && (p.tree.Kind(n) != jsondoc.Object || p.tree.Member(n, m.name) == jsondoc.None) {
			p.problem(at, "%s is missing%s", m.name, m.hint)
		}
	}
}

// sentenceOf returns words as a sentence lists them: a, b and c.
func sentenceOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
