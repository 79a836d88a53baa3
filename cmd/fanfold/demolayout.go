package main

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// demoWidth is how many columns the tour takes.
const demoWidth = 100

// layout returns a JSON object with each member on a line of its own; arrays that are too long for that are folded.
func layout(doc []byte, indent string) string {
	t := jsondoc.MustParse(doc)
	var b strings.Builder
	b.WriteString(indent + "{\n")
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		line := fmt.Sprintf("%s  %s: %s", indent, jsondoc.Quote(t.Key(n)), t.Raw(n))
		if len(line) > demoWidth && t.Kind(n) == jsondoc.Array {
			line = fmt.Sprintf("%s  %s: [\n", indent, jsondoc.Quote(t.Key(n))) + foldArray(t, n, indent+"    ") + "]"
		}
		b.WriteString(line)
		if t.Next(n) != jsondoc.None {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	return b.String() + indent + "}"
}

// foldArray returns an array's elements, as many on each line as it has room for.
func foldArray(t *jsondoc.Tree, array jsondoc.Node, indent string) string {
	var lines []string
	line := indent
	for n := t.First(array); n != jsondoc.None; n = t.Next(n) {
		element := string(t.Raw(n))
		if t.Next(n) != jsondoc.None {
			element += ", "
		}
		if line != indent && len(line)+len(element) > demoWidth {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += element
	}
	return strings.Join(append(lines, line), "\n")
}

// wrap returns a line of the change feed, broken between its parts, where it has two spaces, to fit demoWidth.
func wrap(line, indent string) string {
	const room = "        "
	var b strings.Builder
	b.WriteString(indent)
	for start := 0; len(line) > demoWidth-len(indent); start = len(room) {
		at := strings.LastIndex(line[:demoWidth-len(indent)], "  ")
		if at < start+1 { // the first part is too long by itself
			next := strings.Index(line[start:], "  ")
			if next < 0 {
				break
			}
			at = start + next
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n" + indent)
		line = room + strings.TrimLeft(line[at:], " ")
	}
	return b.String() + line
}
