package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold/internal/receiver"
	"github.com/fanfold/fanfold/internal/wire"
)

func groupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Look after consumer groups of the change feed",
		Example: `  fanfold group create search --partitions 8 --collections books
  fanfold group describe search
  fanfold group reset search --to 2026-01-02T00:00:00Z`,
	}
	cmd.AddCommand(groupListCommand(), groupCreateCommand(), groupDescribeCommand(), groupResetCommand(), groupParkedCommand(),
		groupDoCommand("delete NAME", "Delete a group, with its checkpoints and parked batches", "deleted",
			func(ctx context.Context, c *client.Client, args []string) error { return c.DeleteGroup(ctx, args[0]) }),
		groupDoCommand("retry NAME BATCH", "Have a parked batch given again", "to be given again:",
			func(ctx context.Context, c *client.Client, args []string) error {
				return c.RetryParked(ctx, args[0], args[1])
			}),
		groupDoCommand("drop NAME BATCH", "Drop a parked batch for good", "dropped",
			func(ctx context.Context, c *client.Client, args []string) error {
				return c.DropParked(ctx, args[0], args[1])
			}))
	return cmd
}

// jsonFlag adds --json to a command.
func jsonFlag(cmd *cobra.Command) *bool { return cmd.Flags().Bool("json", false, "print JSON") }

// printDone prints what was done, and to what: a group, or a batch of one.
func printDone(cmd *cobra.Command, asJSON bool, what string, names ...string) error {
	if asJSON {
		return printJSON(cmd, map[string]any{"done": true})
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), what, strings.Join(names, " "))
	return err
}

func groupListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List all groups", Args: cobra.NoArgs}
	return listing(cmd, func(c *client.Client, _ []string) (*listed, error) {
		var out wire.GroupList
		list, err := c.Groups(cmd.Context())
		if err == nil {
			err = json.Unmarshal(list.Raw, &out)
		}
		return &listed{out, "NAME\tPARTITIONS\tMODE\tLEASE\tCREATED", func(w io.Writer) {
			for _, g := range out.Groups {
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", g.Name, g.Settings.Partitions, g.Settings.Mode, time.Duration(g.Settings.Lease), g.Created.Format(time.RFC3339))
			}
		}}, err
	})
}

// listed is what a server has told of several things: for programs, and as the rows of a table under a heading.
type listed struct {
	json    any
	heading string
	rows    func(w io.Writer)
}

// listing returns a command that asks a server for several things, and prints them.
func listing(cmd *cobra.Command, ask func(c *client.Client, args []string) (*listed, error)) *cobra.Command {
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		found, err := ask(c, args)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(cmd, found.json)
		}
		return table(cmd, found.heading, found.rows)
	}
	return cmd
}

// table prints rows in columns under a heading; both have tabs between the columns. On a terminal it is no wider than that.
func table(cmd *cobra.Command, heading string, rows func(w io.Writer)) error {
	var text bytes.Buffer
	fmt.Fprintln(&text, heading)
	rows(&text)
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprint(w, fitted(text.String(), columns()))
	return w.Flush()
}

// fitted returns rows, with tabs between their columns, that take no more characters than a terminal has; 0 is one of any width. The widest columns are
// cut, and none to less than its heading, in the first row, or eight characters.
func fitted(text string, width int) string {
	const least, gap = 8, 2
	if width == 0 {
		return text
	}
	var rows [][]string
	var widths, floors []int
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, cell := range cells {
			if i == len(widths) {
				widths, floors = append(widths, 0), append(floors, max(least, utf8.RuneCountInString(cell)))
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(shown(cell)))
		}
		rows = append(rows, cells)
	}
	taken := (len(widths) - 1) * gap
	for _, w := range widths {
		taken += w
	}
	for ; taken > width; taken-- {
		at := -1
		for i, w := range widths {
			if w > floors[i] && (at < 0 || w > widths[at]) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		widths[at]--
	}
	var out strings.Builder
	for _, cells := range rows {
		for i, cell := range cells {
			if utf8.RuneCountInString(shown(cell)) > widths[i] {
				cells[i] = shortened(cell, widths[i]-1)
			}
		}
		out.WriteString(strings.Join(cells, "\t") + "\n")
	}
	return out.String()
}

