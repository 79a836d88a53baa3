package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// chain returns a schema of n definitions; each refers to the next by keyword as often as times says.
func chain(n, times int, keyword string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		one := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		switch keyword {
		case "not", "if":
			one = fmt.Sprintf(`"%s":%s`, keyword, one)
		case "dependentSchemas":
			one = fmt.Sprintf(`"%s":{"a":%s,"b":%[2]s}`, keyword, one)
		default:
			one = fmt.Sprintf(`"%s":[%s]`, keyword, strings.TrimSuffix(strings.Repeat(one+",", times), ","))
		}
		fmt.Fprintf(&b, `"d%d":{%s},`, i, one)
	}
	fmt.Fprintf(&b, `"d%d":{"required":["x"]}}}`, n)
	return b.String()
}

// TestCheckNewBounds: a schema whose definitions multiply is refused, with the place and the figure; one that only
// repeats itself inside what it describes is not.
func TestCheckNewBounds(t *testing.T) {
	for source, want := range map[string]string{
		chain(20, 2, "allOf"):            `at "/$defs/d`,
		chain(26, 2, "allOf"):            "more than 10000 definitions",
		chain(26, 2, "anyOf"):            "more than 10000 definitions",
		chain(26, 2, "oneOf"):            "more than 10000 definitions",
		chain(26, 2, "dependentSchemas"): "more than 10000 definitions",
		chain(5, 9, "allOf"):             "more than 10000 definitions",
		chain(10, 2, "allOf"):            "",
		chain(100, 1, "allOf"):           "64 deep",
		chain(30, 1, "not"):              "",
		chain(31, 1, "if"):               "",
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`:   "without end",
		`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"if":{"$ref":"#/$defs/a"}}}}`:                                "without end",
		`{"$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n","allOf":[{"$dynamicRef":"#n"}]}}}`:                           "without end",
		`{"$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}}}`:                             "",
		`{"type":["object","array"],"additionalProperties":{"$ref":"#"},"items":{"$ref":"#"}}`:                               "",
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`:                                                            "",
		`{"$defs":{"a":{"$id":"urn:a","$schema":"http://json-schema.org/draft-07/schema#","type":"string"}},"$ref":"urn:a"}`: "a $schema is named",
		`{"pattern":"` + strings.Repeat("a{1000}", 20) + `"}`:                                                                "repeat less",
		`{"patternProperties":{"(a{1000}){10}":true}}`:                                                                       "repeat",
		`{"pattern":"` + strings.Repeat("a", 3000) + `"}`:                                                                    `at "/pattern"`,
		`{"pattern":"(?<!a)b"}`:                                        "pattern",
		`{"enum":["` + strings.Repeat("a", MaxBytes) + `"]}`:           "65536",
		`{"allOf":[` + strings.Repeat(`true,`, 9000) + `true]}`:        "",
		`{"allOf":[` + strings.Repeat(`true,`, 10000) + `true]}`:       "more than 10000 definitions",
		`{"enum":[` + strings.Repeat(`1e1000,`, 9000) + `1]}`:          "",
		`{"required":[` + strings.Repeat(`"a",`, 9000) + `"b"]}`:       "at \"/required\"",
		`{"properties":{` + manyProperties(2000) + `"z":true}}`:        "",
		`{"properties":{` + manyPatterns(500) + `"z":{}}}`:             "more than 8192 bytes",
		strings.Repeat(`{"not":`, 60) + `{}` + strings.Repeat(`}`, 60): "",
	} {
		began := time.Now()
		err := CheckNew([]byte(source))
		took := time.Since(began)
		if took > 50*time.Millisecond {
			t.Logf("%.60s took %v", source, took)
		}
		if took > 15*time.Second || want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) || err != nil && len(err.Error()) > 2000 {
			t.Errorf("%.60s: %.300v, want %q, in %v", source, err, want, took)
		}
	}
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{"type":"string"},`, i)
	}
	return b.String()
}

