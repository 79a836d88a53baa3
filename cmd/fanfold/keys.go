package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

func keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make and look after the keys of a store",
		Long: `Make and look after the keys of a store. The first key closes the store, for good: from then on
nobody enters without one. A key is printed once, alone on standard output.`,
		Example: `  fanfold keys create --data ./fanfold-data --name ops --role admin > ops.key   (where no server runs)
  fanfold keys create --key-file ops.key --name shop --role read,write --expires 2027-01-01T00:00:00Z
  fanfold keys rotate --key-file ops.key k3yabcdef012 --overlap 24h`,
	}
	cmd.AddCommand(keysNewCommand(), keysCreateCommand(), keysListCommand(), keysShowCommand(), keysRotateCommand(), keysChangeCommand(), keysRevokeCommand())
	return cmd
}

// keyJSON is a key as --json prints it, with its text where one was made.
type keyJSON struct {
	*client.KeyEntry

	Key string `json:"key"`
}

// printKey prints the text of a key alone to standard output, and what there is to say of it to standard error.
func printKey(cmd *cobra.Command, asJSON bool, e *client.KeyEntry, key client.Key, format string, args ...any) error {
	if asJSON {
		return printJSON(cmd, keyJSON{e, key.Text()})
	}
	fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), key.Text())
	return err
}

func keysNewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Print a new key that no store knows, for serve --admin-key-file",
		Long: `Print a new key that no store knows. It needs no server. In a file that only its owner may read
it is for serve --admin-key-file, where nobody can run a command first.`,
		Example: "  (umask 077; fanfold keys new > admin.key)\n  fanfold serve --admin-key-file admin.key",
		Args:    cobra.NoArgs,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		key := access.NewKey()
		if *asJSON {
			return printJSON(cmd, map[string]string{"id": key.ID, "key": key.Text()})
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), key.Text())
		return err
	}
	return cmd
}

// expiry is the value of --expires.
type expiry struct {
	at    *time.Time // nil for never
	never bool
}

// never is the value of --expires for a key that does not end.
const never = "never"

// Set reads a time, a date, or never.
func (e *expiry) Set(text string) error {
	if text == never {
		e.at, e.never = nil, true
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			e.at, e.never = &at, false
			return nil
		}
	}
	return errors.New("is neither a time, such as 2027-01-01T00:00:00Z or 2027-01-01, nor " + never)
}

// String returns the value as Set takes it.
func (e *expiry) String() string {
	if e.at == nil {
		return never
	}
	return e.at.Format(time.RFC3339)
}

// Type returns what --help calls the value.
func (e *expiry) Type() string { return "time" }

// maxClaimsFile bounds what is read of a key's claims, in bytes: white space takes room, too.
const maxClaimsFile = 64 << 10

// claimsFlag is the value of --claims.
type claimsFlag struct{ text json.RawMessage }

// Set reads JSON, or the file that follows an @.
func (c *claimsFlag) Set(text string) (err error) {
	c.text = json.RawMessage(text)
	if path, ok := strings.CutPrefix(text, "@"); ok {
		c.text, err = readFile(path, "claims", maxClaimsFile)
	}
	if err == nil && !json.Valid(c.text) {
		err = errors.New("is neither JSON, such as {\"tenant\":\"a\"}, nor @FILE")
	}
	return err
}

// String returns the value as Set takes it.
func (c *claimsFlag) String() string { return string(c.text) }

// Type returns what --help calls the value.
func (c *claimsFlag) Type() string { return "JSON|@FILE" }

// dataFlag adds --data to a command that also works where no server runs.
func dataFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("data", "", "directory of a server that is not running, in place of --server")
}

// withKeys calls fn with the keys of a directory on which no server runs.
func withKeys(ctx context.Context, data string, fn func(s *keys.Store) error) error {
	logger := warnings(standardError())
	s, closeAll, err := node.OpenKeys(ctx, data, logger)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), closeAll())
}

// entryOf returns what a store keeps of a key as the client has it, given when keys were last used.
func entryOf(e *keys.Entry, used map[string]time.Time) client.KeyEntry {
	out := client.KeyEntry{ID: e.ID, Name: e.Name, Roles: e.Roles, Sub: e.Subject(), Claims: e.ShownClaims(), Created: e.Created, Expires: e.Expires, Revoked: e.Revoked, Secrets: []client.KeySecret{}}
	for _, s := range e.Secrets {
		out.Secrets = append(out.Secrets, client.KeySecret{Created: s.Created, Until: s.Until})
	}
	if at, ok := used[e.ID]; ok {
		out.LastUsed = &at
	}
	return out
}

