// Fanfold-bench measures Fanfold beside the limits of its parts, in the same run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/internal/memory"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fanfold-bench: "+fanfold.MessageOf(err))
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var only, profile string
	var documents int
	var quick, asJSON bool
	var nodes benchNodes
	cmd := &cobra.Command{
		Use:   "fanfold-bench",
		Short: "Measure this machine: each speed as a ratio to the limit measured in the same run",
		Long: `Measure reads, writes, import, replay and fan-out on a temporary directory. Each figure stands
beside the limit for it, measured in the same run: a bare Echo handler that reads one SQLite row,
plain publishes to JetStream with one fsync for all that wait, a hand-written SQLite loop that writes the same rows, one UPDATE
with json_set, a plain message on its way to a consumer. Measured where they are asked for only: rich, --documents documents
under a model with many rules, imported with and without its limit and guards; query, --documents documents
that are asked for by indexes and without, and what these cost writes; history, reads of what was beside those of what is; retention, what compactions give back, and what they and erasures cost; transactions, of two documents
beside plain writes, guarded writes beside plain ones, and plain ones beside a guarded import; bystanders, what reads
and writes of other documents see while one event rewrites 10,000 copies, ten times as many, and so on up
to --documents, beside the same requests before; sizing, what --documents documents take of disk, memory
and processor; kills, how long a node with --documents documents takes from a kill until it is ready; nodes, how reads and writes go with one node, two, up to --nodes. These start servers
of their own, on the NATS server of --nats where it is given; what they write stays there.`,
		Example: "  fanfold-bench\n  fanfold-bench --only get --quick\n  fanfold-bench --only rich --documents 1000000",
		Args:    cobra.NoArgs,

		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cmd.AddCommand(serveCommand(), replayCommand())
	f := cmd.Flags()
	f.StringVar(&only, "only", "", "one of "+benchNames())
	f.IntVar(&documents, "documents", defaultDocuments, "how many documents rich, query, retention, sizing and kills have, and copies the largest rename of feed and bystanders has")
	f.IntVar(&nodes.count, "nodes", 1, "how many nodes bystanders and nodes have")
	f.IntVar(&nodes.steps, "steps", 1, "in how many renames, one after the other, bystanders changes its copies")
	f.StringVar(&nodes.nats, "nats", "", "URL of a NATS server for bystanders and nodes to keep the log on; it must have none yet")
	f.IntVar(&nodes.replicas, "replicas", 1, "replicas of the log on that server, and those of its cluster")
	f.BoolVar(&quick, "quick", false, "a tenth of the size, and short rounds")
	f.StringVar(&profile, "cpuprofile", "", "write a CPU profile of all of it to this file")
	f.BoolVar(&asJSON, "json", false, "print the results as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := benchRequest{only: only, scale: 1, documents: documents, nodes: nodes}
		if quick {
			q.scale = 10
			bench.Shorten()
		}
		defer memory.Reserve()() // as fanfold serve does
		var results []bench.Result
		err := profiled(profile, func() (err error) { results, err = runBench(cmd.Context(), q); return err })
		if err != nil {
			return err
		}
		return printResults(cmd.OutOrStdout(), results, asJSON)
	}
	return cmd
}

// printResults prints a line for each result and its notes, or all as JSON.
func printResults(w io.Writer, results []bench.Result, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(results)
	}
	for _, r := range results {
		if _, err := fmt.Fprintln(w, r); err != nil {
			return err
		}
	}
	return nil
}

