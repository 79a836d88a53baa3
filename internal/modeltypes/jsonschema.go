package modeltypes

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/model"
)

// Types are the JSON Schemas of one collection's documents.
type Types struct {
	Collection string
	Name       string // of the types, unlike every other collection's
	In         []byte // a document that is written
	Referenced []byte // one that is read as it was written
	Embedded   []byte // one that is read with its derived members
}

// anything is the schema of any value: a client in Go has its bytes. anyMember is for members, and names null, too: otherwise a client in Go
// has nothing in its place.
const (
	anything  = `{"x-go-type":"json.RawMessage"}`
	anyMember = `{"x-go-type":"json.RawMessage","anyOf":[{},{"type":"null"}]}`
)

// JSONSchemas returns the types of the documents of a model's collections, by the names of these, as far as a reader may know them. A nil reader knows
// everything. free tells whether a name may be one of a collection's types. The schemas refer to ID and Expanded below #/components/schemas. All together
// have no more than 100,000 types within them, and any value beyond. Generators of clients have a form for each of them: types are of one kind, and the
// branches of unions can be told apart.
func JSONSchemas(m *model.Model, reader Reader, free func(name string) bool) (all []Types) {
	w := newWriter(m, reader)
	w.free = free
	left := maxPrinted
	for _, c := range m.Collections {
		of := Types{Collection: c.Name, Name: w.nameOf(c.Name)}
		for _, one := range []struct {
			into *[]byte
			as   form
		}{{&of.In, form{upTo: bySender, in: true}}, {&of.Referenced, form{upTo: byCounter}}, {&of.Embedded, form{upTo: byRule}}} {
			p := &printer{form: one.as, left: &left}
			p.document(w.types[c.Name])
			*one.into = p.out.Bytes()
		}
		all = append(all, of)
	}
	return all
}

// form says which of a document's types is printed.
type form struct {
	upTo by   // has the members that these write
	in   bool // is closed where the schema is
}

// printer writes JSON Schema.
type printer struct {
	out bytes.Buffer
	form
	left *int // types that may be printed yet
}

// document writes the type of a collection's documents.
func (p *printer) document(s *shape) {
	top := *s
	top.members = slices.Clone(s.members)
	if !p.in {
		if i := top.index("id"); i >= 0 {
			top.members[i].required = true
		}
		top.put("_expanded", &shape{plain: "Expanded"}, bySender)
	}
	p.schema(&top)
}

// schema writes a type.
func (p *printer) schema(s *shape) {
	if !spend(p.left, s.size()) || s.any() {
		p.out.WriteString(anything)
		return
	}
	switch {
	case s.value != nil:
		p.enumeration([]*shape{s})
	case s.either != nil:
		p.union(s.either)
	case s.id, s.plain == "Expanded":
		name := s.plain
		if s.id {
			name = "ID"
		}
		p.out.WriteString(`{"$ref":"#/components/schemas/` + name + `"}`)
	case s.element != nil:
		p.out.WriteString(`{"type":"array"`)
		p.words(s)
		p.out.WriteString(`,"items":`)
		p.schema(s.element)
		p.out.WriteByte('}')
	case s.object:
		p.object(s)
	default:
		p.plain(s)
	}
}

// words writes what a schema says besides about a type.
func (p *printer) words(s *shape) {
	for _, w := range s.words {
		fmt.Fprintf(&p.out, `,%q:%s`, w.name, w.value)
	}
}

// plain writes a type without others in it. In Go a number is its text, and so is what has a format: no digit is lost.
func (p *printer) plain(s *shape) {
	fmt.Fprintf(&p.out, `{"type":%q`, s.plain)
	switch {
	case s.plain == "number" || s.plain == "integer":
		p.out.WriteString(`,"x-go-type":"json.Number"`)
	case slices.ContainsFunc(s.words, func(w word) bool { return w.name == "format" }):
		p.out.WriteString(`,"x-go-type":"string"`)
	}
	p.words(s)
	p.out.WriteByte('}')
}

// enumeration writes the type of values that are all of one type.
func (p *printer) enumeration(values []*shape) {
	s := shape{plain: kindOf(values[0].value)}
	var list []string
	size := 0
	for _, v := range values {
		list = append(list, string(v.value))
		size += len(v.value)
	}
	switch {
	case s.plain == "null", !spend(p.left, size):
	case len(list) == 1:
		s.words = append(s.words, word{"const", []byte(list[0])})
	case s.plain != "boolean":
		s.words = append(s.words, word{"enum", []byte("[" + strings.Join(list, ",") + "]")})
	}
	p.plain(&s)
}

