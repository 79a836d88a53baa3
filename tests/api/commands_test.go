package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// command runs the program with variables of the environment, and returns what it wrote to standard output and to standard error,
// and its exit code.
func command(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	return out.String(), said.String(), harness.ExitCode(err)
}

// wantKey fails the test unless standard output has a key alone, and returns its id and its text.
func wantKey(t *testing.T, stdout, stderr string, code int) (id, text string) {
	t.Helper()
	key, err := access.ParseKey(strings.TrimSuffix(stdout, "\n"))
	if code != 0 || err != nil || strings.Contains(stderr, key.Text()) {
		t.Fatalf("exit code %d, standard output %q, standard error %q: %v", code, stdout, stderr, err)
	}
	return key.ID, key.Text()
}

// wantFailure fails the test unless a command failed with an exit code and said something, and not to standard output.
func wantFailure(t *testing.T, want int, says string) func(stdout, stderr string, code int) {
	t.Helper()
	return func(stdout, stderr string, code int) {
		t.Helper()
		if code != want || stdout != "" || !strings.Contains(stderr, says) {
			t.Errorf("exit code %d, standard output %q, standard error %q; want %d and %q", code, stdout, stderr, want, says)
		}
	}
}

// TestKeysCommands: the way in is a command on a directory that is not there yet. Its key lets in, and looks after others.
func TestKeysCommands(t *testing.T) {
	suite.Parallel(t)
	dir := filepath.Join(t.TempDir(), "new", "data")
	wantFailure(t, 2, "is not the data directory")(command(t, nil, "keys", "list", "--data", dir))
	if _, err := os.Stat(dir); err == nil {
		t.Error("a list made the directory")
	}
	wantFailure(t, 1, "must have the role admin")(command(t, nil, "keys", "create", "--data", dir, "--name", "ops", "--role", "read"))
	stdout, stderr, code := command(t, nil, "keys", "create", "--data", dir, "--name", "ops", "--role", "admin")
	id, text := wantKey(t, stdout, stderr, code)
	if !strings.Contains(stderr, id) || !strings.Contains(stderr, "ops") {
		t.Errorf("it says %s", stderr)
	}
	if stdout, stderr, code = command(t, nil, "keys", "list", "--data", dir); code != 0 || !strings.Contains(stdout, id+"  ops   admin  ") || strings.Contains(stdout, text) {
		t.Errorf("the list is %s%s", stdout, stderr)
	}
	p := harness.StartProcess(t, "--data", dir)
	server := []string{"FANFOLD_SERVER=" + p.URL}
	wantFailure(t, 1, "a server runs on "+dir)(command(t, nil, "keys", "list", "--data", dir))
	wantFailure(t, 1, "a server runs on "+dir)(command(t, nil, "keys", "create", "--data", dir, "--name", "x", "--role", "admin"))
	wantFailure(t, 1, "--key-file")(command(t, server, "keys", "list"))
	wantFailure(t, 1, "401")(command(t, server, "status"))
	file := harness.KeyFile(t, text)
	byFile, byEnv := slices.Concat(server, []string{"FANFOLD_KEY_FILE=" + file}), slices.Concat(server, []string{"FANFOLD_KEY=" + text})
	for _, env := range [][]string{byFile, byEnv} {
		if stdout, stderr, code = command(t, env, "status"); code != 0 {
			t.Errorf("status: %s%s", stdout, stderr)
		}
	}
	stdout, stderr, code = command(t, server, "keys", "create", "--key-file", file, "--name", "shop", "--role", "write", "--role", "read,monitor", "--expires", "2027-06-01")
	shopID, shop := wantKey(t, stdout, stderr, code)
	stdout, _, code = command(t, byEnv, "keys", "show", shopID)
	if code != 0 || !strings.Contains(stdout, "monitor,read,write") || !strings.Contains(stdout, "2027-06-01T00:00:00Z") || !strings.Contains(stdout, "secret made") {
		t.Errorf("the key is %s", stdout)
	}
	shopFile := harness.KeyFile(t, shop)
	wantFailure(t, 1, "403")(command(t, append(server, "FANFOLD_KEY="+shop), "keys", "list"))
	stdout, stderr, code = command(t, byEnv, "keys", "rotate", shopID, "--overlap", "1h")
	_, rotated := wantKey(t, stdout, stderr, code)
	if !strings.Contains(stderr, "works until") {
		t.Errorf("it says %s", stderr)
	}
	for _, key := range []string{shop, rotated} {
		p.With(key).Want(http.StatusOK, "GET", "/v1/_me", "")
	}
	var made struct{ ID, Key string }
	stdout, _, _ = command(t, byEnv, "keys", "rotate", shopID, "--overlap", "0s", "--json")
	if err := json.Unmarshal([]byte(stdout), &made); err != nil || made.ID != shopID || made.Key == rotated {
		t.Fatalf("%s: %v", stdout, err)
	}
	for _, key := range []string{shop, rotated} {
		p.With(key).Want(http.StatusUnauthorized, "GET", "/v1/_me", "")
	}
	wantFailure(t, 1, "401")(command(t, server, "status", "--key-file", shopFile))
	stdout, _, code = command(t, byEnv, "keys", "change", shopID, "--name", "books", "--role", "read", "--expires", "never")
	if code != 0 || !strings.Contains(stdout, "books") || !strings.Contains(stdout, "never") || strings.Contains(stdout, "write") {
		t.Errorf("the key is %s", stdout)
	}
	claims := harness.KeyFile(t, `{"tenant": "a", "n": 1.0}`)
	stdout, _, code = command(t, byEnv, "keys", "change", shopID, "--sub", "u1", "--claims", "@"+claims)
	if code != 0 || !strings.Contains(stdout, "u1") || !strings.Contains(stdout, "books") {
		t.Errorf("the key is %s", stdout)
	}
	if stdout, _, code = command(t, byEnv, "keys", "show", shopID); code != 0 || !strings.Contains(stdout, `claims {"tenant":"a","n":1.0}`) {
		t.Errorf("the key is %s", stdout)
	}
	stdout, _, code = command(t, byEnv, "keys", "change", shopID, "--default-sub", "--claims", `{"tenant":null}`, "--json")
	if code != 0 || !strings.Contains(stdout, `"sub": "key:`+shopID+`"`) || !strings.Contains(stdout, `"n": 1.0`) || strings.Contains(stdout, "tenant") {
		t.Errorf("the key is %s", stdout)
	}
	wantFailure(t, 2, "--sub is empty")(command(t, byEnv, "keys", "change", shopID, "--sub", ""))
	for _, bad := range []string{"{", "@" + claims + ".none", `{"a":1`} {
		wantFailure(t, 2, "claims")(command(t, byEnv, "keys", "change", shopID, "--claims", bad))
	}
	wantFailure(t, 2, "claims")(command(t, byEnv, "keys", "change", shopID, "--claims", `[]`))
	wantFailure(t, 2, "nothing is to change")(command(t, byEnv, "keys", "change", shopID))
	wantFailure(t, 1, "409")(command(t, byEnv, "keys", "revoke", id))
	if stdout, _, code = command(t, byEnv, "keys", "revoke", shopID); code != 0 || stdout != "revoked "+shopID+"\n" {
		t.Errorf("%q", stdout)
	}
	p.With(made.Key).Want(http.StatusUnauthorized, "GET", "/v1/_me", "")
	if stdout, _, _ = command(t, byEnv, "keys", "list"); !strings.Contains(stdout, "revoked") {
		t.Errorf("the list is %s", stdout)
	}
	p.Key = text
	p.Stop(t)
	for _, key := range []string{text, shop, rotated, made.Key} {
		if strings.Contains(p.Log.String(), key[17:60]) {
			t.Error("the log has a key")
		}
	}
	wantFailure(t, 1, "4 levels")(command(t, nil, "keys", "create", "--data", dir, "--name", "again", "--role", "admin", "--claims", `{"a":[[[[]]]]}`))
	stdout, stderr, code = command(t, nil, "keys", "create", "--data", dir, "--name", "again", "--role", "admin", "--sub", "u2", "--claims", `{"b":[1]}`) // the last one was lost
	wantKey(t, stdout, stderr, code)
}

