package modelfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestAccess: an access comes back as it was declared, through the log's form and through YAML.
func TestAccess(t *testing.T) {
	for text, want := range map[string]string{
		"{}":         "[] []",
		"{read: []}": "[] []",
		"{read: [support, accounting], write: [accounting]}": "[accounting support] [accounting]",
		"{read: [everyone]}": "[everyone] []",
		"{write: [a_b-9]}":   "[a_b-9] [a_b-9]",
		"{read: {roles: [b], where: 'auth.sub in doc.members'}, create: [a], update: {where: 'old.a == doc.a'}, delete: {where: 'old.a == 1'}}": "[b] [a]",
		"{write: {where: 'auth.claims.writes'}}":    "[] []",
		"{read: [" + roles(32) + "]}":               "",
		"{read: [" + strings.Repeat("r", 64) + "]}": "",
	} {
		m, err := Parse([]byte("collections: {a: {access: " + text + "}}"))
		if err != nil {
			t.Errorf("%s: %q", text, problems(t, err))
			continue
		}
		a := m.Collection("a").Access
		if got := fmt.Sprint(a.Read.Roles, " ", a.Create.Roles); want != "" && got != want {
			t.Errorf("%s became %s", text, got)
		}
		yaml, err := ToYAML(m.Source)
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range [][]byte{m.Source, yaml} {
			again, err := Parse(source)
			if err != nil || !again.Collection("a").Access.Same(a) || !bytes.Equal(again.Source, m.Source) {
				t.Errorf("%s came back as %s: %v", m.Source, source, err)
			}
		}
	}
	if m, err := Parse([]byte("collections: {a: {}}")); err != nil || m.Collection("a").Access != nil {
		t.Errorf("no access became one: %v", err)
	}
}

// roles returns n names of roles, in a row.
func roles(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("r%d", i))
	}
	return strings.Join(names, ", ")
}

// TestAccessMistakes: each mistake in an access is told, at its place.
func TestAccessMistakes(t *testing.T) {
	const at = "collections.a.access"
	for text, want := range map[string]string{
		"[read]":                       at + ": must be a mapping with read and write, each a list of roles",
		"everyone":                     at + ": must be a mapping with read and write, each a list of roles",
		"{reads: [a]}":                 at + ".reads: unknown member; access has read, write, create, update and delete",
		"{read: everyone}":             at + ".read: must be a list of roles",
		"{write: {a: b}}":              at + ".write.a: unknown member; a right has roles and where",
		"{read: [1]}":                  at + ".read: must be a string",
		"{read: ['']}":                 at + ".read: must be a string",
		"{read: [Support]}":            at + `.read: "Support" cannot name a role`,
		"{read: [9a]}":                 at + `.read: "9a" cannot name a role`,
		"{read: [a b]}":                at + `.read: "a b" cannot name a role`,
		"{read: [rôle]}":               at + `.read: "rôle" cannot name a role`,
		"{read: [a, b, a]}":            at + ".read: names a twice",
		"{write: [" + roles(33) + "]}": at + ".write: has more than 32 roles",
		"{read: [" + strings.Repeat("r", 65) + "]}":                        at + `.read: "` + strings.Repeat("r", 65) + `" cannot name a role`,
		"{write: [a], update: [b]}":                                        at + ".update: write stands for create, update and delete",
		"{create: [a], write: [b]}":                                        at + ".write: write stands for create, update and delete",
		"{read: {role: [a]}}":                                              at + ".read.role: unknown member; a right has roles and where",
		"{read: {where: 1}}":                                               at + ".read.where: must be a string",
		"{read: {where: 'doc.a =='}}":                                      at + ".read.where: column ",
		"{read: {where: 'old.a == auth.sub'}}":                             at + ".read.where: column 1: there is no 'old' here",
		"{create: {where: 'old.a == auth.sub'}}":                           at + ".create.where: column 1: there is no 'old' here",
		"{delete: {where: 'doc.a == auth.sub'}}":                           at + ".delete.where: column 1: there is no 'doc' here",
		"{write: {where: 'doc.a == auth.sub'}}":                            at + ".write.where: column 1: there is no 'doc' here",
		"{read: {where: 'meta.createdAt == auth.sub'}}":                    at + ".read.where: column 1: there is no 'meta' here",
		"{read: {where: 'params.a == auth.sub'}}":                          at + ".read.where: column 1: there is no 'params' here",
		"{read: {where: 'auth.sub + 1'}}":                                  at + ".read.where: column ",
		"{read: {where: '" + strings.Repeat(" ", 1025) + "true'}}":         at + ".read.where: the expression has 1029 bytes; at most 1024 are taken",
		"{update: {where: '" + strings.Repeat("doc.a || ", 60) + "true'}}": at + ".update.where: the expression has 1",
		"null": "",
	} {
		_, err := Parse([]byte("collections: {a: {access: " + text + "}}"))
		if err == nil {
			t.Errorf("%s is taken", text)
			continue
		}
		if got := problems(t, err); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
