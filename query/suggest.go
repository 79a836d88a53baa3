package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// Bounds of a model's indexes, which a suggestion keeps.
const (
	maxComponents = 8
	maxIndexes    = 64 // of a collection
	maxIndexName  = 64 // bytes
)

// suggestion is an index that would serve a request.
type suggestion struct {
	patch RawPatch // for the model
	line  string   // of YAML
}

// suggest returns an index by which the request is answered within its bounds, nil where none is known. For a request that was
// answered it is one that has it look at less.
func (r *run) suggest() *suggestion {
	if len(r.planner.indexes) >= maxIndexes || r.out.Complete && !r.wasteful() {
		return nil
	}
	for _, list := range r.proposals() {
		index := &model.Index{Collection: r.q.Collection(), Components: list}
		if len(list) == 0 || len(list) > maxComponents || r.declares(index) || r.begins(index) {
			continue
		}
		if r.wouldServe(index) {
			index.Name = r.freeName(list)
			return suggested(index)
		}
	}
	return nil
}

// wasteful tells whether a run has looked at more documents than it gave, and at many more where a person has it explained.
func (r *run) wasteful() bool {
	if r.sure {
		return r.out.Documents > r.given
	}
	return r.out.Documents > 2*r.given+10
}

// suggests tells whether a run that was answered is to suggest an index.
func (r *run) suggests() bool {
	wanted := r.q.request.Suggest
	return wanted != nil && r.q.request.Visible == nil && r.wasteful() && wanted()
}

// declares tells whether an index with the same components is there.
func (r *run) declares(x *model.Index) bool {
	return slices.ContainsFunc(r.planner.indexes, func(o *model.Index) bool { return o.Declaration() == x.Declaration() })
}

// begins tells whether an index is there that begins with the same components, and so decides as much. It may not give the order of a
// sort, for its ties go by its further components.
func (r *run) begins(x *model.Index) bool {
	return r.q.sort == nil && slices.ContainsFunc(r.planner.indexes, func(o *model.Index) bool {
		n := len(x.Components)
		return len(o.Components) > n && (o.Array() == nil || x.Array() != nil) &&
			(&model.Index{Components: o.Components[:n]}).Declaration() == x.Declaration()
	})
}

// proposals returns the components of indexes that could serve, the best first.
func (r *run) proposals() (all [][]model.Component) {
	arrays := []int{noArray}
	for i, c := range r.filter.conjuncts {
		if len(arrays) <= maxArrayChoices && c.Array != "" && len(c.Tests) > 0 {
			arrays = append(arrays, i)
		}
	}
	if g := r.q.grouping; g != nil {
		p := r.proposal(noArray)
		p.add(p.equal...)
		p.add(g.by.Components...)
		for _, a := range g.compute {
			if a.of != nil {
				p.add(a.of.Components...)
			}
		}
		p.add(p.ranges...)
		all = append(all, p.list)
	}
	slices.Reverse(arrays) // one with an element first
	for _, array := range arrays {
		if r.q.sort != nil {
			p := r.proposal(array)
			p.add(p.equal...)
			p.add(r.q.sort.Components...)
			all = append(all, p.list)
		}
	}
	for _, array := range arrays {
		p := r.proposal(array)
		p.add(p.equal...)
		p.add(p.ranges...)
		all = append(all, p.list)
	}
	return all
}

// proposal collects the components of an index.
type proposal struct {
	equal, ranges []model.Component // of the filter's tests: those that have single values, and the others
	list          []model.Component
}

// proposal returns what an index could decide of the filter, with one conjunct about an array's elements.
func (r *run) proposal(array int) *proposal {
	p := &proposal{}
	if component, err := modelfile.ParseComponent(r.planner.within.term); err == nil && component.Term() == r.planner.within.term {
		p.equal = append(p.equal, component)
	}
	for i, c := range r.filter.conjuncts {
		if c.Array != "" && i != array {
			continue
		}
		for _, t := range c.Tests {
			component, err := modelfile.ParseComponent(t.Term)
			if err != nil || component.Term() != t.Term {
				continue
			}
			if len(t.Ranges) > 0 && allPoints(t.Ranges) {
				p.equal = append(p.equal, component)
			} else {
				p.ranges = append(p.ranges, component)
			}
		}
	}
	return p
}

