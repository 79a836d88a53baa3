package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// everyKindModel has one of everything that a model can take away.
const everyKindModel = `
collections:
  authors: {derive: {works: {count: books.authors}}}
  publishers: {}
  presses: {}
  books:
    unique: [isbn]
    schema: {type: object, required: [title]}
    release: [old]
    relations:
      authors: {path: "authors[].id", to: authors}
      also: {path: "authors[].id", to: authors}
      pub: {path: pub, to: publishers, strict: true, onDelete: restrict}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      price: {copy: pub, value: doc.price, frozen: true}
    pages: {by: pub, size: 10}
fanout: {limit: 5000}
`

// TestModelThatTakesAwayAsks: a model that takes a rule or a guard away is refused with all that would go, changes nothing,
// and is taken once somebody says so.
func TestModelThatTakesAwayAsks(t *testing.T) {
	s := harness.OpenTemp(t, everyKindModel)
	s.Put("books", "b", `{"title":"T","isbn":"1"}`)
	const one = "collections: {covers: {}}"
	r := s.Want(http.StatusConflict, "PUT", "/v1/_model", one, "Content-Type", harness.YAMLType)
	if !strings.HasSuffix(r.Problem(), "model-removes") {
		t.Fatalf("it says %s", r.Body)
	}
	for _, path := range []string{"authors.derive.works", "books.unique", "books.schema", "books.relations.authors", "books.relations.pub", "books.derive.authors[].name", "books.derive.price", "books.pages"} {
		if !strings.Contains(string(r.Body), `"path":"collections.`+path+`"`) {
			t.Errorf("it does not name %s: %s", path, r.Body)
		}
	}
	before := s.Want(http.StatusOK, "GET", "/v1/_model", "")
	for _, weaker := range []string{
		strings.Replace(everyKindModel, "strict: true, ", "", 1),
		strings.Replace(everyKindModel, ", onDelete: restrict", "", 1),
		strings.Replace(strings.Replace(everyKindModel, ", frozen: true", "", 1), "{path: pub,", "{path: press,", 1),
		strings.Replace(everyKindModel, ", frozen: true", "", 1),
		strings.Replace(everyKindModel, "    unique: [isbn]\n", "", 1),
		strings.Replace(everyKindModel, "fanout: {limit: 5000}\n", "", 1),
		strings.Replace(everyKindModel, "schema: {type: object, required: [title]}", "schema: {type: object}", 1),
		strings.Replace(everyKindModel, "    pages: {by: pub, size: 10}\n", "", 1),
	} {
		s.Want(http.StatusConflict, "PUT", "/v1/_model", weaker, "Content-Type", harness.YAMLType)
		s.Want(http.StatusConflict, "PUT", "/v1/_model?background=true", weaker, "Content-Type", harness.YAMLType)
		s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", weaker, "Content-Type", harness.YAMLType)
	}
	harness.WantHeader(t, s.Want(http.StatusOK, "GET", "/v1/_model", ""), "ETag", before.Header.Get("ETag"))
	s.Want(http.StatusConflict, "PUT", "/v1/_model", one, "Content-Type", harness.YAMLType, "If-Match", "*") // names no model
	s.Want(http.StatusOK, "PUT", "/v1/_model", strings.Replace(everyKindModel, "strict: true, ", "", 1), "Content-Type", harness.YAMLType, "If-Match", before.Header.Get("ETag"))
	s.Want(http.StatusOK, "PUT", "/v1/_model?allowRemoval=true", one, "Content-Type", harness.YAMLType)
	harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body), `{"collections":{"covers":{}}}`)
}

