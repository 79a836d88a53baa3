//go:build nextfold

package cluster_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/writer"
)

// twoFolds fills a store with documents that the two versions of the fold show differently, and with a rename within which
// there are positions.
func twoFolds(s *harness.Store) {
	s.Model(copiesModel)
	s.Put("authors", "a", `{"name":"Ann"}`)
	for i := range 5 {
		s.Put("books", fmt.Sprint("b", i), `{"authors":[{"id":"a"}]}`)
	}
	s.Put("shelves", "s", `{"book":"b0"}`)
	s.Put("authors", "a", `{"name":"Ann "}`)
}

// TestTwoFolds: what another version of the fold changes are derived changes of the event that sets it. Everything before
// stays as it was, positions inside of events included, and models that come later keep the version. A restart and a replay
// give the same rows.
func TestTwoFolds(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprint("background=", background), func(t *testing.T) {
			s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir()})
			defer func() { s.Close() }()
			twoFolds(s)
			before, _ := s.Changes("mode=all&include_docs=true")
			inside := before[len(before)-3].Seq
			s.Want(http.StatusOK, "PUT", fmt.Sprint("/v1/_fold?background=", background), fmt.Sprintf(`{"version":%d}`, fold.LatestVersion), "Fanfold-Timeout", "60")
			s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a","name":"Ann"}]}`)
			s.WantDoc("shelves", "s", `{"id":"s","book":"b0","first":"Ann"}`)
			if e := harness.Tag(s, "/v1/books/b1"); !strings.HasSuffix(e, fmt.Sprintf(`.%d"`, fold.LatestVersion)) {
				t.Errorf("the book's ETag is %s", e)
			}
			if e := harness.Tag(s, "/v1/authors/a"); !strings.HasSuffix(e, fmt.Sprintf(`.%d"`, fold.OldestVersion)) {
				t.Errorf("the author's ETag is %s", e)
			}
			all, _ := s.Changes("mode=all&include_docs=true")
			if len(all) != len(before)+6 || all[len(before)-1].Seq != before[len(before)-1].Seq || all[len(before)].Op != "derive" || !strings.HasSuffix(all[len(before)].Seq, fmt.Sprint("-", fold.LatestVersion)) {
				t.Errorf("%d rows were %d: %+v", len(all), len(before), all[len(before):])
			}
			if rows, _ := s.Changes("mode=all&since=" + inside); len(rows) != 2+6 {
				t.Errorf("%d rows follow %s", len(rows), inside)
			}
			s.Model(strings.Replace(copiesModel, "value: doc.name}", `value: "doc.name + '. '"}`, 1)) // keeps the version
			s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a","name":"Ann ."}]}`)
			s.Verify()
			digest := s.Digest()
			s = s.Reopen()
			s.Put("authors", "b", `{"name":"Bob "}`)
			s.Put("books", "b9", `{"authors":[{"id":"b"}]}`)
			s.WantDoc("books", "b9", `{"id":"b9","authors":[{"id":"b","name":"Bob ."}]}`)
			after := s.Digest()
			s.Replay()
			if s.Digest() != after || after == digest {
				t.Error("the replay gives other rows")
			}
			s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_fold", fmt.Sprintf(`{"version":%d}`, fold.OldestVersion))
		})
	}
}

// TestTwoFoldsOfFrozenCopies: a version that frozen copies depend on is not prepared, but set at once; what is frozen stays.
func TestTwoFoldsOfFrozenCopies(t *testing.T) {
	s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir()})
	defer s.Close()
	s.Model(strings.Replace(copiesModel, "value: doc.name}", "value: doc.name, frozen: true}", 1))
	s.Put("authors", "a", `{"name":"Ann "}`)
	s.Put("books", "b", `{"authors":[{"id":"a"}]}`)
	s.Put("shelves", "s", `{"book":"b"}`)
	s.Put("books", "late", `{"authors":[{"id":"x"}]}`)
	s.Put("authors", "x", `{"name":"Xenia "}`)
	s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_fold?background=true", fmt.Sprintf(`{"version":%d}`, fold.LatestVersion))
	s.SetFold(fold.LatestVersion)
	s.WantDoc("books", "b", `{"id":"b","authors":[{"id":"a","name":"Ann "}]}`)
	s.WantDoc("books", "late", `{"id":"late","authors":[{"id":"x"}]}`) // it takes the value at its next write
	s.WantDoc("shelves", "s", `{"id":"s","book":"b","first":"Ann"}`)
	s.Put("books", "c", `{"authors":[{"id":"a"}]}`)
	s.WantDoc("books", "c", `{"id":"c","authors":[{"id":"a","name":"Ann"}]}`)
	digest := s.Digest()
	if s.Replay(); s.Digest() != digest {
		t.Error("the replay gives other rows")
	}
}

