package client

import (
	"context"
	"errors"
)

// DeletedSteps says what DeleteSteps has done, in all its steps.
type DeletedSteps struct {
	Done     bool   `json:"done"`    // the document itself is deleted
	Steps    int    `json:"steps"`   // transactions whose answers came
	Deleted  int    `json:"deleted"` // how many documents, the document itself included
	Changed  int    `json:"changed"` // how many lost their reference
	Position string `json:"position"`
}

// DeleteSteps deletes a document with all that the model's policies delete and change with it. It needs as many
// transactions as that takes: one writes 1,000 documents at most. It repeats DeleteStep until the document itself is
// deleted, and blocks until then. progress, which may be nil, is called after each step with the sum so far. A step whose
// answer is lost is sent again, and is not counted. A document that is written anew under the id meanwhile is deleted,
// too.
//
// With an error the sum so far comes back, and the same call goes on from there. Errors are DeleteStep's and ctx's.
// NotFound comes back only where nothing was deleted; later it means that another client deleted the rest, which is done.
func (d *Documents[T]) DeleteSteps(ctx context.Context, id string, progress func(sum DeletedSteps)) (DeletedSteps, error) {
	var sum DeletedSteps
	for !sum.Done {
		r := d.stepRequest(id)
		r.repeatable = true
		step, err := d.deleteStep(ctx, r)
		if errors.Is(err, NotFound) && (sum.Steps > 0 || r.unsure) {
			sum.Done = true
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
		sum = DeletedSteps{Done: step.Done, Steps: sum.Steps + 1, Deleted: sum.Deleted + step.Deleted, Changed: sum.Changed + step.Changed, Position: step.Position}
		if progress != nil {
			progress(sum)
		}
	}
	return sum, nil
}
