package schema

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fanfold/fanfold/internal/regex"
)

// The work of checking one document is counted in steps of some hundred nanoseconds: about one for each definition that
// is applied to a value.
const (
	baseWork      = 5000      // of any document
	workPerByte   = 5         // more for each byte of it
	schemaPerWork = 4         // bytes of the schema, for one more
	maxWork       = 4_000_000 // of the largest
	bytesPerStep  = 64        // bytes of text, or of an enum, that are read
	matchPerStep  = 10        // bytes times instructions of a regular expression's program
	largeNumber   = 20        // characters, from which on arithmetic takes longer
	numberWork    = 50        // steps of a comparison of large numbers
)

// tooMuchWork is what an instance panics with where a document needs more steps than it may.
type tooMuchWork struct{}

// instance is a compiled schema that counts its steps. One document at a time is checked with it.
type instance struct {
	root *jsonschema.Schema
	left int
}

// newInstance makes every definition of a compiled schema that nothing else uses count what it does. The library calls
// what checks a format before it goes on from a definition: that counts, and checks the format if the definition has one.
func newInstance(root *jsonschema.Schema) *instance {
	in := &instance{root: root}
	g := newGraph(root)
	for _, s := range g.all {
		c := &counter{in: in, schema: s, each: 1 + len(s.Required)/4}
		for _, next := range inPlace(s, g.dynamic) {
			c.each += startWork(next)
		}
		c.numeric = s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil
		for re := range s.PatternProperties {
			c.patterns += patternSize(re)
		}
		if s.Pattern != nil {
			c.pattern = patternSize(s.Pattern)
		}
		c.addItems()
		name := "work"
		if f := s.Format; f != nil && slices.Contains(Formats, f.Name) {
			name, c.format = f.Name, f.Validate
		}
		s.Format = &jsonschema.Format{Name: name, Validate: c.check}
	}
	return in
}

// startWork returns what it takes to begin with a definition, before it counts itself.
func startWork(s *jsonschema.Schema) int {
	n := 1
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			n += 1 + valueWork(v)
		}
	}
	if s.Const != nil {
		n += valueWork(*s.Const)
	}
	return n
}

// valueWork returns what it takes to compare a value with another.
func valueWork(v any) int {
	switch v := v.(type) {
	case json.Number:
		return numberCost(v)
	case string:
		return len(v) / bytesPerStep
	case []any:
		n := len(v)
		for _, element := range v {
			n += valueWork(element)
		}
		return n
	case map[string]any:
		n := len(v)
		for name, member := range v {
			n += len(name)/bytesPerStep + valueWork(member)
		}
		return n
	}
	return 0
}

// numberCost returns what arithmetic with a number takes.
func numberCost(n json.Number) int {
	if len(n) > largeNumber || strings.ContainsAny(string(n), "eE") {
		return numberWork
	}
	return 3
}

// patternSize returns how many instructions the program of a pattern has.
func patternSize(re jsonschema.Regexp) int {
	if known, ok := re.(*regex.Regexp); ok {
		return known.Size
	}
	return len(re.String())
}

// compilePattern compiles a pattern of a schema. One that was accepted before regular expressions had bounds stays.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	if re, err := regex.Compile(pattern); err == nil {
		return re, nil
	}
	return regexp.Compile(pattern)
}

// counter counts the steps of one definition.
type counter struct {
	in       *instance
	schema   *jsonschema.Schema
	each     int               // steps for any value
	member   int               // more for each member, besides what Properties has for it
	element  int               // more for each element
	patterns int               // size of the patterns that each member's name is matched with
	pattern  int               // size of the pattern of a string
	numeric  bool              // it compares numbers
	format   func(v any) error // checks the format; nil for none
}

// check takes the definition's steps for a value, and returns why the value is not of the definition's format.
func (c *counter) check(v any) error {
	c.count(v)
	if c.format == nil {
		return nil
	}
	return c.format(v)
}

// addItems sets what members and elements take.
func (c *counter) addItems() {
	s := c.schema
	c.member, c.element = 1, 1
	for _, one := range []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties} {
		if one != nil {
			c.member += 1 + startWork(one)
		}
	}
	if one, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		c.member += startWork(one)
	}
	for _, one := range s.PatternProperties {
		c.member += startWork(one)
	}
	for _, one := range []*jsonschema.Schema{s.Contains, s.Items2020, s.UnevaluatedItems} {
		if one != nil {
			c.element += startWork(one)
		}
	}
	for _, one := range s.PrefixItems {
		c.each += startWork(one)
	}
}

// count takes the steps that the definition itself takes for a value. It panics with tooMuchWork where there are none left.
func (c *counter) count(v any) {
	n := c.each
	switch v := v.(type) {
	case map[string]any:
		n += len(v) * c.member
		for name := range v {
			n += len(name) * c.patterns / matchPerStep
			if one := c.schema.Properties[name]; one != nil {
				n += startWork(one)
			}
		}
	case []any:
		n += len(v) * c.element
		if c.schema.UniqueItems {
			n += uniqueWork(v)
		}
	case string:
		n += len(v)/bytesPerStep + (len(v)+1)*c.pattern/matchPerStep
		if c.format != nil {
			n += len(v) / formatPerStep
		}
	case json.Number:
		if c.numeric {
			n += 3 * numberCost(v)
		}
	}
	c.in.spend(n)
}

// spend takes steps. It panics with tooMuchWork where there are not as many left.
func (in *instance) spend(n int) {
	if in.left -= n; in.left < 0 {
		panic(tooMuchWork{})
	}
}

// uniqueWork returns what it takes to find two equal elements. The library compares those that it cannot tell apart by a
// hash, and leaves out of that where lists end and which sign a number has.
func uniqueWork(elements []any) int {
	if len(elements) <= 20 {
		return (1 + len(elements)/2) * (1 + valueWork(elements))
	}
	seed := maphash.MakeSeed()
	alike := map[uint64]int{}
	n := 2 * valueWork(elements)
	for _, v := range elements {
		var h maphash.Hash
		h.SetSeed(seed)
		writeShape(v, &h)
		n += alike[h.Sum64()] * (1 + valueWork(v))
		alike[h.Sum64()]++
		if n > maxWork {
			break
		}
	}
	return n
}

// writeShape writes to h what the library tells elements apart by.
func writeShape(v any, h *maphash.Hash) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		err = h.WriteByte('{')
		for _, name := range names {
			writeShape(name, h)
			writeShape(v[name], h)
		}
	case []any:
		err = h.WriteByte('[')
		for _, element := range v {
			writeShape(element, h)
		}
	case string:
		_, err = h.WriteString(v)
	case json.Number:
		f, _ := v.Float64() // one out of range is infinite
		_, err = h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Abs(f))))
	case bool:
		if v {
			err = h.WriteByte('t')
		} else {
			err = h.WriteByte('f')
		}
	default:
		err = h.WriteByte('n')
	}
	if err != nil {
		panic(err) // a hash never fails
	}
}
