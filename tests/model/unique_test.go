package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

const uniqueModel = `
collections:
  users:
    unique: [ code, [tenant, email], "lower(doc.login)", [tenant, "lower(doc.nick)"] ]
    derive: { shown: { value: doc.login } }
`

// TestUniqueTogether: what is unique may be several members together, or what an expression gives.
func TestUniqueTogether(t *testing.T) {
	s := harness.OpenTemp(t, uniqueModel)
	put := func(status int, id, body string, detail ...string) {
		t.Helper()
		r := s.Want(status, http.MethodPut, "/v1/users/"+id, body)
		for _, want := range detail {
			if !strings.Contains(string(r.Body), want) {
				t.Errorf("%s is answered without %s: %s", body, want, r.Body)
			}
		}
	}
	// Several members are compared together, each as it would be by itself.
	put(201, "1", `{"tenant":"t1","email":"a@b.c"}`)
	put(409, "2", `{"email":"a@b.c","tenant":"t1"}`, `users/1 has [tenant, email] [\"t1\",\"a@b.c\"], which is unique`)
	put(201, "2", `{"tenant":"t2","email":"a@b.c"}`)
	put(201, "3", `{"tenant":5,"email":1.0}`)
	put(409, "4", `{"tenant":5.0,"email":1}`, "users/3")
	put(201, "4", `{"tenant":"5","email":1}`)
	put(201, "5", `{"tenant":"a\",\"b","email":"c"}`)
	put(201, "6", `{"tenant":"a","email":"b\",\"c"}`)
	// A document that lacks one of them is not held to it.
	for i, body := range []string{`{"tenant":"t1"}`, `{"tenant":"t1"}`, `{"tenant":"t1","email":null}`, `{"tenant":"t1"}`} {
		put(201, fmt.Sprint("free", i), body)
	}
	put(422, "long", `{"tenant":"`+strings.Repeat("x", 600)+`","email":"`+strings.Repeat("y", 600)+`"}`, "[tenant, email] has more than 1024 bytes")

	// An expression's value is compared, where it is a text or a number.
	put(201, "e1", `{"login":"Ann"}`)
	put(409, "e2", `{"login":"ANN"}`, `users/e1 has lower(doc.login) \"ann\"`)
	put(201, "e2", `{"login":"Ünn"}`)
	put(409, "e3", `{"login":"üNN"}`)
	put(201, "e3", `{"login":5}`) // lower is of a text: no value
	put(201, "e4", `{"login":5}`)
	put(201, "n1", `{"tenant":"t","nick":"Bo"}`)
	put(409, "n2", `{"tenant":"t","nick":"bo"}`, "users/n1")
	put(201, "n2", `{"tenant":"u","nick":"bo"}`)

	// Values are given up and swapped.
	put(204, "1", `{"tenant":"t1","email":"new"}`)
	put(201, "7", `{"tenant":"t1","email":"a@b.c"}`)
	s.Want(200, "POST", "/v1/_transactions", `{"operations":[{"op":"patch","collection":"users","id":"1","patch":{"email":"a@b.c"}},{"op":"patch","collection":"users","id":"7","patch":{"email":"new"}}]}`)
	s.Want(409, "POST", "/v1/_transactions", `{"operations":[{"op":"patch","collection":"users","id":"e1","patch":{"login":"zoe"}},{"op":"put","collection":"users","id":"z","body":{"login":"ZOE"}}]}`)
	r := s.Want(200, "POST", "/v1/_import?collection=users", `{"id":"i1","login":"zoe"}`+"\n"+`{"id":"i2","login":"Zoe"}`, "Content-Type", "application/x-ndjson")
	if text := string(r.Body); !strings.Contains(text, `"line":2,"status":409`) {
		t.Errorf("the import says %s", text)
	}
	s.Delete("users", "1")
	put(201, "8", `{"tenant":"t1","email":"a@b.c"}`)
	before := s.Digest()
	s.Replay()
	if s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
	put(409, "9", `{"tenant":"t1","email":"a@b.c"}`)
}

