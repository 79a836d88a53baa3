package house_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fanfold/fanfold"

// mayImport says which packages of this module each may import; data flows
// api -> writer -> events -> projector -> sqlite -> changefeed and reads.
var mayImport = map[string][]string{
	"":                              {},
	"internal/admission":            {"", "internal/sending"},
	"internal/jsondoc":              {"internal/decimal"},
	"internal/foreign":              {"", "internal/jsondoc"},
	"internal/drift":                {"", "internal/jsondoc", "internal/wire", "model"},
	"internal/modelguess":           {"", "internal/decimal", "internal/jsondoc", "internal/modelfile"},
	"internal/sqlcopy":              {"internal/decimal", "internal/jsondoc", "internal/modelfile", "model", "sqlite/driver"},
	"internal/decimal":              {},
	"internal/elements":             {"internal/decimal", "internal/expr", "internal/jsondoc", "model"},
	"internal/skeleton":             {"", "internal/jsondoc", "model"},
	"internal/sequence":             {"internal/decimal", "internal/jsondoc"},
	"internal/regex":                {},
	"internal/js":                   {"", "internal/decimal", "internal/jsondoc"},
	"internal/js/meter":             {},
	"internal/schema":               {"", "internal/decimal", "internal/jsondoc", "internal/regex"},
	"internal/expr":                 {"internal/decimal", "internal/jsondoc", "internal/regex", "internal/sortkey"},
	"internal/check":                {"", "internal/expr", "internal/jsondoc", "model"},
	"internal/condition":            {"", "internal/expr", "internal/jsondoc", "model"},
	"query":                         {"", "internal/decimal", "internal/expr", "internal/jsondoc", "internal/mask", "internal/modelfile", "internal/sortkey", "model"},
	"internal/connections":          {},
	"internal/datadir":              {"", "backup", "events"},
	"internal/memory":               {},
	"internal/sameboot":             {},
	"internal/sending":              {},
	"internal/tracing":              {},
	"internal/smallfile":            {""},
	"internal/mask":                 {"", "internal/jsondoc", "model"},
	"internal/flows":                {"", "internal/expr", "internal/mask", "internal/wire", "model"},
	"internal/modelfile":            {"", "access", "internal/decimal", "internal/expr", "internal/jsondoc", "internal/schema", "internal/sequence", "internal/yamltext", "model"},
	"internal/yamltext":             {"", "internal/jsondoc"},
	"migrations":                    {},
	"backup":                        {""},
	"events":                        {"", "events/servers", "internal/jsondoc", "internal/skeleton", "internal/tracing"},
	"sqlite":                        {"", "internal/jsondoc", "internal/sameboot", "migrations", "model", "sqlite/basefile", "sqlite/driver"},
	"sqlite/basefile":               {""},
	"sqlite/driver":                 {""},
	"projector/fold":                {"", "internal/decimal", "internal/elements", "internal/expr", "internal/jsondoc", "internal/modelfile", "internal/skeleton", "internal/sortkey", "migrations", "model", "sqlite"},
	"projector/inspect":             {"", "internal/check", "internal/decimal", "internal/expr", "internal/flows", "internal/jsondoc", "internal/schema", "internal/wire", "model", "projector/fold", "sqlite"},
	"projector/batch":               {"", "projector/fold", "sqlite"},
	"projector/rebuild":             {"", "internal/jsondoc", "internal/modelfile", "internal/wire", "model", "projector/batch", "projector/fold", "sqlite"},
	"node/snapshot":                 {"", "events", "events/buckets", "internal/wire", "projector/fold", "sqlite"},
	"projector":                     {"", "internal/jsondoc", "internal/wire", "model", "projector/batch", "projector/fold", "projector/rebuild", "sqlite"},
	"access":                        {"", "internal/expr", "internal/jsondoc", "internal/mask", "model"},
	"access/keys":                   {"", "access", "internal/jsondoc", "internal/smallfile", "model"},
	"internal/modeltypes":           {"internal/jsondoc", "model"},
	"access/actors":                 {"", "access"},
	"access/tokens":                 {"", "access", "internal/jsondoc", "internal/smallfile", "model"},
	"changefeed":                    {"", "access", "internal/expr", "internal/jsondoc", "internal/sending"},
	"changefeed/group":              {"", "access", "backup", "changefeed", "internal/wire", "model"},
	"changefeed/webhook":            {"", "changefeed", "changefeed/group", "internal/wire"},
	"membership":                    {"", "internal/wire"},
	"writer":                        {"", "access", "internal/condition", "internal/decimal", "internal/flows", "internal/jsondoc", "internal/mask", "internal/modelfile", "internal/schema", "model", "writer/internal/gate", "writer/internal/ruling", "writer/numbering"},
	"writer/internal/gate":          {"", "internal/check", "model"},
	"writer/internal/ruling":        {"", "access", "internal/jsondoc", "internal/mask", "model"},
	"function":                      {"", "access", "internal/jsondoc", "internal/js", "internal/view", "model", "query", "writer"},
	"bulk":                          {"", "model", "query", "writer"},
	"writer/numbering":              {"", "internal/decimal", "internal/jsondoc", "internal/sequence", "model"},
	"client":                        {"", "internal/wire"},
	"console":                       {""},
	"console/bundle":                {},
	"api":                           {"", "access", "access/actors", "access/keys", "api/internal/described", "api/internal/tickets", "api/internal/typed", "internal/view", "bulk", "changefeed", "changefeed/group", "internal/admission", "internal/condition", "internal/drift", "internal/exportfile", "internal/flows", "internal/foreign", "internal/jsondoc", "internal/modelfile", "internal/modelguess", "internal/params", "internal/tracing", "internal/wire", "membership", "model", "query", "writer"},
	"forget":                        {"", "access", "events", "events/buckets", "internal/datadir", "internal/jsondoc", "internal/modelfile", "internal/skeleton", "internal/wire", "model", "projector", "projector/batch", "projector/rebuild", "sqlite", "sqlite/basefile", "writer"},
	"node":                          {"", "access", "access/actors", "access/keys", "access/tokens", "api", "backup", "backup/transfer", "changefeed", "changefeed/group", "changefeed/webhook", "events", "events/buckets", "events/embedded", "events/servers", "forget", "function", "internal/connections", "internal/datadir", "internal/memory", "internal/modelfile", "internal/sending", "internal/smallfile", "internal/tracing", "internal/wire", "membership", "model", "node/logcheck", "node/logserver", "node/metrics", "node/readiness", "node/serving", "node/snapshot", "projector", "projector/batch", "projector/fold", "projector/inspect", "projector/rebuild", "sqlite", "writer"},
	"node/logcheck":                 {"", "events", "events/servers", "internal/datadir", "internal/wire", "sqlite"},
	"node/logserver":                {"", "events", "events/embedded", "events/servers", "internal/sameboot", "internal/smallfile"},
	"node/metrics":                  {"", "access", "access/keys", "api", "changefeed", "changefeed/group", "changefeed/webhook", "events", "function", "internal/wire", "membership", "projector", "projector/fold", "projector/rebuild", "sqlite", "writer"},
	"node/readiness":                {"", "events", "membership", "projector", "sqlite"},
	"node/serving":                  {"", "api", "internal/connections", "internal/smallfile"},
	"backup/transfer":               {"", "backup", "changefeed/group", "events", "events/buckets", "events/embedded", "events/servers", "forget", "internal/datadir", "internal/wire", "node/logcheck", "projector", "projector/batch", "sqlite"},
	"cmd/fanfold/internal/fn":       {"", "client", "internal/js", "internal/jsondoc", "node"},
	"cmd/fanfold/internal/receiver": {""},
	"cmd/fanfold/internal/revert":   {"", "client", "internal/jsondoc", "internal/modelfile", "model"},
	"cmd/fanfold":                   {"", "access", "access/keys", "access/tokens", "api", "backup", "backup/transfer", "changefeed/webhook", "client", "cmd/fanfold/internal/fn", "cmd/fanfold/internal/receiver", "cmd/fanfold/internal/revert", "console", "events", "events/embedded", "events/servers", "forget", "function", "internal/datadir", "internal/drift", "internal/expr", "internal/flows", "internal/foreign", "internal/jsondoc", "internal/memory", "internal/modelfile", "internal/modelguess", "internal/modeltypes", "internal/params", "internal/sqlcopy", "internal/wire", "internal/yamltext", "membership", "model", "node", "node/logcheck", "projector", "projector/fold", "projector/inspect", "projector/rebuild", "sqlite"},
	"examples/readlog":              {},
	"examples/cache":                {"client"},
	"examples/searchindex":          {"client"},
	"deploy/release/image":          {},
	"tests/fanfold-stack":           {},
	"tests/natsserver":              {"tests/suite"},
	"tests/retest":                  {},
	"tests/harness":                 {"", "access", "access/keys", "api", "backup", "backup/transfer", "console", "events/buckets", "internal/wire", "membership", "model", "node", "projector", "projector/inspect", "projector/rebuild", "sqlite", "tests/natsserver", "tests/suite", "writer"},
	"tests/openapi":                 {},
	"tests/openapi/goclient":        {"tests/openapi/goclient/server"},
	"tests/openapi/goclient/server": {},
	"tests/openapi/goclient/typed":  {"tests/openapi/goclient/server"},
	"tests/suite":                   {},
	"tests/jsonvalue":               {},
	"tests/linear":                  {"tests/harness"},
	"tests/consumer":                {"", "tests/harness"},
	"api/internal/described":        {},
	"api/internal/tickets":          {""},
	"api/internal/typed":            {"internal/modeltypes", "model"},
	"internal/view":                 {"", "access", "internal/wire", "model", "query"},
	"cmd/fanfold-bench":             {"", "access/keys", "backup", "backup/transfer", "client", "events", "events/embedded", "internal/datadir", "internal/jsondoc", "internal/memory", "internal/sortkey", "node", "projector/fold", "projector/rebuild", "sqlite"},
	"events/buckets":                {"", "events", "events/servers"},
	"events/embedded":               {"", "events", "events/servers"},
	"events/servers":                {"", "internal/jsondoc", "internal/smallfile"},
	"internal/exportfile":           {"", "internal/jsondoc", "internal/modelfile", "internal/schema", "model", "writer"},
	"internal/params":               {""},
	"internal/sortkey":              {"internal/decimal", "internal/jsondoc"},
	"internal/wire":                 {""},
	"model":                         {"", "internal/decimal", "internal/jsondoc", "internal/sequence", "internal/sortkey", "internal/wire"},
}

