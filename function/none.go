//go:build nofunctions

package function

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// Functions refuses to run functions: the program was built without them.
type Functions struct{}

// New returns functions that do not run.
func New(func(Run)) *Functions { return &Functions{} }

// errNone says that nothing runs here. It is an Unavailable.
var errNone = fanfold.Errorf(fanfold.Unavailable, "this program was built without functions: ask another node")

// Close does nothing.
func (*Functions) Close(context.Context) error { return nil }

// Stats returns no figures.
func (*Functions) Stats(string) writer.FunctionStats { return writer.FunctionStats{} }

// Check returns an Unavailable.
func (*Functions) Check(context.Context, *model.Model) error { return errNone }

// Enter returns an Unavailable.
func (*Functions) Enter(context.Context) (context.Context, func(), error) { return nil, nil, errNone }

// Run returns an Unavailable.
func (*Functions) Run(context.Context, writer.FunctionCall) (writer.FunctionRun, error) {
	return writer.FunctionRun{}, errNone
}
