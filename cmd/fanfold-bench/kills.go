package main

import (
	"context"
	"io"
	"path/filepath"

	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
)

// killRounds is how often kills kills a node.
const killRounds = 100

// benchKills measures how long a node with documents takes from a kill until it is ready again.
func benchKills(ctx context.Context, dir string, q benchRequest) ([]bench.Result, error) {
	documents := q.documents / q.scale
	s := benchStore{model: benchModel, authors: benchAuthors, books: max(0, documents-benchAuthors)}
	r, err := bench.Kills{Dir: filepath.Join(dir, "killed"), Documents: documents, Rounds: killRounds / q.scale, Load: func(ctx context.Context, url string) error {
		return loadInto(ctx, url, 0, s.model, func(w io.Writer) error {
			return s.putEach(func(collection string, _ int, body string) error { return writeLine(w, collection, body) }, inOrder)
		})
	}}.Run(ctx)
	return []bench.Result{r}, err
}