// union writes what is one of several types: one branch for each type of JSON. Several objects are any object, and several arrays any array, where no reader
// could tell which of them it has.
func (p *printer) union(either []*shape) {
	var branches []*shape
	var values [][]*shape
	var flat func(list []*shape)
	flat = func(list []*shape) {
		for _, one := range list {
			if one.either != nil {
				flat(one.either)
			} else {
				branches, values = merged(branches, values, one)
			}
		}
	}
	flat(either)
	if slices.ContainsFunc(branches, (*shape).any) {
		p.out.WriteString(anything)
		return
	}
	write := func(i int) {
		if values[i] != nil {
			p.enumeration(values[i])
		} else {
			p.schema(branches[i])
		}
	}
	if len(branches) == 1 {
		write(0)
		return
	}
	p.out.WriteString(`{"anyOf":[`)
	for i := range branches {
		if i > 0 {
			p.out.WriteByte(',')
		}
		write(i)
	}
	p.out.WriteString(`]}`)
}

// merged returns the branches of a union with one more. Each has another type of JSON. A branch of listed values has these beside it.
func merged(branches []*shape, values [][]*shape, one *shape) ([]*shape, [][]*shape) {
	i := slices.IndexFunc(branches, func(b *shape) bool { return jsonType(b) == jsonType(one) })
	switch {
	case i < 0 && one.value != nil:
		return append(branches, one), append(values, []*shape{one})
	case i < 0:
		return append(branches, one), append(values, nil)
	case values[i] != nil && one.value != nil:
		values[i] = append(values[i], one)
	case one.object:
		branches[i] = &shape{object: true, open: true}
	case one.element != nil:
		branches[i] = &shape{element: &shape{}}
	default: // a value of a type, and any of the type
		branches[i], values[i] = &shape{plain: jsonType(one)}, nil
	}
	return branches, values
}

// jsonType returns the type of JSON that a type has.
func jsonType(s *shape) string {
	switch {
	case s.value != nil:
		return kindOf(s.value)
	case s.object:
		return "object"
	case s.element != nil:
		return "array"
	case s.plain == "integer":
		return "number"
	}
	return s.plain
}

// object writes an object. Members that the store writes are read-only.
func (p *printer) object(s *shape) {
	p.out.WriteString(`{"type":"object"`)
	var required []string
	begin := `,"properties":{`
	whole := true
	fields := map[string]bool{"additionalproperties": true, "get": true, "set": true, "marshaljson": true, "unmarshaljson": true}
	for i, m := range s.members {
		if m.written > p.upTo {
			continue
		}
		if !spend(p.left, len(m.name)) {
			whole = false
			break
		}
		p.out.WriteString(begin + quoted(m.name) + ":")
		begin = ","
		p.member(m, inGo(m.name, i, fields))
		if m.required {
			required = append(required, quoted(m.name))
		}
	}
	if begin == "," {
		p.out.WriteByte('}')
	}
	if required != nil {
		p.out.WriteString(`,"required":[` + strings.Join(required, ",") + `]`)
	}
	rest := anything
	if p.in && s.closed && whole {
		rest = "false"
	}
	p.out.WriteString(`,"additionalProperties":` + rest + `}`)
}

// member writes the type of a member, with its name in Go where it needs one.
func (p *printer) member(m member, inGo string) {
	begin := p.out.Len()
	if m.of.reference {
		p.out.WriteString(`{"anyOf":[`)
		p.schema(m.of)
		p.out.WriteString(`,{"type":"null"}]}`)
	} else {
		p.schema(m.of)
	}
	var more string
	if m.written != bySender {
		more = `"readOnly":true,`
	}
	if inGo != "" {
		more += `"x-go-name":` + quoted(inGo) + `,`
	}
	of := bytes.Clone(p.out.Bytes()[begin:])
	if string(of) == anything {
		of = []byte(anyMember)
	}
	p.out.Truncate(begin)
	if more != "" && bytes.HasPrefix(of, []byte(`{"$ref"`)) { // generators leave out what stands beside one
		of = slices.Concat([]byte(`{"allOf":[`), of, []byte(`]}`))
	}
	p.out.WriteString("{" + more)
	p.out.Write(of[1:])
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// inGo returns a name for a field of Go where the one that a generator makes of a member's name would be another's, or none; "" otherwise. It notes the name.
func inGo(name string, at int, fields map[string]bool) string {
	plain := strings.ToLower(notInNames.ReplaceAllString(name, ""))
	if plain != "" && plain[0] > '9' && !fields[plain] {
		fields[plain] = true
		return ""
	}
	for {
		other := "Member" + strconv.Itoa(at)
		if !fields[strings.ToLower(other)] {
			fields[strings.ToLower(other)] = true
			return other
		}
		at += maxMembers
	}
}
