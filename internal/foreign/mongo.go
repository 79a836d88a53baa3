package foreign

import (
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// unformed names the values of extended JSON that JSON has no form for, by the first member of their objects.
var unformed = map[string]string{
	"$binary": "binary", "$type": "binary", "$uuid": "binary, a UUID", "$regularExpression": "a regular expression", "$regex": "a regular expression",
	"$timestamp": "a timestamp of replication", "$code": "code", "$minKey": "the least key", "$maxKey": "the greatest key", "$undefined": "undefined",
	"$dbPointer": "a pointer to a document", "$ref": "a reference to a document of a collection",
}

// extended writes what an object of extended JSON means. done is false for an object that is none. The error is a *Refusal.
func (c *converter) extended(n jsondoc.Node) (done bool, err error) {
	first := c.t.First(n)
	if first == jsondoc.None || !strings.HasPrefix(c.t.Key(first), "$") {
		return false, nil
	}
	name, text, single := c.t.Key(first), c.t.Text(first), c.t.Next(first) == jsondoc.None
	if what := unformed[name]; what != "" {
		return true, c.without(n, what)
	}
	isText := c.t.Kind(first) == jsondoc.String
	if !single {
		return false, nil
	}
	switch {
	case (name == "$oid" || name == "$symbol") && isText:
		c.out = append(c.out, c.t.Raw(first)...)
	case (name == "$numberLong" || name == "$numberInt" || name == "$numberDouble" || name == "$numberDecimal") && isText:
		if c.number(text) != nil {
			return true, c.without(n, strings.TrimPrefix(name, "$")+" "+strconv.Quote(clip(text)))
		}
	case name == "$date":
		return true, c.date(n, first)
	default:
		return false, nil
	}
	return true, nil
}

// date writes the time that the member $date of an object has, as RFC 3339. The error is a *Refusal.
func (c *converter) date(object, n jsondoc.Node) error {
	text := c.t.Text(n)
	if c.t.Kind(n) == jsondoc.String {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			at, err = time.Parse("2006-01-02T15:04:05.999999999Z0700", text)
		}
		if err != nil {
			return c.refuse(n, "%.80q is no time of RFC 3339", text)
		}
		c.out = jsondoc.AppendQuote(c.out, at.Format(time.RFC3339Nano))
		return nil
	}
	if long := c.t.Member(n, "$numberLong"); long != jsondoc.None {
		text = c.t.Text(long)
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return c.refuse(n, "it is no time: want RFC 3339, or milliseconds since 1970")
	}
	return c.time(object, time.UnixMilli(ms))
}

// time writes a time as RFC 3339. The error is a *Refusal for one whose year does not have four digits.
func (c *converter) time(n jsondoc.Node, at time.Time) error {
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
		return c.without(n, "a time outside the years 1 to 9999")
	}
	c.out = jsondoc.AppendQuote(c.out, at.Format(time.RFC3339Nano))
	return nil
}

// clip shortens a text for a message.
func clip(text string) string { return text[:min(len(text), 40)] }
