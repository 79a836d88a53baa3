package yamltext

import (
	"errors"
	"testing"
)

// TestYAMLToJSON: what a model may hold comes out as the JSON it means.
func TestYAMLToJSON(t *testing.T) {
	for src, want := range map[string]string{
		"a: 1\nb: [x, 'y', \"z\"]":           `{"a":1,"b":["x","y","z"]}`,
		"a: true\nb: null\nc: ~\nd: yes":     `{"a":true,"b":null,"c":null,"d":"yes"}`,
		"c: .5\nd: 2.50":                     `{"c":0.5,"d":2.50}`,
		"a: \"\\a\\0\\u00e9\"":               `{"a":"\u0007\u0000é"}`,
		"a: &x {k: 1}\nb: *x\nc: [*x, *x]":   `{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}]}`,
		"# only\na:\n  - b: |\n      text\n": `{"a":[{"b":"text\n"}]}`,
		"1: x":                               `{"1":"x"}`,
		"when: 2026-01-02":                   `{"when":"2026-01-02"}`,
	} {
		got, err := ToJSON([]byte(src))
		if err != nil || string(got) != want {
			t.Errorf("%q is %s, %v, want %s", src, got, err, want)
		}
	}
}

// TestFromJSON: JSON comes back from its YAML as the same JSON.
func TestFromJSON(t *testing.T) {
	for _, source := range []string{
		`{"collections":{"a":{"unique":["x"],"derive":{"b[].c":{"copy":"r","value":"doc.n + ' yes'","frozen":true}}},"n":{"v":"1","w":"true","x":1.50}}}`,
		`{"a":[1,-2.50,1e5,1E400,12345678901234567890123,true,false,null,{},[]],"":"","1":"1","null":"null","~":"~","<<":"a","=":"="}`,
		`{"a":["\u0000\u0007\u001b","a\nb\n","\n"," a ","a: b","# a","a\tb","a\rb","- a","!a","&a","*a","@","0x10","1_000","2026-01-02","yes","NaN",".inf"]}`,
		"{\"a\":[\"a\u0085b\",\"a\u2028\",\"\u2029\",\"a\u00a0b\",\"a\u007f\",\"\ufeffa\",\"\ufffea\",\"\U0001F600\"]}",
	} {
		text, err := FromJSON([]byte(source))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		back, err := ToJSON(text)
		if err != nil || string(back) != source {
			t.Errorf("%s comes back as %s, %v", text, back, err)
		}
	}
}

// TestScalars: a scalar without quotes is a number where all readers of YAML take it for that number. Other numbers of any YAML are refused,
// with their place and a word of what to write, and everything else is text. In quotes each is text.
func TestScalars(t *testing.T) {
	for src, want := range map[string]string{
		"0": "0", "-0": "-0", "10": "10", "-7": "-7", "+1": "1", "-12.50": "-12.50", "2.50": "2.50", ".5": "0.5", "-.5": "-0.5", "+.5": "0.5", "5.": "5", "0.1": "0.1",
		"1e3": "1e3", "1E3": "1E3", "1e+3": "1e+3", "-1.5e-3": "-1.5e-3", ".5e1": "0.5e1", "5.e1": "5e1", "1e400": "1e400", "12345678901234567890123": "12345678901234567890123",
		"~": "null", "null": "null", "Null": "null", "NULL": "null", "true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false",

		"010": "", "-010": "", "+010": "", "00": "", "08": "", "007": "", "010.5": "", "01e3": "", "0x10": "", "0X1F": "", "-0x10": "", "0xdead_beef": "", "0xffffffffffffffffff": "",
		"0o10": "", "0O17": "", "-0o10": "", "0b101": "", "-0B1_0": "", "1_000": "", "-1_000": "", "+1_0": "", "1_000.5": "", "1_0e3": "", "1__0": "", "1_": "", ".1_0": "", "0_7": "",
		".inf": "", "-.Inf": "", "+.INF": "", ".nan": "", ".NaN": "", ".NAN": "",

		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "off": `"off"`, "Yes": `"Yes"`, "NO": `"NO"`, "y": `"y"`, "n": `"n"`, "nULL": `"nULL"`, "tRUE": `"tRUE"`, "nan": `"nan"`, "inf": `"inf"`,
		"2026-01-02": `"2026-01-02"`, "2026-01-02T03:04:05Z": `"2026-01-02T03:04:05Z"`, "2026-01-02 03:04:05": `"2026-01-02 03:04:05"`, "12:30": `"12:30"`, "190:20:30": `"190:20:30"`,
		"1.2.3": `"1.2.3"`, "127.0.0.1": `"127.0.0.1"`, "0x": `"0x"`, "0xg": `"0xg"`, "0o8": `"0o8"`, "0b2": `"0b2"`, "_1": `"_1"`, "+": `"+"`, ".": `"."`, "+.": `"+."`, ".e1": `".e1"`, "1e": `"1e"`, "--1": `"--1"`,
		"1 000": `"1 000"`, "5s": `"5s"`, "=": `"="`, "１": `"１"`,
	} {
		got, err := ToJSON([]byte("ä: " + src))
		var at *Error
		switch {
		case want == "" && (!errors.As(err, &at) || at.Line != 1 || at.Column != 4):
			t.Errorf("%s is %s, %v, want an error at its place", src, got, err)
		case want != "" && (err != nil || string(got) != `{"ä":`+want+`}`):
			t.Errorf("%s is %s, %v, want %s", src, got, err, want)
		}
		for _, quoted := range []string{"'" + src + "'", `"` + src + `"`, "|-\n  " + src, ">-\n  " + src} {
			if got, err := ToJSON([]byte("a: " + quoted)); err != nil || string(got) != `{"a":"`+src+`"}` {
				t.Errorf("%s is %s, %v, want the text", quoted, got, err)
			}
		}
		if got, err := ToJSON([]byte(src + ": 1")); err != nil || string(got) != `{"`+src+`":1}` {
			t.Errorf("the name %s is %s, %v", src, got, err)
		}
		text, err := FromJSON([]byte(`{"a":"` + src + `"}`))
		if back, backErr := ToJSON(text); err != nil || backErr != nil || string(back) != `{"a":"`+src+`"}` {
			t.Errorf("the text %s comes back from %s as %s, %v, %v", src, text, back, err, backErr)
		}
	}
}
