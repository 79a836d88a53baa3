package node

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/reports"
)

// FindText implements api.Finder.
func (n *Node) FindText(context.Context, string, int) ([]reports.Found, bool, error) {
	return nil, false, fanfold.Errorf(fanfold.Conflict, "this node finds nothing yet")
}
