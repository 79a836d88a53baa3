package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/fold"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of this program: its release, or for one that was built in a checkout the commit, with "+dirty" where
files were changed; (devel) where neither is known. Behind it stands what it was built with, and the newest version of
the fold that it knows (docs/run/upgrade.md). "fanfold status" tells the version of a running server.`,
		Example: "  fanfold version\n  fanfold version --json",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if asJSON {
			return printJSON(cmd, map[string]any{"version": node.Version(), "go": runtime.Version(),
				"platform": runtime.GOOS + "/" + runtime.GOARCH, "fold": fold.LatestVersion})
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "fanfold %s (%s, %s/%s, fold %d)\n",
			node.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, fold.LatestVersion)
		return err
	}
	return cmd
}
