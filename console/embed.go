package console

import "embed"

//go:generate go run ./bundle

// embedded holds the files of the console as go generate has made them.
//
//go:embed dist
var embedded embed.FS
