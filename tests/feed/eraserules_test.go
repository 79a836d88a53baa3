package feed_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestErasureOfWhatWasNeverShown: an erasure tells nobody of a document that a rule hides and has always hidden. It does where only the values that are
// erased could say so: whoever has the document must drop it.
func TestErasureOfWhatWasNeverShown(t *testing.T) {
	suite.Parallel(t)
	const byOwner, byName = "doc.owner == auth.sub", "doc.name == auth.sub"
	for _, c := range []struct {
		what, people, orders, erase string
		ann, bob                    string // what they are told, of all that they are
	}{
		{"a copy", byOwner, byOwner, `{}`, "erase people/p, derive orders/o", "erase people/p"},
		{"a copy at which the rule looks", byOwner, byName, `{}`, "erase people/p, leave orders/o", "erase people/p, leave orders/o"},
		{"a member", byOwner, byOwner, `{"members":["/email"]}`, "derive people/p", ""},
		{"a member at which the rule looks", "doc.email == auth.sub", byOwner, `{"members":["/email"]}`, "leave people/p", "leave people/p"},
		{"a member, and its copy at which the rule looks", byOwner, byName, `{"members":["/name"]}`, "derive people/p, leave orders/o", "leave orders/o"},
	} {
		s := harness.OpenClosed(t, "")
		s.Model(fmt.Sprintf(`
collections:
  people: { access: { read: { where: %q } } }
  orders:
    relations: { person: { path: person, to: people, onDelete: keep } }
    derive: { name: { copy: person, value: doc.name, frozen: true, publish: true } }
    access: { read: { where: %q } }
`, c.people, c.orders))
		s.Put("people", "p", `{"owner":"ann","name":"ann","email":"ann"}`)
		s.Put("orders", "o", `{"owner":"ann","person":"p"}`)
		readers := map[string]*harness.Client{}
		since := map[string]string{}
		for _, sub := range []string{"ann", "bob"} {
			_, key, err := s.Node.Keys().Create(t.Context(), keys.Settings{Name: sub, Roles: []string{"readers"}, Sub: sub})
			if err != nil {
				t.Fatal(err)
			}
			readers[sub] = s.With(key.Text())
			_, since[sub] = readers[sub].Changes("since=0")
		}
		s.Erased(s.Want(http.StatusAccepted, http.MethodPost, "/v1/people/p/_erase", c.erase).Header.Get("Location"))
		for sub, want := range map[string]string{"ann": c.ann, "bob": c.bob} {
			for _, mode := range []string{"all", "latest"} {
				rows, _ := readers[sub].Changes("mode=" + mode + "&since=" + since[sub])
				var got []string
				for _, row := range rows {
					if row.Op == "delete" || row.Op == "patch" || row.Op == "replace" { // of the erasure's own write, as if the values had never been
						continue
					}
					got = append(got, row.Op+" "+row.Collection+"/"+row.ID)
				}
				if got := strings.Join(got, ", "); got != want {
					t.Errorf("%s, mode=%s: %s is told %q, want %q", c.what, mode, sub, got, want)
				}
			}
		}
	}
}
