package feed_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// causeModel has deletes that bring others with them: over two hops, by two relations, and removals of references.
const causeModel = `collections:
  users: {derive: {posts: {count: posts.author}}}
  tags: {}
  posts: {relations: {author: {path: author, to: users, onDelete: cascade}, tags: {path: "tags[]", to: tags, onDelete: unlink}, main: {path: main, to: tags, onDelete: unlink}}}
  comments: {relations: {post: {path: post, to: posts, onDelete: cascade}}, derive: {title: {copy: post, value: doc.title}}}
`

// causesOf returns what rows do to which documents, and because of what.
func causesOf(rows []harness.Change) string {
	var list []string
	for _, row := range rows {
		text := row.Op + " " + row.ID
		if c := row.Cause; c != nil {
			at := "?"
			if c.Seq != "" {
				at = strings.TrimSuffix(harness.Bare(c.Seq), "-0")
			}
			text += fmt.Sprintf(" <- %s %s by %s", at, c.ID, strings.Join(append(c.Rules, c.Rule)[:max(1, len(c.Rules))], "+"))
		}
		list = append(list, text)
	}
	return strings.Join(list, "\n")
}

// fillCauses writes documents that hang on each other.
func fillCauses(s *harness.Client) {
	s.Put("users", "u", `{}`)
	s.Put("users", "other", `{}`)
	s.Put("tags", "t", `{}`)
	s.Put("posts", "p", `{"author":"u"}`)
	s.Put("posts", "q", `{"author":"other","tags":["t"],"main":"t"}`)
	s.Put("comments", "c", `{"post":"p"}`)
	s.Put("comments", "d", `{"post":"q"}`)
}

// TestCascadesHaveACause: each write that a delete brings with it names that delete and the relation, in every mode, on every node and
// after every replay. It can be left out. A delete that was asked for names none.
func TestCascadesHaveACause(t *testing.T) {
	s := harness.OpenTemp(t, causeModel)
	fillCauses(s.Client)
	_, since := s.Changes("since=now")
	s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"users","id":"new","body":{}},{"op":"delete","collection":"users","id":"u"},{"op":"delete","collection":"tags","id":"t"}]}`)
	s.Delete("comments", "d")
	rows, _ := s.Changes("mode=all&since=" + since)
	user, tag := harness.SeqOf(rows[1].Seq), harness.SeqOf(rows[2].Seq)
	all := fmt.Sprintf(`create new
delete u
delete t
delete c <- %[1]d u by comments.post
delete p <- %[1]d u by posts.author
patch q <- %[2]d t by posts.main+posts.tags
delete d`, user, tag)
	written := "create new\ndelete u\ndelete t\ndelete d"
	check := func(when string) {
		t.Helper()
		for query, want := range map[string]string{
			"mode=all": all, "mode=latest": all, "mode=all&derived=exclude": all, "mode=all&view=referenced": all,
			"mode=all&cascades=exclude": written, "mode=latest&cascades=exclude": written, "mode=all&derived=exclude&cascades=exclude": written, "mode=all&cascades=include": all,
			"mode=all&filter=" + url.QueryEscape("has(change.cause) && change.cause.rule == 'posts.author'"): fmt.Sprintf("delete p <- %d u by posts.author", user),
		} {
			if rows, _ := s.Changes(query + "&since=" + since); causesOf(rows) != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", when, query, causesOf(rows), want)
			}
		}
		rows, _ := s.Changes("mode=latest&cascades=exclude&include_docs=true&collections=posts")
		if opsOf(rows) != "create q" || !strings.Contains(string(rows[0].Doc), `"author":"other"`) || strings.Contains(string(rows[0].Doc), `"t"`) {
			t.Errorf("%s: the newest that was asked for is %+v", when, rows)
		}
	}
	check("at once")
	s.Replay()
	check("after a replay")
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"cascades":"exclude","since":"`+since+`"}`)
	held := harness.Lease(t, s.Client, "g", "m")[0]
	if ids, _ := harness.GroupChanges(t, s.Client, "g", held, ""); fmt.Sprint(ids) != "[new u t d]" {
		t.Errorf("a group without cascades has %v", ids)
	}
	if lag := harness.DescribeGroup(t, s.Client, "g").Lag.Changes; lag == nil || *lag != 4 {
		t.Errorf("its lag is %v", lag)
	}
	harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "GET", "/v1/_changes?cascades=no", ``, nil, []string{"cascades=no"}})
	harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "PUT", "/v1/_groups/h", `{"cascades":"no"}`, nil, []string{"/cascades"}})
}

// TestStepsHaveACause: what a delete in steps brings with it names the document that is to go, whose delete comes last.
func TestStepsHaveACause(t *testing.T) {
	s := harness.OpenTemp(t, causeModel)
	fillCauses(s.Client)
	_, since := s.Changes("since=now")
	for done := false; !done; {
		r := s.Want(http.StatusOK, "DELETE", "/v1/users/u?steps=true", "")
		done = strings.Contains(string(r.Body), `"done":true`)
	}
	rows, _ := s.Changes("mode=all&derived=exclude&since=" + since)
	if got, want := causesOf(rows), "delete c <- ? u by comments.post\ndelete p <- ? u by posts.author\ndelete u"; got != want {
		t.Fatalf("the steps are\n%s\nwant\n%s", got, want)
	}
	for _, row := range rows[:2] {
		if row.Cause.Seq != "" || row.Cause.Collection != "users" {
			t.Errorf("the cause is %+v", row.Cause)
		}
	}
}

// TestManyCauses: where many relations lead to what goes, a cause names the first of them.
func TestManyCauses(t *testing.T) {
	var relations, members []string
	for i := range 12 {
		relations = append(relations, fmt.Sprintf("r%02d: {path: m%d, to: tags, onDelete: unlink}", i, i))
		members = append(members, fmt.Sprintf(`"m%d":"t"`, i))
	}
	s := harness.OpenTemp(t, "collections: {tags: {}, posts: {relations: {"+strings.Join(relations, ", ")+"}}}")
	s.Put("tags", "t", `{}`)
	s.Put("posts", "p", "{"+strings.Join(members, ",")+"}")
	s.Delete("tags", "t")
	rows, _ := s.Changes("mode=all&collections=posts")
	if last := rows[len(rows)-1]; last.Op != "patch" || last.Cause == nil || len(last.Cause.Rules) != 8 || last.Cause.Rule != "posts.r00" {
		t.Errorf("the patch is %+v, because of %+v", last, last.Cause)
	}
}

// TestLagOfWrites: a group that asks for the newest writes lags by a document whose newest change is a derived one.
func TestLagOfWrites(t *testing.T) {
	s := harness.OpenTemp(t, causeModel)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"mode":"latest","derived":"exclude","collections":["comments"]}`)
	s.Put("posts", "p", `{"title":"A"}`)
	s.Put("comments", "c", `{"post":"p"}`)
	s.Put("posts", "p", `{"title":"B"}`)
	if lag := harness.DescribeGroup(t, s.Client, "g").Lag.Changes; lag == nil || *lag != 1 {
		t.Errorf("its lag is %v", lag)
	}
}
