// Package params reads the parameters of requests, and says what is wrong with them.
package params

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
)

// Cursor names the one parameter that may be empty, which stands for the beginning: clients that go from page to page begin
// with none.
const Cursor = "cursor"

// Parse returns the parameters of a query string. The error is Invalid where it cannot be read, has a parameter that is
// not known, one twice, or one without a value, by which whoever sends it meant something.
func Parse(raw string, known ...string) (url.Values, error) { return ParseRepeated(raw, "", known...) }

// ParseRepeated does what Parse does, and takes the parameters that repeated names, with blanks between, any number of times.
func ParseRepeated(raw, repeated string, known ...string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "the query string cannot be read: %v", err)
	}
	often := strings.Fields(repeated)
	for _, name := range slices.Sorted(maps.Keys(q)) { // so that the same request gets the same answer
		values := q[name]
		if !slices.Contains(known, name) && !slices.Contains(often, name) {
			list := "no parameters"
			if all := slices.Concat(known, often); len(all) > 0 {
				list = strings.Join(all, ", ")
			}
			return nil, fanfold.Errorf(fanfold.Invalid, "unknown parameter %q: this route takes %s", name, list)
		}
		if len(values) > 1 && !slices.Contains(often, name) {
			return nil, fanfold.Errorf(fanfold.Invalid, "parameter %q is given more than once", name)
		}
		if slices.Contains(values, "") && name != Cursor {
			return nil, fanfold.Errorf(fanfold.Invalid, "parameter %q has no value: give it one, or leave it out", name)
		}
	}
	return q, nil
}

// Bool returns the value of a parameter that is true or false, false where it is absent. The error is Invalid.
func Bool(q url.Values, name string) (bool, error) {
	switch v := q.Get(name); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fanfold.Errorf(fanfold.Invalid, "%s=%s is not true or false", name, v)
	}
}

// Int returns the value of a parameter that is a whole number from low to high, standard where it is absent. The error
// is Invalid.
func Int(q url.Values, name string, standard, low, high int) (int, error) {
	v := q.Get(name)
	if v == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, fanfold.Errorf(fanfold.Invalid, "%s=%s is not a whole number from %d to %d", name, v, low, high)
	}
	return n, nil
}

// Collections returns the names in a parameter that lists collections, nil where it is absent. The error is Invalid.
func Collections(q url.Values, name string) ([]string, error) {
	list := q.Get(name)
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	for _, c := range names {
		if err := fanfold.CheckCollection(c); err != nil {
			return nil, err
		}
	}
	return names, nil
}