// TestModelDiffSaysEverything: a dry run lists each declaration that differs.
func TestModelDiffSaysEverything(t *testing.T) {
	s := harness.OpenTemp(t, everyKindModel)
	for change, want := range map[string]string{
		"fanout: {limit: 5000}\n=>fanout: {limit: 10}\n":                                                  `{"path":"fanout.limit","change":"changed","detail":"10, was 5000"}`,
		"works: {count: books.authors}=>works: {count: books.authors}, n: {ids: books.authors, limit: 2}": `{"path":"collections.authors.derive.n","change":"added","detail":"{\"ids\":\"books.authors\",\"limit\":2}"}`,
		"value: doc.name=>value: doc.title":                                                               `{"path":"collections.books.derive.authors[].name","change":"changed","detail":"{\"copy\":\"authors\",\"value\":\"doc.title\"}, was {\"copy\":\"authors\",\"value\":\"doc.name\"}"}`,
		"onDelete: restrict=>onDelete: unlink":                                                            `{"path":"collections.books.relations.pub.onDelete","change":"changed","detail":"unlink, was restrict","removes":true}`,
		"strict: true, =>":                                                                                `{"path":"collections.books.relations.pub.strict","change":"removed","removes":true}`,
		"size: 10=>size: 20":                                                                              `{"path":"collections.books.pages","change":"changed","detail":"{\"by\":\"pub\",\"size\":20}, was {\"by\":\"pub\",\"size\":10}"}`,
		"unique: [isbn]=>unique: [ean]":                                                                   `{"path":"collections.books.unique","change":"added","detail":"ean"},{"path":"collections.books.unique","change":"removed","detail":"isbn","removes":true}`,
		"required: [title]=>required: [title, isbn]":                                                      `"path":"collections.books.schema","change":"changed"`,
		", frozen: true=>":                                                                                `"path":"collections.books.derive.price","change":"changed","detail":"{\"copy\":\"pub\",\"value\":\"doc.price\"}, was {\"copy\":\"pub\",\"value\":\"doc.price\",\"frozen\":true}","removes":true`,
		"to: publishers,=>to: presses,":                                                                   `"path":"collections.books.relations.pub","change":"changed","detail":"pub leads to presses, was pub to publishers","removes":true`,
		"frozen: true}=>frozen: true, takeOver: true}":                                                    `{"path":"collections.books.derive.price","change":"changed","detail":"{\"copy\":\"pub\",\"value\":\"doc.price\",\"frozen\":true,\"takeOver\":true}, was {\"copy\":\"pub\",\"value\":\"doc.price\",\"frozen\":true}"}`,
		"release: [old]=>release: [older]":                                                                `{"path":"collections.books.release","change":"added","detail":"older"},{"path":"collections.books.release","change":"removed","detail":"old"}`,
		"      authors: {path=>      writers: {path: \"authors[].id\", to: authors}\n      authors: {path": `{"path":"collections.books.relations.writers","change":"added"`,
		"{copy: authors, value=>{copy: also, value":                                                        `{"path":"collections.books.derive.authors[].name","change":"changed","detail":"{\"copy\":\"also\",\"value\":\"doc.name\"}, was {\"copy\":\"authors\",\"value\":\"doc.name\"}"}`,
		"  authors: {derive=>  covers: {}\n  authors: {derive":                                             `{"path":"collections.covers","change":"added"}`,
	} {
		before, after, _ := strings.Cut(change, "=>")
		body := string(s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", strings.Replace(everyKindModel, before, after, 1), "Content-Type", harness.YAMLType).Body)
		if !strings.Contains(body, want) {
			t.Errorf("%s: lacks %s:\n%s", change, want, body)
		}
	}
	if body := string(s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", everyKindModel, "Content-Type", harness.YAMLType).Body); !strings.Contains(body, `"differences":[]`) {
		t.Errorf("the same model differs: %s", body)
	}
}

// TestPoliciesThatHoldDeletes: a strict reference keeps its target from being deleted, whatever the policy is called. A policy by
// which the delete happens after all, and changes or deletes the holders, takes that away.
func TestPoliciesThatHoldDeletes(t *testing.T) {
	model := func(relation string) string {
		return "collections: {as: {}, bs: {relations: {a: {path: a, to: as" + relation + "}}}}"
	}
	s := harness.OpenTemp(t, model(", strict: true"))
	s.Put("as", "1", `{}`)
	s.Put("bs", "1", `{"a":"1"}`)
	s.Want(http.StatusConflict, "DELETE", "/v1/as/1", "")
	for _, policy := range []string{"cascade", "unlink"} {
		r := s.Want(http.StatusConflict, "PUT", "/v1/_model", model(", strict: true, onDelete: "+policy), "Content-Type", harness.YAMLType)
		if !strings.Contains(string(r.Body), `{"path":"collections.bs.relations.a.onDelete","detail":"changed: `+policy+`, was clear","line":1,"column":75}`) {
			t.Errorf("%s: it says %s", policy, r.Body)
		}
	}
	s.Want(http.StatusOK, "PUT", "/v1/_model", model(", strict: true, onDelete: keep"), "Content-Type", harness.YAMLType) // which holds it as well
	s.Want(http.StatusOK, "PUT", "/v1/_model", model(", strict: true, onDelete: restrict"), "Content-Type", harness.YAMLType)
	s.Want(http.StatusConflict, "PUT", "/v1/_model", model(", onDelete: restrict"), "Content-Type", harness.YAMLType)
	s.Want(http.StatusConflict, "DELETE", "/v1/as/1", "")
}

// TestManyDifferences: a preview is not longer than it may be.
func TestManyDifferences(t *testing.T) {
	collections := func(letter string) string {
		var b strings.Builder
		for i := range 600 {
			fmt.Fprintf(&b, "  %s%d: {}\n", letter, i)
		}
		return "collections:\n" + b.String()
	}
	s := harness.OpenTemp(t, collections("c"))
	body := string(s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", collections("d"), "Content-Type", harness.YAMLType).Body)
	if n := strings.Count(body, `"path":"collections.`); n != 1000 || !strings.Contains(body, "and 200 more") {
		t.Errorf("%d are listed", n)
	}
}

// TestModelParts: a part of a model changes that part alone, and asks before it takes something away. It meets somebody else's change as a
// conflict or, with If-Match, as a condition that does not hold.
func TestModelParts(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Want(http.StatusOK, "PUT", "/v1/_model/authors", `{}`)
	s.Want(http.StatusOK, "PUT", "/v1/_model/books", "relations: {authors: {path: authors, to: authors}}", "Content-Type", harness.YAMLType)
	s.Want(http.StatusOK, "PUT", "/v1/_model/authors", `{"derive":{"works":{"count":"books.authors"}}}`)
	tag := s.Want(http.StatusOK, "GET", "/v1/_model", "").Header.Get("ETag")
	s.Want(http.StatusOK, "PATCH", "/v1/_model", `{"collections":{"authors":{"derive":{"ids":{"ids":"books.authors","limit":3}}}},"fanout":{"limit":100}}`, "Content-Type", harness.MergeType)
	harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body),
		`{"collections":{"authors":{"derive":{"works":{"count":"books.authors"},"ids":{"ids":"books.authors","limit":3}}},"books":{"relations":{"authors":{"path":"authors","to":"authors"}}}},"fanout":{"limit":100}}`)
	s.Want(http.StatusPreconditionFailed, "PATCH", "/v1/_model", `{"fanout":null}`, "Content-Type", harness.MergeType, "If-Match", tag)
	s.Want(http.StatusConflict, "PATCH", "/v1/_model", `{"collections":{"books":{"relations":null},"authors":{"derive":null}}}`, "Content-Type", harness.MergeType)
	s.Want(http.StatusConflict, "PUT", "/v1/_model/authors", `{}`)
	s.Want(http.StatusOK, "PUT", "/v1/_model/authors?dryRun=true", `{}`)
	s.Want(http.StatusOK, "PATCH", "/v1/_model?allowRemoval=true", `{"collections":{"books":null,"authors":{"derive":null}},"fanout":null}`, "Content-Type", harness.MergeType)
	harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body), `{"collections":{"authors":{}}}`)

	harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "PATCH", "/v1/_model", `[]`, []string{"Content-Type", harness.MergeType}, []string{"mapping"}})
	harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "PATCH", "/v1/_model", `{"collections":{"a":{"b":1}}}`, []string{"Content-Type", harness.MergeType}, []string{"collections.a.b"}})
	harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "PUT", "/v1/_model/9books", `{}`, nil, []string{"collections.9books"}})
	harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "PUT", "/v1/_model/books", `- a`, []string{"Content-Type", harness.YAMLType}, []string{"mapping"}})
	harness.Refuse(t, s, harness.Refusal{"", 413, "too-large", "PUT", "/v1/_model/books", strings.Repeat(" ", 2<<20+1), nil, []string{"2097152"}})
	harness.Refuse(t, s, harness.Refusal{"", 413, "too-large", "PATCH", "/v1/_model", strings.Repeat(" ", 2<<20+1), []string{"Content-Type", harness.MergeType}, []string{"2097152"}})
	harness.Refuse(t, s, harness.Refusal{"", 415, "unsupported-media", "PATCH", "/v1/_model", `{}`, []string{"Content-Type", "application/json"}, []string{harness.MergeType}})
	harness.Refuse(t, s, harness.Refusal{"", 405, "method-not-allowed", "PUT", "/v1/_model/_pending", `{}`, nil, []string{"method"}})
	harness.Refuse(t, s, harness.Refusal{"", 405, "method-not-allowed", "GET", "/v1/_model/books", ``, nil, []string{"method"}})
}

