package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/function"
	"github.com/fanfold/fanfold/internal/flows"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/modelguess"
	"github.com/fanfold/fanfold/internal/modeltypes"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector"
)

func modelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		Short:   "Print, check, compare and apply models",
		Example: "  fanfold model get > model.yaml\n  fanfold model check model.yaml\n  fanfold model diff model.yaml\n  fanfold model apply model.yaml",
	}
	cmd.AddCommand(modelGetCommand(), modelCheckCommand(), modelDiffCommand(), modelApplyCommand(), modelCancelCommand(), modelFlowsCommand(), modelTypesCommand(), modelSchemaCommand(), modelSuggestCommand())
	return cmd
}

// readModelFile returns the text of a model file. The error is Invalid.
func readModelFile(path string) ([]byte, error) {
	return readFile(path, "model", maxInput)
}

func modelGetCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "get",
		Short: "Print the model that applies, as fanfold model apply takes it",
		Long: `Print the model that applies, as YAML that fanfold model apply takes. Its members stand in the order in which they
were written; comments are not stored.`,
		Example: "  fanfold model get > model.yaml",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text, err := modelSource(cmd.Context(), server, nil)
		if err == nil && asJSON {
			text = append(bytes.TrimSpace(text), '\n')
		} else if err == nil {
			text, err = modelfile.ToYAML(text)
		}
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		return err
	}
	return cmd
}

func modelCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check FILE",
		Short:   "List every mistake in a model file; no server is needed",
		Example: "  fanfold model check model.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := readModelFile(args[0])
			if err != nil {
				return err
			}
			m, err := modelfile.Parse(src)
			if err == nil {
				err = flows.Check(m)
			}
			if err == nil && m.HasFunctions() {
				err = checkFunctions(cmd.Context(), m)
			}
			if err != nil {
				return modelfile.Locate(err, src, "")
			}
			out := cmd.OutOrStdout()
			for _, w := range m.Warnings() {
				if _, err := fmt.Fprintf(out, "warning: %s: %s\n", w.Path, w.Detail); err != nil {
					return err
				}
			}
			functions := ""
			if m.HasFunctions() {
				functions = fmt.Sprintf(", %d functions", len(m.Functions))
			}
			_, err = fmt.Fprintf(out, "%s: %d collections, %d relations, %d derived fields%s: no mistakes\n",
				args[0], len(m.Collections), len(m.Relations()), len(m.Rules), functions)
			return err
		},
	}
}

// checkFunctions returns an Unprocessable that lists the mistakes in the sources of a model's functions.
func checkFunctions(ctx context.Context, m *model.Model) (err error) {
	functions := function.New(nil)
	defer func() { err = errors.Join(err, functions.Close(context.WithoutCancel(ctx))) }()
	return functions.Check(ctx, m)
}

// waitForModel waits until the model that was announced at a position applies, and shows on a terminal how far the server is.
// It returns the errors of client.WaitForModel.
func waitForModel(ctx context.Context, c *client.Client, position string) error {
	err := c.WaitForModel(ctx, position, showPreparing)
	clearWork()
	if errors.Is(err, client.Unavailable) {
		err = fanfold.Wrap(err, fanfold.Unavailable, "%s; fanfold model cancel withdraws a model", fanfold.MessageOf(problemOf(err)))
	}
	return err
}

// preparationLine returns how far the preparation of a model is.
func preparationLine(p *projector.Preparation) string {
	line := fmt.Sprintf("model of event %d: %s", p.Model, p.Phase)
	switch p.Phase {
	case "copying", "computing":
		line += fmt.Sprintf(", %.0f%%", 100*float64(p.Done)/float64(max(p.Total, 1)))
	case "following":
		line += fmt.Sprintf(", event %d of %d", p.Done, p.Total)
	}
	if p.Changes > 0 {
		line += fmt.Sprintf(", %d documents to change", p.Changes)
	}
	if p.Error != "" {
		line += ": " + p.Error
	}
	return line
}