func manyPatterns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{"pattern":"%d%s"},`, i, i, strings.Repeat(`(?i)\\pL`, 10))
	}
	return b.String()
}

// list returns a document with a list of n elements.
func list(n int, element func(i int) string) string {
	var b strings.Builder
	b.WriteString(`{"l":[` + element(0))
	for i := 1; i < n; i++ {
		b.WriteString("," + element(i))
	}
	return b.String() + "]}"
}

// repeated returns a function that gives the same element each time.
func repeated(element string) func(int) string { return func(int) string { return element } }

// trees returns the i-th of many lists of empty lists that the library's hash cannot tell apart.
func trees(i int) string {
	var b strings.Builder
	for bit := range 20 {
		if i>>bit&1 == 1 {
			b.WriteString("[[]],")
		} else {
			b.WriteString("[],[],")
		}
	}
	return "[" + strings.TrimSuffix(b.String(), ",") + "]"
}

// TestWorkIsBounded: no document takes long to be checked by any schema, also one that was accepted before schemas had
// bounds.
func TestWorkIsBounded(t *testing.T) {
	const maxTime, maxAllocated = 15 * time.Second, 1 << 30
	all := `{"properties":{"l":{"items":%s}}}`
	for name, c := range map[string]struct{ schema, doc string }{
		"doubling":             {chain(26, 2, "allOf"), `{}`},
		"doubling anyOf":       {chain(26, 2, "anyOf"), `{}`},
		"doubling oneOf":       {chain(26, 2, "oneOf"), `{}`},
		"doubling downwards":   {`{"additionalProperties":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`, strings.Repeat(`{"a":`, 60) + `{}` + strings.Repeat(`}`, 60)},
		"doubling by patterns": {`{"patternProperties":{"a":{"$ref":"#"},"^a":{"$ref":"#"}}}`, strings.Repeat(`{"a":`, 60) + `{}` + strings.Repeat(`}`, 60)},
		"unevaluated":          {`{"properties":{"l":{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"contains":{"const":1}},`, 100), ",") + `],"unevaluatedItems":false}}}`, list(100_000, repeated("2"))},
		"unique":               {`{"properties":{"l":{"uniqueItems":true}}}`, list(100_000, func(i int) string { return fmt.Sprint(i) })},
		"unique, alike":        {`{"properties":{"l":{"uniqueItems":true}}}`, list(30_000, trees)},
		"unique at each level": {`{"uniqueItems":true,"additionalProperties":{"$ref":"#"},"items":{"$ref":"#"}}`, `{"a":` + strings.Repeat("[", 60) + strings.TrimSuffix(strings.Repeat("1,", 50_000), ",") + strings.Repeat("]", 60) + "}"},
		"enum of numbers":      {fmt.Sprintf(all, `{"enum":[`+strings.Repeat(`1e999,`, 5000)+`1]}`), list(100_000, repeated("2"))},
		"large numbers":        {fmt.Sprintf(all, `{"minimum":1e-999,"multipleOf":1e-999}`), list(100_000, repeated("1e999"))},
		"long numbers":         {fmt.Sprintf(all, `{"multipleOf":0.`+strings.Repeat("7", 900)+`}`), list(2000, repeated(strings.Repeat("7", 990)))},
		"patterns":             {`{"properties":{"s":{"pattern":"^(x+x+)+y$"}}}`, `{"s":"` + strings.Repeat("x", 2_000_000) + `"}`},
		"patterns of names":    {`{"patternProperties":{` + strings.TrimSuffix(strings.Repeat(`"(x+x+)+`, 1), ",") + `y":true}}`, `{"` + strings.Repeat("x", 2_000_000) + `":1}`},
		"many mistakes":        {fmt.Sprintf(all, `{"allOf":[`+strings.TrimSuffix(strings.Repeat(`{"type":"string"},`, 500), ",")+`]}`), list(100_000, repeated("1"))},
		"mistakes of contains": {`{"properties":{"l":{"contains":{"enum":["` + strings.Repeat("a", 60_000) + `"]}}}}`, list(300_000, repeated("1"))},
		"a long mistake":       {`{"properties":{"s":{"const":"a"}},"additionalProperties":false}`, `{"s":"` + strings.Repeat("x", 1_000_000) + `","` + strings.Repeat("y", 1_000_000) + `":1}`},
		"without end":          {`{"$ref":"#"}`, `{}`},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		problems := s.Check([]byte(c.doc))
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		size := 0
		for _, p := range problems {
			size += len(p.Path) + len(p.Detail)
		}
		t.Logf("%s: %v, %d MB: %.120v", name, took.Round(time.Millisecond), allocated>>20, problems)
		if took > maxTime || allocated > maxAllocated || size > 50_000 {
			t.Errorf("%s took %v and %d MB, for %d bytes of problems", name, took, allocated>>20, size)
		}
	}
}

// TestOrdinaryDocumentsHaveRoom: a large document of an ordinary kind is not near the bound of work.
func TestOrdinaryDocumentsHaveRoom(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","required":["id","name"],"additionalProperties":false,
"properties":{"id":{"type":"integer","minimum":1},"name":{"type":"string","minLength":1,"pattern":"^[A-Za-z ]+$"},"kind":{"enum":["a","b","c"]},
"tags":{"type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/tag"}},"at":{"anyOf":[{"type":"null"},{"type":"string","format":"date-time"}]}}}}},
"$defs":{"tag":{"type":"string","maxLength":20}}}`))
	if err != nil {
		t.Fatal(err)
	}
	doc := list(16_000, func(i int) string {
		return fmt.Sprintf(`{"id":%d,"name":"Some ordinary name","kind":"b","tags":["one","two","three"],"at":"2026-01-02T03:04:05Z"}`, i+1)
	})
	began := time.Now()
	problems := s.Check([]byte(doc))
	t.Logf("%d bytes took %v", len(doc), time.Since(began))
	if problems != nil {
		t.Errorf("%v", problems)
	}
	in := <-s.idle
	if used := s.work([]byte(doc)) - in.left; used > maxWork/2 {
		t.Errorf("it took %d steps", used)
	}
	s.idle <- in
}

