// Package migrations holds the read model's schema. A read model is never migrated: a file of another schema is built again from the log.
package migrations

import _ "embed"

// Schema makes the tables of an empty read model.
//
//go:embed schema.sql
var Schema string

// Version numbers the schema. Every change of schema.sql raises it. A file has it as its user_version
// (https://www.sqlite.org/pragma.html#pragma_user_version).
const Version = 23
