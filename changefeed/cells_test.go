package changefeed

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/sending"
	"github.com/fanfold/fanfold/model"
)

// versionOf returns a version of a document that a letter stands for: y may be read, n may not, - is none. Each of a row is another one.
func versionOf(letter byte, n string) []byte {
	switch letter {
	case 'y':
		return []byte(`{"shown":true,"n":` + n + `}`)
	case 'n':
		return []byte(`{"shown":false,"n":` + n + `}`)
	}
	return nil
}

// cell is what a consumer asks for, and a row that is about to be judged.
type cell struct {
	what string
	op   fanfold.Op
	seen string // the versions before the change, after it and now; of a row Within as of the transaction's end, too

	superseded, unasked, direct, latest bool
	bare, whole                         bool // the row has no document, for which there was no room, or has one though it is superseded
	filter                              string
	want                                string // what is sent: row, enter, leave; "" for nothing
}

// row returns the cell's row as the store gives it.
func (c *cell) row() fanfold.ChangeRow {
	ch := &fanfold.Change{Position: fanfold.At(9, 0), Prior: 1, Key: fanfold.Key{Collection: "a", ID: "1"}, Op: c.op, Delta: []byte(`[{"op":"replace","path":"/n","value":2}]`)}
	row := fanfold.ChangeRow{Change: ch, Superseded: c.superseded}
	ch.Previous = versionOf(c.seen[0], "1")
	row.Before, row.Held = ch.Previous, ch.Previous
	row.After, row.Newest = versionOf(c.seen[1], "2"), versionOf(c.seen[2], "3")
	row.Sight = &fanfold.Sight{Before: ch.Previous, After: row.After, Now: row.Newest, Unasked: c.unasked}
	if row.After != nil && (!c.superseded || c.whole) && !c.bare {
		row.Doc = &fanfold.Document{Key: ch.Key, Body: row.After}
	}
	if len(c.seen) > 3 {
		row.Within, row.End = true, versionOf(c.seen[3], "4")
		row.Sight.End = row.End
	}
	return row
}

