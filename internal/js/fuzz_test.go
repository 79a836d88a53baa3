package js

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestSameSteps: a run takes the same steps in each instance, beside others.
func TestSameSteps(t *testing.T) {
	p := load(t, shared(t), `export default (ctx, n) => {
		const m = new Map()
		for (let i = 0; i < 3000; i++) m.set("k" + Math.random(), { i, d: ctx.now, o: [i, { i }] })
		return [m.size, [...m.keys()].sort()[7], ctx.get("a").length]
	}`)
	want, as := call(t, p, Input{Seed: 9, Host: answering(`"x"`)})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if got, out := call(t, p, Input{Seed: 9, Host: answering(`"x"`)}); got != want || out.Steps != as.Steps || out.Memory != as.Memory {
					t.Errorf("%s %+v\n%s %+v", got, out, want, as)
				}
			}
		})
	}
	all.Wait()
}

// FuzzSource: any source ends in a result or an *Error, within memory, and the next call knows nothing of it.
func FuzzSource(f *testing.F) {
	for _, bomb := range bombs {
		f.Add("export default "+bomb.source, []byte(`{"a":1}`))
	}
	f.Add("export default async function* () { yield import('x') }", []byte("null"))
	f.Add("\x00\xff", []byte("1e999"))
	f.Fuzz(func(t *testing.T, source string, given []byte) {
		r := *shared(t)
		r.maxSteps = 200_000
		p, err := r.Load(t.Context(), source)
		var out Output
		if err == nil {
			out, err = p.Call(t.Context(), Input{Arguments: given, Host: func(_ context.Context, _ string, arguments []byte) ([]byte, error) {
				if jsondoc.Check(arguments, maxDepth+2) != nil {
					t.Errorf("the host is given %q", arguments)
				}
				return given, nil
			}})
		}
		var e *Error
		switch {
		case err == nil && jsondoc.Check(out.Result, maxDepth) != nil:
			t.Errorf("the result is %q", out.Result)
		case err != nil && !errors.As(err, &e) && jsondoc.Check(given, 4*maxDepth) == nil:
			t.Errorf("%v", err)
		case out.Memory > 40<<20 || out.Steps > r.maxSteps:
			t.Errorf("%+v", out)
		}
		if got, _ := call(t, load(t, shared(t), `export default () => [].concat([1], Object.keys({ a: 1 }))`), Input{}); got != `[1,"a"]` {
			t.Errorf("then %s", got)
		}
	})
}

// FuzzAnswer: what a host answers comes back from a function as it is, its numbers included.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{`{"a":[1.10,-0,1e400,{"#":12345678901234567890,"\u0023#":"#"}],"__proto__":{"x":0.10000000000000000001}}`,
		`[0.1,1E-7,9007199254740993]`, `"\u0000 "`, `{"then":1,"toJSON":2}`, `{"constructor":1e22,"1":2,"0":3}`, `{`, `nul`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := load(t, shared(t), `export default (ctx) => [ctx.get()]`)
		out, err := p.Call(t.Context(), Input{Host: answering(string(text))})
		if jsondoc.Check(text, maxDepth-1) != nil || len(text) > MaxResult/8 {
			return // too deep, no JSON, or longer in the end than a result
		}
		if err != nil || !jsondoc.Equal(out.Result, append(append([]byte("["), text...), ']')) {
			t.Errorf("%q gives %s, %v", text, out.Result, err)
		}
	})
}
