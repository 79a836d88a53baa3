package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/wire"
)

func erasuresCommand() *cobra.Command {
	var export, asJSON bool
	cmd := &cobra.Command{
		Use:   "erasures",
		Short: "List what was erased, and how far that is",
		Long: `List the erasures, the newest first, at most 1,000: a line with number, time, phase, how many documents
and events, and who asked. --export prints a line for each document of every erasure instead, with ids
and sequences only. Keep that file beside backups that are older: fanfold restore --erasures FILE erases
these documents before the restored store serves anything.`,
		Example: "  fanfold erasures\n  fanfold erasures --export > erasures.ndjson",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&export, "export", false, "print each document of every erasure as a line of JSON")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("export", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if export {
			return exportErasures(cmd, c)
		}
		return listErasures(cmd, c, asJSON)
	}
	return cmd
}

// exportErasures prints a line for each document of each erasure.
func exportErasures(cmd *cobra.Command, c *client.Client) error {
	lines, err := c.ExportErasures(cmd.Context())
	if err != nil {
		return err
	}
	_, err = io.Copy(cmd.OutOrStdout(), lines)
	return errors.Join(err, lines.Close())
}

// listErasures prints the newest erasures.
func listErasures(cmd *cobra.Command, c *client.Client, asJSON bool) error {
	all, more, err := c.Erasures(cmd.Context())
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(cmd, wire.Erasures{Erasures: all, More: more})
	}
	out := cmd.OutOrStdout()
	for _, e := range all {
		fmt.Fprintln(out, erasureRow(&e))
	}
	switch {
	case more:
		fmt.Fprintln(out, "there are older ones: --export has all of them")
	case len(all) == 0:
		fmt.Fprintln(out, "nothing was erased")
	}
	return nil
}

// erasureRow returns an erasure as one line for people.
func erasureRow(e *client.Erasure) string {
	line := fmt.Sprintf("%-9d  %s  %-9s  %s, %s", e.Number, e.Time.UTC().Format(time.RFC3339), shown(e.Phase), wire.Counted(e.Documents, "document", "documents"), wire.Counted(e.Events, "event", "events"))
	if e.By != "" {
		line += "  by " + shown(e.By)
	}
	if len(e.Nodes) > 0 {
		what := "waiting for "
		if e.Over() {
			what = "away: "
		}
		line += "  " + what + shown(strings.Join(e.Nodes, ", "))
	}
	if e.Error != "" {
		line += "  trying again: " + shown(e.Error)
	}
	for _, r := range e.Residue {
		line += "  residue: " + shown(r.Where)
	}
	return line
}

// printFound prints the documents that have a text in any version: with --json as lines that --file takes.
func (o *eraseOptions) printFound(cmd *cobra.Command, c *client.Client) error {
	found, more, err := c.FindText(cmd.Context(), o.find)
	if err != nil {
		return err
	}
	out, lines := cmd.OutOrStdout(), json.NewEncoder(cmd.OutOrStdout())
	lines.SetEscapeHTML(false)
	for _, d := range found {
		if o.asJSON {
			err = errors.Join(err, lines.Encode(foundLine(d)))
			continue
		}
		deleted := ""
		if d.Deleted {
			deleted = ", deleted"
		}
		fmt.Fprintf(out, "%s: %s%s\n", shown(d.Collection+"/"+d.ID), wire.Counted(int64(d.Versions), "version", "versions"), deleted)
	}
	switch {
	case more:
		fmt.Fprintf(cmd.ErrOrStderr(), "there are more: these are the first %d\n", len(found))
	case len(found) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "no version of any document has this text")
	}
	return err
}

// foundLine is a line of --find --json.
type foundLine struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
	Versions   int    `json:"versions"`
	Deleted    bool   `json:"deleted,omitempty"`
}
