package console

import "embed"

// embedded holds the files of the console as they stand in the repository.
//
//go:embed static
var embedded embed.FS
