package modelguess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
)

// Header begins every model that is proposed.
const Header = "# Proposed from a sample of documents. Nothing applies by itself: read it, change it, and fanfold model apply it.\n"

// Model returns a model for the documents of the sample, as YAML with the evidence beside each line. takeOver says that documents are stored
// already, so that rules take over the members that they have. The error is ctx's, which is asked every now and then.
func (s *Sample) Model(ctx context.Context, takeOver bool) ([]byte, error) {
	s.over = func() bool { return ctx.Err() != nil }
	s.measure()
	s.relate()
	s.derive()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := &strings.Builder{}
	out.WriteString(Header)
	if s.left > 0 {
		fmt.Fprintf(out, "# %d documents of further collections are left out.\n", s.left)
	}
	if len(s.collections) == 0 {
		out.WriteString("collections: {}\n")
		return []byte(out.String()), nil
	}
	out.WriteString("collections:\n")
	for _, c := range s.collections {
		c.write(out, takeOver)
	}
	text := out.String()
	if _, err := modelfile.Parse([]byte(text)); err != nil { // a name that no model takes, or rules that go in a circle
		why := fanfold.MessageOf(err)
		var known *fanfold.Error
		if errors.As(err, &known) && len(known.Problems) > 0 {
			why = known.Problems[0].String()
		}
		text = strings.Replace(text, "\n", "\n# It is not accepted as it is: "+comment(strings.Join(strings.Fields(why), " "))+"\n", 1)
	}
	return []byte(text), nil
}

// write writes what is proposed for the collection.
func (c *collection) write(out *strings.Builder, takeOver bool) {
	rules, unique := c.derived, c.uniques()
	evidence := fmt.Sprintf("%d documents", len(c.bodies))
	if c.left > 0 {
		evidence += fmt.Sprintf(", and %d that were not looked at", c.left)
	}
	if without := len(c.bodies) - len(c.ids); without > 0 {
		evidence += fmt.Sprintf("; %d without an id of their own", without)
	}
	if len(rules)+len(unique)+len(c.relations) == 0 {
		fmt.Fprintf(out, "  %s: {} # %s\n", yamlText(c.name), evidence)
		return
	}
	fmt.Fprintf(out, "  %s: # %s\n", yamlText(c.name), evidence)
	if len(unique) > 0 {
		var names, facts []string
		for _, m := range unique {
			names = append(names, yamlText(m.path))
			facts = append(facts, fmt.Sprintf("%d values of %s differ", m.values, comment(m.path)))
		}
		fmt.Fprintf(out, "    unique: [%s] # %s\n", strings.Join(names, ", "), strings.Join(facts, ", "))
	}
	if len(c.relations) > 0 {
		out.WriteString("    relations:\n")
		for _, r := range c.relations {
			lost := ""
			if n := r.member.values - r.hits; n > 0 {
				lost = fmt.Sprintf("; %d without a document, such as %s", n, comment(fanfold.Clip(r.lost)))
			}
			fmt.Fprintf(out, "      %s: { path: %s, to: %s } # %s of %d values are ids of %s%s\n", yamlText(r.name), yamlText(r.member.path), yamlText(r.to.name), share(r.hits, r.member.values), r.member.values, r.to.name, lost)
		}
	}
	if len(rules) == 0 {
		return
	}
	out.WriteString("    derive:\n")
	slices.SortFunc(rules, func(a, b derived) int { return cmp.Compare(a.path, b.path) })
	for _, d := range rules {
		rule := d.rule
		if takeOver {
			rule = strings.TrimSuffix(rule, " }") + ", takeOver: true }"
		}
		fmt.Fprintf(out, "      %s: %s # %s\n", yamlText(d.path), rule, comment(d.evidence))
	}
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	plainPath = regexp.MustCompile(`^doc(\.[A-Za-z][A-Za-z0-9_]*)+$`)
)

// yamlText returns a text as YAML has it, in quotes where it could mean something else.
func yamlText(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if plainName.MatchString(text) || plainPath.MatchString(text) {
			return text
		}
	}
	return string(jsondoc.Quote(text))
}

// comment returns a text without what would end a comment.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, text)
}

var plainMember = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// selection returns the expression for the member at a path without arrays.
func selection(path string) string {
	out := "doc"
	for name := range strings.SplitSeq(path, ".") {
		if plainMember.MatchString(name) {
			out += "." + name
		} else {
			out += "[" + string(jsondoc.Quote(name)) + "]"
		}
	}
	return out
}
