package house_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The house's rule for a sentence: at most longest words, no word that the patterns below name, and no beginning with a relative clause.
const longest = 30

// sentenceRules names the parts of the rule, in the order of faults.
var sentenceRules = [...]string{"over-30-words", "behind", "relative-beginning", "of-which"}

var (
	behind       = regexp.MustCompile(`(?i)\bbehind\b`)
	relative     = regexp.MustCompile(`^(That|What|Who|Where)\b`)
	counting     = regexp.MustCompile(`(?i)\b(of which|that of|those of)\b`)
	sentenceEnd  = regexp.MustCompile(`[.!?]["')\]*_]*\s+`)
	codeSpan     = regexp.MustCompile("`[^`]*`")
	markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	tabbed       = regexp.MustCompile(`(?m)^\t.*$`)
	listItem     = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)
)

// sentence is a sentence of a document or a comment.
type sentence struct{ place, text string }

// faults tells which parts of the rule a sentence breaks, in the order of sentenceRules.
func (s sentence) faults() [len(sentenceRules)]bool {
	return [...]bool{
		len(strings.Fields(s.text)) > longest, behind.MatchString(s.text),
		relative.MatchString(s.text) && !strings.HasSuffix(s.text, "?"), counting.MatchString(s.text),
	}
}

// sentencesOf splits a paragraph. Fewer than four words are no sentence, and code is one word.
func sentencesOf(place, paragraph string) (out []sentence) {
	paragraph = codeSpan.ReplaceAllString(markdownLink.ReplaceAllString(paragraph, "$1"), "code")
	paragraph = strings.Join(strings.Fields(strings.ReplaceAll(paragraph, "**", "")), " ")
	for paragraph != "" {
		end := len(paragraph)
		if at := sentenceEnd.FindStringIndex(paragraph); at != nil {
			end = at[1]
		}
		if text := strings.TrimSpace(paragraph[:end]); len(strings.Fields(text)) > 3 {
			out = append(out, sentence{place, text})
		}
		paragraph = paragraph[end:]
	}
	return out
}

// markdownSentences returns the sentences of a document: of its paragraphs, list items and cells of tables.
func markdownSentences(path, text string) (out []sentence) {
	code, began, paragraph := false, 0, ""
	finish := func() {
		out = append(out, sentencesOf(fmt.Sprintf("%s:%d", path, began), paragraph)...)
		paragraph = ""
	}
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			code = !code
		}
		switch {
		case code || fence || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			finish()
		case strings.HasPrefix(line, "|"):
			finish()
			for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, "/"), "|") {
				out = append(out, sentencesOf(fmt.Sprintf("%s:%d", path, i+1), cell)...)
			}
		default:
			if listItem.MatchString(line) {
				finish()
				line = listItem.ReplaceAllString(line, "")
			}
			if paragraph == "" {
				began = i + 1
			}
			paragraph += line + "\n"
		}
	}
	finish()
	return out
}

// commentSentences returns the sentences of a Go file's comments, without what they have of code.
func commentSentences(t *testing.T, f *houseFile) (out []sentence) {
	t.Helper()
	for _, c := range f.syntax(t).Comments {
		place := fmt.Sprintf("%s:%d", f.path, positions.Position(c.Pos()).Line)
		out = append(out, markdownSentences(place, tabbed.ReplaceAllString(c.Text(), ""))...)
	}
	return out
}

// sentenceArea returns the area in which a file is counted, or "". Areas are wide, so that files may move within the house.
func sentenceArea(path string) string {
	switch {
	case path == "CHANGELOG.md":
		return "" // tells of what was
	case path == "README.md" || strings.HasPrefix(path, "docs/"):
		return "README-and-docs"
	case path == "ARCHITECTURE.md" || path == "CONTRIBUTING.md":
		return "house"
	case strings.HasSuffix(path, ".md"):
		return "DESIGN"
	case strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "tests/") && strings.HasSuffix(path, ".go"):
		return "comments-of-tests"
	case strings.HasPrefix(path, "client/") && strings.HasSuffix(path, ".go"):
		return "comments-of-client"
	case strings.HasSuffix(path, ".go"):
		return "comments"
	}
	return ""
}

// allSentences returns the sentences of the house by area.
func allSentences(t *testing.T) map[string][]sentence {
	t.Helper()
	areas := map[string][]sentence{}
	for _, f := range house(t) {
		switch area := sentenceArea(f.path); {
		case area == "":
		case strings.HasSuffix(f.path, ".md"):
			areas[area] = append(areas[area], markdownSentences(f.path, f.text)...)
		default:
			areas[area] = append(areas[area], commentSentences(t, f)...)
		}
	}
	return areas
}

// TestSentences: the sentences of an area that break the house's rule are no more than testdata/ceilings.txt has. Of README and
// docs/ at most 3 sentences of 100 may break it.
func TestSentences(t *testing.T) {
	var measured []measure
	for area, sentences := range allSentences(t) {
		var broken [len(sentenceRules)][]string
		bad := 0
		for _, s := range sentences {
			f := s.faults()
			for i := range f {
				if f[i] {
					broken[i] = append(broken[i], s.place+": "+s.text)
				}
			}
			if slices.Contains(f[:], true) {
				bad++
			}
		}
		for i, rule := range sentenceRules {
			measured = append(measured, measure{"sentences", area + "/" + rule, len(broken[i]), broken[i]})
		}
		t.Logf("%s: %d sentences, %d break the rule", area, len(sentences), bad)
		if area == "README-and-docs" && bad*100 > 3*len(sentences) {
			t.Errorf("of %d sentences in README and docs/ %d break the rule, more than 3 of 100", len(sentences), bad)
		}
	}
	holdCeilings(t, measured)
}

// TestSentenceRule holds the counting itself against sentences whose faults are known.
func TestSentenceRule(t *testing.T) {
	long := strings.Repeat("word ", longest)
	for text, want := range map[string][]sentence{
		"One two three four. Five six seven eight!":  {{"d:1", "One two three four."}, {"d:1", "Five six seven eight!"}},
		"- one two three\n  four\n- `a b c` is code": {{"d:1", "one two three four"}},
		"| a | one two three four. |\n|---|---|":     {{"d:1", "one two three four."}},
		"```sh\nall of this is code\n```":            nil,
		"## A heading has no sentences":              nil,
		"See [the page](x.md) of v1.2 now.":          {{"d:1", "See the page of v1.2 now."}},
	} {
		if got := markdownSentences("d", text); !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string][len(sentenceRules)]bool{
		"It is after that.": {}, long: {}, long + "more": {true}, "The node is behind.": {false, true},
		"That none is there settles nothing.": {false, false, true}, "Where is the data?": {}, "Whatever you do is kept.": {},
		"It has three, of which one is empty.": {3: true}, "It is that of the file.": {3: true}, "These are of the file, which is new.": {},
	} {
		if got := (sentence{"", strings.TrimSpace(text)}).faults(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
