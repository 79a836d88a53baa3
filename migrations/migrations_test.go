package migrations_test

import (
	"regexp"
	"testing"

	"github.com/fanfold/fanfold/migrations"
)

// TestTablesAreDescribed wants a comment before each table.
func TestTablesAreDescribed(t *testing.T) {
	tables := regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`).FindAllStringSubmatch(migrations.Schema, -1)
	described := regexp.MustCompile(`(?m)^-- .*\.\nCREATE TABLE (\w+)`).FindAllStringSubmatch(migrations.Schema, -1)
	if len(tables) == 0 || len(tables) != len(described) {
		t.Errorf("of the %d tables %d have a comment: %q, %q", len(tables), len(described), tables, described)
	}
}
