package driver

import (
	"context"
	"errors"
)

// copyPages is the number of pages that are copied at a time.
const copyPages = 4096

// CopyTo copies what the connection's read transaction shows into a new file, which nothing protects from a crash. It calls
// progress with the number of pages copied and of all pages. It blocks until the copy is complete or ctx has ended.
func (c *Conn) CopyTo(ctx context.Context, path string, progress func(done, total int64)) (err error) {
	dst, err := Open(path, Create, "synchronous=OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	b, err := dst.raw.Backup("main", c.raw, "main")
	if err != nil {
		return Translate(err)
	}
	for done := false; !done && err == nil; {
		if done, err = b.Step(copyPages); err == nil {
			progress(int64(b.PageCount()-b.Remaining()), int64(b.PageCount()))
			err = ctx.Err()
		}
	}
	return errors.Join(Translate(err), b.Finish())
}
