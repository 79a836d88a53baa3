// Package function runs the functions of models: it loads their sources, answers what they ask for, and counts. DESIGN.md says why it works as it
// does. With the build tag nofunctions it has no runtime, and refuses to run any.
package function

import (
	"time"

	"github.com/fanfold/fanfold"
)

// Run is one run of a function, for whoever counts them.
type Run struct {
	Function string
	Steps    int64
	Took     time.Duration
	Reason   fanfold.Code // why it ended otherwise than well; "" for a run that ended well
}