func groupCreateCommand() *cobra.Command {
	var settings client.GroupSettings
	var lease time.Duration
	var pushTo string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a group, or change the settings of one",
		Long: `Make a group, or change the settings of one that is there: those that are not given get their
defaults. The partitions of a group, and where it began, cannot change. A group with --push that has no
secret yet gets one, which is printed once: its receiver verifies the posts by it.`,
		Example: "  fanfold group create search --partitions 8 --since now --collections books,authors",
		Args:    cobra.ExactArgs(1),
	}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	f := cmd.Flags()
	f.IntVar(&settings.Partitions, "partitions", 16, "into which the documents are divided")
	f.StringVar(&settings.Since, "since", "0", "where the group begins: a position, 0, now or an RFC 3339 time")
	f.StringVar(&settings.Mode, "mode", "all", "all changes, or only the latest of each document")
	f.Var(nameList{&settings.Collections}, "collections", "only these, separated by commas")
	f.StringVar(&settings.View, "view", "embedded", "the documents embedded, or referenced: as they were written")
	f.StringVar(&settings.Derived, "derived", "include", "include or exclude derived changes")
	f.StringVar(&settings.Cascades, "cascades", "include", "include or exclude the writes that a delete brought with it by the delete policies")
	_ = cmd.RegisterFlagCompletionFunc("cascades", cobra.FixedCompletions(enumerations["derived"], completeNothing)) // the flag is there
	f.StringVar(&settings.Filter, "filter", "", "only changes of which this CEL expression over doc, previous and change is true, and leave where a document ceases to match")
	f.DurationVar(&lease, "lease", 30*time.Second, "how long a lease lasts without being renewed")
	f.IntVar(&settings.MaxAttempts, "max-attempts", 5, "after which a batch that fails is parked")
	f.StringVar(&pushTo, "push", "", "post the group's batches to this URL, or to none; without the flag that stays as it is")
	f.StringVar(&settings.Role, "role", "", "who may be a member, and whose rights say which changes there are: admin, and of a group that is there its own")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		settings.Lease = lease
		switch pushTo {
		case "":
		case "none":
			settings.Push = &client.Push{}
		default:
			settings.Push = &client.Push{URL: pushTo}
		}
		if _, err := c.PutGroup(cmd.Context(), args[0], settings); err != nil {
			return err
		}
		if settings.Push != nil && settings.Push.Secret != "" {
			return printSecret(cmd, *asJSON, args[0], settings.Push.Secret)
		}
		return printDone(cmd, *asJSON, "group is there:", args...)
	}
	return cmd
}

// printSecret prints the secret of a group's posts, which nobody can have later.
func printSecret(cmd *cobra.Command, asJSON bool, name, secret string) error {
	if asJSON {
		return printJSON(cmd, map[string]any{"done": true, "secret": secret})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", secret)
	fmt.Fprintln(cmd.ErrOrStderr(), "group is there:", name, "- its posts are signed by this secret, which is not shown again")
	return err
}

func groupDescribeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "describe NAME", Short: "Show who owns which partition, and how far each is", Args: cobra.ExactArgs(1)}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var d wire.Group
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		described, err := c.Group(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if err := json.Unmarshal(described.Raw, &d); err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd, d)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d partitions, %d members, behind by %s\n", d.Name, d.Settings.Partitions, len(d.Members), lagText(d.Lag))
		return table(cmd, "PARTITION\tOWNER\tCHECKPOINT\tBEHIND BY\tATTEMPTS\tPARKED\tERROR", func(w io.Writer) {
			for _, p := range d.Partitions {
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%d\t%s\n", p.Partition, orDash(p.Owner), p.Checkpoint, partitionLag(p), p.Attempts, p.Parked, quotedOrDash(p.Error))
			}
		})
	}
	return cmd
}

// lagText returns a lag as people read it.
func lagText(l wire.GroupLag) string {
	if l.Changes == nil && l.Most != nil {
		return fmt.Sprintf("up to %d changes", *l.Most)
	}
	if l.Changes == nil || l.Seconds == nil {
		return "too many changes to count"
	}
	return strconv.FormatInt(*l.Changes, 10) + " changes, " + time.Duration(*l.Seconds*float64(time.Second)).Round(time.Second).String()
}

// partitionLag returns a partition's lag as people read it.
func partitionLag(p wire.GroupPartition) string {
	if p.Gone {
		return "before the history that is kept: reset it"
	}
	return lagText(p.Lag)
}

// orDash returns a text, or a dash where there is none.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// quotedOrDash returns s between quotes, and a dash for none.
func quotedOrDash(s string) string {
	if s == "" {
		return "-"
	}
	return strconv.Quote(s)
}

func groupResetCommand() *cobra.Command {
	var to string
	var force bool
	cmd := &cobra.Command{
		Use:   "reset NAME",
		Short: "Make all partitions of a group begin elsewhere",
		Long: `Make all partitions of a group begin at a position or time. While a member holds a lease this is
refused; --force ends the leases. Batches that were parked behind it come again by themselves.`,
		Example: "  fanfold group reset search --to 0",
		Args:    cobra.ExactArgs(1),
	}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	cmd.Flags().StringVar(&to, "to", "", "a position, 0, now or an RFC 3339 time")
	cmd.Flags().BoolVar(&force, "force", false, "also while members hold leases")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if err := c.ResetGroup(cmd.Context(), args[0], to, force); err != nil {
			return err
		}
		return printDone(cmd, *asJSON, "reset", args...)
	}
	return cmd
}

func groupParkedCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "parked NAME", Short: "List the parked batches of a group", Args: cobra.ExactArgs(1)}
	return listing(cmd, func(c *client.Client, args []string) (*listed, error) {
		var out wire.ParkedList
		list, err := c.Parked(cmd.Context(), args[0])
		if err == nil {
			err = json.Unmarshal(list.Raw, &out)
		}
		return &listed{out, "BATCH\tBEHIND\tUP TO\tATTEMPTS\tTIME\tERROR", func(w io.Writer) {
			for _, p := range out.Parked {
				if p.Failure == nil {
					fmt.Fprintf(w, "%s\t%s\t%s\t-\t-\t-\n", p.ID, p.From, p.To)
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", p.ID, p.From, p.To, p.Attempts, p.Time.Format(time.RFC3339), quotedOrDash(p.Error))
			}
		}}, err
	})
}

// groupDoCommand returns a command that does one thing with a group, or with one of its parked batches, and prints what was
// done.
func groupDoCommand(use, short, what string, do func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	if what != "deleted" {
		cmd.Args = cobra.ExactArgs(2)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if err := do(cmd.Context(), c, args); err != nil {
			return err
		}
		return printDone(cmd, *asJSON, what, args...)
	}
	return cmd
}

func webhooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "webhooks",
		Short:   "List the groups whose batches are posted, or take such posts to try them out",
		Long:    "List the groups whose batches the nodes post to a URL: how far each is behind, and what the last post was answered.",
		Example: "  fanfold group create search --push https://receiver.example/books\n  fanfold webhooks\n  fanfold webhooks listen --secret-file secret",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(webhooksListenCommand())
	return listing(cmd, func(c *client.Client, _ []string) (*listed, error) {
		list, err := c.Groups(cmd.Context())
		if err != nil {
			return nil, err
		}
		posted := []*client.Group{}
		for _, name := range list.Names {
			g, err := c.Group(cmd.Context(), name)
			if err != nil && !errors.Is(err, client.NotFound) { // deleted meanwhile
				return nil, err
			}
			if err == nil && g.Push != nil {
				posted = append(posted, g)
			}
		}
		all := make([]json.RawMessage, len(posted))
		for i, g := range posted {
			all[i] = g.Raw
		}
		return &listed{map[string]any{"webhooks": all}, "GROUP\tURL\tBEHIND BY\tLAST ANSWER\tPARKED", func(w io.Writer) {
			for _, g := range posted {
				answer, parked := lastAnswer(g)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", g.Name, g.Push.URL, lagText(g.Lag), answer, parked)
			}
		}}, nil
	})
}

// lastAnswer returns what the last post of a group was answered, as people read it, and how many batches are parked.
func lastAnswer(g *client.Group) (text string, parked int) {
	var last *wire.PushAnswer
	for _, p := range g.Partitions {
		parked += p.Parked
		if p.Answer != nil && (last == nil || p.Answer.Time.After(last.Time)) {
			last = p.Answer
		}
	}
	switch {
	case last == nil:
		return "-", parked
	case last.Status == 0:
		return last.Outcome + " at " + last.Time.Format(time.RFC3339), parked
	}
	return fmt.Sprintf("%s (%d) at %s", last.Outcome, last.Status, last.Time.Format(time.RFC3339)), parked
}

func webhooksListenCommand() *cobra.Command {
	var at, secretFile string
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Take the posts of a group, verify them, and print their changes",
		Long: `Take the posts of groups at an address of this machine, and print each as a line of JSON. It answers 204
once a post is printed, and 401 where the signature is wrong. Without --secret-file it looks at no signature. The server posts to
this machine by plain HTTP if it was started with --webhook-allow 127.0.0.0/8.`,
		Example: "  fanfold webhooks listen --at 127.0.0.1:9000 --secret-file secret",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&at, "at", "127.0.0.1:9000", "address that takes posts")
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "file with the secret by which posts are signed")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		secret := ""
		if secretFile != "" {
			text, err := readFile(secretFile, "secret", maxSecretFile)
			if err != nil {
				return err
			}
			secret = strings.TrimSpace(string(text))
		}
		lines := json.NewEncoder(cmd.OutOrStdout())
		lines.SetEscapeHTML(false)
		r, err := receiver.New(secret, func(p receiver.Post) error { return lines.Encode(p) })
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", at)
		if err != nil {
			return fanfold.Errorf(fanfold.Invalid, "--at %s: nobody can listen there: %v", at, err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "posts are taken at http://%s/; Ctrl-C ends it\n", l.Addr())
		return r.Serve(cmd.Context(), l)
	}
	return cmd
}

// maxSecretFile bounds a file with a secret, in bytes.
const maxSecretFile = 4096
