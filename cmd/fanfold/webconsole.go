package main

import (
	"github.com/spf13/pflag"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/console"
)

// webConsole says which console a server has.
type webConsole struct {
	on  bool
	dir string // of its files; "" for those in the program
}

// flags adds the flags of the console.
func (w *webConsole) flags(f *pflag.FlagSet) {
	f.BoolVar(&w.on, "console", true, "serve the web console at /_console/")
	f.StringVar(&w.dir, "console-dir", "", "directory of the console's files, read at each request while one works on them, in place of those in the program")
}

// open returns the console, nil for none. The error is Invalid for a directory that does not have its files.
func (w *webConsole) open() (api.Console, error) {
	switch {
	case w.on:
		return console.New(w.dir)
	case w.dir != "":
		return nil, fanfold.Errorf(fanfold.Invalid, "--console-dir names the files of a console, and --console=false wants none: leave one of them out")
	}
	return nil, nil //nolint:nilnil // no console
}
