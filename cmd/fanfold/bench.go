package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/cmd/fanfold/internal/bench"
)

func benchCommand() *cobra.Command {
	var only, profile string
	var documents int
	var quick, asJSON bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: each speed as a ratio to the limit measured in the same run",
		Long: `Measure reads, writes, import, replay and fan-out on a temporary directory. Each figure stands
beside the limit for it, measured in the same run: a bare Echo handler that reads one SQLite row,
plain publishes to JetStream with one fsync for all that wait, a hand-written SQLite loop that writes the same rows, one UPDATE
with json_set, the first of many comments on a post. The change of a model on a million documents,
which takes minutes, is measured where it is asked for only, and so is rich: --documents documents
under a model with many rules, imported with and without its limit and guards.`,
		Example: "  fanfold bench\n  fanfold bench --only get --quick\n  fanfold bench --only rich --documents 1000000",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&only, "only", "", "one of get, put, import, replay, rename, comments, model, rich")
	f.IntVar(&documents, "documents", richDocuments, "how many documents rich imports")
	f.BoolVar(&quick, "quick", false, "a tenth of the size")
	f.StringVar(&profile, "cpuprofile", "", "write a CPU profile of all of it to this file")
	f.BoolVar(&asJSON, "json", false, "print the results as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if profile != "" {
			file, err := os.Create(profile)
			if err != nil {
				return err
			}
			defer file.Close()
			if err := pprof.StartCPUProfile(file); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		results, err := runBench(cmd.Context(), only, quick, documents)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, results)
		}
		for _, r := range results {
			fmt.Fprintln(cmd.OutOrStdout(), r)
		}
		return nil
	}
	return cmd
}

// benchmark is one figure of the bench command. run works in dir, which it makes, at a size divided by scale.
type benchmark struct {
	name string
	run  func(ctx context.Context, dir string, scale int) (bench.Result, error)
}

var benchmarks = []benchmark{
	{"get", benchGet},
	{"put", benchPut(1)},
	{"put", benchPut(16)},
	{"put", benchPut(64)},
	{"put", benchPut(256)},
	{"import", benchImport},
	{"replay", benchReplay},
	{"rename", benchRenameAuthor},
	{"rename", benchRenamePublisher},
	{"comments", benchComments},
	{"model", benchModelChange},
}

// runBench measures what only names; where it is "", everything but the change of a model and rich data, which take as
// long as all the others. documents is how many of rich data there are.
func runBench(ctx context.Context, only string, quick bool, documents int) (results []bench.Result, err error) {
	dir, err := os.MkdirTemp("", "fanfold-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	scale := 1
	if quick {
		scale = 10
	}
	if only == "rich" {
		if n := documents / scale; n < minRichDocuments || n > maxRichDocuments {
			return nil, fanfold.Errorf(fanfold.Invalid, "rich data has %d to %d documents, not %d", minRichDocuments, maxRichDocuments, n)
		}
		return benchRich(ctx, dir, documents/scale)
	}
	for i, b := range benchmarks {
		if only != b.name && (only != "" || b.name == "model") {
			continue
		}
		r, err := b.run(ctx, filepath.Join(dir, b.name+strconv.Itoa(i)), scale)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid,
			"--only %q is not one of get, put, import, replay, rename, comments, model and rich", only)
	}
	return results, nil
}
