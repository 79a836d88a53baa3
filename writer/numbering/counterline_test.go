package numbering_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sequence"
	"github.com/fanfold/fanfold/writer/numbering"
)

// TestCounterLines: a line names a counter by its key or by the value of per, and says a number that there is.
func TestCounterLines(t *testing.T) {
	key := sequence.Key("n", "e")
	for line, want := range map[string]string{
		`{"collection":"a","path":"n","key":"` + key + `","last":7}`:                      key,
		`{"line":3,"collection":"a","path":"n","per":"e","last":7}`:                       key,
		`{"collection":"a","path":"n","last":7}`:                                          sequence.Key("n", ""),
		`{"collection":"a","path":"n","key":"` + strings.ToUpper(key) + `","last":7}`:     key,
		`{"path":"n","last":7}`:                                                           "",
		`{"collection":"a","last":7}`:                                                     "",
		`{"collection":"a","path":"n"}`:                                                   "",
		`{"collection":"a","path":"n[]","last":7}`:                                        "",
		`{"collection":"a","path":"n","last":0}`:                                          "",
		`{"collection":"a","path":"n","last":-1}`:                                         "",
		`{"collection":"a","path":"n","last":9007199254740992}`:                           "",
		`{"collection":"a","path":"n","last":1.5}`:                                        "",
		`{"collection":"a","path":"n","last":7,"doc":{}}`:                                 "",
		`{"collection":"a","path":"n","key":"ab","last":7}`:                               "",
		`{"collection":"a","path":"n","key":"` + key[1:] + `.","last":7}`:                 "",
		`{"collection":"a","path":"n","key":"` + key + `","per":"e","last":7}`:            "",
		`{"collection":"a","path":"n","per":"` + strings.Repeat("x", 256) + `","last":7}`: "",
	} {
		ev, err := numbering.ParseCounter([]byte(line))
		if want == "" {
			if fanfold.CodeOf(err) != fanfold.Invalid {
				t.Errorf("%s: %v", line, err)
			}
			continue
		}
		given, _ := ev.Given()
		if err != nil || ev.Key.Collection != "a" || ev.Path != "n" || ev.Value != want || given.Last != 7 {
			t.Errorf("%s: %+v, %v", line, ev, err)
		}
	}
}

// TestRaise: a counter is raised, by one event, and never lowered.
func TestRaise(t *testing.T) {
	var events []*fanfold.Event
	for _, line := range []string{`{"collection":"a","path":"n","last":4}`, `{"collection":"a","path":"n","last":9}`, `{"collection":"a","path":"n","last":8}`, `{"collection":"b","path":"n","last":3}`} {
		ev, err := numbering.ParseCounter([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	writes, err := numbering.Raise(last(3), events)
	if err != nil || len(writes) != 1 || writes[0].Expect.Rev != 5 {
		t.Fatalf("%+v, %v", writes, err)
	}
	if given, _ := writes[0].Event.Given(); given.Last != 9 {
		t.Errorf("the counter is raised to %d", given.Last)
	}
}
