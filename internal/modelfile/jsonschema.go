package modelfile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// JSONSchema returns a JSON Schema of models, for editors. It takes every model that Parse takes. It cannot know what expressions mean,
// nor whether there is what a name names, so Parse refuses more.
func JSONSchema() []byte {
	shapes := map[string]shape{}
	for _, d := range definitions {
		shapes[d.name] = d.shape()
	}
	shapes[someAccess.name]["not"] = besideWrite()
	shapes[aRule.name]["allOf"] = ruleKinds()
	shapes[aFunction.name]["dependencies"] = shape{"authority": []string{"call"}}
	whole := wholeModel.shape()
	whole["$schema"] = "http://json-schema.org/draft-07/schema#" // which editors know best
	whole["title"] = "A model of Fanfold"
	whole["definitions"] = shapes
	return append(encode(whole, "  "), '\n')
}

// shape returns the shape of a mapping. Its members are in their order.
func (d *mapping) shape() shape {
	s := shape{"type": "object", "additionalProperties": false}
	if d.null {
		s["type"] = []string{"object", "null"}
	}
	properties := []byte{'{'}
	var required []string
	for i, m := range d.members {
		if i > 0 {
			properties = append(properties, ',')
		}
		takes := shape{"description": m.about}
		if _, refers := m.takes["$ref"]; refers { // beside which older drafts read nothing
			takes["allOf"] = []shape{m.takes}
		} else {
			for key, value := range m.takes {
				takes[key] = value
			}
		}
		properties = append(append(append(properties, jsondoc.Quote(m.name)...), ':'), encode(takes, "")...)
		if m.must {
			required = append(required, m.name)
		}
	}
	s["properties"] = json.RawMessage(append(properties, '}'))
	if required != nil {
		s["required"] = required
	}
	return s
}

// besideWrite returns the shape of an access that has write beside what it stands for.
func besideWrite() shape {
	var both []shape
	for _, act := range model.Acts {
		if act != model.ActRead {
			both = append(both, shape{"required": []string{actWrite, act}})
		}
	}
	return shape{"anyOf": both}
}

// ruleKinds returns what ruleOptions says of each kind of rule.
func ruleKinds() (all []shape) {
	var kinds []string
	for kind := range ruleOptions {
		if kind != model.Computed {
			kinds = append(kinds, string(kind))
		}
	}
	slices.Sort(kinds)
	var any []shape // of the kinds
	for _, kind := range kinds {
		is := shape{"required": []string{kind}}
		if kind == string(model.Max) { // a number is an option of recent
			is["properties"] = shape{kind: shape{"type": "string"}}
		}
		any = append(any, is)
		then := optionsOf(kind, ruleOptions[model.RuleKind(kind)])
		if k := model.RuleKind(kind); k == model.Count || k.Aggregates() {
			own := shape{"properties": shape{kind: shape{"pattern": `\[\]`}}} // an array of the document
			then = shape{"if": own, "then": optionsOf(kind, []string{"where"}), "else": then}
		}
		all = append(all, shape{"if": is, "then": then})
	}
	return append(all, shape{"anyOf": append(any, optionsOf(string(model.Computed), nil))})
}

// optionsOf returns the shape of a rule of one kind that has these options and no others; one with a ! must be there.
func optionsOf(kind string, options []string) shape {
	names, required := []string{kind}, []string{kind}
	for _, option := range options {
		name, must := strings.CutSuffix(option, "!")
		names = append(names, name)
		if must {
			required = append(required, name)
		}
	}
	return shape{"required": required, "propertyNames": shape{"enum": append(names, "takeOver", "publish")}}
}

// encode returns a value as JSON, indented where indent is not "".
func encode(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil { // shapes are encodable
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
