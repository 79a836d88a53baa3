// Fanfold-bench measures Fanfold beside the limits of its parts, in the same run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/node"
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
with json_set, the first of many comments on a post, a plain message on its way to a consumer. The change of a model on a million documents,
which takes minutes, is measured where it is asked for only, and so are: rich, --documents documents
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
	f.StringVar(&only, "only", "", "one of "+benchNames)
	f.IntVar(&documents, "documents", richDocuments, "how many documents rich, query, retention, sizing and kills have, and copies the largest rename of feed and bystanders has")
	f.IntVar(&nodes.count, "nodes", 1, "how many nodes bystanders and nodes have")
	f.IntVar(&nodes.steps, "steps", 1, "in how many renames, one after the other, bystanders changes its copies")
	f.StringVar(&nodes.nats, "nats", "", "URL of a NATS server for bystanders and nodes to keep the log on; it must have none yet")
	f.IntVar(&nodes.replicas, "replicas", 1, "replicas of the log on that server, and those of its cluster")
	f.BoolVar(&quick, "quick", false, "a tenth of the size")
	f.StringVar(&profile, "cpuprofile", "", "write a CPU profile of all of it to this file")
	f.BoolVar(&asJSON, "json", false, "print the results as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		defer node.ReserveHeap()() // as fanfold serve does
		var results []bench.Result
		err := profiled(profile, func() (err error) {
			results, err = runBench(cmd.Context(), benchRequest{only: only, quick: quick, documents: documents, nodes: nodes})
			return err
		})
		if err != nil {
			return err
		}
		if asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(results)
		}
		for _, r := range results {
			fmt.Fprintln(cmd.OutOrStdout(), r)
		}
		return nil
	}
	return cmd
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

// benchmark is one figure. run works in dir, which it makes, at a size divided by scale.
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
	{"feed", benchFeedLatency(0)},
	{"feed", benchFeedLatency(1000)},
	{"feed", benchFeedMany},
	{"feedreads", benchFeedReads},
	{"feed", benchFeedRename(10)},
	{"feed", benchFeedRename(1000)},
	{"feed", benchFeedRename(feedCopies)},
	{"model", benchModelChange},
}

// feedCopies is how many copies the largest rename on the feed has, unless --documents asks for more.
const feedCopies = 100_000

// benchNames lists what can be measured by itself.
const benchNames = "get, put, import, replay, rename, comments, feed, model, rich, query, history, backup, retention, access, transactions, bystanders, nodes, sizing, kills"

// benchRequest says what is to be measured.
type benchRequest struct {
	only      string // "" for everything that does not take minutes by itself
	quick     bool
	documents int // of rich data and sizing, and copies of the largest rename
	nodes     benchNodes
}

// runBench measures what is asked for. The error is Invalid where there is no such thing.
func runBench(ctx context.Context, q benchRequest) (results []bench.Result, err error) {
	dir, err := os.MkdirTemp("", "fanfold-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	scale := 1
	if q.quick {
		scale = 10
	}
	switch q.only {
	case "rich":
		if n := q.documents / scale; n < minRichDocuments || n > maxRichDocuments {
			return nil, fanfold.Errorf(fanfold.Invalid, "rich data has %d to %d documents, not %d", minRichDocuments, maxRichDocuments, n)
		}
		return benchRich(ctx, dir, q.documents/scale)
	case "query":
		if n := q.documents / scale; n < minRichDocuments || n > maxRichDocuments {
			return nil, fanfold.Errorf(fanfold.Invalid, "query has %d to %d documents, not %d", minRichDocuments, maxRichDocuments, n)
		}
		return benchQuery(ctx, dir, q.documents/scale)
	case "history":
		if n := q.documents / scale; n < minRichDocuments || n > maxRichDocuments {
			return nil, fanfold.Errorf(fanfold.Invalid, "history has %d to %d documents, not %d", minRichDocuments, maxRichDocuments, n)
		}
		results, err := benchHistory(ctx, filepath.Join(dir, "history"), q.documents/scale)
		if err != nil {
			return results, err
		}
		backups, err := benchBackup(ctx, filepath.Join(dir, "backup"), q.documents/scale)
		return append(results, backups...), err
	case "retention":
		if n := q.documents / scale; n < minRichDocuments || n > maxRichDocuments {
			return nil, fanfold.Errorf(fanfold.Invalid, "retention has %d to %d documents, not %d", minRichDocuments, maxRichDocuments, n)
		}
		return benchRetention(ctx, dir, q.documents/scale)
	case "backup":
		return benchBackup(ctx, dir, q.documents/scale)
	case "access":
		return benchAccess(ctx, dir, scale)
	case "transactions":
		return benchTransactions(ctx, dir)
	case "bystanders":
		return benchBystanders(ctx, dir, q.nodes, q.documents, scale)
	case "nodes":
		return benchReadsAndWrites(ctx, dir, q.nodes, scale)
	case "sizing":
		if n := q.documents / scale; n < minSized || n > maxRichDocuments {
			return nil, fanfold.Errorf(fanfold.Invalid, "sizing takes %d to %d documents, not %d", minSized, maxRichDocuments, n)
		}
		return benchSizing(ctx, dir, q.documents/scale)
	case "kills":
		return benchKills(ctx, dir, q.documents, scale)
	}
	return runList(ctx, dir, q, scale)
}

// runList measures what is in the list of benchmarks.
func runList(ctx context.Context, dir string, q benchRequest, scale int) (results []bench.Result, err error) {
	list := benchmarks
	if q.only == "feed" && q.documents > feedCopies {
		list = append(slices.Clip(list), benchmark{"feed", benchFeedRename(q.documents)})
	}
	for i, b := range list {
		if q.only != b.name && (q.only != "" || b.name == "model") {
			continue
		}
		r, err := b.run(ctx, filepath.Join(dir, b.name+strconv.Itoa(i)), scale)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "--only %q is not one of %s", q.only, benchNames)
	}
	return results, nil
}
