package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestQueriesUnderRulesCountNoHiddenDocuments: what a hidden document has decides neither about a bound of a query nor about its cursor.
func TestQueriesUnderRulesCountNoHiddenDocuments(t *testing.T) {
	h := openTeams(t)
	for i := range 4 {
		h.admin.Put("tasks", fmt.Sprintf("hidden-%d", i), `{"projectId":"p2","rank":70}`)
	}
	ann := h.asSub(t, "ann")
	for _, path := range []string{"filter=doc.rank==%s&maxScan=1", "filter=doc.rank==%s&maxScan=1&partial=true", "filter=doc.rank==%s&maxScan=1&count=true", "filter=doc.rank==%s&maxScan=1&compute=count",
		"filter=doc.rank>=%s&sort=rank&maxScan=2", "filter=doc.rank==%s&maxScan=1&sort=id", "filter=doc.rank==%s||doc.id==%%22t0%%22", "filter=doc.id>=%%22hidden-%s%%22%%26%%26doc.id<%%22hidden-9%%22&maxScan=1"} {
		of := func(value string) string {
			r, err := ann.Do("GET", "/v1/tasks?"+fmt.Sprintf(path, value), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _, more := strings.Cut(string(r.Body), `"next":`) // a cursor has what identifies its request
			return fmt.Sprint(r.Status, body, more)
		}
		hidden, absent := "70", "71"
		if strings.Contains(path, "hidden") {
			hidden, absent = "0", "7"
		}
		if a, b := of(hidden), of(absent); a != b {
			t.Errorf("%s: hidden documents that the filter is true of are told:\n%s\n%s", path, a, b)
		}
	}
	cursor := func(rank int) string {
		h.admin.Put("tasks", "t1", fmt.Sprintf(`{"projectId":"p2","rank":%d}`, rank))
		return string(ann.Want(http.StatusOK, "GET", "/v1/tasks?sort=rank&limit=1&fields=id", "").Body)
	}
	a, b := cursor(1), cursor(10)
	_, afterA, _ := strings.Cut(a, "next")
	if _, afterB, _ := strings.Cut(b, "next"); afterA != afterB {
		t.Errorf("a cursor tells what a hidden document has:\n%s\n%s", a, b)
	}
}

// TestDeletesUnderRulesCountNoHolders: a delete that documents restrict says neither which nor how many of them may not be read.
func TestDeletesUnderRulesCountNoHolders(t *testing.T) {
	h := openHouse(t, `
collections:
  tasks:
    relations: { parent: { path: parentId, to: tasks, onDelete: restrict } }
    access: { read: { where: "auth.sub == doc.owner" }, delete: { where: "auth.sub == old.owner" } }
`, nil)
	h.admin.Put("tasks", "t0", `{"owner":"ann"}`)
	h.admin.Put("tasks", "seen", `{"owner":"ann","parentId":"t0"}`)
	ann := h.asSub(t, "ann")
	told := map[string]bool{}
	for i := range 3 {
		h.admin.Put("tasks", fmt.Sprintf("hidden-%d", i), `{"owner":"bob","parentId":"t0"}`)
		body := string(ann.Want(http.StatusConflict, "DELETE", "/v1/tasks/t0", "").Body)
		if told[body] = true; !strings.Contains(body, "tasks/seen") {
			t.Errorf("the holder that may be read is missing: %s", body)
		}
	}
	if len(told) != 1 {
		t.Errorf("the refusals differ: %v", told)
	}
}

// TestForbiddenNumbersProbeNothing: who may not create a document learns nothing of others' values and ids by that, also where the rule looks at the numbers
// that the document would get.
func TestForbiddenNumbersProbeNothing(t *testing.T) {
	h := openHouse(t, `
collections:
  forms:
    relations: { up: { path: up, to: forms, strict: true } }
    access: { create: { where: "auth.sub == doc.owner && doc.no > 0" } }
    sequences: { no: {} }
    unique: [code]
`, nil)
	h.admin.Put("forms", "f1", `{"owner":"bob","code":"C"}`)
	ann := h.asSub(t, "ann")
	for _, asked := range []string{`"code":"C"`, `"code":"D"`, `"up":"f1"`, `"up":"absent"`} {
		ann.Want(http.StatusForbidden, "POST", "/v1/forms", `{"owner":"eve",`+asked+`}`)
		ann.Want(http.StatusForbidden, "POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"forms","body":{"owner":"eve",`+asked+`}}]}`)
	}
	ann.Want(http.StatusConflict, "POST", "/v1/forms", `{"owner":"ann","code":"C"}`)
	ann.Want(http.StatusUnprocessableEntity, "POST", "/v1/forms", `{"owner":"ann","up":"absent"}`)
	ann.Want(http.StatusCreated, "POST", "/v1/forms", `{"owner":"ann","code":"D","up":"f1"}`)
}
