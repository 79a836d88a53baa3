package driver

import "errors"

// Update runs fn in one write transaction, whose statements are deferred. It commits if fn returns nil, and rolls back if fn
// returns an error or panics. Errors are fn's, and Unavailable or Internal ones of the file.
func (c *Conn) Update(fn func() error) (err error) {
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			_ = c.rollback()
			panic(p)
		}
		if err != nil {
			err = errors.Join(err, c.rollback())
		}
	}()
	if err := c.deferring(fn); err != nil {
		return err
	}
	return c.Exec("COMMIT")
}

// deferring runs fn, and then the statements that it has deferred.
func (c *Conn) deferring(fn func() error) error {
	if c.spare == nil {
		c.spare = newDeferral(c.runner.failWrite)
	}
	c.deferred = c.spare
	defer func() {
		c.deferred.discard()
		c.deferred = nil
	}()
	if err := fn(); err != nil {
		return c.deferred.fail(err)
	}
	return c.deferred.settle()
}

// rollback ends the transaction, unless SQLite has done so itself, as it does for a full disk.
func (c *Conn) rollback() error {
	if c.raw.AutoCommit() {
		return nil
	}
	_, err := c.raw.Exec("ROLLBACK", nil)
	return err
}

// Read runs fn in a read transaction. Its first query takes the snapshot that the others read.
func (c *Conn) Read(fn func() error) (err error) {
	if err := c.Exec("BEGIN"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Exec("ROLLBACK")) }()
	return fn()
}
