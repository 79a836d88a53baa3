package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold/internal/fn"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

func fnCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "List, print, put, remove, call and test functions of the model",
		Long: `List, print, put, remove, call and test functions of the model. A function stands in a file of its name, take.js: its
default export is the function, and it may export reads, call, authority and args, as the model has them.`,
		Example: "  fanfold fn test take.js\n  fanfold fn put take.js\n  fanfold fn call take '{\"seat\":\"s1\"}'\n  fanfold fn list",
	}
	cmd.AddCommand(fnListCommand(), fnShowCommand(), fnPutCommand(), fnRemoveCommand(), fnCallCommand(), fnTestCommand())
	return cmd
}

func fnListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the functions of the model, with how often the server has run them",
		Long: `List the functions of the model, by name, with how often the server has run them since it started: each attempt of a
call counts, and each run of a trigger.`,
		Example: "  fanfold fn list\n  fanfold fn list --json",
		Args:    cobra.NoArgs,
	}
	return listing(cmd, func(c *client.Client, _ []string) (*listed, error) {
		all, err := client.Functions(cmd.Context(), c)
		if err != nil {
			return nil, err
		}
		return &listed{map[string]any{"functions": all}, "FUNCTION\tRUNS\tERRORS\tLAST", func(w io.Writer) {
			for _, f := range all {
				last := "-"
				if !f.LastCalled.IsZero() {
					last = f.LastCalled.UTC().Format(time.RFC3339)
				}
				fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", f.Name, f.Calls, f.Errors, last)
			}
		}}, nil
	})
}

// functionOf returns a function of the server's model. The error is NotFound.
func functionOf(cmd *cobra.Command, c *client.Client, name string) (json.RawMessage, error) {
	m, err := c.Model(cmd.Context())
	if err != nil {
		return nil, err
	}
	all, err := fn.Declared(m.Source)
	if err == nil && all[name] == nil {
		err = fanfold.Errorf(fanfold.NotFound, "the model has no function %q: fanfold fn list has their names", fanfold.Clip(name))
	}
	return all[name], err
}

func fnShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Print the source of a function",
		Example: "  fanfold fn show take > take.js",
		Args:    cobra.ExactArgs(1),
	}
	server, asJSON := serverFlag(cmd), cmd.Flags().Bool("json", false, "print the function as the model has it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		function, err := functionOf(cmd, c, args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd, function)
		}
		var of struct{ Source string }
		if err := json.Unmarshal(function, &of); err != nil {
			return err
		}
		_, err = io.WriteString(cmd.OutOrStdout(), strings.TrimSuffix(of.Source, "\n")+"\n")
		return err
	}
	return cmd
}

// modelPatch has the flags of a command that changes a function of the model.
type modelPatch struct{ yes, dryRun, removal, asJSON bool }

// flags adds them to a command.
func (p *modelPatch) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&p.yes, "yes", false, "do not ask")
	f.BoolVar(&p.dryRun, "dry-run", false, "say what would change, and change nothing")
	f.BoolVar(&p.removal, "allow-removal", false, "also where it takes something away from the model that applies")
	f.BoolVar(&p.asJSON, "json", false, "print the server's answer")
	cmd.MarkFlagsMutuallyExclusive("yes", "dry-run")
}