// TestEachFormatIsAsserted: every format that is known refuses something, takes what it should, and reads long text in
// bounded time.
func TestEachFormatIsAsserted(t *testing.T) {
	good := map[string]string{"date": "2026-02-28", "date-time": "2026-02-28T10:00:00Z", "duration": "P1D", "email": "a@b.example", "hostname": "a.example",
		"ipv4": "10.0.0.1", "ipv6": "::1", "iri": "https://a.example/ä", "iri-reference": "/ä", "json-pointer": "/a/b", "relative-json-pointer": "1/a",
		"time": "10:00:00Z", "uri": "https://a.example/", "uri-reference": "/a", "uri-template": "/a/{b}", "uuid": "0190c0de-7a2b-7000-8000-000000000000"}
	bad := map[string]string{"uri-reference": "a\\b", "iri-reference": "a\\b", "json-pointer": "a", "uri-template": "{"}
	long := strings.Repeat("a.b/", 1<<18)
	for _, format := range Formats {
		source := []byte(`{"properties":{"v":{"format":"` + format + `"}}}`)
		if err := CheckNew(source); err != nil {
			t.Fatal(err)
		}
		s, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		wrong := bad[format]
		if wrong == "" {
			wrong = "no such thing"
		}
		for text, want := range map[string]bool{good[format]: true, wrong: false} {
			if got := s.Check([]byte(`{"v":`+string(jsondoc.Quote(text))+`}`)) == nil; got != want {
				t.Errorf("%s takes %q: %v", format, text, got)
			}
		}
		began := time.Now()
		s.Check([]byte(`{"v":"` + long + `"}`))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: a long text took %v", format, took)
		}
	}
}

// TestPlacesOfNumbers checks many numbers below a long name: where each stands is not written down, but where one is at fault.
func TestPlacesOfNumbers(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 100_000)
	doc := []byte(`{"` + name + `":[1` + strings.Repeat(",1", 50_000) + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	problems := s.Check(doc)
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; len(problems) > 0 || took > 100 {
		t.Errorf("the check gives %v and allocated %d MiB", problems, took)
	}
	problems = s.Check([]byte(`{"a/b":[1,{"c":1e2000}]}`))
	if len(problems) != 1 || problems[0].Path != "/a~1b/1/c" {
		t.Errorf("an extreme number gives %v", problems)
	}
}