// TestGroupOverTwoFolds: a group whose checkpoint lies inside an event goes on there after the version has changed, and
// after a restart.
func TestGroupOverTwoFolds(t *testing.T) {
	s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir()})
	defer func() { s.Close() }()
	twoFolds(s)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"since":"0","mode":"all"}`)
	var leased struct {
		Leases []struct{ Token string }
	}
	harness.Decode(t, s.Want(http.StatusOK, "POST", "/v1/_groups/g/_lease", `{"member":"m"}`).Body, &leased)
	token := leased.Leases[0].Token
	rows, _ := s.Changes("mode=all")
	inside := rows[len(rows)-3].Seq
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_ack", fmt.Sprintf(`{"partition":0,"token":%q,"position":%q}`, token, inside))
	s.SetFold(fold.LatestVersion)
	s = s.Reopen()
	var page struct{ Results []harness.Change }
	harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/_groups/g/_changes?partition=0&token="+token, "").Body, &page)
	if len(page.Results) != 2+6 || page.Results[0].Seq != rows[len(rows)-2].Seq {
		t.Errorf("%d rows follow the checkpoint %s: %+v", len(page.Results), inside, page.Results)
	}
}

// TestCrashWhileUpgrading: a node that dies at any write of the change to another version ends up with the same rows.
func TestCrashWhileUpgrading(t *testing.T) {
	want := ""
	for k := int64(1); ; k += 7 {
		dir := t.TempDir()
		s := harness.Open(t, harness.Options{KeepFold: true, Dir: dir})
		twoFolds(s)
		s.Close()
		fault, struck := harness.FailWrite(k)
		s, err := harness.Start(t, harness.Options{KeepFold: true, Dir: dir, FailWrite: fault})
		if err != nil {
			s = harness.Open(t, harness.Options{KeepFold: true, Dir: dir})
		}
		if _, err := s.Do("PUT", fmt.Sprint("/v1/_fold?background=", k%2 == 0), fmt.Appendf(nil, `{"version":%d}`, fold.LatestVersion), "Fanfold-Timeout", "1"); err != nil {
			t.Fatal(err)
		}
		crashed := struck()
		s = s.Abandon()
		s.CatchUp()
		if p, _ := s.Node.Projector.Proposal(); p != nil {
			s.Activated(p.Seq)
		}
		s.Verify()
		s.WantDoc("shelves", "s", `{"id":"s","book":"b0","first":"Ann"}`)
		digest := s.Digest()
		if s.Replay(); s.Digest() != digest {
			t.Fatalf("a crash at write %d: the replay gives other rows", k)
		}
		s.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if !crashed {
			break
		}
		want = digest
	}
	if want == "" {
		t.Error("no write failed")
	}
}

// TestUpgradesItself: a node that is alone changes to the newest version when it starts; where a model is being prepared it
// waits for that.
func TestUpgradesItself(t *testing.T) {
	hold := harness.NewActivationHold()
	opt := harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}}
	s := harness.Open(t, harness.Options{KeepFold: true, Dir: opt.Dir})
	twoFolds(s)
	s.Close()
	before := harness.Open(t, harness.Options{KeepFold: true, Dir: opt.Dir, Writer: opt.Writer})
	seq := before.Propose(strings.Replace(copiesModel, "value: doc.name}", `value: "doc.name + '. '"}`, 1))
	before.Close()
	s = harness.Open(t, opt)
	defer s.Close()
	if v := foldStatus(t, s.Client).FoldVersion; v.Version != fold.OldestVersion {
		t.Errorf("the versions are %+v", v)
	}
	hold.Release()
	s.Activated(seq)
	for foldStatus(t, s.Client).FoldVersion.Version != fold.LatestVersion {
		s.CatchUp()
	}
	s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a","name":"Ann ."}]}`)
	s.Verify()
}
