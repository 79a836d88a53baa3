package sortkey_test

import (
	"bytes"
	"fmt"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// The keys of two members, one after the other, order documents by the first member and then, from the greatest on, by the second.
func ExampleAppendDescending() {
	key := func(document string) (key []byte) {
		t := jsondoc.MustParse([]byte(document))
		key = sortkey.Append(key, t, t.Member(jsondoc.Root, "city"))
		return sortkey.AppendDescending(key, t, t.Member(jsondoc.Root, "age"))
	}
	fmt.Println(bytes.Compare(key(`{"city":"Bonn","age":40}`), key(`{"city":"Bonn","age":9}`)))
	fmt.Println(bytes.Compare(key(`{"city":"Bonn","age":40}`), key(`{"city":"Aachen","age":40}`)))
	// Output:
	// -1
	// 1
}
