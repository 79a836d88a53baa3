package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// Bounds of what a shell is told while somebody waits for it after a key press.
const (
	completeWithin = 2 * time.Second
	maxCompletions = 100
	maxCompletion  = 200 // bytes of one; longer ones are left out
)

// completeNothing has a shell propose neither names nor files.
const completeNothing = cobra.ShellCompDirectiveNoFileComp

// enumerations are what flags of these names take, in whichever command.
var enumerations = map[string][]string{
	"consistency": {"strong", "bounded", "session", "prefix", "eventual"}, "view": {"embedded", "referenced"}, "derived": {"include", "exclude"},
	"mode": {"all", "latest"}, "log-format": {"text", "json"}, "log-level": {"debug", "info", "warn", "error"}, "durability": {"always", "interval"},
	"from": {"auto", "json", "fanfold", "cosmos", "mongo", "couch", "firestore"},
}

// completeCommands has shells propose collections, ids, groups, functions and what flags take. They propose nothing where the server does not answer in time.
func completeCommands(cmd *cobra.Command, config *string) {
	for _, below := range cmd.Commands() {
		completeCommands(below, config)
	}
	for name, values := range enumerations {
		if cmd.Flags().Lookup(name) == nil || name == "from" && cmd.Name() != "import" {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, completeNothing)) // fails for one that has been registered
	}
	if cmd.Flags().Lookup("collections") != nil && cmd.Flags().Lookup("server") != nil {
		_ = cmd.RegisterFlagCompletionFunc("collections", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			before, last := "", begun
			if i := strings.LastIndexByte(begun, ','); i >= 0 {
				before, last = begun[:i+1], begun[i+1:]
			}
			names, directive := completed(cmd, *config, last, collectionNames)
			for i := range names {
				names[i] = before + names[i]
			}
			return names, directive | cobra.ShellCompDirectiveNoSpace
		})
	}
	if words := strings.Fields(cmd.Use)[1:]; cmd.ValidArgsFunction == nil && len(words) > 0 && cmd.Flags().Lookup("server") != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) >= len(words) {
				return nil, completeNothing
			}
			switch word := strings.Trim(words[len(args)], "[]"); {
			case word == "COLLECTION":
				return completed(cmd, *config, begun, collectionNames)
			case word == "ID" && len(args) == 1 && words[0] == "COLLECTION":
				return completed(cmd, *config, begun, documentIDs(args[0]))
			case word == "NAME" && cmd.Parent() != nil && cmd.Parent().Name() == "group" && cmd.Name() != "create":
				return completed(cmd, *config, begun, groupNames)
			case word == "NAME" && cmd.Parent() != nil && cmd.Parent().Name() == "fn":
				return completed(cmd, *config, begun, functionNames)
			case strings.Contains(word, "FILE") || strings.Contains(word, "DIR"):
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, completeNothing
		}
	}
}

// completed returns what a function finds on a command's server that begins with a text. It is silent about errors: a shell shows none.
func completed(cmd *cobra.Command, config, begun string, find func(ctx context.Context, c *client.Client, begun string, add func(name string) bool) error) (names []string, directive cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completeWithin)
	defer cancel()
	if err := configure(cmd, config); err != nil {
		return nil, completeNothing
	}
	server := &remote{}
	for flag, to := range map[string]*string{"server": &server.server, "key-file": &server.keyFile, "ca-file": &server.caFile} {
		if f := cmd.Flags().Lookup(flag); f != nil {
			*to = f.Value.String()
		}
	}
	c, err := server.connect()
	if err != nil {
		return nil, completeNothing
	}
	defer server.close()
	_ = find(ctx, c, begun, func(name string) bool {
		// A shell would take a tab for the beginning of a description, and a line for another name.
		if strings.HasPrefix(name, begun) && len(name) <= maxCompletion && !strings.ContainsFunc(name, controls) {
			names = append(names, name)
		}
		return len(names) < maxCompletions
	})
	return names, completeNothing
}

