package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/node"
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
	cmd.AddCommand(modelCheckCommand(), modelDiffCommand(), modelApplyCommand(), modelCancelCommand())
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
			m, err := modelfile.Parse(src)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d collections, %d relations, %d derived fields: no mistakes\n",
				args[0], len(m.Collections), len(m.Relations()), len(m.Rules))
			return err
		},
	}
}

// putModel sends a model, to be applied or, with dry, previewed; query are further parameters. applied
// tells whether it applies by now: otherwise the node works on it.
func (c *client) putModel(ctx context.Context, src []byte, dry bool, query url.Values) (p *fanfold.ModelPreview, applied bool, err error) {
	query.Set("dryRun", strconv.FormatBool(dry))
	resp, err := c.do(ctx, http.MethodPut, "/v1/_model?"+query.Encode(), bytes.NewReader(src), header{"Content-Type": "application/yaml"})
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	p = &fanfold.ModelPreview{}
	return p, resp.StatusCode == http.StatusOK, json.NewDecoder(resp.Body).Decode(p)
}

// followModel waits until a model applies, or is withdrawn, and shows how far the server is.
func (c *client) followModel(ctx context.Context, src []byte) (*projector.Activation, error) {
	for {
		var s node.Status
		if err := c.json(ctx, http.MethodGet, "/v1/_status", &s); err != nil {
			return nil, err
		}
		if s.Preparing == nil && s.Lag == 0 {
			if onTerminal() {
				fmt.Fprint(os.Stderr, "\r\033[K")
			}
			same, err := c.sameModel(ctx, src)
			if err == nil && !same && s.Withdrawn != nil {
				err = fanfold.Errorf(fanfold.Conflict, "the model was withdrawn: %s", s.Withdrawn.Reason)
			} else if err == nil && !same {
				err = fanfold.Errorf(fanfold.Conflict, "another model applies: see fanfold model diff")
			}
			return s.Activated, err
		}
		if p := s.Preparing; p != nil && p.Phase == "failed" {
			return nil, fanfold.Errorf(fanfold.Unavailable, "the model cannot be prepared: %s; withdraw it with fanfold model cancel", p.Error)
		} else if p != nil && onTerminal() {
			fmt.Fprint(os.Stderr, "\r\033[K"+preparationLine(p))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

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

func showPreview(out io.Writer, p *fanfold.ModelPreview, would string) {
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
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "diff FILE",
		Short:   "Show how many documents each rule of a model would touch, and change nothing",
		Example: "  fanfold model diff model.yaml",
		Args:    cobra.ExactArgs(1),
	}
	c := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := readModelFile(args[0])
		if err != nil {
			return err
		}
		p, _, err := c.putModel(cmd.Context(), src, true, url.Values{})
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, p)
		}
		showPreview(cmd.OutOrStdout(), p, "would change")
		return nil
	}
	return cmd
}

func modelApplyCommand() *cobra.Command {
	var asJSON, misfits, background bool
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply a model, and bring the documents that are there up to it",
		Long: `Apply a model, and bring the documents that are there up to it. Where it concerns many, the
server prepares that beside, while reads and writes go on, and then lets it apply in one short
step: this command shows how far it is. Ended early, it leaves the server to go on; fanfold
model cancel makes it stop.`,
		Example: "  fanfold model apply model.yaml\n  fanfold model apply --background model.yaml",
		Args:    cobra.ExactArgs(1),
	}
	c := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.Flags().BoolVar(&misfits, "allow-misfits", false, "also where stored documents do not fit a new schema")
	cmd.Flags().BoolVar(&background, "background", false, "prepare it beside (default: where it concerns more than 10,000 documents or so)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := readModelFile(args[0])
		if err != nil {
			return err
		}
		query := url.Values{"allowMisfits": {strconv.FormatBool(misfits)}}
		if cmd.Flags().Changed("background") {
			query.Set("background", strconv.FormatBool(background))
		}
		p, applied, err := c.putModel(cmd.Context(), src, false, query)
		if err != nil {
			return err
		}
		var a *projector.Activation
		if !applied {
			if a, err = c.followModel(cmd.Context(), src); err != nil {
				return err
			}
		}
		if asJSON {
			return printJSON(cmd, p)
		}
		showPreview(cmd.OutOrStdout(), p, "changed")
		if a != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "the model applies from event %d on; nothing was folded for %.2f s\n", a.Model, a.Seconds)
		}
		return nil
	}
	return cmd
}

func modelCancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel",
		Short:   "Withdraw the model that is being prepared",
		Example: "  fanfold model cancel",
		Args:    cobra.NoArgs,
	}
	c := serverFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		resp, err := c.do(cmd.Context(), http.MethodDelete, "/v1/_model/_pending", nil, nil)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "the model was withdrawn")
		return resp.Body.Close()
	}
	return cmd
}
