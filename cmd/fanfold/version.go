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
files were changed; (devel) where neither is known. Then come the commit, what it was built with, and the newest version of
the fold that it knows (docs/run/upgrade.md). "fanfold status" tells the version of a running server.`,
		Example: "  fanfold version\n  fanfold version --json",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if asJSON {
			return printJSON(cmd, map[string]any{"version": node.Version(), "commit": node.Revision(), "go": runtime.Version(),
				"platform": runtime.GOOS + "/" + runtime.GOARCH, "fold": fold.LatestVersion})
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
		return err
	}
	return cmd
}

// versionLine returns what "fanfold version" and "fanfold --version" print.
func versionLine() string {
	commit := ""
	if revision := node.Revision(); revision != "" {
		commit = "commit " + revision[:min(12, len(revision))] + ", "
	}
	return fmt.Sprintf("fanfold %s (%s%s, %s/%s, fold %d)", node.Version(), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, fold.LatestVersion)
}
