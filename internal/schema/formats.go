package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// stricter are checks of formats that the library takes too lightly. Its own check follows, but for uri-template.
var stricter = map[string]func(text string) error{
	"duration": checkDuration, "email": checkEmail, "hostname": checkHostname, "ipv4": checkIPv4,
	"uri": checkURI, "uri-reference": checkURI, "iri": checkIRI, "iri-reference": checkIRI, "uri-template": checkTemplate,
}

// ownFormats returns the formats of stricter.
var ownFormats = sync.OnceValues(func() (all []*jsonschema.Format, err error) {
	for name, check := range stricter {
		library := func(any) error { return nil }
		if name != "uri-template" { // which the library reads as a URI
			if library, err = libraryFormat(name); err != nil {
				return nil, err
			}
		}
		all = append(all, &jsonschema.Format{Name: name, Validate: func(v any) error {
			if text, ok := v.(string); ok {
				if err := check(text); err != nil {
					return err
				}
			}
			return library(v)
		}})
	}
	return all, nil
})

// libraryFormat returns the library's check of a format.
func libraryFormat(name string) (func(v any) error, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	const at = "urn:fanfold:format"
	if err := c.AddResource(at, map[string]any{"format": name}); err != nil {
		return nil, err
	}
	s, err := c.Compile(at)
	if err != nil {
		return nil, err
	}
	return s.Format.Validate, nil
}

// duration follows RFC 3339, appendix A: no unit is left out between two others.
var duration = regexp.MustCompile(`^P([0-9]+W|(` + units("Y", "M", "D") + `)(T(` + units("H", "M", "S") + `))?|T(` + units("H", "M", "S") + `))$`)

// units returns the expression of a part of a duration.
func units(large, middle, small string) string {
	least := `[0-9]+` + small
	return `[0-9]+` + large + `([0-9]+` + middle + `(` + least + `)?)?|[0-9]+` + middle + `(` + least + `)?|` + least
}

func checkDuration(text string) error {
	if !duration.MatchString(text) {
		return errors.New("not as P1Y2M3D, P4W or P1DT2H3M4S, without a gap between units")
	}
	return nil
}

func checkHostname(text string) error {
	if strings.HasSuffix(text, ".") {
		return errors.New("ends with a dot")
	}
	return nil
}

func checkIPv4(text string) error {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' {
			return fmt.Errorf("invalid character %q", c)
		}
	}
	return nil
}

func checkEmail(text string) error {
	at := strings.LastIndexByte(text, '@')
	if at == 0 {
		return errors.New("nothing before the @")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return errors.New("has a character that is not of ASCII, or a control")
	}
	domain := text[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok && !strings.HasPrefix(literal, "IPv6:") {
		return checkIPv4(strings.TrimSuffix(literal, "]"))
	}
	return checkHostname(domain)
}

func checkURI(text string) error { return checkCharacters(text, 0x7f) }

func checkIRI(text string) error { return checkCharacters(text, 0x110000) }

// checkCharacters returns an error for the first character that neither a URI nor an IRI has. Those from end on are refused, too.
func checkCharacters(text string, end rune) error {
	for i, c := range text {
		if c <= ' ' || c == 0x7f || c >= end || strings.ContainsRune("<>\"{}|\\^`", c) {
			return fmt.Errorf("invalid character %q", c)
		}
		if c == '%' && !isHex(text[i+1:]) {
			return errors.New("a % without two hexadecimal digits")
		}
	}
	if _, fragment, ok := strings.Cut(text, "#"); ok && strings.Contains(fragment, "#") {
		return errors.New("more than one #")
	}
	return nil
}

// isHex tells whether a text begins with two hexadecimal digits.
func isHex(text string) bool {
	return len(text) >= 2 && strings.Trim(text[:2], "0123456789abcdefABCDEF") == ""
}

// expression is what stands between the braces of a template (RFC 6570, 2.2).
var expression = func() *regexp.Regexp {
	const char, modifier = `(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})`, `(?::[1-9][0-9]{0,3}|\*)?`
	const variable = char + `(?:\.?` + char + `)*` + modifier
	return regexp.MustCompile(`^[+#./;?&=,!@|]?` + variable + `(?:,` + variable + `)*$`)
}()

func checkTemplate(text string) error {
	for text != "" {
		literal, rest, braces := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return errors.New("a } without a {")
		}
		if err := checkLiteral(literal); err != nil {
			return err
		}
		if !braces {
			return nil
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return errors.New("a { without a }")
		}
		if !expression.MatchString(inner) {
			return fmt.Errorf("{%s} is no expression, such as {var}, {?a,b} or {/path:3}", inner)
		}
		text = after
	}
	return nil
}

// checkLiteral returns an error for the first character that a template does not have outside of expressions.
func checkLiteral(text string) error {
	for i, c := range text {
		if c <= ' ' || c == 0x7f || strings.ContainsRune("<>\"|\\^`", c) {
			return fmt.Errorf("invalid character %q", c)
		}
		if c == '%' && !isHex(text[i+1:]) {
			return errors.New("a % without two hexadecimal digits")
		}
	}
	return nil
}
