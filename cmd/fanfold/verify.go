package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
)

// errWrong makes the exit code 3.
var errWrong = errors.New("wrong values found")

func verifyCommand() *cobra.Command {
	var data string
	var asJSON, ofLog bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Recompute every derived value from the documents as written, and list wrong ones",
		Long: `Recompute every derived value and the link index from the documents as written, and list
what differs. The server does it in the background and this command shows how far it is; where
it is interrupted, the server ends it. With --log read the whole log instead, and compare it with what was folded from it.
The exit code is 0 where nothing differs and 3 where something does.`,
		Example: "  fanfold verify\n  fanfold verify --log\n  fanfold verify --data ./fanfold-data   (where no server runs)",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.Flags().BoolVar(&ofLog, "log", false, "verify the log rather than what was made of it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if ofLog {
			return verifyLog(cmd, server, data, asJSON)
		}
		var v inspect.Verified
		var err error
		if data != "" {
			v, err = verifyOffline(cmd.Context(), data)
		} else {
			v, err = server.verify(cmd.Context())
		}
		if err != nil {
			return err
		}
		return showVerified(cmd, &v, asJSON)
	}
	return cmd
}

// verify has the server verify its read model.
func (r *remote) verify(ctx context.Context) (v inspect.Verified, err error) {
	c, err := r.connect()
	if err != nil {
		return v, err
	}
	defer r.close()
	text, err := c.Verify(ctx, showWork)
	clearWork()
	return v, report(text, err, &v)
}

// verifyOffline verifies the read model of a server that is not running, as it is: nothing is folded first.
func verifyOffline(ctx context.Context, data string) (out inspect.Verified, err error) {
	dir := filepath.Join(data, "readmodel")
	if _, err := os.Stat(dir); err != nil {
		return out, fanfold.Wrap(err, fanfold.Invalid, "%s is not the data directory of a server: %v", data, err)
	}
	lock, err := datadir.Lock(data)
	if err != nil {
		return out, err
	}
	store, err := sqlite.OpenStore(dir, sqlite.Options{Fingerprint: fold.Fingerprint(), AsIs: true})
	if err != nil {
		return out, errors.Join(err, lock.Close())
	}
	v, err := inspect.Verify(ctx, store, nil)
	if v != nil {
		out = *v
	}
	return out, errors.Join(err, store.Close(), lock.Close())
}

// showVerified prints what verify found. The error is errWrong where that is anything.
func showVerified(cmd *cobra.Command, v *inspect.Verified, asJSON bool) error {
	var err error
	if asJSON {
		err = printJSON(cmd, v)
	} else {
		printVerified(cmd.OutOrStdout(), v)
	}
	if err == nil && len(v.Wrong) > 0 {
		err = errWrong
	}
	return err
}

func printVerified(out io.Writer, v *inspect.Verified) {
	for _, w := range v.Wrong {
		fmt.Fprintf(out, "wrong: %s %s\n  %s\n", w.Document, w.Rule, w.Detail)
	}
	if v.More > 0 {
		fmt.Fprintf(out, "and %d more\n", v.More)
	}
	wrong := int64(len(v.Wrong)) + v.More
	fmt.Fprintf(out, "%d documents verified at position %s: %d wrong\n", v.Documents, v.Position, wrong)
}
