package modelfile_test

import (
	"errors"
	"fmt"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
)

func ExampleParse() {
	m, err := modelfile.Parse([]byte(`
collections:
  authors:
    derive:
      countOfBooks: {count: books.author}
  books:
    relations:
      author: {path: author, to: authors}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Rules[0].Name(), m.Relations()[0].FullName())
	fmt.Printf("%s\n", m.Source)
	// Output:
	// authors.countOfBooks books.author
	// {"collections":{"authors":{"derive":{"countOfBooks":{"count":"books.author"}}},"books":{"relations":{"author":{"path":"author","to":"authors"}}}}}
}

func ExampleParse_mistakes() {
	_, err := modelfile.Parse([]byte(`{"collections":{"books":{"relations":{"author":{"path":"author","to":"authors","colour":"red"}}}}}`))
	var e *fanfold.Error
	if errors.As(err, &e) {
		for _, p := range e.Problems {
			fmt.Printf("%s: %s\n", p.Path, p.Detail)
		}
	}
	// Output:
	// collections.books.relations.author.colour: unknown member; a relation has path, to, onDelete and strict
	// collections.books.relations.author.to: unknown collection "authors": declare it, if only as authors: {}
}
