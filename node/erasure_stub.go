package node

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/reports"
)

// errNoErasure answers requests for erasures.
var errNoErasure = fanfold.Errorf(fanfold.Conflict, "this node does not erase yet")

// PlanErasure implements api.Eraser.
func (n *Node) PlanErasure(context.Context, fanfold.EraseRequest) (*reports.ErasurePlan, error) {
	return nil, errNoErasure
}

// Erase implements api.Eraser.
func (n *Node) Erase(context.Context, fanfold.EraseRequest, string) (*reports.Erasure, error) {
	return nil, errNoErasure
}

// Erasure implements api.Eraser.
func (n *Node) Erasure(context.Context, uint64) (*reports.Erasure, error) {
	return nil, fanfold.Errorf(fanfold.NotFound, "there is no such erasure")
}

// Erasures implements api.Eraser.
func (n *Node) Erasures(context.Context) ([]reports.Erasure, error) { return nil, nil }

// EachErased implements api.Eraser.
func (n *Node) EachErased(context.Context, func(reports.ErasedDocument) error) error { return nil }
