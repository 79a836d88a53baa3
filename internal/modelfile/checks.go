package modelfile

import (
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Bounds of the checks of a new model.
const (
	maxChecks  = 32   // of a collection
	maxMessage = 1000 // of a check, in bytes
)

// readCheck reads one check, such as {that: doc.left >= 0, message: "No seat is left"}, and adds it to its collection.
func readCheck(p *parser, c *model.Collection, name string, n jsondoc.Node, at string) {
	count := len(c.Checks)
	if !p.counted(&count, maxChecks, "checks in one collection", at) {
		return
	}
	reportName(p, "check", name, at)
	k := &model.Check{Name: name}
	c.Checks = append(c.Checks, k)
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with that and message")
		return
	}
	aCheck.read(p, n, at, func(member, at string, v jsondoc.Node) {
		switch member {
		case "that":
			if k.That = p.expression(v, at); k.That != "" {
				k.Reads, _ = expr.MembersRead(k.That)
			}
		case "message":
			if k.Message = p.text(v, at); p.isNew && len(k.Message) > maxMessage {
				p.problem(at, "a check's message has at most %d bytes", maxMessage)
			}
		}
	})
}
