package driver

import (
	"errors"
	"strings"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold"
)

// Translate returns SQLite's error as an Unavailable or Internal one that says what to do,
// chosen by its code. Other errors, and nil, are returned as they are.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrFull:
		return fanfold.Wrap(err, fanfold.Unavailable, "the disk that holds the read model is full: free some space")
	case sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrPerm:
		return fanfold.Wrap(err, fanfold.Unavailable, "the read model's files cannot be written: check their permissions")
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return fanfold.Wrap(err, fanfold.Internal, "the read model's file is damaged: run fanfold replay, which builds it anew from the log")
	case sqlite3.ErrIoErr:
		return fanfold.Wrap(err, fanfold.Unavailable, "the disk that holds the read model fails: %s", strings.TrimSpace(e.Error()))
	}
	return err
}

// IsCorrupt reports whether err says that a file is not a database, or is damaged.
func IsCorrupt(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}

// isFailedSync reports whether err says that SQLite could not sync a file.
func isFailedSync(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrIoErrFsync
}

// IsConstraint reports whether err says that a row breaks a constraint of its table, or has a value that is too large.
func IsConstraint(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrConstraint || e.Code == sqlite3.ErrMismatch || e.Code == sqlite3.ErrTooBig)
}