// TestNewUniqueTogether: a model over documents that have a value twice is refused, naming them, at once and in the
// background; one that says less frees what it no longer says.
func TestNewUniqueTogether(t *testing.T) {
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	s.Model("collections: {users: {}}")
	s.Put("users", "1", `{"tenant":"t","email":"A@b"}`)
	s.Put("users", "2", `{"tenant":"t","email":"a@b"}`)
	s.Put("users", "3", `{"tenant":"t","email":"A@b"}`)
	of := func(unique string) string { return `{"collections":{"users":{"unique":` + unique + `}}}` }
	for unique, want := range map[string]string{
		`[["tenant","email"]]`:                `users/1 and users/3 both have [tenant, email] [\"t\",\"A@b\"]`,
		`["lower(doc.email)"]`:                `users/1 and users/3 both have lower(doc.email) \"a@b\"`,
		`[["tenant","lower(doc.email)"],"x"]`: `both have [tenant, lower(doc.email)]`,
	} {
		for _, query := range []string{"", "?background=true"} {
			if r := s.Want(422, http.MethodPut, "/v1/_model"+query, of(unique)); !strings.Contains(string(r.Body), want) {
				t.Errorf("%s%s is answered %s", unique, query, r.Body)
			}
		}
	}
	s.Delete("users", "3")
	s.Model(of(`[["tenant","email"]]`))
	s.Want(409, http.MethodPut, "/v1/users/3", `{"tenant":"t","email":"a@b"}`)
	s.Delete("users", "2")
	if seq := s.Propose(of(`[["tenant","email"],"lower(doc.email)"]`)); seq != 0 {
		s.Prepared()
		s.Want(201, http.MethodPut, "/v1/users/4", `{"tenant":"u","email":"C@D"}`)
		hold.Release()
		s.Activated(seq)
	} else {
		t.Error("the model was not prepared")
	}
	s.Want(409, http.MethodPut, "/v1/users/5", `{"email":"c@d"}`)
	s.Want(200, http.MethodPut, "/v1/_model?allowRemoval=true", of(`["lower(doc.email)"]`))
	s.Want(201, http.MethodPut, "/v1/users/5", `{"tenant":"t","email":"B@A"}`)
	s.Want(409, http.MethodPut, "/v1/users/6", `{"email":"b@a"}`)
	before := s.Digest()
	s.Replay()
	if s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
}

// TestUniqueRaces: of many writers at once, on one node, no two get one value.
func TestUniqueRaces(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, uniqueModel)
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for i := range 16 {
		wg.Go(func() {
			for round := range 6 {
				login := []string{"name%d", "Name%d", "NAME%d"}[i%3]
				body := fmt.Sprintf(`{"login":"`+login+`","tenant":%d,"email":"e"}`, round, round)
				r, err := s.Do(http.MethodPut, fmt.Sprintf("/v1/users/%d-%d", i, round), []byte(body))
				if err != nil || r.Status != http.StatusCreated && r.Status != http.StatusConflict {
					t.Errorf("%v %v", r, err)
				} else if r.Status == http.StatusCreated {
					mu.Lock()
					got[fmt.Sprint(round)]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for round := range 6 {
		if n := got[fmt.Sprint(round)]; n != 1 {
			t.Errorf("%d writers got value %d", n, round)
		}
	}
}

// TestUniqueOfOtherTypes: what is neither a text nor a number cannot be compared, and is refused on every road. A document that had such a
// value before the model may keep it.
func TestUniqueOfOtherTypes(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("users", "old", `{"code":true}`)
	s.Model(`collections: {users: {unique: [code, [tenant, email], "doc.login.size() > 2"]}}`)
	for body, says := range map[string]string{`{"code":true}`: "member code is true", `{"code":[1]}`: "member code is an array", `{"code":{"a":1}}`: "member code is an object", `{"tenant":"t","email":false}`: "member email is false",
		`{"login":"abc"}`: "value doc.login.size() > 2 is true"} {
		for _, road := range [][]string{{"PUT", "/v1/users/a", body}, {"POST", "/v1/users", body}, {"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"users","id":"a","body":` + body + `}]}`}} {
			if r := s.Want(422, road[0], road[1], road[2]); !strings.Contains(string(r.Body), says) {
				t.Errorf("%s %s is answered %s, want %s", road[1], body, r.Body, says)
			}
		}
	}
	s.Put("users", "a", `{"code":null}`)
	s.Put("users", "b", `{"code":null}`)
	s.Put("users", "old", `{"code":true,"more":1}`)
	s.Want(422, "PATCH", "/v1/users/a", `{"code":false}`, "Content-Type", harness.MergeType)
}
