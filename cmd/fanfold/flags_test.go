package main

import (
	"strings"
	"testing"
)

// TestFlagsWithWrongValues: a value that a flag does not take is answered with the flag, the value and what is wanted, and an
// empty one is not taken for none.
func TestFlagsWithWrongValues(t *testing.T) {
	t.Setenv("FANFOLD_SERVER", "127.0.0.1:1") // where nothing listens: no command may come as far
	const empty = " is empty: give it a value, or leave it out; see fanfold "
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"list", "books", "--limit", "x"}, `--limit "x" is not a whole number; see fanfold list --help`},
		{[]string{"list", "books", "--limit", "1.5"}, `--limit "1.5" is not a whole number; see`},
		{[]string{"list", "books", "--limit", "99999999999999999999"}, `--limit "99999999999999999999" is too large a number; see`},
		{[]string{"list", "books", "--limit", "-99999999999999999999"}, `--limit "-99999999999999999999" is too small a number; see`},
		{[]string{"list", "books", "--limit", ""}, "--limit" + empty + "list --help"},
		{[]string{"list", "books", "--limit", strings.Repeat("9", 5000) + "x"}, `9x" is too large a number`},
		{[]string{"list", "books", "--json=maybe"}, `--json "maybe" is not true or false; see`},
		{[]string{"group", "create", "g", "--lease", "30"}, `--lease "30" is not a time with its unit, such as 30s, 5m or 500ms; see fanfold group create --help`},
		{[]string{"serve", "--shutdown-delay", "soon"}, `--shutdown-delay "soon" is not a time with its unit`},
		{[]string{"serve", "--trace-ratio", "half"}, `--trace-ratio "half" is not a number, such as 0.5; see`},
		{[]string{"serve", "--max-sending", "1 GiB"}, `--max-sending "1 GiB" is not a whole number; see`},
		{[]string{"serve", "--cors-origin", ""}, "--cors-origin" + empty + "serve --help"},
		{[]string{"serve", "--cors-origin", "https://a.example", "--cors-origin", ""}, "--cors-origin" + empty},
		{[]string{"serve", "--cors-origin", "https://a.example,"}, `--cors-origin "https://a.example," has an empty name in its list; see`},
		{[]string{"serve", "--webhook-allow", ""}, "--webhook-allow" + empty + "serve --help"},
		{[]string{"serve", "--webhook-allow", "10.1.0.1/16"}, `--webhook-allow "10.1.0.1/16" is no list of networks: "10.1.0.1/16" is no network such as 10.1.0.0/16`},
		{[]string{"serve", "--webhook-allow", strings.Repeat("10.1.0.0/16,", 100) + "10.2.0.0/16"}, `has 101 networks, and 100 is the most`},
		{[]string{"serve", "--host", ""}, "--host" + empty + "serve --help"},
		{[]string{"serve", "--host", "a,,b"}, `--host "a,,b" has an empty name in its list; see`},
		{[]string{"serve", "--nats", ""}, "--nats" + empty + "serve --help"},
		{[]string{"serve", "--nats", "nats://127.0.0.1:1", "--nats", ""}, "--nats" + empty},
		{[]string{"serve", "--model", ""}, "--model" + empty + "serve --help"},
		{[]string{"serve", "--listen", ""}, "--listen" + empty + "serve --help"},
		{[]string{"group", "create", "g", "--collections", ""}, "--collections" + empty + "group create --help"},
		{[]string{"changes", "--collections", ""}, "--collections" + empty + "changes --help"},
		{[]string{"export", "--out", ""}, "--out" + empty + "export --help"},
		{[]string{"status", "--server", ""}, "--server" + empty + "status --help"},
		{[]string{"status", "--config", ""}, "--config" + empty + "status --help"},
		{[]string{"put", "books", "b1", "--if-match", ""}, "--if-match" + empty + "put --help"},
	} {
		r := runCommand(t, "", c.line...)
		r.want(t, exitUsage, c.want)
		if strings.Contains(r.err, "strconv") || strings.Contains(r.err, "invalid argument") || len(r.err) > 400 {
			t.Errorf("fanfold %s prints %s", c.line, r.err)
		}
	}
}

