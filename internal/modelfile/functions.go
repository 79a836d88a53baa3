package modelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Bounds of the functions of a new model.
const (
	maxFunctions    = 100
	maxFunctionName = 64       // bytes
	maxSource       = 64 << 10 // bytes of one function's text
	maxSources      = 1 << 20  // bytes of all of them together
)

// functionName is what a function is called: it stands in paths of the API, in metrics and in names of files.
var functionName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// authorityModel is the only authority that a function says: it may do everything.
const authorityModel = "model"

// readFunction reads one function, such as {args: {type: object}, call: [write], source: "export default (ctx, args) => null"}, and adds it to
// the model. Whoever runs functions reads the source itself, so that no program that folds needs JavaScript.
func readFunction(p *parser, name string, n jsondoc.Node, at string) {
	count := len(p.model.Functions)
	if !p.counted(&count, maxFunctions, "functions", at) {
		return
	}
	if len(name) > maxFunctionName || !functionName.MatchString(name) {
		p.problem(at, "cannot name a function: use [a-zA-Z][a-zA-Z0-9_-]*, at most %d bytes", maxFunctionName)
	}
	f := &model.Function{Name: name, Call: []string{model.RoleWrite}}
	p.model.Functions = append(p.model.Functions, f)
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with source")
		return
	}
	said := false
	aFunction.read(p, n, at, func(member, at string, v jsondoc.Node) {
		switch member {
		case "args":
			f.Args = p.schema(v, at)
		case "call":
			said, f.Call = true, p.roles(v, at)
		case "reads":
			f.Reads = readReads(p, v, at)
		case "authority":
			if f.AsModel = p.tree.Kind(v) == jsondoc.String && p.tree.Text(v) == authorityModel; !f.AsModel {
				p.problem(at, "must be %s, with which the function may do everything; without authority it may do what its caller may", authorityModel)
			}
		case "source":
			f.Source = readSource(p, v, at)
		}
	})
	if f.AsModel && !said {
		p.problem(at+".authority", "lets the function do everything: say who may call it, with call, a list of roles")
	}
}

// readReads reads a list of collections, and returns it sorted.
func readReads(p *parser, n jsondoc.Node, at string) (collections []string) {
	for c := range p.list(n, at, "collections") {
		if len(collections) == maxCollections && p.isNew {
			p.problem(at, "has more than %d collections", maxCollections)
			return collections
		}
		switch name := p.text(c, at); {
		case name == "": // told by text
		case slices.Contains(collections, name):
			p.problem(at, "names %s twice", name)
		default:
			collections = append(collections, name)
		}
	}
	slices.Sort(collections)
	return collections
}

// readSource reads the text of a function.
func readSource(p *parser, n jsondoc.Node, at string) string {
	source := p.text(n, at)
	if !p.isNew {
		return source
	}
	switch p.sizes.sources += len(source); {
	case len(source) > maxSource:
		p.problem(at, "has %d bytes; at most %d are taken", len(source), maxSource)
	case p.sizes.sources > maxSources && p.sizes.sources-len(source) <= maxSources:
		p.problem(at, "with this one the model's functions have more than %d bytes of source", maxSources)
	}
	return source
}

// resolveFunctions reports collections that functions read and the model does not declare: writes of those have no gates, by which a function
// would notice them. It reports triggers that are no functions, too.
func resolveFunctions(p *parser) {
	for _, f := range p.model.Functions {
		for _, name := range f.Reads {
			if p.model.Collection(name) == nil {
				p.problem("functions."+f.Name+".reads", "unknown collection %q: declare it, if only as %s: {}", name, name)
			}
		}
	}
	for _, c := range p.model.Collections {
		if c.Trigger == "" || p.model.Function(c.Trigger) != nil {
			continue
		}
		names := "none"
		if len(p.model.Functions) > 0 {
			all := make([]string, len(p.model.Functions))
			for i, f := range p.model.Functions {
				all[i] = f.Name
			}
			names = strings.Join(all, ", ")
		}
		p.problem(fmt.Sprintf("collections.%s.trigger", c.Name), "unknown function %q: the model has %s", c.Trigger, names)
	}
}
