package expr

import (
	"errors"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestMeta: a document's own value sees four texts as meta. Without a name of who wrote the document it has no value, and says why.
func TestMeta(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"n":1,"list":[{"k":"a"}]}`))
	known := Meta{Created: time.Unix(1, 5), Updated: time.Unix(2, 0), CreatedBy: "key:a", UpdatedBy: `key:"b"`}
	unknown := known
	unknown.CreatedBy, unknown.UpdatedBy = "", ""
	const why = " has no value: no key of the request is known"
	for source, want := range map[string]struct{ known, unknown, why string }{
		"meta.createdAt":                                        {`"1970-01-01T00:00:01.000000005Z"`, `"1970-01-01T00:00:01.000000005Z"`, ""},
		"meta.createdBy":                                        {`"key:a"`, "", "meta.createdBy" + why},
		"meta.updatedBy":                                        {`"key:\"b\""`, "", "meta.updatedBy" + why},
		"{'by': meta.updatedBy}.by":                             {`"key:\"b\""`, "", "meta.updatedBy" + why},
		"meta.createdBy == meta.updatedBy":                      {"false", "", "meta.createdBy" + why},
		"doc.n == 1 || meta.createdBy == 'key:a'":               {"true", "true", ""},
		"meta.createdBy == 'key:a' || doc.n == 1":               {"true", "true", ""},
		"meta.createdBy.startsWith('key:') ? doc.n : 0":         {"1", "", "meta.createdBy" + why},
		"doc.list.map(x, x.k + ' ' + meta.createdBy)":           {`["a key:a"]`, "", "meta.createdBy" + why},
		"doc.list.filter(x, x.k == 'b').map(x, meta.createdBy)": {"[]", "[]", ""},
	} {
		p, err := CompileOwn(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := p.EvalOwn(doc, known); err != nil || string(got) != want.known {
			t.Errorf("%s = %s, %v; want %s", source, got, err, want.known)
		}
		if got, err := p.EvalOwn(doc, unknown); string(got) != want.unknown || errors.Is(err, ErrNoValue) != (want.unknown == "") {
			t.Errorf("%s = %s, %v without actors; want %s", source, got, err, want.unknown)
		}
		if got := p.ExplainOwn(doc, unknown); got != want.why {
			t.Errorf("%s has no value, as %q; want %q", source, got, want.why)
		}
	}
}
