// Fanfold is an event-sourced JSON document store that keeps declared copies right.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
)

func main() { os.Exit(run()) }

// run runs the command line and returns the exit code: 0 for success, 1 for a failure, 2 for wrong usage, 3 where
// verify found something wrong.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := command()
	understood := false // whether cobra came as far as running a command
	preRun := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		understood = true
		return preRun(cmd, args)
	}
	err := root.ExecuteContext(ctx)
	if err != nil && !understood {
		fmt.Fprintf(os.Stderr, "fanfold: %v; see fanfold --help\n", err)
		return 2
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errWrong):
		return 3
	}
	fmt.Fprintln(os.Stderr, "fanfold: "+message(err))
	if fanfold.CodeOf(err) == fanfold.Invalid {
		return 2
	}
	return 1
}

// message returns an error as a person should read it: without its code, and with its problems a line each.
func message(err error) string {
	var e *fanfold.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	out := e.Message
	for _, p := range e.Problems {
		out += "\n  " + strings.TrimPrefix(p.Path+": ", ": ") + p.Detail
	}
	return out
}

// command returns fanfold with all its commands.
func command() *cobra.Command {
	var config string
	root := &cobra.Command{
		Use:   "fanfold",
		Short: "An event-sourced JSON document store that keeps declared copies right",
		Long: `Fanfold is an event-sourced JSON document store. You declare which copies exist - an
author's name on each of their books, a count of books on the author - and the store keeps
every one right, atomically, and tells about every change on a feed.

Every flag can also be set by an environment variable (--listen by FANFOLD_LISTEN) or in a
YAML file named by --config; a flag wins over the environment, and that over the file.`,
		Example:           "  fanfold demo\n  fanfold serve --data ./data --model model.yaml",
		Version:           node.Version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return configure(cmd, config) },
	}
	root.PersistentFlags().StringVar(&config, "config", "", "YAML file with values for flags, by their names")
	root.AddCommand(serveCommand(), demoCommand(), importCommand(), exportCommand(), changesCommand(), getCommand(),
		deleteCommand(), modelCommand(), replayCommand(), verifyCommand(), logCommand(), statusCommand(), benchCommand())
	return root
}

// configure sets the flags that were not given from the environment, and those that are not there from the file at
// path, if that is not "". The error is Invalid.
func configure(cmd *cobra.Command, path string) error {
	if env := os.Getenv("FANFOLD_CONFIG"); path == "" {
		path = env
	}
	file := map[string]any{}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return fanfold.Wrap(err, fanfold.Invalid, "cannot read the configuration: %v", err)
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			return fanfold.Wrap(err, fanfold.Invalid, "%s is not YAML: %v", path, err)
		}
	}
	for name := range file {
		if !hasFlag(cmd.Root(), name) {
			return fanfold.Errorf(fanfold.Invalid, "%s: no command has a flag %q", path, name)
		}
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value, given := os.LookupEnv("FANFOLD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")))
		if !given {
			v, ok := file[f.Name]
			value, given = fmt.Sprint(v), ok
		}
		if f.Name == "data" && cmd.Name() != "serve" {
			return // other commands have --data for a server that is not running, which must be said by hand
		}
		if given && !f.Changed && f.Name != "config" {
			if err := f.Value.Set(value); err != nil {
				errs = append(errs, fanfold.Errorf(fanfold.Invalid, "%s=%q: %v", f.Name, value, err))
			}
		}
	})
	return errors.Join(errs...)
}

// hasFlag tells whether cmd, or a command below it, has a flag of this name.
func hasFlag(cmd *cobra.Command, flag string) bool {
	if cmd.Flags().Lookup(flag) != nil {
		return true
	}
	for _, c := range cmd.Commands() {
		if hasFlag(c, flag) {
			return true
		}
	}
	return false
}