// TestDryRunsShowTheMergedModel: the dry run of a part has the text that the model would have. A whole model has none, and neither
// has a part that is applied.
func TestDryRunsShowTheMergedModel(t *testing.T) {
	s := harness.OpenTemp(t, everyKindModel)
	merged := func(method, path, body string, header ...string) string {
		var preview struct{ Merged string }
		if r := s.Want(http.StatusOK, method, path, body, append(header, "Prefer", "return=representation")...); json.Unmarshal(r.Body, &preview) != nil {
			t.Fatalf("%s %s answers %s", method, path, r.Body)
		}
		return preview.Merged
	}
	for _, part := range [][]string{
		{"PATCH", "/v1/_model?allowRemoval=true", `{"collections":{"authors":{"indexes":{"by-name":["name","-year"]}},"publishers":null,"books":{"relations":{"pub":null},"derive":{"price":null},"pages":null}}}`, "Content-Type", harness.MergeType},
		{"PATCH", "/v1/_model?allowRemoval=true", `{"collections":null,"fanout":null}`, "Content-Type", harness.MergeType},
		{"PUT", "/v1/_model/presses?allowRemoval=true", "indexes:\n  byName: [name] # a comment\n", "Content-Type", harness.YAMLType},
	} {
		before := s.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", harness.YAMLType).Body
		shown := merged(part[0], part[1]+"&dryRun=true", part[2], part[3:]...)
		if shown == "" || shown == string(before) {
			t.Errorf("%s: a dry run shows %q", part[2], shown)
		}
		harness.WantText(t, merged("PUT", "/v1/_model?dryRun=true", shown, "Content-Type", harness.YAMLType), "")
		harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", harness.YAMLType).Body), string(before))
		harness.WantText(t, merged(part[0], part[1], part[2], part[3:]...), "")
		harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", harness.YAMLType).Body), shown)
	}
}