// cells are the cells of the table of rows under a rule, in either mode, with deletes, changes of kinds that are not asked for, rows within transactions and
// filters.
var cells = []cell{
	{what: "before, after and now", op: fanfold.OpPatch, seen: "yyy", want: "row"},
	{what: "before and after, hidden now", op: fanfold.OpPatch, seen: "yyn"},
	{what: "only after", op: fanfold.OpPatch, seen: "nyy", want: "enter"},
	{what: "only after, hidden now", op: fanfold.OpPatch, seen: "nyn"},
	{what: "only before", op: fanfold.OpPatch, seen: "ynn", want: "leave"},
	{what: "only before, shown again", op: fanfold.OpPatch, seen: "yny", want: "leave"},
	{what: "never", op: fanfold.OpPatch, seen: "nnn"},
	{what: "never, shown now", op: fanfold.OpPatch, seen: "nny"},
	{what: "created", op: fanfold.OpCreate, seen: "-yy", want: "row"},
	{what: "created, hidden now", op: fanfold.OpCreate, seen: "-yn"},
	{what: "created hidden", op: fanfold.OpCreate, seen: "-nn"},
	{what: "created hidden, shown now", op: fanfold.OpCreate, seen: "-ny"},
	{what: "deleted", op: fanfold.OpDelete, seen: "y-y", want: "row"},
	{what: "deleted, there again hidden", op: fanfold.OpDelete, seen: "y-n", want: "row without what was"},
	{what: "deleted hidden", op: fanfold.OpDelete, seen: "n-n"},
	{what: "deleted hidden, there again", op: fanfold.OpDelete, seen: "n-y"},
	{what: "a delete that is not asked for", op: fanfold.OpDelete, seen: "y-y", unasked: true},
	{what: "latest: the newest", op: fanfold.OpPatch, latest: true, seen: "yyy", want: "row"},
	{what: "latest: the newest enters", op: fanfold.OpPatch, latest: true, seen: "nyy", want: "enter"},
	{what: "latest: the newest leaves", op: fanfold.OpPatch, latest: true, seen: "ynn", want: "leave"},
	{what: "latest: a newer one tells", op: fanfold.OpPatch, latest: true, superseded: true, seen: "yyy"},
	{what: "latest: entered before", op: fanfold.OpPatch, latest: true, superseded: true, seen: "nyy"},
	{what: "latest: left before, and is back", op: fanfold.OpPatch, latest: true, superseded: true, seen: "yny"},
	{what: "latest: left before", op: fanfold.OpPatch, latest: true, superseded: true, seen: "ynn", want: "leave"},
	{what: "latest: never", op: fanfold.OpPatch, latest: true, superseded: true, seen: "nny"},
	{what: "latest: deleted, and there again", op: fanfold.OpDelete, latest: true, superseded: true, seen: "y-y"},
	{what: "latest: deleted, and there again hidden", op: fanfold.OpDelete, latest: true, superseded: true, seen: "y-n", want: "row without what was"},
	{what: "latest: entered before, with a document", op: fanfold.OpPatch, latest: true, superseded: true, whole: true, seen: "nyy"},
	{what: "enters without room for its document", op: fanfold.OpPatch, bare: true, seen: "nyy"},
	{what: "derived, not asked for", op: fanfold.OpDerive, direct: true, unasked: true, seen: "yyy"},
	{what: "derived, not asked for, enters", op: fanfold.OpDerive, direct: true, unasked: true, seen: "nyy", want: "enter"},
	{what: "derived, not asked for, leaves", op: fanfold.OpDerive, direct: true, unasked: true, seen: "ynn", want: "leave"},
	{what: "derived, never", op: fanfold.OpDerive, seen: "nny"},
	{what: "within", op: fanfold.OpDerive, seen: "yyyy", want: "row"},
	{what: "within, hidden at the end", op: fanfold.OpDerive, seen: "yyyn"},
	{what: "within, hidden after it", op: fanfold.OpDerive, seen: "ynyy"},
	{what: "within, not asked for", op: fanfold.OpDerive, direct: true, seen: "nyyy"},
	{what: "within, superseded", op: fanfold.OpDerive, latest: true, superseded: true, seen: "ynny"},
	{what: "a filter that matches", op: fanfold.OpPatch, seen: "yyy", filter: "doc.n == 2", want: "row"},
	{what: "a filter that matches what enters", op: fanfold.OpPatch, seen: "nyy", filter: "doc.n == 2", want: "enter"},
	{what: "a filter that does not match what enters", op: fanfold.OpPatch, seen: "nyy", filter: "doc.n == 7"},
	{what: "a filter that never matches what leaves", op: fanfold.OpPatch, seen: "ynn", filter: "doc.n == 7", want: "leave"},
	{what: "a filter, left before and back", op: fanfold.OpPatch, latest: true, superseded: true, seen: "yny", filter: "doc.n == 7", want: "leave"},
	{what: "a filter, deleted and there again hidden", op: fanfold.OpDelete, seen: "y-n", filter: "doc.n == 7", want: "leave"},
	{what: "a filter that matched before", op: fanfold.OpPatch, seen: "yyy", filter: "doc.n == 1", want: "row"},
	{what: "a filter that matched before, superseded", op: fanfold.OpPatch, latest: true, superseded: true, seen: "yyy", filter: "doc.n == 1", want: "row"},
	{what: "a filter that matched before, superseded within", op: fanfold.OpDerive, latest: true, superseded: true, seen: "yyyy", filter: "doc.n == 1"},
	{what: "a filter over what was, which enters", op: fanfold.OpPatch, seen: "nyy", filter: "doc.n == 2 && previous.n == 1"},
}

// newCellScan returns a scan of a consumer whom a rule judges. The collection has some derived values.
func newCellScan(t *testing.T, c *cell, derived string) *scan {
	t.Helper()
	m, err := modelfile.Parse([]byte(`collections: {a: {access: {read: {where: doc.shown}}, derive: {` + derived + `}}}`))
	if err != nil {
		t.Fatal(err)
	}
	rights := access.NewJudge(access.Everybody{}, func() *model.Model { return m }).Of(&access.Principal{ID: "ann"})
	req := &request{Query: Query{Rights: rights, Selection: Selection{AllChanges: !c.latest, Direct: c.direct}}}
	req.setRights(rights)
	if c.filter != "" {
		if req.filter, err = expr.CompileFilter(c.filter, nil); err != nil {
			t.Fatal(err)
		}
	}
	return &scan{req: req}
}

