package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// mendWithin is how long an entry may stand in the list of flaky tests.
const mendWithin = 7 * 24 * time.Hour

// noteFlaky prints the tests that passed when they were run again, and appends them to a file, one a line, with the date and why each
// had failed.
func noteFlaky(file string, flaky []failure, today time.Time, out io.Writer) (err error) {
	w, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, f := range flaky {
		entry := fmt.Sprintf("%s %s: %s", today.Format(time.DateOnly), f, f.said)
		fmt.Fprintln(out, "flaky:", entry)
		if _, err := fmt.Fprintln(w, entry); err != nil {
			return err
		}
	}
	return nil
}

// checkFlaky returns an error for each entry of a file that is older than a week, or has no date. Lines that begin with # are no entries.
func checkFlaky(file string, today time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var old []error
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		date, _, _ := strings.Cut(line, " ")
		switch noted, err := time.Parse(time.DateOnly, date); {
		case err != nil:
			old = append(old, fmt.Errorf("%s: %q has no date", file, line))
		case today.Sub(noted) > mendWithin:
			old = append(old, fmt.Errorf("%s: mend this test and remove its line: %s", file, line))
		}
	}
	return errors.Join(old...)
}