func keysCreateCommand() *cobra.Command {
	var settings client.KeySettings
	var expires expiry
	var claims claimsFlag
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a key, and print it: nobody can be told it again",
		Long: `Make a key, and print it: nobody can be told it again. The first key must have the role admin,
and closes the store. With --data it is made in a directory on which no server runs, which may
not be there yet: at first, and where the last key with the role admin is lost.`,
		Example: `  (umask 077; fanfold keys create --data ./fanfold-data --name ops --role admin > ops.key)
  fanfold keys create --key-file ops.key --name prometheus --role monitor`,
		Args: cobra.NoArgs,
	}
	server, data, asJSON := serverFlag(cmd), dataFlag(cmd), jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&settings.Name, "name", "", "of the key, for people")
	f.Var(nameList{&settings.Roles}, "role", "of the key: admin, write, read, monitor, or one that the model names; separated by commas, or given several times")
	f.Var(&expires, "expires", "when it ends, within ten years")
	f.StringVar(&settings.Sub, "sub", "", "whom rules take the holder for (default key:<id>)")
	f.Var(&claims, "claims", "what else rules see of the holder: a JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if settings.Name == "" || len(settings.Roles) == 0 {
			return fanfold.Errorf(fanfold.Invalid, "a key needs --name and --role")
		}
		settings.Expires, settings.Claims = expires.at, claims.text
		created := func(e *client.KeyEntry, key client.Key) error {
			return printKey(cmd, *asJSON, e, key, "key %s: %s, with the roles %s; it is shown once", e.ID, e.Name, strings.Join(e.Roles, ", "))
		}
		if *data != "" {
			return withKeys(cmd.Context(), *data, func(s *keys.Store) error {
				e, key, err := s.Create(cmd.Context(), keys.Settings{Name: settings.Name, Roles: settings.Roles, Expires: settings.Expires, Sub: settings.Sub, Claims: settings.Claims})
				if err != nil {
					return err
				}
				entry := entryOf(e, nil)
				return created(&entry, client.NewKey(key.Text()))
			})
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		known, _ := namedRoles(cmd.Context(), c) // nil after an error; the first key takes the right to ask with it
		e, key, err := c.CreateKey(cmd.Context(), settings)
		if err != nil {
			return err
		}
		warnOfRoles(known, settings.Roles, cmd.ErrOrStderr())
		return created(e, key)
	}
	return cmd
}

// endOf says when something ends or was, as people read it.
func endOf(at *time.Time) string {
	if at == nil {
		return never
	}
	return at.Format(time.RFC3339)
}

// stateOf says whether a key works.
func stateOf(e *client.KeyEntry) string {
	switch {
	case e.Revoked != nil:
		return "revoked"
	case e.Expires != nil && !e.Expires.After(time.Now()):
		return "expired"
	}
	return "works"
}

// printKeys prints a table of keys.
func printKeys(cmd *cobra.Command, list []client.KeyEntry) error {
	return table(cmd, "ID\tNAME\tROLES\tSUB\tCREATED\tLAST USED\tEXPIRES\tSTATE", func(w io.Writer) {
		for i := range list {
			e := &list[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Name, strings.Join(e.Roles, ","), e.Sub, e.Created.Format(time.RFC3339), endOf(e.LastUsed), endOf(e.Expires), stateOf(e))
		}
	})
}

func keysListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List all keys, revoked ones included", Args: cobra.NoArgs,
		Example: "  fanfold keys list --key-file ops.key\n  fanfold keys list --data ./fanfold-data   (where no server runs)"}
	server, data, asJSON := serverFlag(cmd), dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, err := server.listKeys(cmd.Context(), *data)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(cmd, map[string]any{"keys": list})
		}
		return printKeys(cmd, list)
	}
	return cmd
}

// listKeys returns the keys of a server, or of a directory where that is not "".
func (r *remote) listKeys(ctx context.Context, data string) ([]client.KeyEntry, error) {
	if data == "" {
		c, err := r.connect()
		if err != nil {
			return nil, err
		}
		defer r.close()
		return c.Keys(ctx)
	}
	if _, err := os.Stat(data); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "%s is not the data directory of a server: %v", data, err)
	}
	list := []client.KeyEntry{}
	return list, withKeys(ctx, data, func(s *keys.Store) error {
		used := s.LastUsed(ctx)
		for _, e := range s.List() {
			list = append(list, entryOf(e, used))
		}
		return nil
	})
}

func keysShowCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: "Show a key, and when its secrets were made", Args: cobra.ExactArgs(1)}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		e, err := c.Key(cmd.Context(), args[0])
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(cmd, e)
		}
		if err := printKeys(cmd, []client.KeyEntry{*e}); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "claims %s\n", e.Claims)
		for _, s := range e.Secrets {
			fmt.Fprintf(cmd.OutOrStdout(), "secret made %s, ends %s\n", s.Created.Format(time.RFC3339), endOf(s.Until))
		}
		return nil
	}
	return cmd
}