// TestKeysNew: a new key needs no server, and is the node's admin in the file that it is written to.
func TestKeysNew(t *testing.T) {
	suite.Parallel(t)
	stdout, stderr, code := command(t, nil, "keys", "new")
	_, text := wantKey(t, stdout, stderr, code)
	file := harness.KeyFile(t, stdout)
	p := harness.StartProcess(t, "--data", t.TempDir(), "--admin-key-file", file)
	p.Want(http.StatusUnauthorized, "GET", "/v1/_me", "")
	p.With(text).Want(http.StatusOK, "GET", "/v1/_keys", "")
	var made struct{ ID, Key string }
	stdout, _, _ = command(t, nil, "keys", "new", "--json")
	if err := json.Unmarshal([]byte(stdout), &made); err != nil || made.Key == text || !strings.HasPrefix(made.Key, "fan_"+made.ID+"_") {
		t.Errorf("%s: %v", stdout, err)
	}
}

// TestKeyFiles: commands refuse a key that is none, a file that everybody may read, and an authority that is none, before they ask
// a server. They never print the key.
func TestKeyFiles(t *testing.T) {
	suite.Parallel(t)
	text := access.NewKey().Text()
	file := harness.KeyFile(t, text)
	wrong := harness.KeyFile(t, text[:60]+"x"+text[61:])
	open := harness.KeyFile(t, text)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	server := []string{"FANFOLD_SERVER=127.0.0.1:1"}
	for _, one := range []struct {
		says string
		env  []string
		args []string
	}{
		{"may read " + open + ": change that with chmod 600", nil, []string{"--key-file", open}},
		{"checksum", nil, []string{"--key-file", wrong}},
		{"no such file", nil, []string{"--key-file", file + ".none"}},
		{"FANFOLD_KEY: ", []string{"FANFOLD_KEY=x"}, nil},
		{"FANFOLD_KEY: ", []string{"FANFOLD_KEY="}, nil},
		{"no certificate in PEM", nil, []string{"--ca-file", file}},
		{"no such file", nil, []string{"--ca-file", file + ".none"}},
		{"is for a server with TLS", nil, []string{"--ca-file", file, "--server", "http://127.0.0.1:1"}},
	} {
		stdout, stderr, code := command(t, append(server, one.env...), append([]string{"status"}, one.args...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, one.says) || strings.Contains(stderr, text[20:50]) {
			t.Errorf("%v %v: exit code %d, %q, %q; want %q", one.env, one.args, code, stdout, stderr, one.says)
		}
	}
	if _, stderr, code := command(t, append(server, "FANFOLD_KEY="+text), "status"); code != 1 || strings.Contains(stderr, text[20:50]) {
		t.Errorf("no server: exit code %d, %s", code, stderr)
	}
	for _, args := range [][]string{{"create"}, {"create", "--name", "x"}, {"create", "--role", "read"}, {"create", "--name", "x", "--role", "read", "--expires", "tomorrow"}, {"show"}, {"rotate"}, {"none"}} {
		if _, stderr, code := command(t, server, append([]string{"keys"}, args...)...); code != 2 {
			t.Errorf("keys %v: exit code %d, %s", args, code, stderr)
		}
	}
}
