package harness

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"hash"
	"io"
)

// hashRows hashes every value of every row.
func hashRows(h hash.Hash, table string, rows driver.Rows) error {
	begun := table != "sequence" // digests of logs from before there were any have no such table
	if begun {
		fmt.Fprintln(h, table)
	}
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(dest); err != nil {
			if errors.Is(err, io.EOF) {
				return rows.Close()
			}
			return errors.Join(err, rows.Close())
		}
		if !begun {
			fmt.Fprintln(h, table)
			begun = true
		}
		for _, v := range dest {
			fmt.Fprintf(h, "%T %v\x00", v, v)
		}
		fmt.Fprintln(h)
	}
}
