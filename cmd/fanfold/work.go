package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/wire"
)

// showWork shows on a terminal how far the server is with what a command waits for.
func showWork(w *client.Work) {
	if onTerminal() {
		fmt.Fprint(standardError(), clearLine()+workLine(w.Kind, w.Phase, w.Done, w.Total, w.Started))
	}
}

// clearWork removes the line of showWork.
func clearWork() { fmt.Fprint(standardError(), clearLine()) }

// workLine returns how far work is.
func workLine(kind, phase string, done, total int64, started time.Time) string {
	line := kind + ": " + phase
	if total > 0 {
		line += fmt.Sprintf(", %.0f%%", 100*float64(done)/float64(total))
	}
	if started.IsZero() {
		return line
	}
	return line + fmt.Sprintf(", for %.0f s", time.Since(started).Seconds())
}

// showWorks prints a line for each piece of work that a server does, or has done for clients that did not wait.
func showWorks(out io.Writer, all []wire.Work) {
	for _, w := range all {
		if w.Status == 0 {
			fmt.Fprintf(out, "working     %s\n", workLine(w.Kind, w.Phase, w.Done, w.Total, w.Started))
			continue
		}
		fmt.Fprintf(out, "worked      %s: %s, %s\n", w.Kind, w.Phase, summaryOf(w.Summary))
	}
}

// summaryOf returns the summary of work as text.
func summaryOf(summary json.RawMessage) string {
	var text string
	if json.Unmarshal(summary, &text) == nil {
		return text
	}
	return string(summary)
}
