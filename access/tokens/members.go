package tokens

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// headers are members of a token's header that have a meaning here (RFC 7515, RFC 7797).
var headers = []string{"alg", "kid", "typ", "cty", "crit", "b64"}

// registered are claims that rules see in other members of auth, or not at all.
var registered = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti"}

// partsOf returns the header and the payload of a token. Each is a JSON object that has each member once, and none that differs from a known one only in case.
// Package json takes SUB for sub, and of two members the last, and the issuer may have checked the other one.
func (t *Tokens) partsOf(text string) (header, payload *jsondoc.Tree, err error) {
	first, rest, _ := strings.Cut(text, ".")
	second, _, _ := strings.Cut(rest, ".")
	if header, err = t.readPart("header", first, headers); err != nil {
		return nil, nil, err
	}
	roles, _, _ := strings.Cut(t.opt.Roles, ".")
	payload, err = t.readPart("payload", second, append([]string{t.opt.Roles, roles}, registered...))
	return header, payload, err
}

// readPart reads a part of a token. The error quotes nothing of it.
func (t *Tokens) readPart(name, coded string, known []string) (*jsondoc.Tree, error) {
	text, err := t.parser.DecodeSegment(coded)
	if err != nil || jsondoc.Check(text, payloadDepth) != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "the token's %s is no JSON object with each member once, nested %d levels deep at most", name, payloadDepth)
	}
	tree := jsondoc.MustParse(text)
	if tree.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, fanfold.Errorf(fanfold.Invalid, "the token's %s is no JSON object", name)
	}
	for n := tree.First(jsondoc.Root); n != jsondoc.None; n = tree.Next(n) {
		key := tree.Key(n)
		if slices.ContainsFunc(known, func(k string) bool { return key != k && strings.EqualFold(key, k) }) && !slices.Contains(known, key) {
			return nil, fanfold.Errorf(fanfold.Invalid, "the token's %s has a member that differs from a known one only in its capitals", name)
		}
	}
	return tree, nil
}
