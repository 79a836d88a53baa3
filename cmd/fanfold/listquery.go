package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// queryOptions has the flags that make a list a query.
type queryOptions struct {
	filter, params, sort, fields, group, compute string
	maxScan                                      int
	count, partial, explain                      bool
}

// queryFlags are the names of these flags.
var queryFlags = []string{"filter", "params", "sort", "fields", "group", "compute", "max-scan", "count", "partial", "explain"}

// flags gives a command the flags.
func (q *queryOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.filter, "filter", "", "only documents of which this expression is true, such as 'doc.year > 2000'")
	f.StringVar(&q.params, "params", "", "values of params in the filter, as a JSON object")
	f.StringVar(&q.sort, "sort", "", "paths and expressions to sort by, each with - before it for the greatest first")
	f.StringVar(&q.fields, "fields", "", "paths that are kept of each document, such as title,lines[].sku")
	f.BoolVar(&q.count, "count", false, "print how many documents match instead")
	f.StringVar(&q.group, "group", "", "print groups by these paths and expressions instead")
	f.StringVar(&q.compute, "compute", "", "what is computed of each group, such as count,sum(price)")
	f.IntVar(&q.maxScan, "max-scan", 0, "how many documents a page may look at, up to 100,000 (default 10,000)")
	f.BoolVar(&q.partial, "partial", false, "end a page early that would look at more")
	f.BoolVar(&q.explain, "explain", false, "run the query, and print how it was done instead")
	for _, other := range []string{"group", "compute", "explain"} {
		cmd.MarkFlagsMutuallyExclusive("count", other)
	}
}

// given tells whether one of the flags was given.
func (q *queryOptions) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc(queryFlags, func(name string) bool { return cmd.Flags().Changed(name) })
}

// query returns the flags as a query of the client. The error is Invalid.
func (q *queryOptions) query() (client.Query, error) {
	out := client.Query{Filter: q.filter, Sort: params.Terms(q.sort), Fields: params.Terms(q.fields), MaxScan: q.maxScan, Partial: q.partial}
	var err error
	out.Params, err = paramsOf(q.params)
	return out, err
}

// paramsOf returns what the flag params has, nil for "". The error is Invalid.
func paramsOf(flag string) (any, error) {
	switch {
	case flag == "":
		return nil, nil
	case !json.Valid([]byte(flag)):
		return nil, fanfold.Errorf(fanfold.Invalid, "--params is no JSON: give an object, such as '{\"since\":2000}'")
	}
	return json.RawMessage(flag), nil
}

// printHints says which members of an expression are misspelt, perhaps.
func printHints(cmd *cobra.Command, hints []string) {
	for _, hint := range hints {
		fmt.Fprintln(cmd.ErrOrStderr(), shown(hint))
	}
}

// runQuery prints what a query answers.
func (o *listOptions) runQuery(cmd *cobra.Command, docs *client.Documents[json.RawMessage], opts []client.ReadOption) error {
	q, err := o.query.query()
	if err != nil {
		return err
	}
	q.OnNoValue = func(documents int64) {
		fmt.Fprintf(cmd.ErrOrStderr(), "nothing matches; the filter has no value for %s: look for a misspelt member, or ask with --explain\n", wire.Counted(documents, "document", "documents"))
	}
	q.OnHints = func(hints []string) { printHints(cmd, hints) }
	by, compute := params.Terms(o.query.group), params.Terms(o.query.compute)
	switch {
	case o.query.explain:
		plan, err := docs.Explain(cmd.Context(), q, by, compute, opts...)
		if err != nil {
			return err
		}
		return printPlan(cmd.OutOrStdout(), plan, o.asJSON)
	case o.query.count:
		n, err := docs.Count(cmd.Context(), q, opts...)
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), n)
		}
		return err
	case len(by)+len(compute) > 0:
		if len(compute) == 0 {
			compute = []string{"count"}
		}
		return o.eachPage(cmd, func(cursor string, first bool) (string, error) {
			groups, next, err := docs.GroupPage(cmd.Context(), q, by, compute, cursor, opts...)
			if err != nil {
				return "", err
			}
			return next, o.printGroups(cmd.OutOrStdout(), groups, by, compute, first)
		})
	}
	return o.eachPage(cmd, func(cursor string, first bool) (string, error) {
		page, next, err := docs.QueryPage(cmd.Context(), q, cursor, opts...)
		if err != nil {
			return "", err
		}
		if len(q.Fields) > 0 && !o.asJSON {
			return next, printFields(cmd.OutOrStdout(), page, q.Fields, first)
		}
		return next, o.print(cmd.OutOrStdout(), page, first)
	})
}

