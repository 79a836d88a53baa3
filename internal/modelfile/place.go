package modelfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/yamltext"
)

// invalidAt returns an Invalid with the place that err has.
func invalidAt(err error, message string) error {
	e := fanfold.Errorf(fanfold.Invalid, "%s: %v", message, err)
	var place *yamltext.Error
	if errors.As(err, &place) {
		e.Line, e.Column = place.Line, place.Column
	}
	return e
}

// Locate returns an error about the model that a text declares. Each of its problems gets the line and the column of the innermost
// member that the text has of the problem's path. within is the path of what the text declares, "" for a whole
// model. Problems about something else have no line, nor has any of a text that is no model. The place that a problem has
// within the source of a function becomes one in the text. It is told in the detail where the text has the source in other lines.
func Locate(err error, src []byte, within string) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || len(e.Problems) == 0 {
		return err
	}
	if len(src) > MaxBytes {
		return err
	}
	place, placeWithin := yamltext.Places(src)
	located := *e
	located.Problems = slices.Clone(e.Problems)
	for i := range located.Problems {
		p := &located.Problems[i]
		rest, ok := strings.CutPrefix(p.Path, within)
		if !ok || p.Key.ID != "" {
			continue
		}
		if within == "" && rest != "" {
			rest = "." + rest
		}
		if line, column, ok := placeWithin(rest, p.Line, p.Column); ok {
			p.Line, p.Column = line, column
			continue
		}
		if p.Line > 0 {
			p.Detail = fmt.Sprintf("line %d, column %d of it: %s", p.Line, p.Column, p.Detail)
		}
		p.Line, p.Column = place(rest)
	}
	return &located
}
