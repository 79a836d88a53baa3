package expr

import (
	"fmt"
	"testing"
)

// TestAuthPaths: a rule says at which values of the sender it looks, and at no more.
func TestAuthPaths(t *testing.T) {
	for source, want := range map[string]string{
		"doc.a == 1":        "[]",
		"doc.a == auth.sub": "[[sub]]",
		"doc.a == auth.claims.tenant && doc.b == auth.claims.tenant":      "[[claims tenant]]",
		`doc.a == auth.claims["tenant"]["x"] || auth.sub == doc.b`:        "[[claims tenant x] [sub]]",
		"auth.claims.teams.exists(t, t.name == doc.a)":                    "[[claims teams]]",
		"auth.claims.a.filter(t, t in auth.claims.b).size() > 0":          "[[claims a] [claims b]]",
		"doc.list.exists(x, x == auth.claims[x])":                         "[[claims]]",
		"auth.claims[auth.claims.which] == doc.a":                         "[[claims] [claims which]]",
		"has(auth.claims.staff)":                                          "[[claims staff]]",
		"auth.claims == doc.a":                                            "[[claims]]",
		"[auth].exists(x, x.sub == doc.a)":                                "[[]]",
		"doc.list.exists(auth, auth.sub == 1)":                            "[]",
		"size(auth.roles) > 0 ? doc.open : auth.claims.teams[0] == doc.t": "[[claims teams] [roles]]",
	} {
		r, err := CompileReading(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := fmt.Sprint(r.AuthPaths()); got != want {
			t.Errorf("%s looks at %s, want %s", source, got, want)
		}
	}
}
