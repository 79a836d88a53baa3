package bench

import (
	"fmt"
	"slices"
	"time"
)

// Comments compares writes of the last thousand of count comments on one post with those of the second thousand, after
// the first as a warm-up. write stores one and returns once it is folded; fill stores many. The figures are of the
// median write.
func Comments(count int, write func(id int) error, fill func(from, to int) error) (r Result, err error) {
	const measured = 1000
	measure := func(from int) (rate float64, err error) {
		lats := make([]float64, 0, measured)
		for id := from; id < from+measured; id++ {
			began := time.Now()
			if err := write(id); err != nil {
				return 0, err
			}
			lats = append(lats, time.Since(began).Seconds())
		}
		slices.Sort(lats)
		return 1 / percentile(lats, 50), nil
	}
	if _, err := measure(0); err != nil { // a warm-up
		return r, err
	}
	first, err := measure(measured)
	if err == nil {
		err = fill(2*measured, count-measured)
	}
	if err != nil {
		return r, err
	}
	last, err := measure(count - measured)
	if err != nil {
		return r, err
	}
	r = result(fmt.Sprintf("comment no. %d on one post", count), "writes/s", []float64{last}, []float64{first})
	r.Notes = append(r.Notes,
		"limit: the same for comment no. 2000; the post has the newest three, a count, a mean and pages")
	return r, nil
}
