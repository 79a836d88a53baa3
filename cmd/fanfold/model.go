package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector"
)

func modelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		Short:   "Check, compare and apply models",
		Example: "  fanfold model check model.yaml\n  fanfold model diff model.yaml\n  fanfold model apply model.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(modelCheckCommand(), modelDiffCommand(), modelApplyCommand())
	return cmd
}

func readModelFile(path string) ([]byte, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the model: %v", err)
	}
	return src, nil
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
			m, err := projector.ParseModel(src)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d collections, %d relations, %d derived fields: no mistakes\n",
				args[0], len(m.Collections), len(m.Relations()), len(m.Rules))
			return err
		},
	}
}

// putModel sends a model, to be applied or, with dry, previewed.
func (c *client) putModel(cmd *cobra.Command, src []byte, dry, misfits bool) (*projector.Preview, error) {
	var p projector.Preview
	err := c.json(cmd.Context(), http.MethodPut, fmt.Sprintf("/v1/_model?dryRun=%v&allowMisfits=%v", dry, misfits), bytes.NewReader(src),
		header{"Content-Type": "application/yaml", "Fanfold-Timeout": "60"}, &p)
	return &p, err
}

func showPreview(out io.Writer, p *projector.Preview, would string) {
	for _, r := range p.Rules {
		if r.Change != "same" || r.Documents > 0 {
			fmt.Fprintf(out, "%-8s %-40s %d documents\n", r.Change, r.Rule, r.Documents)
		}
	}
	for _, m := range p.Misfits {
		fmt.Fprintf(out, "misfits  %-40s %d documents, such as %s%s: %s\n", m.Collection, m.Documents, m.First[0].Document, m.First[0].Problems[0].Path, m.First[0].Problems[0].Detail)
	}
	for _, m := range p.Problems {
		fmt.Fprintf(out, "problem  %s: %s\n", m.Path, m.Detail)
	}
	fmt.Fprintf(out, "%d documents %s\n", p.Changes, would)
}

func modelDiffCommand() *cobra.Command {
	return putModelCommand(true, "would change", &cobra.Command{
		Use:     "diff FILE",
		Short:   "Show how many documents each rule of a model would touch, and change nothing",
		Example: "  fanfold model diff model.yaml",
	})
}

func modelApplyCommand() *cobra.Command {
	return putModelCommand(false, "changed", &cobra.Command{
		Use:     "apply FILE",
		Short:   "Apply a model; documents that are there are brought up to it at once",
		Example: "  fanfold model apply model.yaml",
	})
}

// putModelCommand completes a command that sends a model; did names what became of documents.
func putModelCommand(dry bool, did string, cmd *cobra.Command) *cobra.Command {
	var asJSON, misfits bool
	c := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	if !dry {
		cmd.Flags().BoolVar(&misfits, "allow-misfits", false, "also where stored documents do not fit a new schema")
	}
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := readModelFile(args[0])
		if err != nil {
			return err
		}
		p, err := c.putModel(cmd, src, dry, misfits)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, p)
		}
		showPreview(cmd.OutOrStdout(), p, did)
		return nil
	}
	return cmd
}