func keysRotateCommand() *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Give a key a new secret, and print the key: nobody can be told it again",
		Long: `Give a key a new secret, and print the key: nobody can be told it again. The key as it was before
works for the overlap, and ends at once where that is 0s. Older ones end.`,
		Example: "  fanfold keys rotate k3yabcdef012 --key-file ops.key\n  fanfold keys rotate k3yabcdef012 --key-file ops.key --overlap 0s   (a key that leaked)",
		Args:    cobra.ExactArgs(1),
	}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the key as it was before works, at most 720h")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		e, key, err := c.RotateKey(cmd.Context(), args[0], overlap)
		if err != nil {
			return err
		}
		before := "the key as it was before has ended"
		if len(e.Secrets) > 1 {
			before = "the key as it was before works until " + endOf(e.Secrets[1].Until)
		}
		return printKey(cmd, *asJSON, e, key, "key %s: %s has a new secret; %s", e.ID, e.Name, before)
	}
	return cmd
}

func keysChangeCommand() *cobra.Command {
	var change client.KeyChange
	var expires expiry
	var claims claimsFlag
	cmd := &cobra.Command{
		Use:   "change ID",
		Short: "Change the name, the roles, the subject, the claims or the end of a key",
		Example: `  fanfold keys change k3yabcdef012 --key-file ops.key --role read,support --expires never
  fanfold keys change k3yabcdef012 --key-file ops.key --sub u1 --claims '{"tenant":"a"}'`,
		Args: cobra.ExactArgs(1),
	}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&change.Name, "name", "", "of the key, for people")
	f.Var(nameList{&change.Roles}, "role", "all roles of the key from now on; separated by commas, or given several times")
	f.Var(&expires, "expires", "when it ends, within ten years, or "+never)
	f.StringVar(&change.Sub, "sub", "", "whom rules take the holder for")
	f.BoolVar(&change.DefaultSub, "default-sub", false, "rules take the holder for key:<id> again")
	f.Var(&claims, "claims", "a merge patch of the claims: null takes a member away, or all of them")
	cmd.MarkFlagsMutuallyExclusive("sub", "default-sub")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change.Expires, change.NeverExpires, change.Claims = expires.at, expires.never, claims.text
		if change.Name == "" && change.Roles == nil && change.Expires == nil && !change.NeverExpires && change.Sub == "" && !change.DefaultSub && change.Claims == nil {
			return fanfold.Errorf(fanfold.Invalid, "nothing is to change: give --name, --role, --expires, --sub or --claims")
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		e, err := c.ChangeKey(cmd.Context(), args[0], change)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(cmd, e)
		}
		return printKeys(cmd, []client.KeyEntry{*e})
	}
	return cmd
}

func keysRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "End a key for good; a second time, forget its name and roles",
		Args:  cobra.ExactArgs(1),
	}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if err := c.RevokeKey(cmd.Context(), args[0]); err != nil {
			return err
		}
		return printDone(cmd, *asJSON, "revoked", args...)
	}
	return cmd
}

func accessCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "access", Short: "Say who may do what with a document"}
	cmd.AddCommand(accessExplainCommand())
	return cmd
}

func accessExplainCommand() *cobra.Command {
	var who client.AccessAuth
	var claims string
	cmd := &cobra.Command{
		Use:     "explain COLLECTION/ID",
		Short:   "Say what somebody may do with a document, and why",
		Long:    "Say what somebody may do with a document as it is, and why, under the access of the model that applies.",
		Example: "  fanfold access explain tasks/t1 --key-file ops.key --sub u1 --role support",
		Args:    cobra.ExactArgs(1),
	}
	server, asJSON := serverFlag(cmd), jsonFlag(cmd)
	cmd.Flags().StringVar(&who.Sub, "sub", "", "the subject of who asks")
	cmd.Flags().StringSliceVar(&who.Roles, "role", nil, "the roles of who asks")
	cmd.Flags().StringVar(&claims, "claims", "", "the claims of who asks, a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		collection, id, found := strings.Cut(args[0], "/")
		if !found {
			return fanfold.Errorf(fanfold.Invalid, "%s is no document: write COLLECTION/ID", args[0])
		}
		if claims != "" {
			who.Claims = []byte(claims)
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		told, err := client.ExplainAccess(cmd.Context(), c, collection, id, who)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(cmd, told)
		}
		return table(cmd, "ACTION\tALLOWED\tWHY", func(w io.Writer) {
			fmt.Fprintf(w, "read\t%t\t%s\ncreate\t%t\t%s\nupdate\t%t\t%s\ndelete\t%t\t%s\n", told.Read.Allowed, told.Read.Why, told.Create.Allowed, told.Create.Why,
				told.Update.Allowed, told.Update.Why, told.Delete.Allowed, told.Delete.Why)
		})
	}
	return cmd
}