// add adds components to the list that are not in it.
func (p *proposal) add(components ...model.Component) {
	for _, c := range components {
		if c.Timed == nil && !slices.ContainsFunc(p.list, func(o model.Component) bool { return o.Term() == c.Term() }) {
			p.list = append(p.list, c)
		}
	}
}

// wouldServe tells whether the request would be answered by an index.
func (r *run) wouldServe(index *model.Index) bool {
	for _, array := range r.planner.arrayChoices(index) {
		x := &indexSource{index: index}
		out := r.planner.newPlan("", "", x)
		out.index = x
		r.planner.fit(out, array)
		tested := (out.byWithin || slices.Contains(out.used, true)) && x.ranges.narrows()
		r.planner.orders(out)
		switch {
		case r.q.grouping != nil && out.covers:
			return out.grouped || !r.tooManyGroups
		case r.q.grouping == nil && out.decides() && (r.q.sort == nil && tested || out.ordered):
			return true
		case tested && r.sure && r.halfWouldMatch(out):
			return true
		case tested && !r.sure && r.fewWouldMatch(out):
			return true
		}
	}
	return false
}

// narrows tells whether the ranges leave any entries out.
func (k *keyRanges) narrows() bool {
	return len(k.streams) != 1 || !bytes.Equal(k.streams[0].low, leastKey) || k.streams[0].high != nil
}

// sampleSize is how many of the documents that a run has looked at are looked at again, to find out what an index would leave.
const sampleSize = 1000

// sampleTime is how long they may take.
const sampleTime = 200 * time.Millisecond

// sample has the numbers of documents that a run has looked at, evenly spread.
type sample struct {
	numbers  []int64
	stride   int
	seen     int
	misnamed misnamed // of the first ones
}

// note notes a document.
func (s *sample) note(number int64) {
	if s.stride == 0 {
		s.stride = 1
	}
	if s.seen%s.stride == 0 {
		if len(s.numbers) == 2*sampleSize {
			for i := range sampleSize {
				s.numbers[i] = s.numbers[2*i]
			}
			s.numbers, s.stride = s.numbers[:sampleSize], 2*s.stride
		}
		if s.seen%s.stride == 0 {
			s.numbers = append(s.numbers, number)
		}
	}
	s.seen++
}

// fewWouldMatch tells whether the part of the filter that a plan uses leaves no more documents than may be looked at, as far as those
// tell that were looked at.
func (r *run) fewWouldMatch(x *plan) bool {
	hits, n, ok := r.judgeSample(x, r.sample.numbers)
	if !ok || n == 0 {
		return false
	}
	const all = maxEntries + 1
	total, err := r.plan.source.count(r.s, all)
	if err != nil {
		return false
	}
	return 2*(hits+1)*int(total) <= n*r.q.request.MaxScan // twice the share: the documents looked at may be luckier than others
}

// halfWouldMatch tells whether the part of the filter that a plan uses leaves at most half of the documents that were looked at. It asks a
// few of them.
func (r *run) halfWouldMatch(x *plan) bool {
	const few = 100
	numbers := r.sample.numbers
	if n := len(numbers); n > few { // evenly spread
		spread := make([]int64, few)
		for i := range spread {
			spread[i] = numbers[i*n/few]
		}
		numbers = spread
	}
	hits, n, ok := r.judgeSample(x, numbers)
	return ok && 2*hits <= n
}

