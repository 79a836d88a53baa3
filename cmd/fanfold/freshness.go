package main

import (
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

// freshness has the flags that say how fresh a read is to be.
type freshness struct{ level, maxLag, position string }

// freshnessFlags adds the flags to a command.
func freshnessFlags(cmd *cobra.Command) *freshness {
	f := new(freshness)
	cmd.Flags().StringVar(&f.level, "consistency", "", "strong, bounded, session, prefix or eventual (default prefix): docs/use/consistency.md")
	cmd.Flags().StringVar(&f.maxLag, "max-lag", "", "with bounded: events, such as 10000, or time, such as 30s, that the node may be behind")
	cmd.Flags().StringVar(&f.position, "min-position", "", "show at least this position, as another command or answer gave it out")
	return f
}

// options returns the flags as options of the client. The error is Invalid for flags that do not go together.
func (f *freshness) options() (opts []client.ReadOption, err error) {
	switch {
	case (f.level == "bounded") != (f.maxLag != ""):
		return nil, fanfold.Errorf(fanfold.Invalid, "--consistency bounded and --max-lag go together, such as --consistency bounded --max-lag 30s")
	case f.level == "bounded":
		opts = append(opts, client.Bounded(f.maxLag))
	case f.level != "":
		opts = append(opts, client.Consistency(f.level))
	}
	if f.position != "" {
		opts = append(opts, client.AtLeast(f.position))
	}
	return opts, nil
}
