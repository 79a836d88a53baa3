package tokens

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// headers are members of a token's header that have a meaning here (RFC 7515, RFC 7797).
var headers = []string{"alg", "kid", "typ", "cty", "crit", "b64"}

// registered are claims that rules see in other members of auth, or not at all.
var registered = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti"}

// partsOf returns the payload of a token whose header is one that lets in. Each is a JSON object that has each member once, and none that differs from a
// known one only in case. Package json takes SUB for sub, and of two members the last, and the issuer may have checked the other one.
func (t *Tokens) partsOf(text string) (payload *jsondoc.Tree, err error) {
	first, rest, _ := strings.Cut(text, ".")
	second, _, _ := strings.Cut(rest, ".")
	header, err := t.readPart("header", first, headers)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	roles, _, _ := strings.Cut(t.opt.Roles, ".")
	if payload, err = t.readPart("payload", second, append([]string{t.opt.Roles, roles}, registered...)); err != nil {
		return nil, err
	}
	if payload.Member(payload.Member(jsondoc.Root, "events"), logout) != jsondoc.None {
		return nil, refuse(otherType, "the token tells of a logout")
	}
	return payload, nil
}

// logout is the event that an OpenID Connect logout token has, also where its header has no typ.
const logout = "http://schemas.openid.net/event/backchannel-logout"

// types are those that a token may have, if it has one: another one is for something else (RFC 8725, section 3.11; RFC 9068, section 2.1).
var types = []string{"jwt", "at+jwt", "application/jwt", "application/at+jwt"}

// checkHeader returns a refusal of a token of another type, and for one that must be understood in another way (RFC 7515, section 4.1.11; RFC 7797).
func checkHeader(header *jsondoc.Tree) error {
	if at := header.Member(jsondoc.Root, "typ"); at != jsondoc.None && (header.Kind(at) != jsondoc.String || !slices.Contains(types, strings.ToLower(header.Text(at)))) {
		return refuse(otherType, "the token's typ is neither JWT nor at+jwt")
	}
	if at := header.Member(jsondoc.Root, "b64"); at != jsondoc.None && string(header.Raw(at)) != "true" {
		return refuse(otherType, "the token has a header b64")
	}
	if at := header.Member(jsondoc.Root, "kid"); at != jsondoc.None && header.Kind(at) != jsondoc.String { // which would be taken for none, and so for any key
		return refuse(malformed, "the token's kid is not a text")
	}
	if header.Member(jsondoc.Root, "crit") != jsondoc.None {
		return refuse(otherType, "the token has a header crit")
	}
	return nil
}

// readPart reads a part of a token. The error quotes nothing of it.
func (t *Tokens) readPart(name, coded string, known []string) (*jsondoc.Tree, error) {
	text, err := t.parser.DecodeSegment(coded)
	if err != nil || jsondoc.Check(text, payloadDepth) != nil {
		return nil, refuse(malformed, "the token's %s is no JSON object with each member once, nested %d levels deep at most", name, payloadDepth)
	}
	tree := jsondoc.MustParse(text)
	if tree.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, refuse(malformed, "the token's %s is no JSON object", name)
	}
	for n := tree.First(jsondoc.Root); n != jsondoc.None; n = tree.Next(n) {
		key := tree.Key(n)
		if slices.ContainsFunc(known, func(k string) bool { return key != k && strings.EqualFold(key, k) }) && !slices.Contains(known, key) {
			return nil, refuse(malformed, "the token's %s has a member that differs from a known one only in its capitals", name)
		}
	}
	return tree, nil
}
