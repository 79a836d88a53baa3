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

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := run(ctx, command(), os.Args[1:])
	stop()
	os.Exit(code)
}

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // the command was understood, and failed
	exitUsage  = 2 // flags, arguments, files or values that cannot be understood; nothing was done
	exitWrong  = 3 // verify found something wrong, or a backup is damaged
)

// run runs a command line, prints its error, and returns the exit code.
func run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetOut(screenOf(root.OutOrStdout()))
	root.SetErr(screenOf(root.ErrOrStderr()))
	if len(args) > 0 && args[0] == "bench" {
		fmt.Fprintln(root.ErrOrStderr(), "fanfold: the benchmarks are a program of their own: go run ./cmd/fanfold-bench")
		return exitUsage
	}
	began := false // whether cobra has taken the command line, and begun with the command
	completeUsage(root, func() { began = true })
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	out := cmd.ErrOrStderr()
	var known *fanfold.Error
	if !began && !errors.As(err, &known) {
		fmt.Fprintln(out, usageLine(cmd, err))
		return exitUsage
	}
	err = problemOf(err)
	switch {
	case errors.Is(err, errWrong):
		return exitWrong
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(out, "fanfold: interrupted")
		return exitFailed
	}
	fmt.Fprintln(out, "fanfold: "+message(err))
	var damage *backup.Damage
	if errors.As(err, &damage) {
		return exitWrong
	}
	if fanfold.CodeOf(err) == fanfold.Invalid {
		return exitUsage
	}
	return exitFailed
}

// message returns an error as a person should read it: without its code, and with its problems a line each.
func message(err error) string {
	var e *fanfold.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	out := e.Message
	for _, p := range e.Problems {
		out += "\n  " + p.String()
	}
	if e.Code == fanfold.Unauthenticated {
		out += "\ncommands take a key by --key-file FILE, or from the environment by " + keyVariable
	}
	if e.Code == fanfold.ModelRemoves { // whose message tells of the API's ways to say so
		out += "\nif that is meant, give --allow-removal"
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
		Example:       "  fanfold demo\n  fanfold serve --data ./data --model model.yaml",
		Version:       node.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) { // a key press
				return nil
			}
			for _, warning := range strayVariables(cmd.Root(), os.Environ()) {
				fmt.Fprintln(cmd.ErrOrStderr(), "fanfold: "+warning)
			}
			return configure(cmd, config)
		},
	}
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&config, "config", "", "YAML file with values for flags, by their names")
	root.AddCommand(versionCommand())
	root.AddCommand(serveCommand(), demoCommand(), importCommand(), exportCommand(), changesCommand(), groupCommand(), webhooksCommand(), keysCommand(), accessCommand(), getCommand(), collectionsCommand(), historyCommand(), diffCommand(), listCommand(), putCommand(), patchCommand(), updateCommand(),
		revertCommand(), deleteCommand(), modelCommand(), fnCommand(), compactCommand(), eraseCommand(), erasuresCommand(), backupCommand(), replayCommand(), restoreCommand(), verifyCommand(), driftCommand(), logCommand(), replicasCommand(), snapshotCommand(), statusCommand(), upgradeCommand())
	completeCommands(root, &config)
	return root
}

// commandGroups are the groups in which help lists commands, each with its title and the names of its commands.
var commandGroups = []struct {
	id, title string
	names     []string
}{
	{"run", "Run a server:", []string{"serve", "demo"}},
	{"documents", "Documents:", []string{"get", "put", "patch", "update", "delete", "list", "collections"}},
	{"versions", "Their versions:", []string{"history", "diff", "revert"}},
	{"changes", "Changes:", []string{"changes", "group", "webhooks"}},
	{"many", "Moving in and out:", []string{"import", "export", "drift"}},
	{"model", "The model:", []string{"model", "fn", "upgrade"}},
	{"who", "Who may do what:", []string{"keys", "access"}},
	{"safety", "Backups, and what goes for good:", []string{"backup", "restore", "compact", "erase", "erasures"}},
	{"care", "Looking after a server:", []string{"status", "verify", "replay", "log", "snapshot", "replicas"}},
	{"about", "About this program:", []string{"version", "completion", "help"}},
}