// judgeSample asks documents the part of the filter that a plan uses. It returns of how many that is true, and how many there are. ok is false
// where nothing is known.
func (r *run) judgeSample(x *plan, numbers []int64) (hits, n int, ok bool) {
	for i, used := range r.plan.used {
		if used && !x.used[i] {
			return 0, 0, false // of what other documents it leaves nothing is known
		}
	}
	judged := r.filter.only(func(i int) bool { return !x.used[i] })
	begin := time.Now()
	for _, number := range numbers {
		if time.Since(begin) > sampleTime {
			return 0, 0, false
		}
		doc, err := r.s.ByNumber(number, fanfold.Embedded)
		if err != nil || doc == nil {
			return 0, 0, false
		}
		facts, err := r.facts(doc)
		if err != nil {
			return 0, 0, false
		}
		verdict, err := judged.judge(facts)
		if err != nil {
			return 0, 0, false
		}
		if n++; verdict == expr.True {
			hits++
		}
	}
	return hits, n, true
}

// freeName returns a name for an index that none has.
func (r *run) freeName(list []model.Component) string {
	taken := map[string]bool{}
	for _, x := range r.planner.indexes {
		taken[x.Name] = true
	}
	if c := r.q.model.Collection(r.q.Collection()); c != nil {
		for _, x := range c.Indexes {
			taken[x.Name] = true
		}
	}
	words := []string{nameOf(list[0])}
	for i := 0; taken["by"+strings.Join(words, "")]; i++ {
		if i+1 < len(list) {
			words = append(words, nameOf(list[i+1]))
		} else {
			words = append(words[:min(len(words), len(list))], fmt.Sprint(i))
		}
	}
	return "by" + strings.Join(words, "")
}

// nameOf returns a word for a component, such as Customer for customerId.
func nameOf(c model.Component) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(c.Term(), "_meta."), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if word != "doc" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	name := strings.TrimSuffix(b.String(), "Id")
	const most = 24
	if len(name) > most {
		name = name[:most]
	}
	if len(name) == 0 {
		return "Value"
	}
	return name
}

// plain is what needs no quotes in YAML's lists.
var plain = regexp.MustCompile(`^-?[A-Za-z_][A-Za-z0-9_.-]*$`)

// suggested returns an index as a patch and a line.
func suggested(x *model.Index) *suggestion {
	parts := make([]string, len(x.Components))
	for i, c := range x.Components {
		if parts[i] = c.String(); !plain.MatchString(parts[i]) {
			parts[i] = string(jsondoc.Quote(parts[i]))
		}
	}
	patch := fmt.Appendf(nil, `{"collections":{%s:{"indexes":{%s:%s}}}}`, jsondoc.Quote(x.Collection), jsondoc.Quote(x.Name), x.Declaration())
	return &suggestion{json.RawMessage(patch), x.Name + ": [" + strings.Join(parts, ", ") + "]"}
}

// noSuggestion says why no index is suggested, and what helps.
func (r *run) noSuggestion() string {
	tested := slices.ContainsFunc(r.filter.conjuncts, func(c conjunct) bool { return len(c.Tests) > 0 })
	switch {
	case len(r.planner.indexes) >= maxIndexes:
		return fmt.Sprintf("The collection has %d indexes already, which is the most", maxIndexes)
	case r.tooManyGroups:
		return "Groups without a bound on their number come page by page in the order of their keys: have an index begin with these, leave out sort, or filter"
	case r.q.request.Within != nil:
		return "These documents are walked by their relation: ask the collection itself by a filter on the member that refers, for which an index may serve"
	case len(r.filter.conjuncts) > 0 && !tested:
		return "No index decides " + r.whole.source + ": have the model derive its value, and compare that, or index an expression that is compared with a constant"
	case len(r.filter.conjuncts) > 0 && r.rest.source == "":
		return "What an index could decide leaves too many documents: ask for less, or raise maxScan"
	case len(r.filter.conjuncts) > 0:
		return "What an index could decide leaves too many documents: ask for less, raise maxScan, or compare an indexed expression with a constant in place of " + r.rest.source
	}
	return "No filter says which documents are meant: ask for fewer in a page, or raise maxScan"
}
