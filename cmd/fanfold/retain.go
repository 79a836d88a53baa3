package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Bounds of --retain.
const (
	minRetain = time.Hour
	maxRetain = 100 * 365 * day
	day       = 24 * time.Hour
)

// retainFlag is the value of --retain: a time, which may begin with days.
type retainFlag struct{ of *time.Duration }

// Set reads the time.
func (v retainFlag) Set(text string) error {
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil || text == "" {
		return errRetain
	}
	keeps := time.Duration(n) * day
	if rest != "" {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 || more > maxRetain {
			return errRetain
		}
		keeps += more
	}
	if keeps < minRetain || keeps > maxRetain {
		return errRetain
	}
	*v.of = keeps
	return nil
}

// errRetain says which times --retain takes.
var errRetain = errors.New("is not a time of at least 1h, such as 90d, 36h or 90d12h")

// String returns the time, "" for none.
func (v retainFlag) String() string {
	switch {
	case v.of == nil || *v.of == 0:
		return ""
	case *v.of%day == 0:
		return strconv.Itoa(int(*v.of/day)) + "d"
	}
	return v.of.String()
}

// Type returns what --help calls the value.
func (v retainFlag) Type() string { return "time" }