// TestModelsAtOnce: models and parts without a condition that come at the same time are all taken. A sender that too many others
// overtake is told to send the request again, and never that a condition does not hold, for there was none.
func TestModelsAtOnce(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	atOnce := func(path, body string) {
		var clients sync.WaitGroup
		for i := range 3 {
			clients.Go(func() {
				for j := range 10 {
					name := fmt.Sprintf("c%d-%d", i, j)
					for again := true; again; {
						r, err := s.Do("PUT", strings.ReplaceAll(path, "NAME", name), []byte(strings.ReplaceAll(body, "NAME", name)), "Fanfold-Timeout", "0")
						if err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusOK && r.Status != http.StatusConflict {
							t.Errorf("PUT %s: %v %+v", path, err, r)
							return
						}
						again = r.Status == http.StatusConflict
					}
				}
			})
		}
		clients.Wait()
		s.CatchUp()
	}
	atOnce("/v1/_model?allowRemoval=true", `{"collections":{"NAME":{}}}`)
	before := strings.Count(string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body), ":{}")
	atOnce("/v1/_model/p-NAME", `{}`)
	if got := string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body); before != 1 || strings.Count(got, ":{}") != 31 {
		t.Errorf("after whole models %d collections are declared, and in the end the model is %s", before, got)
	}
}

// TestModelSentAgain: a model that applies already, or is being prepared, is the same request again, whatever its condition
// was.
func TestModelSentAgain(t *testing.T) {
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	s.Model(shopModel)
	shop(s, 20)
	tag := fmt.Sprintf("%q", s.Want(http.StatusOK, "GET", "/v1/_model", "").Header.Get("Fanfold-Revision"))
	last := s.Node.Store.Applied.Seq()
	harness.WantHeader(t, s.Want(http.StatusOK, "PUT", "/v1/_model", shopModel, "Content-Type", harness.YAMLType, "If-Match", `"7777"`), "Fanfold-Revision", strings.Trim(tag, `"`))
	seq := s.Propose(fullShopModel)
	s.Prepared()
	if seq != last+1 {
		t.Errorf("the model that was sent again is event %d", seq-1)
	}
	for _, query := range []string{"", "?background=true", "?background=false"} {
		r := s.Want(http.StatusAccepted, "PUT", "/v1/_model"+query, fullShopModel, "Content-Type", harness.YAMLType, "Fanfold-Timeout", "0", "If-Match", tag)
		harness.WantHeader(t, r, "Fanfold-Position", fmt.Sprint(seq, "-0-", s.Node.Log.Store()))
	}
	s.Want(http.StatusConflict, "PUT", "/v1/_model", "collections: {covers: {}}", "Content-Type", harness.YAMLType)
	hold.Release()
	r := s.Want(http.StatusOK, "PUT", "/v1/_model", fullShopModel, "Content-Type", harness.YAMLType, "Fanfold-Timeout", "60")
	harness.WantHeader(t, s.Want(http.StatusOK, "PUT", "/v1/_model", fullShopModel, "Content-Type", harness.YAMLType), "Fanfold-Revision", r.Header.Get("Fanfold-Revision"))
}

// TestImportedModelAsks: the model of an export does not take away what applies, unless the import says that it may.
func TestImportedModelAsks(t *testing.T) {
	s := harness.OpenTemp(t, everyKindModel)
	const line = `{"model":{"collections":{"covers":{}}}}`
	answer := string(s.Want(http.StatusOK, "POST", "/v1/_import", line, "Content-Type", "application/x-ndjson").Body)
	if !strings.Contains(answer, "model-removes") {
		t.Errorf("it says %s", answer)
	}
	s.Want(http.StatusOK, "POST", "/v1/_import?allowRemoval=true", line, "Content-Type", "application/x-ndjson")
	harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body), `{"collections":{"covers":{}}}`)
}
