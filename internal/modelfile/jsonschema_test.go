package modelfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fanfold/fanfold"
)

// modelSchema returns the compiled schema of models.
func modelSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:model", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:model")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refusal returns why the schema refuses a model, nil where it does not.
func refusal(t *testing.T, s *jsonschema.Schema, src string) error {
	t.Helper()
	text, err := ToJSON([]byte(src))
	if err != nil {
		t.Fatal(src, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(src, err)
	}
	return s.Validate(doc)
}

// TestJSONSchemaTakesModels: the schema takes every model of this repository that Parse takes, and models with each member at its bound.
func TestJSONSchemaTakesModels(t *testing.T) {
	s, taken := modelSchema(t), 0
	takes := func(name, src string) {
		if _, err := Parse([]byte(src)); err != nil {
			return
		}
		taken++
		if err := refusal(t, s, src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(path)
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".md"): // whose blocks of YAML may be models
			for _, part := range strings.Split(string(src), "```yaml\n")[1:] {
				block, _, _ := strings.Cut(part, "```")
				takes(path, block)
			}
		case strings.HasSuffix(path, ".yaml"):
			takes(path, string(src))
		case strings.HasPrefix(path, filepath.Join(root, "projector", "fold", "testdata")): // commands with a model each
			for _, part := range strings.Split(string(src), "model\n")[1:] {
				block, _, _ := strings.Cut(part, "\n----")
				takes(path, block)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if taken < 40 {
		t.Errorf("%d models were found", taken)
	}
	for _, src := range []string{bookshop, "{}", "collections:", "collections: {a: }", "open:", "open: false\nfanout:\nembedded: {limit: 1}",
		"collections: {a: {relations: {r: {path: 'x[].y', to: a, onDelete: clear, strict: false}}, pages: , derive: }}",
		"collections: {a: {derive: {'l[].v': {value: element.x, takeOver: true, publish: false}, n: {count: 'l[]', where: element.x > 1}, m: {max: 'l[].x'}}}}",
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {m: {max: a.r, of: y}, l: {recent: a.r, max: 3, fields: [id], orderBy: _meta.updatedAt, where: doc.z}, k: {recent: a.r, max: 3, fields: [id], orderBy: {_meta: createdAt}}, i: {ids: a.r, limit: 100000}, c: {copy: r, value: doc.y, frozen: true}}}}",
		"collections: {a: {unique: [x, [y, 'lower(doc.z)']], indexes: {i: [x, -y]}, sequences: {n: {}, 'id.x': {per: doc.p, start: 9007199254740991, format: '{per}-{n:6}'}}, defaults: {x: null, y.z: {a: []}}, schema: true}}",
		"collections: {a: {access: {read: [], create: {roles: [a], where: 'doc.x == auth.sub'}, update: {}}, private: {x: [], 'l[].y': [b]}, release: [z], checks: {c: {that: doc.x > 1, message: m}}}}",
		"functions:", "functions: {}",
		"{collections: {a: {trigger: f}}, functions: {f: {source: x}, g: {args: true, call: [], reads: [], source: x}, h-_1: {args: {type: object}, call: [everyone], reads: [a], authority: model, source: x}}}",
		"functions: {" + strings.Repeat("f", maxFunctionName) + ": {source: " + strings.Repeat("x", maxSource) + "}}",
		"collections: {" + strings.Repeat("a", fanfold.MaxCollectionLen) + ": {relations: {" + strings.Repeat("é", maxName/2) + ": {path: x, to: b}}}, b: {}}",
	} {
		before := taken
		if takes(src, src); taken == before && !strings.Contains(src, "pages: ,") {
			_, err := Parse([]byte(src))
			t.Errorf("%s: %q", src, problems(t, err))
		}
	}
}

// TestJSONSchemaRefusesMistakes: the schema refuses each kind of mistake that it can tell of, and Parse refuses it, too.
func TestJSONSchemaRefusesMistakes(t *testing.T) {
	s := modelSchema(t)
	collection := func(text string) string { return "collections: {a: {" + text + "}, b: {}}" }
	function := func(text string) string { return "collections: {a: {}}\nfunctions: {f: {" + text + "}}" }
	derived := func(text string) string {
		return collection("relations: {r: {path: x, to: a}}, derive: {f: " + text + "}")
	}
	access := func(text string) string { return collection("access: " + text) }
	many := func(n int, entry string) (all string) {
		for i := range n {
			all += fmt.Sprintf(entry, i)
		}
		return all
	}
	for _, src := range []string{
		"7", "[]", "x: 1", "open: 1", "fanout: {limit: 0}", "fanout: {limit: 1.5}", "fanout: {most: 1}", "fanout: 7", "embedded: {limit: '7'}", "embedded: {limit: 99999999999}",
		"collections: []", "collections: {1a: {}}", "collections: {'a b': {}}", "collections: {" + strings.Repeat("a", fanfold.MaxCollectionLen+1) + ": {}}", "collections: {a: 1}",
		"collections: {" + many(maxCollections+1, "c%d: {}, ") + "}",
		collection("colour: 1"), collection("schema: []"), collection("schema: null"), collection("release: x"),
		collection("relations: {r: }"), collection("relations: {r: {to: a}}"), collection("relations: {r: {path: x}}"), collection("relations: {r: {path: '', to: a}}"),
		collection("relations: {r: {path: x, to: a, onDelete: drop}}"), collection("relations: {r: {path: x, to: a, strict: 'yes'}}"), collection("relations: {r: {path: x, to: a, at: 1}}"),
		collection("relations: {'r.s': {path: x, to: a}}"), collection("relations: {" + strings.Repeat("r", maxName+1) + ": {path: x, to: a}}"),
		collection("relations: {r: {path: " + strings.Repeat("r", MaxPath+1) + ", to: a}}"),
		collection("pages: {by: r}"), collection("pages: {size: 3}"), collection("pages: {by: r, size: 1001}"), collection("pages: 7"), collection("pages: {by: r, size: 7, at: 1}"), collection("pages: "),
		collection("unique: x"), collection("unique: [1]"), collection("unique: [[x]]"), collection("unique: [[x, x]]"), collection("unique: [x, x]"), collection("unique: ['']"),
		collection("unique: [[" + many(maxUniqueParts+1, "x%d, ") + "]]"), collection("unique: [" + many(maxUnique+1, "x%d, ") + "]"),
		collection("indexes: {i: []}"), collection("indexes: {i: x}"), collection("indexes: {1i: [x]}"), collection("indexes: {i: [1]}"), collection("indexes: {i: [x, x]}"),
		collection("indexes: {i: [" + many(maxComponents+1, "x%d, ") + "]}"), collection("indexes: {" + many(maxIndexesOf+1, "i%d: [x], ") + "}"),
		collection("checks: {c: }"), collection("checks: {c: {message: m}}"), collection("checks: {c: {that: ''}}"), collection("checks: {c: {that: doc.x, else: 1}}"), collection("checks: {'a b': {that: doc.x}}"),
		collection("checks: {c: {that: doc.x, message: " + strings.Repeat("m", maxMessage+1) + "}}"), collection("checks: {" + many(maxChecks+1, "c%d: {that: doc.x}, ") + "}"),
		collection("defaults: {id: 1}"), collection("defaults: {id.x: 1}"), collection("defaults: {_x: 1}"), collection("defaults: {'l[].x': 1}"), collection("defaults: []"), collection("defaults: {" + many(maxDefaults+1, "d%d: 1, ") + "}"),
		collection("sequences: {n: 1}"), collection("sequences: {n: {start: 0}}"), collection("sequences: {n: {per: 1}}"), collection("sequences: {n: {format: 1}}"), collection("sequences: {n: {by: x}}"), collection("sequences: {id: {}}"),
		collection("sequences: {_n: {}}"), collection("sequences: {'l[].n': {}}"), collection("sequences: {" + many(maxSequences+1, "n%d: {}, ") + "}"),
		collection("private: {id: [a]}"), collection("private: {x: a}"), collection("private: {x: [A]}"), collection("private: {" + many(maxPrivate+1, "m%d: [a], ") + "}"),
		access("[read]"), access(""), access("{reads: [a]}"), access("{read: everyone}"), access("{read: [1]}"), access("{read: ['']}"), access("{read: [Support]}"), access("{read: [9a]}"), access("{read: [a, b, a]}"),
		access("{write: [a], update: [b]}"), access("{create: [a], write: [b]}"), access("{write: [a], delete: [b]}"), access("{read: {role: [a]}}"), access("{read: {where: 1}}"), access("{read: }"),
		access("{write: [" + roles(33) + "]}"), access("{read: [" + strings.Repeat("r", 65) + "]}"),
		derived("1"), derived("{}"), derived("{colour: 1}"), derived("{takeOver: true}"), derived("{copy: r}"), derived("{copy: r, value: doc.x, count: a.r}"), derived("{copy: r, value: doc.x, where: doc.y}"),
		derived("{copy: r, value: doc.x, frozen: 1}"), derived("{value: doc.x, frozen: true}"), derived("{value: 1}"), derived("{count: a.r, of: x}"), derived("{sum: a.r}"), derived("{sum: a.r, of: ''}"),
		derived("{sum: 'l[].x', of: y}"), derived("{sum: 'l[].x', limit: 1}"), derived("{count: 'l[]', value: doc.x}"), derived("{ids: a.r, limit: 0}"), derived("{ids: a.r, limit: 100001}"), derived("{ids: a.r, where: doc.x}"),
		derived("{recent: a.r, max: 3}"), derived("{recent: a.r, fields: [x]}"), derived("{recent: a.r, max: 1001, fields: [x]}"), derived("{recent: a.r, max: 3, fields: []}"), derived("{recent: a.r, max: 3, fields: [x, x]}"),
		derived("{recent: a.r, max: b, fields: [x]}"), derived("{max: 3}"), derived("{max: a.r}"), derived("{recent: a.r, max: 3, fields: [x], orderBy: {_meta: deletedAt}}"), derived("{recent: a.r, max: 3, fields: [x], orderBy: 1}"),
		derived("{recent: a.r, max: 3, fields: [" + many(maxFields+1, "x%d, ") + "]}"), derived("{publish: 1, value: doc.x}"),
		collection("trigger: 1"), collection("trigger: "), collection("trigger: [f]"), collection("trigger: ''"), collection("trigger: a.b"),
		"functions: 1", "functions: {f: }", "functions: {f: x}", "functions: {1f: {source: x}}", "functions: {'a b': {source: x}}", "functions: {" + many(maxFunctions+1, "f%d: {source: x}, ") + "}",
		"functions: {" + strings.Repeat("f", maxFunctionName+1) + ": {source: x}}",
		function(""), function("source: 1"), function("source: ''"), function("source: [x]"), function("source: " + strings.Repeat("x", maxSource+1)), function("source: x, language: js"),
		function("source: x, args: 1"), function("source: x, args: []"), function("source: x, call: write"), function("source: x, call: [Write]"), function("source: x, call: [a, a]"), function("source: x, call: [" + roles(33) + "]"),
		function("source: x, reads: a"), function("source: x, reads: [1]"), function("source: x, reads: [a, a]"), function("source: x, reads: ['']"), function("source: x, authority: caller, call: [a]"), function("source: x, authority: model"),
		collection("derive: {id: {value: doc.x}}"), collection("derive: {_x: {value: doc.x}}"), collection("derive: []"),
	} {
		if err := refusal(t, s, src); err == nil {
			t.Errorf("the schema takes %.200s", src)
		}
		if _, err := Parse([]byte(src)); err == nil {
			t.Errorf("Parse takes %.200s", src)
		}
	}
}

// TestEveryMemberIsRead: whatever a mapping declares, the parser reads, and refuses a value of a wrong kind. Each has a sentence about it.
func TestEveryMemberIsRead(t *testing.T) {
	for at, d := range map[string]*mapping{
		"": wholeModel, "fanout": fanoutLimit, "embedded": embeddedLimit, "collections.a": aCollection, "collections.a.relations.r": aRelation,
		"collections.a.checks.c": aCheck, "collections.a.pages": somePages, "collections.a.sequences.n": aSequence, "collections.a.access": someAccess, "collections.a.access.read": aRight,
		"collections.a.derive.f": aRule, "functions.f": aFunction,
	} {
		for _, m := range d.members {
			if !strings.HasSuffix(m.about, ".") || strings.Count(m.about, " ") < 3 {
				t.Errorf("%s.%s: %q is no sentence", at, m.name, m.about)
			}
			place := strings.TrimPrefix(at+"."+m.name, ".")
			src := "[7, [7.5]]"
			for _, name := range reversed(strings.Split(place, ".")) {
				src = "{" + name + ": " + src + "}"
			}
			_, err := Parse([]byte(src))
			if err == nil {
				t.Errorf("%s is taken", src)
				continue
			}
			told := false
			for _, p := range problems(t, err) {
				p = strings.NewReplacer(`["f"]`, ".f", `["n"]`, ".n").Replace(p)
				told = told || strings.HasPrefix(p, place) && !strings.Contains(p, "unknown member")
			}
			if !told {
				t.Errorf("nothing is told of %s: %q", place, problems(t, err))
			}
		}
	}
}

// reversed returns words from the last to the first.
func reversed(words []string) (out []string) {
	for _, w := range words {
		out = append([]string{w}, out...)
	}
	return out
}
