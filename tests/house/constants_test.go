package house_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"
)

// constants are the numbers of the house by name: "dir.name" of a constant or variable of a package, also of one in a
// function, and "dir.o.name" of an option's default.
type constants map[string]ast.Expr

// scriptConstant is a number in a file of the console.
var scriptConstant = regexp.MustCompile(`(?m)^(?:export )?const ([A-Za-z]\w*) = ([\d_<*+ ().e-]+);?(?: *//.*)?$`)

// scriptObject is an object of numbers there.
var scriptObject = regexp.MustCompile(`(?m)^(?:export )?const ([A-Z_]+) = \{ ([^}]*) \};`)

// units are the constants of other packages that ours are made of.
var units = map[string]int64{
	"time.Nanosecond": 1, "time.Microsecond": int64(time.Microsecond), "time.Millisecond": int64(time.Millisecond),
	"time.Second": int64(time.Second), "time.Minute": int64(time.Minute), "time.Hour": int64(time.Hour),
}

// constantsOf reads the constants and defaults of all packages, and the constants of the console.
func constantsOf(t *testing.T) constants {
	t.Helper()
	out := constants{}
	for _, f := range goFiles(t) {
		ast.Inspect(f.syntax(t), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i := range min(len(n.Names), len(n.Values)) {
					out.add(f.dir()+"."+n.Names[i].Name, n.Values[i])
				}
			case *ast.AssignStmt: // o.Timeout = time.Second
				if of, ok := n.Lhs[0].(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) {
					out.addDefault(f.dir(), of, n.Rhs[0])
				}
			case *ast.CompositeLit: // {&o.Timeout, time.Second}
				if len(n.Elts) == 2 {
					if at, ok := n.Elts[0].(*ast.UnaryExpr); ok && at.Op == token.AND {
						out.addDefault(f.dir(), at.X, n.Elts[1])
					}
				}
			}
			return true
		})
	}
	for _, f := range house(t) {
		if path.Ext(f.path) == ".js" {
			out.addScript(f)
		}
	}
	return out
}

// add adds a constant or variable, and the numbers of a struct that it is, as "dir.name.field".
func (c constants) add(name string, value ast.Expr) {
	c[name] = value
	literal, ok := value.(*ast.CompositeLit)
	for i := 0; ok && i < len(literal.Elts); i++ {
		if field, ok := literal.Elts[i].(*ast.KeyValueExpr); ok {
			if key, ok := field.Key.(*ast.Ident); ok {
				c[name+"."+key.Name] = field.Value
			}
		}
	}
}

// addDefault adds the default of an option, or of a setting (s), as "dir.o.name" where it is a number.
func (c constants) addDefault(dir string, of, value ast.Expr) {
	field, ok := of.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if owner, ok := field.X.(*ast.Ident); ok && (owner.Name == "s" || strings.HasPrefix(owner.Name, "o")) && c.eval(dir, value).Kind() != constant.Unknown {
		c[dir+".o."+field.Sel.Name] = value
	}
}

// addScript adds the constants of a file of the console, and the numbers in an object that is one, as "path.MAX.rows".
func (c constants) addScript(f *houseFile) {
	for _, m := range scriptConstant.FindAllStringSubmatch(f.text, -1) {
		if e, err := parser.ParseExpr(m[2]); err == nil {
			c[f.path+"."+m[1]] = e
		}
	}
	for _, m := range scriptObject.FindAllStringSubmatch(f.text, -1) {
		for member := range strings.SplitSeq(m[2], ",") {
			name, value, _ := strings.Cut(member, ":")
			if e, err := parser.ParseExpr(strings.TrimSpace(value)); err == nil {
				c[f.path+"."+m[1]+"."+strings.TrimSpace(name)] = e
			}
		}
	}
}

// number returns the value of the constant with a name, or of several with * between, and false if one is no number.
func (c constants) number(names string) (constant.Value, bool) {
	product := constant.MakeInt64(1)
	for name := range strings.SplitSeq(names, "*") {
		e, ok := c[name]
		if !ok {
			return constant.MakeUnknown(), false
		}
		dir := name[:strings.LastIndex(name, "/")+1]
		dir += strings.SplitN(name[len(dir):], ".", 2)[0]
		if strings.HasPrefix(name, ".") {
			dir = "."
		}
		product = binary(product, token.MUL, c.eval(dir, e))
	}
	return product, product.Kind() != constant.Unknown
}

// eval computes an expression of a package's directory. It is constant.Unknown if it is no number.
func (c constants) eval(dir string, e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.ParenExpr:
		return c.eval(dir, e.X)
	case *ast.CallExpr: // a conversion
		if len(e.Args) == 1 {
			return c.eval(dir, e.Args[0])
		}
	case *ast.Ident:
		if of, ok := c[dir+"."+e.Name]; ok && of != ast.Expr(e) {
			return c.eval(dir, of)
		}
	case *ast.SelectorExpr:
		return c.foreign(e)
	case *ast.BinaryExpr:
		return binary(c.eval(dir, e.X), e.Op, c.eval(dir, e.Y))
	}
	return constant.MakeUnknown()
}

// foreign computes a constant of another package: a unit of time, or one of the house by its directory's last part.
func (c constants) foreign(e *ast.SelectorExpr) constant.Value {
	pkg, ok := e.X.(*ast.Ident)
	if !ok {
		return constant.MakeUnknown()
	}
	if unit, ok := units[pkg.Name+"."+e.Sel.Name]; ok {
		return constant.MakeInt64(unit)
	}
	for name, of := range c {
		if dir, found := strings.CutSuffix(name, "."+e.Sel.Name); found && (path.Base(dir) == pkg.Name || dir == "." && pkg.Name == "fanfold") {
			return c.eval(dir, of)
		}
	}
	return constant.MakeUnknown()
}

// binary computes x op y of numbers.
func binary(x constant.Value, op token.Token, y constant.Value) constant.Value {
	numbers := (x.Kind() == constant.Int || x.Kind() == constant.Float) && (y.Kind() == constant.Int || y.Kind() == constant.Float)
	switch by, exact := constant.Uint64Val(constant.ToInt(y)); {
	case !numbers || constant.Sign(y) == 0 && op == token.QUO:
		return constant.MakeUnknown()
	case op == token.SHL || op == token.SHR:
		if !exact || by > 62 {
			return constant.MakeUnknown()
		}
		return constant.Shift(constant.ToInt(x), op, uint(by))
	case op == token.QUO && x.Kind() == constant.Int && y.Kind() == constant.Int:
		return constant.BinaryOp(x, token.QUO_ASSIGN, y)
	case op == token.ADD || op == token.SUB || op == token.MUL || op == token.QUO:
		return constant.BinaryOp(x, op, y)
	}
	return constant.MakeUnknown()
}
