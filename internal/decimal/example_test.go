package decimal_test

import (
	"fmt"

	"github.com/fanfold/fanfold/internal/decimal"
)

// parse is for numbers that are known to be within the bounds.
func parse(text string) decimal.Decimal {
	d, err := decimal.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

func ExampleParse() {
	d, err := decimal.Parse("1.50e3")
	fmt.Println(d, err)
	_, err = decimal.Parse("1e1001")
	fmt.Println(err)
	// Output:
	// 1500 <nil>
	// numbers of more than 1000 digits, or beyond 1e±1000, are not aggregated
}

func ExampleAdd() {
	fmt.Println(decimal.Add(parse("0.1"), parse("0.2")))
	// Output: 0.3
}

func ExampleMean() {
	fmt.Println(decimal.Mean(parse("2"), 3))
	// Output: 0.66666666666666666667
}
