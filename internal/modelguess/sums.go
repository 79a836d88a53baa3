package modelguess

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// maxSummed bounds how many members of a holder are summed up.
const maxSummed = 20

// total is the sum of a member over the documents that refer to one.
type total struct {
	sum  decimal.Scaled
	text []byte
	of   int // documents
}

// totals has for each member its sums, by the id that the documents refer to.
type totals map[string]map[string]*total

// sums finds the numbers of targets that are sums of a member of the documents that refer to them.
func (r *relation) sums(ended over) {
	all := r.totals(ended)
	for _, of := range all {
		for _, t := range of {
			t.text = t.sum.Append(nil)
		}
	}
	some := map[string]int{}
	found := map[[2]string]*summed{}
	var t jsondoc.Tree
	for _, body := range r.to.bodies {
		if ended() {
			return
		}
		t.Reset(body)
		id := t.Text(t.Member(jsondoc.Root, "id"))
		for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
			name := t.Key(n)
			if t.Kind(n) != jsondoc.Number || name == "id" || r.to.owned[name] || strings.ContainsAny(name, ".[]") || len(some) >= maxPaths && some[name] == 0 {
				continue
			}
			some[name]++
			for path, of := range all {
				found[[2]string{name, path}] = found[[2]string{name, path}].note(t.Raw(n), of[id])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(some)) {
		best, most := "", &summed{}
		for _, path := range slices.Sorted(maps.Keys(all)) {
			if f := found[[2]string{name, path}]; f.equal > most.equal {
				best, most = path, f
			}
		}
		alike := strings.Contains(strings.ToLower(name), strings.ToLower(lastName(best)))
		if best == "" || float64(most.equal) < enough*float64(some[name]) || most.several < fewest || len(most.distinct) < convincing && !alike {
			continue
		}
		r.to.owned[name] = true
		r.to.derived = append(r.to.derived, derived{name, fmt.Sprintf("{ sum: %s.%s, of: %s }", r.from.name, r.name, yamlText(best)),
			fmt.Sprintf("%s of %d numbers are the sum of %s of those that refer", share(most.equal, some[name]), some[name], best)})
	}
}

// totals sums up the numbers of the documents that have the relation.
func (r *relation) totals(ended over) totals {
	all := totals{}
	var t jsondoc.Tree
	for _, body := range r.from.bodies {
		if ended() {
			return all
		}
		t.Reset(body)
		ids := map[string]struct{}{}
		numbers := map[string][]byte{}
		each(&t, jsondoc.Root, "", 0, func(path string, n jsondoc.Node) {
			switch {
			case path == r.member.path:
				ids[t.Text(n)] = struct{}{}
			case t.Kind(n) == jsondoc.Number && path != "id" && !strings.Contains(path, "[]") && !r.from.owned[path] && (all[path] != nil || len(all) < maxSummed):
				numbers[path] = t.Raw(n)
				if all[path] == nil {
					all[path] = map[string]*total{}
				}
			}
		})
		for id := range ids {
			if _, there := r.to.ids[id]; !there {
				continue
			}
			for path, text := range numbers {
				all[path][id] = all[path][id].plus(text)
			}
		}
	}
	return all
}

// plus returns the sum with one number more. A number that is too large takes no part.
func (t *total) plus(text []byte) *total {
	if t == nil {
		t = &total{}
	}
	n, err := decimal.ParseScaled(text)
	if err != nil {
		return t
	}
	if sum, err := t.sum.ExactSum(n); err == nil {
		t.sum = sum
		t.of++
	}
	return t
}

// summed counts how often a number of a target is the sum.
type summed struct {
	equal    int
	several  int // of more than one number
	distinct map[string]struct{}
}

// note compares a number with a sum, nil for one of nothing.
func (s *summed) note(number []byte, sum *total) *summed {
	if s == nil {
		s = &summed{distinct: map[string]struct{}{}}
	}
	if sum == nil {
		sum = &total{text: []byte("0")}
	}
	if !jsondoc.Equal(number, sum.text) && !isDouble(number, sum.text) {
		return s
	}
	s.equal++
	if sum.of > 1 {
		s.several++
	}
	if len(s.distinct) < convincing {
		s.distinct[string(sum.text)] = struct{}{}
	}
	return s
}

// isDouble tells whether a number is as near to a sum as doubles that were added up are: one of the two has all the digits of a double.
func isDouble(number, sum []byte) bool {
	if max(len(number), len(sum)) < 16 {
		return false
	}
	a, err := strconv.ParseFloat(string(number), 64)
	b, err2 := strconv.ParseFloat(string(sum), 64)
	return err == nil && err2 == nil && max(a-b, b-a) <= 1e-13*max(a, -a)
}