// profiled calls fn, and writes a CPU profile of it to the file at path, "" for none.
func profiled(path string, fn func() error) error {
	if path == "" {
		return fn()
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return fn()
}

// row is a benchmark. Several may have one name.
type row struct {
	name   string // that --only takes
	alone  bool   // it is measured where it is asked for only
	fewest int    // documents that it takes; 0 where it has a size of its own
	run    func(ctx context.Context, dir string, q benchRequest) ([]bench.Result, error)
}

var rows = []row{
	{name: "get", run: scaled(benchGet)},
	{name: "put", run: scaled(benchPut(1))},
	{name: "put", run: scaled(benchPut(16))},
	{name: "put", run: scaled(benchPut(64))},
	{name: "put", run: scaled(benchPut(256))},
	{name: "import", run: scaled(benchImport)},
	{name: "replay", run: scaled(benchReplay)},
	{name: "rename", run: scaled(benchRenameAuthor)},
	{name: "rename", run: scaled(benchRenamePublisher)},
	{name: "feed", run: scaled(benchFeedLatency(0))},
	{name: "feed", run: scaled(benchFeedLatency(1000))},
	{name: "feed", run: scaled(benchFeedMany)},
	{name: "feedreads", run: scaled(benchFeedReads)},
	{name: "feed", run: scaled(benchFeedRename(10))},
	{name: "feed", run: scaled(benchFeedRename(1000))},
	{name: "feed", run: scaled(benchFeedRename(feedCopies))},
	{name: "feed", alone: true, run: benchFeedMore},
	{name: "rich", alone: true, fewest: 2000, run: sized(benchRich)},
	{name: "query", alone: true, fewest: 2000, run: sized(queryReads)},
	{name: "query", alone: true, fewest: 2000, run: sized(queryScan)},
	{name: "query", alone: true, fewest: 2000, run: sized(queryImport)},
	{name: "query", alone: true, fewest: 2000, run: sized(queryPuts)},
	{name: "query", alone: true, fewest: 2000, run: sized(queryRenames)},
	{name: "query", alone: true, fewest: 2000, run: sized(queryBuild)},
	{name: "history", alone: true, fewest: 2000, run: sized(benchHistory)},
	{name: "history", alone: true, fewest: 2000, run: sized(benchBackup)},
	{name: "backup", alone: true, fewest: 1, run: sized(benchBackup)},
	{name: "retention", alone: true, fewest: 2000, run: sized(benchUpdatesOfOne)},
	{name: "retention", alone: true, fewest: 2000, run: sized(benchVersions)},
	{name: "retention", alone: true, fewest: 2000, run: sized(benchCompact)},
	{name: "retention", alone: true, fewest: 2000, run: sized(benchErase)},
	{name: "transactions", alone: true, run: benchTransactions},
	{name: "bystanders", alone: true, run: benchBystanders},
	{name: "nodes", alone: true, run: benchReadsAndWrites},
	{name: "sizing", alone: true, fewest: minSized, run: sized(benchSizing)},
	{name: "kills", alone: true, fewest: 2000, run: benchKills},
}

// Documents that benchmarks have where the command line says nothing, and at most.
const (
	defaultDocuments = 100_000
	maxDocuments     = 10_000_000
)

// scaled is a row of one figure, at a size divided by scale.
func scaled(run func(ctx context.Context, dir string, scale int) (bench.Result, error)) func(ctx context.Context, dir string, q benchRequest) ([]bench.Result, error) {
	return func(ctx context.Context, dir string, q benchRequest) ([]bench.Result, error) {
		r, err := run(ctx, dir, q.scale)
		return []bench.Result{r}, err
	}
}

// sized is a row for so many documents as the command line says.
func sized(run func(ctx context.Context, dir string, documents int) ([]bench.Result, error)) func(ctx context.Context, dir string, q benchRequest) ([]bench.Result, error) {
	return func(ctx context.Context, dir string, q benchRequest) ([]bench.Result, error) {
		return run(ctx, dir, q.documents/q.scale)
	}
}

// benchNames lists what can be measured by itself.
func benchNames() string {
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	return strings.Join(names, ", ")
}

// benchRequest says what is to be measured.
type benchRequest struct {
	only      string // "" for everything that does not take minutes by itself
	scale     int
	documents int // and copies of the largest rename
	nodes     benchNodes
}

// runBench measures what is asked for. The error is Invalid where there is no such thing.
func runBench(ctx context.Context, q benchRequest) (results []bench.Result, err error) {
	dir, err := os.MkdirTemp("", "fanfold-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i, row := range rows {
		if q.only != row.name && (q.only != "" || row.alone) {
			continue
		}
		if n := q.documents / q.scale; row.fewest > 0 && (n < row.fewest || n > maxDocuments) {
			return nil, fanfold.Errorf(fanfold.Invalid, "%s takes %d to %d documents, not %d", row.name, row.fewest, maxDocuments, n)
		}
		r, err := row.run(ctx, filepath.Join(dir, row.name+strconv.Itoa(i)), q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.name, err)
		}
		results = append(results, r...)
	}
	if len(results) == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "--only %q is not one of %s", q.only, benchNames())
	}
	return results, nil
}
