package exportfile_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/exportfile"
	"github.com/fanfold/fanfold/model"
)

// source is a prefix of a log with a frozen copy; one document has a value and one has none.
type source struct{ docs []*fanfold.Document }

func (s *source) Model() ([]byte, model.Reserved, model.Retired, error) {
	return []byte(`{"collections":{"authors":{},"books":{"relations":{"author":{"path":"author","to":"authors","strict":true}},"derive":{"name":{"copy":"author","value":"doc.name","frozen":true}}}}}`), nil, nil, nil
}

func (s *source) All(after int64, _ int) ([]*fanfold.Document, bool, error) {
	docs := slices.Clone(s.docs[after:min(int(after)+1, len(s.docs))])
	return docs, int(after)+1 < len(s.docs), nil
}

func (s *source) EachKept(holder int64, fn func(rule, target string, value []byte) error) error {
	if holder == 2 {
		return fn("books.name", "a1", []byte(`"Ursula"`))
	}
	return nil
}

func (s *source) SequencesAfter(collection string, after fanfold.Counter, _ int) ([]fanfold.Counter, bool, error) {
	if collection == "authors" {
		return nil, false, nil
	}
	if after.Key == "" {
		return []fanfold.Counter{{Collection: "books", Path: "number", Key: "aa", Last: 7}}, true, nil
	}
	return []fanfold.Counter{{Collection: "books", Path: "a\"b", Key: "bb", Last: 1 << 53}}, false, nil
}

// TestWrite: an export has the model, with its guards last, the last numbers of sequences and every document with what stays on it. A document that an import would not
// take as it is comes as a text.
func TestWrite(t *testing.T) {
	s := &source{}
	for i, d := range []struct{ collection, body string }{{"authors", `{"id":"a1"}`}, {"books", `{"id":"b1","author":"a1"}`}, {"books", `{"id":"b2","author":"a1","name":"mine"}`}} {
		s.docs = append(s.docs, &fanfold.Document{Key: fanfold.Key{Collection: d.collection}, Number: int64(i + 1), Body: []byte(d.body)})
	}
	model, _, _, _ := s.Model()
	const counters = `{"collection":"books","path":"number","key":"aa","last":7}
{"collection":"books","path":"a\"b","key":"bb","last":9007199254740992}
`
	const documents = `{"collection":"authors","doc":{"id":"a1"}}
{"collection":"books","kept":{"books.name":{"a1":"Ursula"}},"doc":{"id":"b1","author":"a1"}}
{"collection":"books","kept":{"books.name":{}},"text":"{\"id\":\"b2\",\"author\":\"a1\",\"name\":\"mine\"}"}
`
	for _, c := range []struct {
		collections []string
		want        string
	}{
		{nil, `{"model":` + string(model) + `,"guards":"last"}` + "\n" + counters + documents + `{"model":` + string(model) + "}\n"},
		{[]string{"authors"}, `{"collection":"authors","doc":{"id":"a1"}}` + "\n"},
	} {
		var out bytes.Buffer
		if err := exportfile.Write(t.Context(), s, &out, c.collections); err != nil || out.String() != c.want {
			t.Errorf("%v: %v\n%swant\n%s", c.collections, err, &out, c.want)
		}
	}
}