// eachPage calls page with the cursor of the first page, or of all, and says where to go on.
func (o *listOptions) eachPage(cmd *cobra.Command, page func(cursor string, first bool) (next string, err error)) error {
	for cursor, first := o.cursor, true; first || o.all && cursor != ""; first = false {
		next, err := page(cursor, first)
		if err != nil {
			return err
		}
		if cursor = next; cursor != "" && !o.all {
			fmt.Fprintf(cmd.ErrOrStderr(), "there are more: go on with --cursor %s, or give --all\n", cursor)
		}
	}
	return nil
}

// printFields prints documents in columns, one for each path.
func printFields(out io.Writer, page []*client.Document[json.RawMessage], fields []string, heading bool) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if heading {
		fmt.Fprintln(w, "ID\t"+shown(strings.Join(fields, "\t")))
	}
	for _, doc := range page {
		t := jsondoc.MustParse(doc.Value)
		cells := []string{shown(doc.ID)}
		for _, field := range fields {
			cells = append(cells, fieldText(t, field))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// fieldText returns what a document has at a path for people: of a path through arrays, all of the outermost array.
func fieldText(t *jsondoc.Tree, field string) string {
	before, _, _ := strings.Cut(field, "[]")
	path, err := model.ParsePath(before)
	if err != nil {
		return ""
	}
	return cell(t, path.Lookup(t, jsondoc.Root))
}

// cell returns a value for people: a text without quotes, and - for none.
func cell(t *jsondoc.Tree, n jsondoc.Node) string {
	const most = 40 // characters
	switch {
	case n == jsondoc.None:
		return "-"
	case t.Kind(n) == jsondoc.String:
		return shortened(t.Text(n), most)
	}
	return shortened(string(t.Raw(n)), most)
}

// printGroups prints groups: as lines of JSON, or in columns for people.
func (o *listOptions) printGroups(out io.Writer, groups []*client.QueryGroup, by, compute []string, heading bool) error {
	if o.asJSON {
		for _, g := range groups {
			if _, err := fmt.Fprintf(out, "{\"key\":%s,\"values\":%s}\n", oneLine(g.Key), oneLine(g.Values)); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if heading {
		fmt.Fprintln(w, shown(strings.Join(slices.Concat(by, compute), "\t")))
	}
	for _, g := range groups {
		var cells []string
		key, values := jsondoc.MustParse(g.Key), jsondoc.MustParse(g.Values)
		for _, name := range by {
			cells = append(cells, cell(key, key.Member(jsondoc.Root, name)))
		}
		for _, name := range compute {
			cells = append(cells, cell(values, values.Member(jsondoc.Root, name)))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// printPlan prints how a query was done, in words or as the server sends it.
func printPlan(out io.Writer, p *client.QueryPlan, asJSON bool) error {
	if asJSON {
		_, err := fmt.Fprintf(out, "%s\n", oneLine(p.Raw))
		return err
	}
	walked := "walked no index"
	if p.Index != "" {
		walked = fmt.Sprintf("walked %d of %s", p.Entries, p.Index)
	}
	fmt.Fprintf(out, "%s, read %d documents, of which %d match, in %.1f ms\n", walked, p.Documents, p.Matched, p.Seconds*1000)
	if len(p.Conditions) > 0 {
		fmt.Fprintf(out, "decided by the index  %s\n", shown(strings.Join(p.Conditions, " && ")))
	}
	if p.Residual != "" {
		fmt.Fprintf(out, "asked each document   %s\n", shown(p.Residual))
	}
	if p.NoValue > 0 {
		fmt.Fprintf(out, "without a value       %d documents\n", p.NoValue)
	}
	fmt.Fprintf(out, "order                 %s\n", orderWords[p.Order])
	for _, r := range p.Rejected {
		fmt.Fprintf(out, "not taken             %s: %s\n", r.Index, shown(r.Why))
	}
	if !p.Complete {
		fmt.Fprintln(out, "incomplete            a bound was passed: without --explain this is refused")
	}
	if p.Suggest != nil {
		fmt.Fprintf(out, "better                PATCH /v1/_model with %s\n", shown(string(oneLine(p.Suggest))))
	}
	return nil
}

// orderWords says what an order of a plan is.
var orderWords = map[string]string{"index": "as the index has it", "sorted": "sorted after reading", "plan": "that of the walk; no sort was asked for"}

// showQueries prints a line for each shape of queries that looked at more documents than it gave.
func showQueries(out io.Writer, shapes []wire.QueryShape) {
	for _, q := range shapes {
		if q.Wasted() <= 0 {
			continue
		}
		asked := ""
		for _, part := range []struct{ name, text string }{{"filter", q.Filter}, {"sort", q.Sort}, {"group", q.Group}} {
			if part.text != "" {
				asked += " " + part.name + "=" + part.text
			}
		}
		fmt.Fprintf(out, "queries     %s%s: %d looked at %d documents and gave %d\n", q.Collection, shown(asked), q.Queries, q.Documents, q.Given)
		if q.Suggest != nil {
			fmt.Fprintf(out, "            better: PATCH /v1/_model with %s\n", shown(string(oneLine(q.Suggest))))
		}
	}
}
