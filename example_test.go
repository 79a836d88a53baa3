package fanfold_test

import (
	"errors"
	"fmt"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

func ExampleParsePosition() {
	p, err := fanfold.ParsePosition("1042-17")
	fmt.Println(p.Seq(), p.N(), err)

	whole, _ := fanfold.ParsePosition("1042") // everything that event 1042 causes
	fmt.Println(whole, p < whole)

	_, err = fanfold.ParsePosition("1042-")
	fmt.Println(err)
	// Output:
	// 1042 17 <nil>
	// 1042-1048575 true
	// invalid: "1042-" is not a position: want <sequence>-<n>, and the store behind it, as they were given out, such as 1042-17-abcdefgh
}

func ExampleParsePath() {
	path, err := model.ParsePath("sections[].items[].name")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range path {
		fmt.Printf("%q each=%v\n", step.Name, step.Each())
	}
	_, err = model.ParsePath("authors[0].id")
	fmt.Println(err)
	// Output:
	// "sections" each=false
	// "" each=true
	// "items" each=false
	// "" each=true
	// "name" each=false
	// invalid: "authors[0].id" is not a path: want member names joined by dots, [] behind an array, such as authors[].id
}

func ExamplePath_AppendIDs() {
	doc := jsondoc.MustParse([]byte(`{"title":"Go","authors":[{"id":"a1"},{"id":7},{"name":"nobody"},{"id":"a1"}]}`))
	path, err := model.ParsePath("authors[].id")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", path.AppendIDs(nil, doc, jsondoc.Root))
	// Output:
	// ["a1" "7" "a1"]
}

func ExampleError() {
	err := fmt.Errorf("saving: %w", &fanfold.Error{Code: fanfold.Stale, Message: "document books/b1 is at revision 7", Current: 7})

	fmt.Println(fanfold.CodeOf(err), fanfold.CodeOf(errors.New("a defect")))
	var e *fanfold.Error
	if errors.As(err, &e) {
		fmt.Println(e.Message, e.Current)
	}

	errors.As(fanfold.AtOperation(err, 2), &e) // of a transaction's third operation
	fmt.Println(e.Detail())
	// Output:
	// stale internal
	// document books/b1 is at revision 7 7
	// operation 2: document books/b1 is at revision 7
}
