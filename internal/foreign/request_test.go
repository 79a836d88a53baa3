package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

// TestIDs: the members that could be ids are those that each document has, each time another text or number; those that are called like ids come first.
func TestIDs(t *testing.T) {
	var s IDs
	for i, body := range []string{
		`{"title":"a","isbn":"1","shelf_id":1,"n":1,"x":{"y":1},"late":null}`, `{"title":"b","isbn":"2","shelf_id":2,"n":1,"x":{"y":2},"late":1}`,
		`{"id":"has one"}`, `{"title":"c","shelf_id":3,"isbn":"3","n":"1"}`,
	} {
		if s.Add([]byte(body)); s.Without() != i+1 && i < 2 {
			t.Errorf("%s: %d are without an id", body, s.Without())
		}
	}
	if got := s.Members(); s.Without() != 3 || !slices.Equal(got, []string{"shelf_id", "title", "isbn"}) {
		t.Errorf("of %d documents the ids could be %q", s.Without(), got)
	}
	var wide IDs
	text := `{"` + strings.Repeat("n", maxName+1) + `":1`
	for i := range 2 * idMembers {
		text += fmt.Sprintf(`,"m%d":"%d"`, i, i)
	}
	for range 2 {
		wide.Add([]byte(text + `,"u":1}`))
		if wide.Without() == 1 && (len(wide.Members()) != idProposals || len(wide.members) != idMembers) {
			t.Errorf("%d members are told of %d", len(wide.Members()), len(wide.members))
		}
	}
	if len(wide.Members()) != 0 {
		t.Errorf("equal values could be ids: %q", wide.Members())
	}
	var many IDs
	for i := range idDocuments + 10 {
		many.Add([]byte(fmt.Sprintf(`{"k":%d}`, min(i, idDocuments))))
	}
	if many.Without() != idDocuments+10 || !slices.Equal(many.Members(), []string{"k"}) {
		t.Errorf("of many documents %d are without an id, which could be %q", many.Without(), many.Members())
	}
}

// TestAppendLine: a document becomes a line that an import reads, with its place, and a line of an export of this store stays what it is.
func TestAppendLine(t *testing.T) {
	in := `{"collection":"b","doc":{"id":"1"}}` + "\n" + `{"model":{"collections":{}}}` + "\n" + `{"line":9,"collection":"b","text":"{}"}`
	for _, tt := range []struct {
		in   string
		opt  Options
		want []string
	}{
		{in, Options{}, []string{`{"line":1,"collection":"b","doc":{"id":"1"}}`, `{"line":2,"model":{"collections":{}}}`, `{"line":9,"collection":"b","text":"{}"}`}},
		{"\n[{\"id\":1},\n{\"_x\":1}]", Options{Collection: "c"}, []string{`{"line":2,"collection":"c","doc":{"id":1}}`,
			`{"line":3,"refused":"member /_x: names that begin with _ are the store's own: give rename=_x=x, or drop=_x"}`}},
	} {
		r, err := Open(strings.NewReader(tt.in), "", tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			doc, err := r.Next()
			var refused *Refusal
			if errors.As(err, &refused) {
				refused.Reason = InQuery(refused.Reason)
				got = append(got, string(AppendRefusal(nil, refused)))
				continue
			}
			if err != nil {
				break
			}
			got = append(got, string(AppendLine(nil, doc)))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q gives %q", tt.in, got)
		}
	}
}

// TestUnpackedWithin: of a stream of somebody else, what is compressed too much ends the reading, and so does a window that is too large.
func TestUnpackedWithin(t *testing.T) {
	zip := func(size int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for n := 0; n < size; n += 1 << 20 {
			_, _ = z.Write(make([]byte, 1<<20)) // never fails
		}
		_ = z.Close()
		return b.Bytes()
	}
	wide, err := zstd.NewWriter(nil, zstd.WithWindowSize(16<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 20<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	var b bytes.Buffer
	wide.Reset(&b)
	_, _ = wide.Write(noise)
	_ = wide.Close()
	for name, tt := range map[string]struct {
		in   []byte
		want string
	}{
		"plain":        {noise, ""},
		"short":        {zip(freeText), ""},
		"bomb":         {zip(freeText + 2<<20), "more than 250 times"},
		"large window": {b.Bytes(), "window size exceeded"},
	} {
		text, _, err := UnpackedWithin(bytes.NewReader(tt.in))
		if err == nil {
			_, err = io.Copy(io.Discard, text)
		}
		if tt.want == "" && err != nil || tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "bomb" && fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", name, fanfold.CodeOf(err))
		}
	}
}
