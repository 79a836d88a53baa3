package client

import "iter"

// eachOfPages returns what pages have, one after the other. page asks for one, and returns the cursor of the next, "" after the last. The
// first page's cursor is "". An error ends the loop.
func eachOfPages[E any](page func(cursor string) (items []E, next string, err error)) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		for cursor := ""; ; {
			items, next, err := page(cursor)
			if err != nil {
				var none E
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}
