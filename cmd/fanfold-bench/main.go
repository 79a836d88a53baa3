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
	var quick, asJSON bool
	var b bench
	cmd := &cobra.Command{
		Use:   "fanfold-bench",
		Short: "Measure this machine: each speed as a ratio to the limit measured in the same run",
		Long: `Measure reads, writes, import, replay and fan-out on a temporary directory. Each figure stands
beside the limit for it, measured in the same run: a bare Echo handler that reads one SQLite row,
plain publishes to JetStream with one fsync for all that wait, a hand-written SQLite loop that writes the same rows, one UPDATE
with json_set, a plain message on its way to a consumer. Measured where they are asked for only: rich, --documents documents
as hard as a real index of packages, imported with and without their model's limit and guards, beside a tenth of them, and replayed;
query, --documents documents
that are asked for by indexes and without, and what these cost writes; history, reads of what was beside those of what is;
backup, backups beside copies of the log's files; retention, what compactions give back, and what they and erasures cost;
bystanders, what reads and writes of other documents see while one event rewrites 10,000 copies, ten times as many, and so on up
to --documents, beside the same requests before; sizing and richsizing, what --documents documents take of disk, memory
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
	f.IntVar(&b.documents, "documents", defaultDocuments, "how many documents rich, query, history, backup, retention, sizing, richsizing and kills have, and copies the largest rename of feed and bystanders has")
	f.IntVar(&b.nodes.count, "nodes", 1, "how many nodes bystanders and nodes have")
	f.IntVar(&b.nodes.steps, "steps", 1, "in how many renames, one after the other, bystanders changes its copies")
	f.StringVar(&b.nodes.nats, "nats", "", "URL of a NATS server for bystanders and nodes to keep the log on; it must have none yet")
	f.IntVar(&b.nodes.replicas, "replicas", 1, "replicas of the log on that server, and those of its cluster")
	f.BoolVar(&quick, "quick", false, "a tenth of the size, and short rounds")
	f.StringVar(&profile, "cpuprofile", "", "write a CPU profile of all of it to this file")
	f.BoolVar(&asJSON, "json", false, "print the results as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b.scale = 1
		if quick {
			b.scale = 10
			shorten()
		}
		b.documents /= b.scale
		defer memory.Reserve()() // as fanfold serve does
		if err := profiled(profile, func() error { return b.measure(cmd.Context(), only) }); err != nil {
			return err
		}
		return printResults(cmd.OutOrStdout(), b.results, asJSON)
	}
	return cmd
}

// printResults prints a line for each result and its notes, or all as JSON.
func printResults(w io.Writer, results []Result, asJSON bool) error {
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
	run    func(ctx context.Context, b *bench) error
}

var rows = []row{
	{name: "get", run: benchGet},
	{name: "put", run: benchPut(1)},
	{name: "put", run: benchPut(16)},
	{name: "put", run: benchPut(64)},
	{name: "put", run: benchPut(256)},
	{name: "increments", alone: true, run: benchIncrements},
	{name: "arrays", alone: true, run: benchArrays},
	{name: "checks", alone: true, run: benchChecks},
	{name: "access", alone: true, run: benchAccess},
	{name: "access", alone: true, run: accessFeed},
	{name: "sequences", alone: true, run: benchSequences},
	{name: "functions", alone: true, run: benchFunctions},
	{name: "updates", alone: true, run: benchUpdates},
	{name: "import", run: benchImport},
	{name: "replay", run: benchReplay},
	{name: "rename", run: benchRename("an author", "authors", "$.authors[1].name")},    // a copy in an array, which is folded document by document
	{name: "rename", run: benchRename("a publisher", "publishers", "$.publisherName")}, // a member, which is folded by set-oriented SQL
	{name: "feed", run: feedLatency(0)},
	{name: "feed", run: feedLatency(1000)},
	{name: "feed", run: feedMany},
	{name: "feedreads", run: feedReads},
	{name: "feed", run: feedRename(10)},
	{name: "feed", run: feedRename(1000)},
	{name: "feed", run: feedRename(feedCopies)},
	{name: "feed", alone: true, run: feedMore},
	{name: "rich", alone: true, fewest: 1000, run: benchRich},
	{name: "query", alone: true, fewest: 2000, run: queryReads},
	{name: "query", alone: true, fewest: 2000, run: queryScan},
	{name: "query", alone: true, fewest: 2000, run: queryImport},
	{name: "query", alone: true, fewest: 2000, run: queryPuts},
	{name: "query", alone: true, fewest: 2000, run: queryRenames},
	{name: "query", alone: true, fewest: 2000, run: queryBuild},
	{name: "history", alone: true, fewest: 2000, run: benchHistory},
	{name: "history", alone: true, fewest: 2000, run: benchBackup},
	{name: "backup", alone: true, fewest: 1, run: benchBackup},
	{name: "retention", alone: true, fewest: 2000, run: benchUpdatesOfOne},
	{name: "retention", alone: true, fewest: 2000, run: benchVersions},
	{name: "retention", alone: true, fewest: 2000, run: benchCompact},
	{name: "retention", alone: true, fewest: 2000, run: benchErase},
	{name: "bystanders", alone: true, fewest: 1000, run: benchBystanders},
	{name: "nodes", alone: true, run: benchNodes},
	{name: "sizing", alone: true, fewest: 5000, run: benchSizing}, // so that there are the authors to which it refers
	{name: "richsizing", alone: true, fewest: 5000, run: benchRichSizing},
	{name: "kills", alone: true, fewest: 2000, run: benchKills},
}

// Documents that benchmarks have where the command line says nothing, and at most.
const (
	defaultDocuments = 100_000
	maxDocuments     = 10_000_000
)

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

// bench is what the command line asks for, and what was measured.
type bench struct {
	dir       string // of the row that runs
	scale     int    // by which sizes are divided
	documents int    // for which the command line asks, divided by scale
	nodes     nodesWanted
	results   []Result
}

// measure runs the rows of a name, "" for all that do not take minutes by themselves. The error is Invalid where there is no such row.
func (b *bench) measure(ctx context.Context, only string) (err error) {
	dir, err := os.MkdirTemp("", "fanfold-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i, row := range rows {
		if only != row.name && (only != "" || row.alone) {
			continue
		}
		if row.fewest > 0 && (b.documents < row.fewest || b.documents > maxDocuments) {
			return fanfold.Errorf(fanfold.Invalid, "%s takes %d to %d documents, not %d", row.name, row.fewest, maxDocuments, b.documents)
		}
		b.dir = filepath.Join(dir, row.name+strconv.Itoa(i))
		if err := row.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	if len(b.results) == 0 {
		return fanfold.Errorf(fanfold.Invalid, "--only %q is not one of %s", only, benchNames())
	}
	return nil
}
