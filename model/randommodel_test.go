package model_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// object is an object of a random model as JSON has it.
type object = map[string]any

// randomSource draws models of three collections with few names, so that two of them often declare the same thing, or the same
// path otherwise.
type randomSource struct{ *rand.Rand }

// model returns the source of a model.
func (r randomSource) model() object {
	collections := object{}
	for _, name := range []string{"people", "books", "shops"} {
		if r.once(6) {
			continue
		}
		collections[name] = object{}
	}
	m := object{"collections": collections}
	for range 20 {
		r.change(m)
	}
	return m
}

// once returns true about once in n times.
func (r randomSource) once(n int) bool { return r.IntN(n) == 0 }

// of returns one of the texts.
func (r randomSource) of(all ...string) string { return all[r.IntN(len(all))] }

// in returns the member of an object with a name, which it makes where there is none.
func in(o object, name string) object {
	if o[name] == nil {
		o[name] = object{}
	}
	return o[name].(object) //nolint:errcheck // it is
}

// change changes one declaration of a model. The model may be one that nobody can apply then.
func (r randomSource) change(m object) {
	collections := in(m, "collections")
	name := r.of("people", "books", "shops")
	if collections[name] == nil {
		return
	}
	c := in(collections, name)
	relation, path := r.of("by", "at"), r.of("a", "b.c", "list[].d")
	relations := in(c, "relations")
	switch r.IntN(17) {
	case 0:
		delete(relations, relation)
	case 1, 2:
		delete(in(c, "derive"), path)
	case 3, 4:
		relations[relation] = object{"path": r.of("ref", "list[].id", "a"), "to": r.of("people", "books"), "strict": r.once(4), "onDelete": r.of("clear", "keep", "keep", "cascade")}
	case 5, 6, 7:
		if relations[relation] != nil {
			in(c, "derive")[path] = object{"copy": relation, "value": r.of("doc.name", "doc.x"), "frozen": r.once(2), "takeOver": r.once(3)}
		}
	case 8:
		if to, ok := in(relations, relation)["to"].(string); ok && collections[to] != nil {
			in(in(collections, to), "derive")[r.of("n", "a")] = object{r.of("ids", "count"): name + "." + relation}
		}
	case 9:
		c["unique"] = [][]string{{"isbn"}, {"isbn", "code"}, {"code"}}[r.IntN(3)]
	case 10:
		c["release"] = []string{r.of("a", "b.c", "list[].d", "nTruncated")}
	case 11:
		c["schema"] = object{"type": "object", "required": []string{r.of("x", "y")}}
	case 12:
		if c["access"] = (object{"read": []string{r.of("read", "everyone")}}); r.once(3) {
			delete(c, "access")
		}
	case 13:
		if in(c, "indexes")[r.of("i", "j")] = []string{r.of("a", "-a"), r.of("b.c", "_meta.createdAt", "list[].d")}; r.once(3) {
			delete(c, "indexes")
		}
	case 14, 15:
		r.function(in(m, "functions"), collections)
	case 16:
		if c["trigger"] = r.of("check", "count"); r.once(2) || in(m, "functions")[c["trigger"].(string)] == nil { //nolint:errcheck // it is one
			delete(c, "trigger")
		}
	}
	if len(in(m, "functions")) == 0 {
		delete(m, "functions")
	}
	for name := range relations {
		if len(in(relations, name)) == 0 {
			delete(relations, name)
		}
	}
}

// function changes a function of a model, and now and then removes one.
func (r randomSource) function(functions, collections object) {
	f, reads := object{"source": "export default () => " + r.of("1", "2")}, []string{}
	for name := range collections {
		reads = append(reads, name)
	}
	slices.Sort(reads)
	if r.once(3) && len(reads) > 0 {
		f["reads"] = []string{r.of(reads...)}
	}
	if r.once(3) {
		f["call"], f["authority"] = []string{r.of("write", "admin")}, "model"
	}
	if r.once(3) {
		f["args"] = object{"required": []string{r.of("x", "y")}}
	}
	name := r.of("check", "count")
	if functions[name] = f; r.once(8) {
		delete(functions, name)
	}
}

// pair returns the sources of two models that can be applied; the second is mostly the first with a few changes.
func (r randomSource) pair() (prev, next []byte) {
	for {
		m := r.model()
		if prev = sourceOf(m); prev == nil {
			continue
		}
		if r.once(4) {
			m = r.model()
		}
		for range r.IntN(4) {
			r.change(m)
		}
		if next = sourceOf(m); next != nil {
			return prev, next
		}
	}
}

// sourceOf returns a model as JSON, nil where it cannot be applied.
func sourceOf(m object) []byte {
	text, err := json.Marshal(m)
	if err == nil {
		_, err = modelfile.Parse(text)
	}
	if err != nil {
		return nil
	}
	return text
}

// eachRandomPair calls fn for pairs of random models, which are the same ones every time.
func eachRandomPair(t *testing.T, n int, fn func(t *testing.T, prev, next *model.Model)) {
	r := randomSource{rand.New(rand.NewPCG(1, 2))}
	for range n {
		prev, next := r.pair()
		fn(t, parse(t, string(prev)), parse(t, string(next)))
		if t.Failed() {
			t.Fatalf("%s\n%s", prev, next)
		}
	}
}

// names returns the name of each by the function of, sorted.
func names[T any](all []T, of func(T) string) []string {
	var out []string
	for _, one := range all {
		if name := of(one); name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
