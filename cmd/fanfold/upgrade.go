package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

func upgradeCommand() *cobra.Command {
	var version int
	var background bool
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Fold by the newest version that all nodes know, once all programs are replaced",
		Long: `Set the version of the fold for all nodes, at one event of the log. A program that was replaced
goes on folding by the version in force, so that all nodes show the same, until this command is given.
It is refused, with the nodes' names, while one of them runs a program that does not know the version.
There is no way back to an earlier version. Where it concerns many documents it is prepared in the
background, while reads and writes go on; this command shows how far that is.`,
		Example: "  fanfold upgrade\n  fanfold upgrade --version 8",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().IntVar(&version, "version", 0, "version of the fold (default: the newest that the server knows)")
	cmd.Flags().BoolVar(&background, "background", false,
		"prepare it in the background (default: where it concerns more than 10,000 documents or so)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var given *bool
		if cmd.Flags().Changed("background") {
			given = &background
		}
		return server.upgrade(cmd, version, given)
	}
	return cmd
}

// upgrade sets the version of the fold, 0 for the newest that the server knows, waits until it is in force, and prints what
// it changed.
func (r *remote) upgrade(cmd *cobra.Command, version int, background *bool) error {
	c, err := r.connect()
	if err != nil {
		return err
	}
	defer r.close()
	ctx := cmd.Context()
	before, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if version == 0 {
		version = before.FoldVersion.Newest
	}
	result, err := c.Upgrade(ctx, version, background)
	if err != nil {
		return err
	}
	if !result.Applied {
		if err := waitForModel(ctx, c, result.Position); err != nil {
			return err
		}
	}
	if version == before.FoldVersion.Version {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "version %d of the fold is in force; nothing was changed\n", version)
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "version %d of the fold is in force; %d documents changed\n", version, result.Changes)
	return err
}

// showPreparing shows on a terminal how far the server is with a model that it prepares.
func showPreparing(s *client.Status) {
	full := new(node.Status)
	if !onTerminal() || report(s.Raw, nil, full) != nil || full.Preparing == nil {
		return
	}
	fmt.Fprint(standardError(), clearLine()+preparationLine(full.Preparing))
}
