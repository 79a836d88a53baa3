package jsondoc_test

import (
	"fmt"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

func ExampleCheck() {
	fmt.Println(jsondoc.Check([]byte(`{"id":"b1","price":12.50}`), 64))
	fmt.Println(jsondoc.Check([]byte(`{"id":"b1","id":"b2"}`), 64))
	// Output:
	// <nil>
	// duplicate member at byte 11, in /id
}

func ExampleTree() {
	var t jsondoc.Tree
	if err := t.Parse([]byte(`{"title":"Emma","price":12.50}`)); err != nil {
		fmt.Println(err)
		return
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		fmt.Printf("%s is %s\n", t.Key(n), t.Raw(n))
	}
	fmt.Println(t.Text(t.Member(jsondoc.Root, "title")))
	// Output:
	// title is "Emma"
	// price is 12.50
	// Emma
}

func ExampleMerge() {
	doc := []byte(`{"title":"Emma","price":12.50,"year":1815}`)
	fmt.Printf("%s\n", jsondoc.Merge(doc, []byte(`{"year":null,"language":"en"}`)))
	// Output: {"title":"Emma","price":12.50,"language":"en"}
}

func ExampleApply() {
	ops, err := jsondoc.ParsePatch([]byte(`[{"op":"add","path":"/tags/-","value":"novel"},{"op":"remove","path":"/draft"}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	doc, err := jsondoc.Apply([]byte(`{"draft":true,"tags":["irony"]}`), ops)
	fmt.Printf("%s %v\n", doc, err)
	// Output: {"tags":["irony","novel"]} <nil>
}

func ExampleEqual() {
	fmt.Println(jsondoc.Equal([]byte(`{"a":1.50,"b":null}`), []byte(`{"b":null,"a":15e-1}`)))
	fmt.Println(jsondoc.Equal([]byte(`[1,2]`), []byte(`[2,1]`)))
	// Output:
	// true
	// false
}
