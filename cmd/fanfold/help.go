package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// groupCommands puts the commands of fanfold into their groups.
func groupCommands(root *cobra.Command) {
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(g.names, cmd.Name()) {
				cmd.GroupID = g.id
			}
		}
	}
}

// flagUsages returns what help prints of flags: in groups, where there are as many as serve has, and as wide as the terminal.
func flagUsages(all *pflag.FlagSet) string {
	width := columns()
	if all.Lookup("durability") == nil {
		return all.FlagUsagesWrapped(width)
	}
	text, told := "", map[string]bool{}
	for _, g := range serveGroups {
		some := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		all.VisitAll(func(f *pflag.Flag) {
			if !told[f.Name] && g.names.MatchString(f.Name) {
				told[f.Name] = true
				some.AddFlag(f)
			}
		})
		text += " " + g.title + ":\n" + some.FlagUsagesWrapped(width) + "\n"
	}
	return text
}

// addHelp has help list commands and flags in groups, as wide as the terminal.
func addHelp(root *cobra.Command) {
	groupCommands(root)
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	template := root.UsageTemplate()
	for _, flags := range []string{".LocalFlags", ".InheritedFlags"} {
		template = strings.ReplaceAll(template, flags+".FlagUsages", "flagUsages "+flags)
	}
	root.SetUsageTemplate(template)
}

// columns returns how wide the terminal is to which results go, 0 where they go somewhere else or that is not known.
func columns() int {
	const least, most = 40, 400
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width < least {
		return 0
	}
	return min(width, most)
}

// suggestFlag returns an error about a flag that a command does not have with the one that was meant, perhaps.
func suggestFlag(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || strings.Contains(err.Error(), "shorthand") {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := likest(missing.GetSpecifiedName(), names); meant != "" {
		return errors.New(err.Error() + ": perhaps --" + meant + " is meant")
	}
	return err
}

// likest returns the name that is most like a text, "" where none is: one letter in three may differ.
func likest(text string, names []string) string {
	const longest = 100
	if len(text) > longest {
		return ""
	}
	best, least := "", max(1, len(text)/3)+1
	for _, name := range names {
		if d := distance(text, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance returns how many letters have to be added, taken away or replaced until one text is the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			other := before
			if a[i] != b[j] {
				other = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], other
		}
	}
	return row[len(b)]
}

// ofServices matches variables that Kubernetes sets for a service that is called fanfold.
var ofServices = regexp.MustCompile(`^FANFOLD_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)$`)

// strayVariables returns a warning for each variable of an environment that begins as a variable of a flag does and is none, 10 at most.
func strayVariables(root *cobra.Command, environment []string) (warnings []string) {
	const most = 10
	const prefix = "FANFOLD_"
	known := []string{keyVariable, variable("version")} // docker-compose.yml has the latter
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		each := func(f *pflag.Flag) { known = append(known, variable(f.Name)) }
		cmd.Flags().VisitAll(each)
		cmd.PersistentFlags().VisitAll(each)
		for _, below := range cmd.Commands() {
			add(below)
		}
	}
	add(root)
	var endings []string
	for _, name := range known {
		endings = append(endings, strings.TrimPrefix(name, prefix))
	}
	for _, entry := range slices.Sorted(slices.Values(environment)) {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(known, name) || ofServices.MatchString(name) || len(warnings) == most {
			continue
		}
		text := "warning: no flag is set by " + shortened(name, 80) + " in the environment"
		if meant := likest(strings.TrimPrefix(name, prefix), endings); meant != "" {
			text += ": perhaps " + prefix + meant + " is meant"
		}
		warnings = append(warnings, text)
	}
	return warnings
}