// sentAs returns what a row is in an answer.
func (c *cell) sentAs(t *testing.T) (kind, text string) {
	t.Helper()
	s := newCellScan(t, c, "")
	row, given := s.show(c.row())
	if given && s.req.filter != nil {
		row, given = s.judge(row)
	}
	if !given {
		return "", ""
	}
	var out sending.Buffer
	addRow(&out, row, fanfold.Issuer{}, s.req)
	var b strings.Builder
	if err := out.WriteTo(&b, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	switch text = b.String(); {
	case strings.Contains(text, `"op":"enter"`):
		return "enter", text
	case strings.Contains(text, `"op":"leave"`):
		return "leave", text
	case c.op == fanfold.OpDelete && !strings.Contains(text, `"previous":`) && !c.latest, c.op == fanfold.OpDelete && c.latest && row.Previous == nil:
		return "row without what was", text
	}
	return "row", text
}

// TestCells: what a consumer gets of a change goes by whether it may read the document before the change, after it and now. A row by which the document enters says
// nothing of before. One by which it leaves says nothing at all.
func TestCells(t *testing.T) {
	for _, c := range cells {
		kind, text := c.sentAs(t)
		if c.filter == "doc.n == 1" && kind == "leave" { // by the filter
			kind = "row"
		}
		if kind != c.want {
			t.Errorf("%s: %q, want %q: %s", c.what, kind, c.want, text)
		}
		switch kind {
		case "enter":
			if strings.Contains(text, "previous") || strings.Contains(text, "patch\"") || !strings.Contains(text, `"doc":{"shown":true,"n":2`) {
				t.Errorf("%s: enters by %s", c.what, text)
			}
		case "leave":
			if text != `{"seq":"9-0","collection":"a","id":"1","op":"leave"}` && c.filter != "doc.n == 1" {
				t.Errorf("%s: leaves by %s", c.what, text)
			}
		}
	}
}

// TestCellsOfCauses: a row names its cause where that may be read now, in a collection that a rule judges.
func TestCellsOfCauses(t *testing.T) {
	for letter, want := range map[byte]bool{'y': true, 'n': false, '-': false} {
		c := cell{op: fanfold.OpDerive, seen: "yyy"}
		row := c.row()
		row.Cause, row.CauseNow = &fanfold.Key{Collection: "a", ID: "cause"}, versionOf(letter, "5")
		if row, given := newCellScan(t, &c, "").show(row); !given || (row.Cause != nil) != want || row.CauseNow != nil {
			t.Errorf("%c: given %t with the cause %v", letter, given, row.Cause)
		}
	}
}

// TestCellsOfErasures: an erasure tells what a rule says of the document as it is, unless the rule looks at a member that may have been another one.
func TestCellsOfErasures(t *testing.T) {
	for _, c := range []struct {
		what, after string
		lost        []string
		derived     string
		begins      bool // the consumer begins with nothing
		want        string
	}{
		{what: "shown", after: "y", lost: []string{"other"}, want: "row"},
		{what: "hidden", after: "n", lost: []string{"other"}},
		{what: "shown, of what the rule looks at", after: "y", lost: []string{"shown"}, want: "enter"},
		{what: "hidden, of what the rule looks at", after: "n", lost: []string{"shown"}, want: "leave"},
		{what: "hidden, of all members", after: "n", lost: []string{""}, want: "leave"},
		{what: "hidden, of what is derived", after: "n", derived: `shown: {value: "has(doc.n)", publish: true}`, want: "leave"},
		{what: "hidden, of something else that is derived", after: "n", derived: `other: {value: "has(doc.n)", publish: true}`},
		{what: "hidden, at the beginning", after: "n", lost: []string{"shown"}, begins: true},
		{what: "shown, at the beginning", after: "y", lost: []string{"shown"}, begins: true, want: "row"},
	} {
		asked := cell{op: fanfold.OpDerive, seen: "-" + c.after + c.after}
		row := asked.row()
		row.Rules, row.Sight.Lost = []string{fanfold.RuleErase}, c.lost
		s := newCellScan(t, &asked, c.derived)
		if c.begins {
			s.req.fresh = row.Position
		}
		got := ""
		if row, given := s.show(row); given {
			got = map[[2]bool]string{{false, false}: "row", {true, false}: "enter", {false, true}: "leave"}[[2]bool{row.Enters, row.Hides}]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
