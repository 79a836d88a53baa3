package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Loader imports NDJSON into a new store in dir, and returns how long that took once everything is folded.
type Loader func(ctx context.Context, dir string, body []byte) (time.Duration, error)

// Import compares an import of count documents with a hand-written SQLite loop that writes the rows it wrote. dir names
// the directory of each round.
func Import(ctx context.Context, dir func(round int) string, count int, load Loader) (r Result, err error) {
	var text strings.Builder
	var line []byte
	for i := range count {
		line = append(appendBook(line[:0], strconv.Itoa(i)), '\n')
		text.Write(line)
	}
	const rounds = 3
	var ours, limit []float64
	for i := range rounds {
		took, err := load(ctx, dir(i), []byte(text.String()))
		if err != nil {
			return r, err
		}
		plainTook, err := handWritten(dir(i))
		if err != nil {
			return r, err
		}
		ours = append(ours, float64(count)/took.Seconds())
		limit = append(limit, float64(count)/plainTook.Seconds())
	}
	r = result(fmt.Sprintf("import of %d documents", count), "documents/s", ours, limit)
	r.Notes = append(r.Notes,
		"limit: a hand-written SQLite loop writing the same rows; ours includes the log, synced, and the fold")
	return r, nil
}