// mustNotImport are packages from elsewhere that a package of ours must not know.
var mustNotImport = map[string][]string{
	"":                   {"net/http", "github.com/labstack/echo/v4", "github.com/nats-io/nats.go", "github.com/mattn/go-sqlite3"},
	"writer":             {"net/http", "github.com/labstack/echo/v4", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream"},
	"sqlite":             {"github.com/mattn/go-sqlite3"},
	"projector":          {"net/http", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream"},
	"projector/fold":     {"net/http", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream"},
	"projector/inspect":  {"net/http", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream"},
	"internal/admission": {"net/http", "github.com/labstack/echo/v4"},
	"api":                {"github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream", "github.com/mattn/go-sqlite3"},

	"internal/exportfile": {"net/http", "github.com/labstack/echo/v4"},
}

// onlyIn says which package alone may import a package from elsewhere, tests and benchmarks aside.
var onlyIn = map[string]string{"github.com/nats-io/nats-server/v2/server": "events/embedded"}

// TestLayers: each package imports what the tables above let it.
func TestLayers(t *testing.T) {
	for _, f := range goFiles(t) {
		dir := strings.TrimPrefix(f.dir(), ".")
		allowed, known := mayImport[dir]
		if !known {
			t.Errorf("%s: package %q is not in the table", f.path, dir)
			continue
		}
		for _, imp := range f.syntax(t).Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(mustNotImport[dir], name) {
				t.Errorf("%s imports %s", f.path, name)
			}
			if only, bound := onlyIn[name]; bound && only != dir && !strings.HasPrefix(dir, "tests") {
				t.Errorf("%s imports %s, which only %s may", f.path, name, only)
			}
			own, ok := strings.CutPrefix(name, module)
			if ok && !slices.Contains(allowed, strings.TrimPrefix(own, "/")) {
				t.Errorf("%s imports %s", f.path, name)
			}
		}
	}
}
