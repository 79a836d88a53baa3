// Package migrations holds the read model's schema: one numbered file a version. A file that
// cannot be applied in place raises Fingerprint's number, which forces a replay.
package migrations

import "embed"

// FS holds the migrations, as goose reads them.
//
//go:embed *.sql
var FS embed.FS

// Fingerprint names the schema. A file with another one is rebuilt from the log.
const Fingerprint = "schema 15"