// TestVariablesWithWrongValues: the environment and a configuration are held to what flags are.
func TestVariablesWithWrongValues(t *testing.T) {
	t.Setenv("FANFOLD_SERVER", "127.0.0.1:1")
	for variable, want := range map[string]string{
		"FANFOLD_CORS_ORIGIN=":      "FANFOLD_CORS_ORIGIN is empty: give it a value, or leave it out; see fanfold serve --help",
		"FANFOLD_HOST=":             "FANFOLD_HOST is empty",
		"FANFOLD_NATS=":             "FANFOLD_NATS is empty",
		"FANFOLD_MODEL=":            "FANFOLD_MODEL is empty",
		"FANFOLD_CONFIG=":           "FANFOLD_CONFIG is empty",
		"FANFOLD_MAX_CONNECTIONS=x": `FANFOLD_MAX_CONNECTIONS "x" is not a whole number; see fanfold serve --help`,
		"FANFOLD_SHUTDOWN_DELAY=5":  `FANFOLD_SHUTDOWN_DELAY "5" is not a time with its unit, such as 30s, 5m or 500ms`,
	} {
		t.Run(variable, func(t *testing.T) {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
			runCommand(t, "", "serve", "--data", t.TempDir()).want(t, exitUsage, "fanfold: "+want)
		})
	}
	for text, want := range map[string]string{
		"host:\n":                    "host in FILE is empty: give it a value, or leave it out; see fanfold serve --help",
		"host: []\n":                 "host in FILE is empty",
		"host: [a, '']\n":            `host in FILE "a," has an empty name in its list`,
		"model: ''\n":                "model in FILE is empty",
		"max-connections: x\n":       `max-connections in FILE "x" is not a whole number`,
		"listen: {a: 1}\n":           "listen in FILE is neither a text, a number, true or false nor a list of those",
		"host: [[a]]\n":              "host in FILE is neither a text",
		"- listen\n":                 "FILE is not a configuration: want the name of a flag and its value a line, such as listen: 127.0.0.1:8081",
		"listen: a\nlisten: b\n":     `line 2: the member "listen" is there already`,
		"listen: [\n":                "FILE is not YAML that is taken: line 2: ",
		"host: a\nshutdown-delay: 5": `shutdown-delay in FILE "5" is not a time with its unit`,
		"max-connections: 010\n":     "FILE is not YAML that is taken: line 1: 010 is not the same number to all readers of YAML: write decimal digits alone, or quotes around it for text",
		"max-connections: 1_000\n":   "1_000 is not the same number",
		"max-connections: 1e3\n":     `max-connections in FILE "1e3" is not a whole number`,
		"shutdown-delay: .5\n":       `shutdown-delay in FILE "0.5" is not a time with its unit`,
		"shutdown-delay: 2026-1-2\n": `shutdown-delay in FILE "2026-1-2" is not a time with its unit`,
		"console: on\n":              `console in FILE "on" is not true or false`,
		"\ufefflisten: [\n":          "FILE is not YAML that is taken: line 2: ",
		"listn: 127.0.0.1:0\n":       `FILE: no command has a flag "listn"`,
	} {
		t.Run(text, func(t *testing.T) {
			path := writeTemp(t, "c.yaml", text)
			runCommand(t, "", "serve", "--data", t.TempDir(), "--config", path).want(t, exitUsage, strings.ReplaceAll(want, "FILE", path))
		})
	}
	runCommand(t, "", "version", "--config", writeTemp(t, "c.yaml", "# nothing yet\n")).want(t, exitDone, "fanfold ")
	runCommand(t, "", "version", "--config", writeTemp(t, "c.yaml", "")).want(t, exitDone, "fanfold ")
}
