package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
)

// pastFlags are the flags of a replay up to a moment.
type pastFlags struct {
	to, out, model, backup string
}

// add adds the flags to a command.
func (f *pastFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "position or RFC 3339 time with which the read model ends")
	flags.StringVar(&f.out, "out", "", "directory that is made for the read model of --to")
	flags.StringVar(&f.model, "model", "", "model file that applies from the first event on, in place of the log's models; with --to")
	flags.StringVar(&f.backup, "backup", "", "directory of a backup whose events are replayed; with --to")
}

// check returns Invalid for flags that do not go together.
func (f *pastFlags) check(data string, check bool) error {
	switch {
	case f.to == "" && (f.out != "" || f.model != "" || f.backup != ""):
		return fanfold.Errorf(fanfold.Invalid, "--out, --model and --backup go with --to, which says with which position the read model ends")
	case f.to != "" && f.out == "":
		return fanfold.Errorf(fanfold.Invalid, "--to needs --out, the directory for the read model")
	case f.to != "" && check:
		return fanfold.Errorf(fanfold.Invalid, "--check compares the read model that is served, which is not that of --to: leave one of them out")
	case f.backup != "" && data != "":
		return fanfold.Errorf(fanfold.Invalid, "--backup and --data both say where the events are: leave one of them out")
	}
	return nil
}

// past returns what is to be replayed of a log.
func (f *pastFlags) past(log fanfold.Issuer) (past rebuild.Past, err error) {
	m, mark, err := fanfold.ParseMoment("--to ", f.to, time.Now())
	if err == nil && m.Time.IsZero() {
		m.Position, err = log.Resolve(mark)
	}
	if past.To = m; err != nil || f.model == "" {
		return past, err
	}
	text, err := readModelFile(f.model)
	if err != nil {
		return past, err
	}
	parsed, err := modelfile.Parse(text)
	if err == nil {
		past.Model = parsed.Source
	}
	return past, err
}

// run builds the read model.
func (f *pastFlags) run(cmd *cobra.Command, server *remote, data string) (err error) {
	if _, err := f.past(fanfold.Issuer{}); err != nil {
		return err
	}
	debug.SetGCPercent(40) // as of other replays
	ctx := cmd.Context()
	logger := warnings(standardError())
	b, err := node.PrepareBuild(node.Build{Dir: f.out, Command: f.command(cmd), Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	events, closeSource, err := f.source(ctx, server, data, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	past, err := f.past(events.Issuer())
	if err != nil {
		return err
	}
	run, err := b.Begin(events, past)
	if err != nil {
		return err
	}
	if err := showReplay(ctx, cmd.OutOrStdout(), b.Projector, run); err != nil {
		return err
	}
	made, err := b.Finish()
	if err == nil {
		fmt.Fprintf(cmd.OutOrStdout(), "read model of position %s in %s; to serve it: fanfold serve --read-only %s\n", made.Position, f.out, f.out)
	}
	return err
}

// command returns the command line by which the read model is made, as a person repeats it.
func (f *pastFlags) command(cmd *cobra.Command) string {
	parts := []string{cmd.CommandPath(), "--to", f.to, "--out", f.out}
	for _, name := range []string{"model", "backup", "data", "server"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			parts = append(parts, "--"+name, flag.Value.String())
		}
	}
	return strings.Join(parts, " ")
}

// source returns the events of a backup, of a server that is not running, or of one that runs, which are kept beside the read model until
// that is made.
func (f *pastFlags) source(ctx context.Context, server *remote, data string, b *node.Building) (events node.EventSource, closeSource func() error, err error) {
	closeSource = func() error { return nil }
	switch {
	case f.backup != "":
		events, err = eventsOfBackup(f.backup)
		return events, closeSource, err
	case data != "":
		n, err := openToLook(ctx, data, true)
		if err != nil {
			return events, closeSource, err
		}
		events, err = n.EventSource(ctx)
		return events, n.Close, err
	}
	key, err := server.key()
	if err == nil {
		err = server.download(ctx, b.EventsDir())
	}
	if err == nil {
		events, err = eventsOfBackup(b.EventsDir())
	}
	events.Closed = key != client.Key{}
	return events, closeSource, err
}

// eventsOfBackup returns the events of the backup in a directory.
func eventsOfBackup(dir string) (events node.EventSource, err error) {
	b, err := backup.Open(dir)
	if err != nil {
		return events, err
	}
	return node.EventsOfBackup(b)
}

// download writes every event of the server into a directory, as a backup.
func (r *remote) download(ctx context.Context, dir string) error {
	c, err := r.connect()
	if err != nil {
		return err
	}
	defer r.close()
	in, err := c.Backup(ctx, "")
	if err != nil {
		return err
	}
	return errors.Join(backup.Unpack(in, dir), in.Close())
}