// showPreview prints what a model changes, or would change: verb says which.
func showPreview(out io.Writer, p *wire.Preview, verb string) {
	signs := map[string]string{"added": "+", "removed": "-", "changed": "~"}
	for _, d := range p.Differences {
		fmt.Fprintln(out, strings.TrimRight(signs[d.Change]+" "+d.Path+"  "+d.Detail, " "))
	}
	for _, r := range p.Rules {
		if r.Change != "same" || r.Documents > 0 {
			fmt.Fprintf(out, "%-8s %-40s %d documents\n", r.Change, r.Rule, r.Documents)
		}
		for _, e := range r.Evaluations {
			if e.NoValue > 0 && !e.FindsNothing() && r.Change != "same" {
				fmt.Fprintf(out, "%-8s %-40s %s %s\n", "", r.Rule, e.Part, e.Detail())
			}
		}
	}
	for _, u := range p.Unique {
		for _, e := range u.Evaluations {
			if e.NoValue > 0 && !e.FindsNothing() && u.Change != "same" {
				fmt.Fprintf(out, "%-8s %-40s %s %s\n", "unique", u.Collection, e.Part, e.Detail())
			}
		}
	}
	for _, x := range p.Indexes {
		fmt.Fprintf(out, "%-8s %-40s %s\n", x.Change, x.Collection+".indexes."+x.Index, x.Detail())
	}
	for _, k := range p.Kept {
		fmt.Fprintf(out, "%-8s %-40s %d %s values\n", k.Outcome, k.Rule, k.Values, k.Kind)
	}
	for _, m := range p.Misfits {
		first := m.First[0]
		fmt.Fprintf(out, "misfits  %-40s %d documents, such as %s%s: %s\n",
			m.Collection, m.Documents, first.Document, first.Problems[0].Path, first.Problems[0].Detail)
	}
	for _, m := range p.Problems {
		fmt.Fprintf(out, "problem  %s: %s\n", m.Path, m.Detail)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(out, "WARNING  %s: %s\n", w.Path, w.Detail)
	}
	fmt.Fprintf(out, "%d documents %s\n", p.Changes, verb)
}

func modelDiffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "diff FILE",
		Short:   "Show what a model declares otherwise and how many documents each rule would touch; change nothing",
		Example: "  fanfold model diff model.yaml",
		Args:    cobra.ExactArgs(1),
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := readModelFile(args[0])
		if err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		result, err := c.DryRunModel(cmd.Context(), src, client.ModelOptions{Working: showWork})
		clearWork()
		if err != nil {
			return err
		}
		preview := &result.Preview
		if asJSON {
			return printJSON(cmd, preview)
		}
		showPreview(cmd.OutOrStdout(), preview, "would change")
		return nil
	}
	return cmd
}

func modelApplyCommand() *cobra.Command {
	var asJSON, misfits, removal, background bool
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply a model, and bring the documents that are there up to it",
		Long: `Apply a model, and bring the documents that are there up to it. Where it concerns many, the
server prepares the changes in the background, while reads and writes go on, and then applies
the model in one short step; this command shows how far it is, from the first look at the
documents on, and so does fanfold status. Where the command is interrupted,
the server goes on; fanfold model cancel makes it stop.`,
		Example: "  fanfold model apply model.yaml\n  fanfold model apply --background model.yaml",
		Args:    cobra.ExactArgs(1),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the server's answer")
	f.BoolVar(&misfits, "allow-misfits", false, "also where stored documents do not fit a new schema, or break a new check")
	f.BoolVar(&removal, "allow-removal", false, "also where it takes away rules or guards of the model that applies")
	f.BoolVar(&background, "background", false,
		"prepare it in the background (default: where it concerns more than 10,000 documents or so)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt := client.ModelOptions{AllowMisfits: misfits, AllowRemoval: removal}
		if f.Changed("background") {
			opt.Background = &background
		}
		return server.applyModel(cmd, args[0], opt, asJSON)
	}
	return cmd
}

// applyModel sends a model file, waits until the model applies, and prints what it changed.
func (r *remote) applyModel(cmd *cobra.Command, file string, opt client.ModelOptions, asJSON bool) error {
	src, err := readModelFile(file)
	if err != nil {
		return err
	}
	c, err := r.connect()
	if err != nil {
		return err
	}
	defer r.close()
	opt.Working = showWork
	result, err := c.PutModel(cmd.Context(), src, opt)
	clearWork()
	if err != nil {
		return err
	}
	preview := &result.Preview
	var activation *projector.Activation
	if !result.Applied {
		if err := waitForModel(cmd.Context(), c, result.Position); err != nil {
			return err
		}
		s, err := c.Status(cmd.Context())
		if err != nil {
			return err
		}
		activation = s.Activated
	}
	if asJSON {
		return printJSON(cmd, preview)
	}
	out := cmd.OutOrStdout()
	showPreview(out, preview, "changed")
	if activation != nil {
		fmt.Fprintf(out, "the model applies from event %d on; nothing was folded for %.2f s\n",
			activation.Model, activation.Seconds)
	}
	return nil
}

func modelCancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel",
		Short:   "Withdraw the model that is being prepared",
		Example: "  fanfold model cancel",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if err := c.CancelModel(cmd.Context()); err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "the model was withdrawn")
		return err
	}
	return cmd
}

func modelFlowsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "flows",
		Short:   "List what derived fields tell readers about other collections",
		Example: "  fanfold model flows",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		all, err := client.ModelFlows(cmd.Context(), c)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, wire.ModelFlows{Flows: all})
		}
		for _, f := range all {
			publish := ""
			if f.Publish {
				publish = "  publish: true"
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s tells readers of %s about %s%s\n", f.Rule, f.To, f.From, publish); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func modelTypesCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "types [FILE]",
		Short: "Print TypeScript types of the documents, of the server's model or of a model file",
		Long: `Print TypeScript types of the documents, of the server's model or of a model file.
They come from schemas, relations and derived fields. Derived members are readonly.`,
		Example: "  fanfold model types --out src/models.ts\n  fanfold model types model.yaml",
		Args:    cobra.MaximumNArgs(1),
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&out, "out", "", "file to write: a new one, or one that this command has written (default standard output)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := modelSource(cmd.Context(), server, args)
		if err != nil {
			return err
		}
		m, err := modelfile.Parse(src)
		if err != nil {
			return modelfile.Locate(err, src, "")
		}
		text := modeltypes.TypeScript(m)
		if out == "" {
			_, err = cmd.OutOrStdout().Write(text)
			return err
		}
		if old, err := os.ReadFile(out); err == nil && !bytes.HasPrefix(old, []byte(modeltypes.Header)) {
			return fanfold.Errorf(fanfold.Invalid, "%s has something else: give a new file, or one that this command has written", out)
		}
		return writeFile(out, bytes.NewReader(text))
	}
	return cmd
}

func modelSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON Schema of model files, by which an editor completes and checks them; no server is needed",
		Long: `Print a JSON Schema of model files, by which an editor completes and checks them; no server is needed.
Editors find it by a first line "# yaml-language-server: $schema=model.schema.json" in the model.
It takes every model that fanfold model check takes, which finds more: in expressions, and in names of what is not there.`,
		Example: "  fanfold model schema > model.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(modelfile.JSONSchema())
			return err
		},
	}
}

// modelSource returns the text of a model file, or of the server's model where none is given.
func modelSource(ctx context.Context, server *remote, args []string) ([]byte, error) {
	if len(args) == 1 {
		return readModelFile(args[0])
	}
	c, err := server.connect()
	if err != nil {
		return nil, err
	}
	defer server.close()
	m, err := c.Model(ctx)
	if err != nil {
		return nil, err
	}
	if m.Revision == 0 {
		return model.Empty().Source, nil
	}
	return m.Source, nil
}

func modelSuggestCommand() *cobra.Command {
	im := &importer{csvOptions: csvOptions{delimiter: ','}}
	var out string
	cmd := &cobra.Command{
		Use:   "suggest [FILE]",
		Short: "Propose a model for documents: of a file, a directory, standard input, or of the server",
		Long: `Propose a model for documents, from a sample of them: of a file, of a directory with a file a collection, of
standard input (-), or of the server where none is given. All that fanfold import reads is read alike.
It proposes relations (members whose values are ids), copies, counts, sums and lists that the store could keep, and unique
members, each with its evidence in a comment. It looks at up to 50,000 documents of a collection, and of a server at 100,000
of 32 MiB in all, and applies nothing.`,
		Example: "  fanfold model suggest dump > model.yaml\n  fanfold model suggest --out model.yaml",
		Args:    cobra.MaximumNArgs(1),
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&im.collection, "collection", "", "of a file: where its documents are to go")
	cmd.Flags().StringVar(&out, "out", "", "file to write (default standard output)")
	im.foreignFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		im.stderr = cmd.ErrOrStderr()
		if im.foreign, err = im.foreignOptions(); err != nil {
			return err
		}
		text, err := im.suggested(cmd, args, server)
		if err != nil {
			return err
		}
		if out == "" {
			_, err = cmd.OutOrStdout().Write(text)
			return err
		}
		if old, err := os.ReadFile(out); err == nil && !bytes.HasPrefix(old, []byte(modelguess.Header)) {
			return fanfold.Errorf(fanfold.Invalid, "%s has something else: give a new file, or one that this command has written", out)
		}
		return writeFile(out, bytes.NewReader(text))
	}
	return cmd
}

// suggested returns a model for the documents of a file, a directory or standard input, or for the server's where none is given.
func (im *importer) suggested(cmd *cobra.Command, args []string, server *remote) ([]byte, error) {
	if len(args) == 1 {
		sample := &modelguess.Sample{}
		if err := im.sampleFile(cmd, args[0], sample); err != nil {
			return nil, err
		}
		return sample.Model(cmd.Context(), false)
	}
	c, err := server.connect()
	if err != nil {
		return nil, err
	}
	defer server.close()
	return client.SuggestModel(cmd.Context(), c)
}

// sampleFile adds the documents of a file, a directory or standard input to a sample. Refused ones are told of, and left out.
func (im *importer) sampleFile(cmd *cobra.Command, path string, sample *modelguess.Sample) error {
	src, err := im.open(cmd, path)
	if err != nil {
		return err
	}
	defer func() { _ = src.close() }()
	im.dryRun, im.refusals.most = true, 20
	im.drift = &driftCheck{sample: sample}
	lines, err := im.lines(src, 0)
	if err != nil {
		return err
	}
	im.refusals.place = src.placeOf
	return lines(&dryLines{ctx: cmd.Context()})
}
