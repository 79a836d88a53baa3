package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// usageLine returns what is printed for a command line that was not understood: what is wrong, and where to read on.
func usageLine(cmd *cobra.Command, err error) string {
	what := strings.TrimSpace(err.Error())
	separator := "; "
	if strings.Contains(what, "\n") {
		separator = "\n"
	}
	return "fanfold: " + what + separator + "see " + cmd.CommandPath() + " --help"
}

// completeUsage adds cobra's commands help and completion, and has every command say plainly what is wrong with its
// arguments. began is called when a command line was taken, before the command's own work.
func completeUsage(root *cobra.Command, began func()) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	addHelp(root)
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = func(_ *cobra.Command, args []string) error {
				_, _, err := root.Find(args)
				return err
			}
			continue
		}
		completeCommand(cmd, began)
	}
}

// completeCommand does what completeUsage does for one command and all below it.
func completeCommand(cmd *cobra.Command, began func()) {
	for _, below := range cmd.Commands() {
		completeCommand(below, began)
	}
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.Args = wantCommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		return
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil {
				return nil
			}
			return describeArguments(cmd, args, err)
		}
	}
	if work := cmd.RunE; work != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			began()
			return work(cmd, args)
		}
	}
}

// wantCommand refuses arguments of a command that only has others below it.
func wantCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, below := range cmd.Commands() {
		names = append(names, below.Name())
	}
	return fmt.Errorf("%s has no %q: want %s", cmd.CommandPath(), args[0], list(names, "or"))
}

// describeArguments returns what is wrong with the number of a command's arguments, whose names its usage line has; err
// where that is not what is wrong.
func describeArguments(cmd *cobra.Command, args []string, err error) error {
	names := strings.Fields(cmd.Use)[1:]
	required := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "[") })
	switch {
	case len(args) == len(required)-1:
		return errors.New("missing argument: " + required[len(args)])
	case len(args) < len(required):
		return errors.New("missing arguments: " + list(required[len(args):], "and"))
	case len(args) > len(names) && len(names) == 0:
		return fmt.Errorf("%s takes no arguments: %q is one", cmd.CommandPath(), args[0])
	case len(args) > len(names):
		return fmt.Errorf("%q is an argument too many: %s takes %s", args[len(names)], cmd.CommandPath(), strings.Join(names, " "))
	}
	return err
}

// list returns words as a sentence lists them: a, b and c.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// shortList returns the first names, quoted, and how many more there are.
func shortList(names []string) string {
	const most = 20
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%.40q", name))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