// run shows what a patch of the model changes, asks, and applies it.
func (p *modelPatch) run(cmd *cobra.Command, c *client.Client, patch []byte) error {
	opt := client.ModelOptions{AllowRemoval: p.removal, DryRun: true, Working: showWork}
	result, err := c.PatchModel(cmd.Context(), patch, opt)
	clearWork()
	if err != nil {
		return err
	}
	if !p.asJSON {
		showPreview(cmd.OutOrStdout(), &result.Preview, "would change")
	}
	if !p.dryRun && len(result.Preview.Differences) > 0 {
		if !p.yes && askable(cmd.InOrStdin()) && !agreed(cmd.InOrStdin(), cmd.ErrOrStderr(), "The model of all nodes changes then. Go on?") {
			return fanfold.Errorf(fanfold.Conflict, "nothing is changed")
		}
		opt.DryRun = false
		result, err = c.PatchModel(cmd.Context(), patch, opt)
		clearWork()
		if err == nil && !result.Applied {
			err = waitForModel(cmd.Context(), c, result.Position)
		}
		if err != nil {
			return err
		}
	}
	if p.asJSON {
		return printJSON(cmd, &result.Preview)
	}
	said := "the model changed"
	switch {
	case len(result.Preview.Differences) == 0:
		said = "the model says so already"
	case p.dryRun:
		return nil
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
	return err
}

func fnPutCommand() *cobra.Command {
	var p modelPatch
	cmd := &cobra.Command{
		Use:   "put FILE",
		Short: "Put the function of a file into the model",
		Long: `Put the function of a file, such as take.js, into the model, under the name of the file. What the file does not export
of reads, call, authority and args is left out of the model, too. It says what changes, and asks on a terminal before it
changes the model; --yes answers that.`,
		Example: "  fanfold fn put take.js --dry-run\n  fanfold fn put take.js --yes",
		Args:    cobra.ExactArgs(1),
	}
	server := serverFlag(cmd)
	p.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := fn.Read(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		m, err := c.Model(cmd.Context())
		if err != nil {
			return err
		}
		patch, err := file.Patch(m.Source)
		if err != nil {
			return err
		}
		return p.run(cmd, c, patch)
	}
	return cmd
}

func fnRemoveCommand() *cobra.Command {
	var p modelPatch
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a function from the model",
		Long: `Remove a function from the model. A function that is a collection's trigger stays, until the collection has it no more.
It says what changes, and asks on a terminal before it changes the model; --yes answers that.`,
		Example: "  fanfold fn remove take --dry-run\n  fanfold fn remove take --allow-removal --yes",
		Args:    cobra.ExactArgs(1),
	}
	server := serverFlag(cmd)
	p.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if _, err := functionOf(cmd, c, args[0]); err != nil {
			return err
		}
		patch, err := fn.Removal(args[0])
		if err != nil {
			return err
		}
		return p.run(cmd, c, patch)
	}
	return cmd
}

// callFlags has the flags of fn call.
type callFlags struct {
	now, seed, key string
	dryRun, asJSON bool
}

func fnCallCommand() *cobra.Command {
	var o callFlags
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a function, and print its result",
		Long: `Call a function with the arguments JSON, or those on standard input where it is -; without them they are null. It prints
the result. With --dry-run the function writes nothing, and what it logs is printed on standard error.`,
		Example: `  fanfold fn call take '{"seat":"s1","user":"ada"}'
  fanfold fn call take --dry-run --now 2026-01-02T15:04:05Z --seed 7 '{"seat":"s1","user":"ada"}'
  fanfold fn call take - --idempotency-key order-17 < order.json`,
		Args: cobra.RangeArgs(1, 2),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing, and say what the function would write")
	f.StringVar(&o.now, "now", "", "with --dry-run: the time at which it runs, such as 2026-01-02T15:04:05Z")
	f.StringVar(&o.seed, "seed", "", "with --dry-run: an integer, for the same chance each time")
	f.StringVar(&o.key, "idempotency-key", "", "the call happens once under this key, whoever makes it")
	f.BoolVar(&o.asJSON, "json", false, "print the server's whole answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		input, err := callInput(cmd, args[1:])
		if err != nil {
			return err
		}
		var did client.CallResult
		opts, err := o.options()
		if err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if _, err := client.Call[json.RawMessage](cmd.Context(), c, args[0], input, append(opts, client.Into(&did))...); err != nil {
			return functionError(err)
		}
		return o.print(cmd, &did)
	}
	return cmd
}

// maxArguments bounds the arguments of a call, in bytes. A server takes less.
const maxArguments = 1 << 20

// callInput returns the arguments of a call, nil for none. The error is Invalid.
func callInput(cmd *cobra.Command, given []string) (any, error) {
	if len(given) == 0 {
		return nil, nil
	}
	text := []byte(given[0])
	if given[0] == "-" {
		var err error
		if text, err = readInput(cmd.InOrStdin(), "arguments", maxArguments); err != nil {
			return nil, err
		}
	}
	if err := jsondoc.Check(text, fanfold.DefaultMaxDepth); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "the arguments are no JSON: %v", err)
	}
	return json.RawMessage(bytes.TrimSpace(text)), nil
}

