package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms lists the parts that show documents by themselves, or decide about them. Each has the field of Dependencies that gives it,
// the field in which its room keeps it, and that room.
var rooms = []struct{ given, kept, room string }{
	{"Inspector", "inspector", "admin"},
	{"Feed", "feed", "feed"},
	{"Groups", "groups", "groups"},
}

// selections calls fn with each name that a declaration selects, but for names of package group.
func selections(n ast.Node, fn func(at ast.Node, name string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && !isIdent(s.X, "group") {
			fn(s.Sel, s.Sel.Name)
		}
		return true
	})
}

// receiverOf returns the type of a method's receiver, "" for a function.
func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// misplaced returns why a declaration of package api uses a part outside of the part's room, by place.
func misplaced(set *token.FileSet, d ast.Decl) (out []string) {
	fn, isFunc := d.(*ast.FuncDecl)
	for _, r := range rooms {
		wrong := func(n ast.Node, name string) {
			out = append(out, set.Position(n.Pos()).String()+": "+name+" is for "+r.room+" alone")
		}
		if isFunc {
			maker := receiverOf(fn) == "Server" && slices.Contains([]string{"handlers", "table", "enter"}, fn.Name.Name)
			selections(fn, func(at ast.Node, name string) {
				if !maker && (name == r.given || name == r.kept && receiverOf(fn) != r.room) {
					wrong(at, name)
				}
			})
		}
		ast.Inspect(d, func(n ast.Node) bool { // fields of structs, parameters, variables
			f, ok := n.(*ast.Field)
			inRoom := isFunc && receiverOf(fn) == r.room
			if ok && !inRoom && typeName(f.Type) == r.given && (len(f.Names) != 1 || f.Names[0].Name != r.given && f.Names[0].Name != r.kept || !inStruct(d, f, "Dependencies", r.room)) {
				wrong(f, r.given)
			}
			return true
		})
	}
	return out
}

// typeName returns the last part of the name of a type, such as Groups of *group.Groups.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// inStruct tells whether a field is one of a struct with one of some names.
func inStruct(d ast.Decl, field *ast.Field, names ...string) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := t.Type.(*ast.StructType)
		found = found || ok && slices.Contains(names, t.Name.Name) && slices.Contains(s.Fields.List, field)
		return true
	})
	return found
}

// TestPartsKeepToTheirRooms: package api names the inspector, the feed and the groups where it is given them, where it makes
// their rooms, and in the rooms. No other handler can show what they have, nor ask them anything.
func TestPartsKeepToTheirRooms(t *testing.T) {
	files, err := filepath.Glob("../../api/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	set, used := token.NewFileSet(), map[string]int{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			for _, why := range misplaced(set, d) {
				t.Error(why)
			}
			selections(d, func(_ ast.Node, name string) { used[name]++ })
		}
	}
	for _, r := range rooms {
		if used[r.given] != 1 || used[r.kept] == 0 {
			t.Errorf("%s is given %d times, and its room uses it %d times", r.given, used[r.given], used[r.kept])
		}
	}
}

// TestMisplacedPartsAreFound: a handler that asks a part of another room is found, however it has got it.
func TestMisplacedPartsAreFound(t *testing.T) {
	for source, faults := range map[string]int{
		"func (d *documents) x() { d.groups.List() }":              1,
		"func (a *admin) x() { a.inspector.Verify() }":             0,
		"func (d *documents) x(p Dependencies) { p.Feed.Serve() }": 1,
		"type documents struct { look Inspector }":                 1,
		"type documents struct { groups *group.Groups }":           1,
		"func x(f Feed) {}":                                      1,
		"type groups struct { groups *group.Groups }":            0,
		"func (s *Server) handlers() { s.feed = &feed{p.Feed} }": 0,
		"func (s *Server) other() { s.feed.feed.Serve() }":       2,
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "x.go", "package api\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if found := misplaced(set, file.Decls[0]); len(found) != faults {
			t.Errorf("%s: %v", source, found)
		}
	}
}
