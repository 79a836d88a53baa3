package expr_test

import (
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

func ExampleProgram_Eval() {
	p, err := expr.Compile(`{"name": doc.firstName + " " + doc.lastName, "price": doc.price}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := p.Eval(jsondoc.MustParse([]byte(`{"firstName":"Jane","lastName":"Austen","price":12.50}`)))
	fmt.Printf("%s %v\n", value, err)
	_, err = p.Eval(jsondoc.MustParse([]byte(`{"firstName":"Jane"}`)))
	fmt.Println(errors.Is(err, expr.ErrNoValue))
	// Output:
	// {"name":"Jane Austen","price":12.50} <nil>
	// true
}

func ExampleProgram_Matches() {
	p, err := expr.Compile(`doc.stars >= 4`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, doc := range []string{`{"stars":4.5}`, `{"stars":3}`, `{}`} {
		matches, err := p.Matches(jsondoc.MustParse([]byte(doc)))
		fmt.Println(matches, err)
	}
	// Output:
	// true <nil>
	// false <nil>
	// false <nil>
}

func ExampleMembersRead() {
	members, err := expr.MembersRead(`doc.firstName + " " + doc["lastName"]`)
	fmt.Println(members, err)
	members, err = expr.MembersRead(`doc[doc.key]`)
	fmt.Println(members == nil, err)
	// Output:
	// [firstName lastName] <nil>
	// true <nil>
}
