//go:build nofunctions

package fn

import (
	"context"

	"github.com/fanfold/fanfold"
)

// errNone says that nothing runs here. It is an Unavailable.
var errNone = fanfold.Errorf(fanfold.Unavailable, "this program was built without functions")

func exports(context.Context, string) ([]byte, error) { return nil, errNone }

// Run returns an Unavailable.
func (*Suite) Run(context.Context, func(Result) error) (int, error) { return 0, errNone }
