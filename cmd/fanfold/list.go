package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

func collectionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "collections",
		Short: "List the collections: those that the model declares, and those that hold or held documents",
		Long: `List the collections, by name: those that the model declares, and those that hold or ever held a document.
With a key they are those that it reads. Where a rule decides about single documents, their number is not told.`,
		Example: "  fanfold collections\n  fanfold collections --json",
		Args:    cobra.NoArgs,
	}
	return listing(cmd, func(c *client.Client, _ []string) (*listed, error) {
		all := []map[string]any{}
		for info, err := range c.Collections(cmd.Context()) {
			if err != nil {
				return nil, err
			}
			one := map[string]any{"name": info.Name, "declared": info.Declared, "documents": info.Documents}
			if info.Uncounted {
				delete(one, "documents")
			}
			all = append(all, one)
		}
		return &listed{map[string]any{"collections": all}, "COLLECTION\tDOCUMENTS\tIN THE MODEL", func(w io.Writer) {
			for _, one := range all {
				documents, counted := one["documents"]
				if !counted {
					documents = "-"
				}
				fmt.Fprintf(w, "%s\t%v\t%s\n", one["name"], documents, map[bool]string{true: "yes", false: "no"}[one["declared"] == true])
			}
		}}, nil
	})
}

// listOptions has the flags of list.
type listOptions struct {
	limit        int
	cursor       string
	all, asJSON  bool
	view, expand string
	at           string
	query        queryOptions
	fresh        *freshness
}

func listCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list COLLECTION",
		Short: "List the documents of a collection, by id or as a query says",
		Long: `List the documents of a collection, by id: a page of them, or all. Where there are more, the
cursor that the next page begins at is printed on standard error. With --filter, --sort,
--count, --group or --explain it is a query (docs/use/query.md). With --at all pages show the
same state, whatever is written meanwhile.`,
		Example: `  fanfold list books
  fanfold list books --filter 'doc.year > params.since' --params '{"since":2000}' --sort=-year --fields title,year
  fanfold list books --group year --compute 'count,avg(price)' --sort=-count
  fanfold list books --limit 20 --cursor CURSOR
  fanfold list books --at 2026-11-24T21:40:00Z --all
  fanfold list books --all --view referenced --json > books.ndjson`,
		Args: cobra.ExactArgs(1),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.IntVar(&o.limit, "limit", 100, "how many documents a page has, up to 1,000")
	f.StringVar(&o.cursor, "cursor", "", "where to go on, as the page before it said")
	f.BoolVar(&o.all, "all", false, "all pages")
	f.StringVar(&o.view, "view", "embedded", "embedded (with derived fields) or referenced (as written)")
	f.StringVar(&o.expand, "expand", "", "relations to expand, such as stock or authors.publisher")
	f.StringVar(&o.at, "at", "", "the list as it was at this position, or RFC 3339 time; --cursor alone goes on with it")
	f.BoolVar(&o.asJSON, "json", false, "print a document a line, as the server sends it")
	o.query.flags(cmd)
	o.fresh = freshnessFlags(cmd)
	for _, name := range slices.Concat([]string{"consistency", "max-lag", "cursor"}, queryFlags) {
		cmd.MarkFlagsMutuallyExclusive("at", name)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := fanfold.CheckCollection(args[0]); err != nil {
			return err
		}
		opts, err := o.options()
		if err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		docs := client.Collection[json.RawMessage](c, args[0])
		if o.query.given(cmd) {
			return o.runQuery(cmd, docs, opts)
		}
		return o.run(cmd, docs, opts)
	}
	return cmd
}

// options returns the flags as options of the client. The error is Invalid.
func (o *listOptions) options() ([]client.ReadOption, error) {
	if o.limit < 1 || o.limit > 1000 {
		return nil, fanfold.Errorf(fanfold.Invalid, "--limit %d is not how many documents a page can have: give 1 to 1000, or --all", o.limit)
	}
	opts, err := o.fresh.options()
	if err != nil {
		return nil, err
	}
	opts = append(opts, client.View(o.view), client.PageSize(o.limit))
	if o.expand != "" {
		opts = append(opts, client.Expand(o.expand))
	}
	return opts, nil
}

// run prints the pages.
func (o *listOptions) run(cmd *cobra.Command, docs *client.Documents[json.RawMessage], opts []client.ReadOption) error {
	for cursor, first := o.cursor, true; first || o.all && cursor != ""; first = false {
		asked := opts
		if first && o.at != "" { // the cursor has it later
			asked = append(slices.Clip(opts), client.AsOf(o.at))
		}
		page, next, err := docs.ListPage(cmd.Context(), cursor, asked...)
		if err != nil {
			return err
		}
		if err := o.print(cmd.OutOrStdout(), page, first); err != nil {
			return err
		}
		if cursor = next; cursor != "" && !o.all {
			fmt.Fprintf(cmd.ErrOrStderr(), "there are more: go on with --cursor %s, or give --all\n", cursor)
		}
	}
	return nil
}

// print prints a page: the documents as lines, or in columns for people, the first page under a heading.
func (o *listOptions) print(out io.Writer, page []*client.Document[json.RawMessage], heading bool) error {
	if o.asJSON {
		for _, doc := range page {
			if _, err := fmt.Fprintf(out, "%s\n", oneLine(doc.Value)); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if heading {
		fmt.Fprintln(w, "ID\tREVISION\tWRITTEN\tDOCUMENT")
	}
	room := excerptRoom(page)
	for _, doc := range page {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", shown(doc.ID), doc.Revision, doc.UpdatedAt.UTC().Format(time.RFC3339), excerpt(doc.Value, room))
	}
	return w.Flush()
}

// oneLine returns JSON with spaces for its line breaks, which are white space there.
func oneLine(text []byte) []byte {
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(string(text)))
}

// excerptRoom returns how many characters a page's table has for documents: what the terminal has beside the other columns.
func excerptRoom(page []*client.Document[json.RawMessage]) int {
	const usual, gaps = 60, 3 * 2
	width := columns()
	if width == 0 {
		return usual
	}
	id, revision := len("ID"), len("REVISION")
	for _, doc := range page {
		id, revision = max(id, utf8.RuneCountInString(shown(doc.ID))), max(revision, len(strconv.FormatUint(doc.Revision, 10)))
	}
	return max(20, width-id-revision-len("2006-01-02T15:04:05Z")-gaps-1)
}

// excerpt returns the beginning of a document's members, without its id and what a list adds: up to so many characters.
func excerpt(doc []byte, most int) string {
	t := jsondoc.MustParse(doc)
	var members []string
	for n := t.First(jsondoc.Root); n != jsondoc.None && len(members) < most; n = t.Next(n) {
		if name := t.Key(n); name != "id" && name != "_meta" {
			members = append(members, string(jsondoc.Quote(name))+":"+string(t.Raw(n)))
		}
	}
	return shortened(strings.Join(members, ","), most)
}

// shortened returns text for a terminal, cut to so many characters.
func shortened(text string, most int) string {
	for i := range text {
		if most--; most < 0 {
			return shown(text[:i]) + "…"
		}
	}
	return shown(text)
}
