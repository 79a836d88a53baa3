package fanfold

// Bounds of what a call event says.
const (
	MaxCallResult = 16 << 10 // bytes of a result's JSON
	MaxFunction   = 255      // bytes of a function's name
)

// Call is what a call event says: the event's actor has called a function.
type Call struct {
	Function string
	Model    uint64 // sequence of the event that applied the model whose function ran
	Writes   int    // how many events right after this one are the operations that the function has written
	Result   []byte // what the function returned, as JSON; nil where the request had no key by which it could be sent again, and where its content is gone
}
