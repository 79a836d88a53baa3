// Command meter makes engine/metered.wasm of engine/quickjs.wasm. `go generate ./internal/js` runs it.
// It takes the path of the module to read and the path to write.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: meter IN.wasm OUT.wasm")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run reads the module at in and writes the metered one to out.
func run(in, out string) error {
	source, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	metered, err := meter(source)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return os.WriteFile(out, metered, 0o644)
}
