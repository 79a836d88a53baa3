package modelguess

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSums: a number that is the sum of a member of the documents that refer is proposed as one, also where doubles were added up. Another
// number is not, and neither is the sum of one.
func TestSums(t *testing.T) {
	s := &Sample{}
	pages, prices := map[int]int{}, map[int]float64{}
	for i := range 60 {
		a, n, price := i%12, 100+7*i, float64(i)/10+0.1
		pages[a] += n
		prices[a] += price
		s.Add("books", fmt.Appendf(nil, `{"id":"b%d","author":"a%d","pages":%d,"price":%v,"weight":%d}`, i, a, n, price, i*i))
	}
	for a := range 12 {
		s.Add("authors", fmt.Appendf(nil, `{"id":"a%d","pages":%d,"earned":%v,"weight":%d}`, a, pages[a], prices[a], a))
		s.Add("covers", fmt.Appendf(nil, `{"id":"c%d","author":"a%d","height":%d}`, a, a, a))
	}
	got := s.model(t, false)
	for _, want := range []string{
		"pages: { sum: books.author, of: pages } # 100% of 12 numbers are the sum of pages of those that refer\n",
		"earned: { sum: books.author, of: price } # 100% of 12",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "weight: {") {
		t.Errorf("the weight is no sum, and one number alone is none:\n%s", got)
	}
}

// TestGuessEnds: a proposal ends with its context, whatever it does.
func TestGuessEnds(t *testing.T) {
	s := &Sample{}
	for i := range 1000 {
		s.Add("people", fmt.Appendf(nil, `{"id":"person-%d","name":"N%d"}`, i, i))
		s.Add("notes", fmt.Appendf(nil, `{"id":"n%d","person":"person-%d","to":["person-%d"],"a":%d}`, i, i, i, i))
	}
	ctx := &expiring{Context: t.Context()}
	if _, err := s.Model(ctx, false); err != nil {
		t.Fatal(err)
	}
	for last := 1; last < 10; last++ { // it ends at any of its steps
		ctx := &expiring{Context: t.Context(), most: ctx.asked * last / 10}
		if text, err := s.again().Model(ctx, false); !errors.Is(err, context.Canceled) || text != nil {
			t.Errorf("after %d of %d: %v %.100s", last, 10, err, text)
		}
	}
}

// expiring is a context that ends once it was asked often enough, 0 for never.
type expiring struct {
	context.Context
	most, asked int
}

// Err implements context.Context.
func (e *expiring) Err() error {
	if e.asked++; e.asked > e.most {
		if e.most > 0 {
			return context.Canceled
		}
	}
	return nil
}

// Done implements context.Context.
func (e *expiring) Done() <-chan struct{} { return nil }

// Deadline implements context.Context.
func (e *expiring) Deadline() (time.Time, bool) { return time.Time{}, false }

// again returns the documents of a sample as a new one.
func (s *Sample) again() *Sample {
	out := &Sample{}
	for _, c := range s.collections {
		for _, body := range c.bodies {
			out.Add(c.name, body)
		}
	}
	return out
}

// TestSampleHasBounds: a sample takes as many documents, and as many bytes, as it may, and counts the others.
func TestSampleHasBounds(t *testing.T) {
	s := &Sample{Documents: 3, Bytes: 40}
	for i := range 5 {
		if full := s.Full("a"); full != (i >= 3) {
			t.Errorf("%d: full is %v", i, full)
		}
		s.Add("a", fmt.Appendf(nil, `{"id":%d}`, i))
	}
	s.Leave("a", 7)
	if got := s.model(t, false); !strings.Contains(got, "a: {} # 3 documents, and 9 that were not looked at") {
		t.Error(got)
	}
	s = &Sample{Bytes: 40}
	s.Add("a", []byte(`{"id":"`+strings.Repeat("x", 50)+`"}`))
	s.Add("a", []byte(`{"id":1}`))
	if got := s.model(t, false); !strings.Contains(got, "a: {} # 1 documents, and 1 that were") {
		t.Error(got)
	}
}

// model returns what is proposed.
func (s *Sample) model(t *testing.T, takeOver bool) string {
	t.Helper()
	text, err := s.Model(t.Context(), takeOver)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNamesThatAreIDs: where documents are called as their ids are, names are copies, and small numbers that count are no ids.
func TestNamesThatAreIDs(t *testing.T) {
	s := &Sample{}
	works := map[int]int{}
	for i := range 40 {
		a := i * i % 13
		works[a]++
		s.Add("books", fmt.Appendf(nil, `{"id":%d,"authors":[{"id":"Author %d","name":"Author %d"}]}`, i, a, a))
	}
	for a, n := range works {
		s.Add("authors", fmt.Appendf(nil, `{"id":"Author %d","name":"Author %d","countOfBooks":%d}`, a, a, n))
	}
	got := s.model(t, false)
	for _, want := range []string{"authors: { path: \"authors[].id\", to: authors }", "countOfBooks: { count: books.authors }", `"authors[].name": { copy: authors, value: doc.name }`} {
		if !strings.Contains(got, want) || strings.Count(got, "path:") != 1 {
			t.Errorf("want %s alone as a relation in\n%s", want, got)
		}
	}
}