// options returns the flags as options of the client. The error is Invalid.
func (o *callFlags) options() (opts []client.WriteOption, err error) {
	if !o.dryRun && (o.now != "" || o.seed != "") {
		return nil, fanfold.Errorf(fanfold.Invalid, "--now and --seed go with --dry-run")
	}
	if o.now != "" {
		at, err := time.Parse(time.RFC3339, o.now)
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "--now %.80q is no time such as 2026-01-02T15:04:05Z", o.now)
		}
		opts = append(opts, client.Now(at))
	}
	if o.seed != "" {
		var n uint64
		if _, err := fmt.Sscanf(o.seed, "%d", &n); err != nil || fmt.Sprint(n) != o.seed {
			return nil, fanfold.Errorf(fanfold.Invalid, "--seed %.80q is no integer from 0 on", o.seed)
		}
		opts = append(opts, client.Seed(n))
	}
	if o.dryRun {
		opts = append(opts, client.DryRun())
	}
	if o.key != "" {
		opts = append(opts, client.IdempotencyKey(o.key))
	}
	return opts, nil
}

// functionError returns an error of a call with what the function gave to ctx.fail.
func functionError(err error) error {
	var e *client.Error
	if !errors.As(err, &e) || e.Function.Code == "" {
		return err
	}
	told := *e
	told.Detail = e.Function.Code + ": " + e.Detail
	if len(e.Function.Details) > 0 {
		told.Detail += "\n  " + string(oneLine(e.Function.Details))
	}
	return &told
}

// print prints what a call did.
func (o *callFlags) print(cmd *cobra.Command, did *client.CallResult) error {
	switch {
	case o.asJSON && o.dryRun:
		return printJSON(cmd, did.Report)
	case o.asJSON:
		return printJSON(cmd, did.CallResult)
	case o.dryRun:
		var trial struct {
			Log    []string
			Steps  int64
			Memory int64
			Reads  int
		}
		if err := json.Unmarshal(did.Report, &trial); err != nil {
			return err
		}
		for _, line := range trial.Log {
			fmt.Fprintln(cmd.ErrOrStderr(), shown(line))
		}
		for _, w := range did.Operations {
			fmt.Fprintln(cmd.ErrOrStderr(), "would "+w.Op+" "+w.Collection+"/"+shown(w.ID))
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d steps, %d documents read, %d KiB of memory\n", trial.Steps, trial.Reads, trial.Memory>>10)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", oneLine(did.Result))
	return err
}

func fnTestCommand() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Run the tests of a function, each on an empty store of its own; no server is needed",
		Long: `Run the tests of a function, take.test.js beside take.js; FILE is either. Each test runs on an empty store of its
own, whose model has the function, and everything in model.yaml beside it, or in --model. Functions run at
2026-01-01T00:00:00Z, and draw the same numbers each time. A test calls put, create, patch, delete, get, query,
children, call, fails and equal of its t:

  test("a seat is taken once", t => {
    t.put("seats", "s1", {})
    t.call("take", { seat: "s1", user: "ada" })
    t.equal(t.get("seats", "s1").by, "ada")
    t.fails("taken", () => t.call("take", { seat: "s1", user: "bob" }))
  })

A file has up to 100 tests, of up to 5 seconds each. If one fails, the exit code is 1.`,
		Example: "  fanfold fn test take.js\n  fanfold fn test take.js --model ../model.yaml --json",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&model, "model", "", "file with the model of the stores (default model.yaml beside FILE, where it is there)")
	asJSON := cmd.Flags().Bool("json", false, "print an object a test, one a line")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		suite, err := fn.Open(cmd.Context(), args[0], model)
		if err != nil {
			return err
		}
		count := 0
		failed, err := suite.Run(cmd.Context(), func(r fn.Result) error {
			count++
			return printTest(cmd, suite.Path, r, *asJSON)
		})
		if err == nil && failed > 0 {
			err = fanfold.Errorf(fanfold.Unprocessable, "%d of %d tests failed", failed, count)
		}
		return err
	}
	return cmd
}

// printTest prints what came of a test.
func printTest(cmd *cobra.Command, path string, r fn.Result, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	if r.OK {
		_, err := fmt.Fprintf(out, "ok    %s (%d ms)\n", shown(r.Test), r.Milliseconds)
		return err
	}
	at := path
	if r.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", path, r.Line, r.Column)
	}
	lines := slices.Concat([]string{"FAIL  " + shown(r.Test)}, []string{"      " + at + ": " + shown(strings.ReplaceAll(r.Message, "\n", " "))})
	if r.Expected != nil {
		lines = append(lines, "      expected "+shown(string(oneLine(r.Expected))), "      actual   "+shown(string(oneLine(r.Actual))))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