// collectionNames calls add for each collection until it returns false.
func collectionNames(ctx context.Context, c *client.Client, _ string, add func(name string) bool) error {
	for info, err := range c.Collections(ctx) {
		if err != nil || !add(info.Name) {
			return err
		}
	}
	return nil
}

// documentIDs returns what calls add for ids of a collection that begin with a text.
func documentIDs(collection string) func(ctx context.Context, c *client.Client, begun string, add func(name string) bool) error {
	return func(ctx context.Context, c *client.Client, begun string, add func(name string) bool) error {
		docs := client.Collection[json.RawMessage](c, collection)
		list := docs.List(ctx, client.PageSize(maxCompletions), client.View("referenced"))
		if begun != "" {
			list = docs.Query(ctx, client.Query{Filter: "doc.id.startsWith(params.begun)", Params: map[string]string{"begun": begun}, Fields: []string{"id"}, Partial: true}, client.PageSize(maxCompletions))
		}
		for doc, err := range list {
			if err != nil || !add(doc.ID) {
				return err
			}
		}
		return nil
	}
}

// groupNames calls add for each consumer group.
func groupNames(ctx context.Context, c *client.Client, _ string, add func(name string) bool) error {
	list, err := c.Groups(ctx)
	if err != nil {
		return err
	}
	var all struct{ Groups []struct{ Name string } }
	if err := json.Unmarshal(list.Raw, &all); err != nil {
		return err
	}
	for _, g := range all.Groups {
		if !add(g.Name) {
			return nil
		}
	}
	return nil
}

// functionNames calls add for each function of the model.
func functionNames(ctx context.Context, c *client.Client, _ string, add func(name string) bool) error {
	all, err := client.Functions(ctx, c)
	for _, f := range all {
		if !add(f.Name) {
			break
		}
	}
	return err
}

// standardRoles mean something in every store.
var standardRoles = []string{"admin", "write", "read", "monitor", "everyone"}

// warnOfRoles says which roles of a new key nothing names: neither the model that applies nor a group, as namedRoles returned them, nil where
// that is not known.
func warnOfRoles(known map[string]bool, roles []string, to io.Writer) {
	if known == nil {
		return
	}
	for _, role := range roles {
		if slices.Contains(standardRoles, role) || known[role] {
			continue
		}
		text := "warning: neither the model nor a group names the role " + role
		if meant := likest(role, append(slices.Sorted(maps.Keys(known)), standardRoles...)); meant != "" {
			text += ": perhaps " + meant + " is meant"
		}
		_, _ = io.WriteString(to, "fanfold: "+text+"\n")
	}
}

// namedRoles returns the roles that the model that applies and the groups name. A role counts that stands in an expression of a rule,
// or in quotes in a function.
func namedRoles(ctx context.Context, c *client.Client) (map[string]bool, error) {
	applied, err := c.Model(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	add := func(roles []string) {
		for _, role := range roles {
			known[role] = true
		}
	}
	if applied.Revision > 0 {
		m, err := modelfile.ParseAccepted(applied.Source)
		if err != nil {
			return nil, err
		}
		for _, f := range m.Functions {
			add(f.Call)
			for _, text := range textsOfSource.FindAllStringSubmatch(f.Source, -1) {
				known[text[1]] = true
			}
		}
		for _, collection := range m.Collections {
			for _, private := range collection.Private {
				add(private.Roles)
			}
			if collection.Access == nil {
				continue
			}
			for _, act := range model.Acts {
				right := collection.Access.Of(act)
				add(right.Roles)
				add(roleWords.FindAllString(right.Where, -1))
			}
		}
	}
	list, err := c.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var all struct {
		Groups []struct{ Settings struct{ Role string } }
	}
	if err := json.Unmarshal(list.Raw, &all); err != nil {
		return nil, err
	}
	for _, g := range all.Groups {
		known[g.Settings.Role] = true
	}
	return known, nil
}

// roleWords matches what could be a role in an expression.
var roleWords = regexp.MustCompile(`[a-z][a-z0-9_-]*`)

// textsOfSource matches what could be a role in the source of a function.
var textsOfSource = regexp.MustCompile("[\"'`]([a-z][a-z0-9_-]{0,63})[\"'`]")
