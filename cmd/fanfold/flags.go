package main

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed/webhook"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/yamltext"
)

// errEmpty says that a flag was given an empty value, by which whoever gave it meant something: mostly a variable of the
// shell that is not set.
var errEmpty = errors.New("is empty: give it a value, or leave it out")

// roleMap is a flag that maps names to roles.
type roleMap struct{ to *map[string][]string }

// Set adds to the map.
func (v roleMap) Set(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, role, found := strings.Cut(pair, "=")
		if !found || name == "" || role == "" {
			return errors.New("is not outside=role, such as platform-admins=admin")
		}
		if *v.to == nil {
			*v.to = map[string][]string{}
		}
		(*v.to)[name] = append((*v.to)[name], role)
	}
	return nil
}

// String returns the map as Set takes it.
func (v roleMap) String() string {
	if v.to == nil {
		return ""
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(*v.to)) {
		for _, role := range (*v.to)[name] {
			pairs = append(pairs, name+"="+role)
		}
	}
	return strings.Join(pairs, ",")
}

// Type returns what --help calls the value.
func (v roleMap) Type() string { return "strings" }

// nameList is the value of a flag with names separated by commas, which may be given several times.
type nameList struct{ list *[]string }

// Set adds to the list.
func (v nameList) Set(text string) error {
	if text == "" {
		return errEmpty
	}
	names := strings.Split(text, ",")
	if slices.Contains(names, "") {
		return errors.New("has an empty name in its list")
	}
	*v.list = append(*v.list, names...)
	return nil
}

// String returns the list as Set takes it.
func (v nameList) String() string {
	if v.list == nil {
		return ""
	}
	return strings.Join(*v.list, ",")
}

// Type returns what --help calls the value.
func (v nameList) Type() string { return "strings" }

// networks is the value of a flag with networks separated by commas, which may be given several times.
type networks struct{ list *[]netip.Prefix }

// Set adds to the list.
func (v networks) Set(text string) error {
	var names []string
	if err := (nameList{&names}).Set(text); err != nil {
		return err
	}
	for _, name := range names {
		p, err := webhook.ParseAllowed(name)
		if err != nil {
			return errors.New("is no list of networks: " + fanfold.MessageOf(err))
		}
		*v.list = append(*v.list, p)
	}
	if len(*v.list) > webhook.MaxAllowed {
		return fmt.Errorf("has %d networks, and %d is the most", len(*v.list), webhook.MaxAllowed)
	}
	return nil
}

// String returns the list as Set takes it.
func (v networks) String() string {
	var names []string
	if v.list != nil {
		for _, p := range *v.list {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, ",")
}

// Type returns what --help calls the value.
func (v networks) Type() string { return "networks" }

// flagError returns what is wrong with a command line's flags. For a value that is not taken it names the flag and what is
// wanted.
func flagError(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return suggestFlag(cmd, err)
	}
	f := wrong.GetFlag()
	return valueError("--"+f.Name, wrong.GetValue(), f, wrong.Unwrap())
}

// valueError returns what is wrong with the value of a flag, which is called name where it was given. cause is the error of
// its Set.
func valueError(name, value string, f *pflag.Flag, cause error) error {
	const shown = 80
	var number *strconv.NumError
	if kind := f.Value.Type(); kind == "int" || kind == "int64" { // whose Set does not say why
		_, cause = strconv.ParseInt(value, 0, 64)
	}
	want, known := map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number, such as 0.5",
		"duration": "a time with its unit, such as 30s, 5m or 500ms", "bool": "true or false"}[f.Value.Type()]
	if len(value) > shown {
		value = "..." + value[len(value)-shown:]
	}
	switch {
	case value == "":
		return fmt.Errorf("%s %w", name, errEmpty)
	case errors.As(cause, &number) && errors.Is(number.Err, strconv.ErrRange) && strings.HasPrefix(number.Num, "-"):
		return fmt.Errorf("%s %q is too small a number", name, value)
	case errors.As(cause, &number) && errors.Is(number.Err, strconv.ErrRange):
		return fmt.Errorf("%s %q is too large a number", name, value)
	case known:
		return fmt.Errorf("%s %q is not %s", name, value, want)
	}
	return fmt.Errorf("%s %q %w", name, value, cause)
}

// configure sets the flags that were not given from the environment, and those that are not there from the file at
// path, if that is not "". It refuses flags that were given without a value.
func configure(cmd *cobra.Command, path string) error {
	file, path, err := readConfig(cmd, path)
	if err != nil {
		return err
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			if f.Value.String() == "" {
				errs = append(errs, valueError("--"+f.Name, "", f, nil))
			}
			return
		}
		if f.Name == "config" || f.Name == "data" && cmd.Name() != "serve" {
			return // other commands have --data for a server that is not running, which must be said by hand
		}
		name := variable(f.Name)
		value, given := os.LookupEnv(name)
		if !given {
			name = f.Name + " in " + path
			value, given = file[f.Name]
		}
		if !given {
			return
		}
		if value == "" {
			errs = append(errs, valueError(name, "", f, nil))
		} else if err := f.Value.Set(value); err != nil {
			errs = append(errs, valueError(name, value, f, err))
		}
	})
	return errors.Join(errs...)
}

// variable returns the name of the environment variable that sets a flag.
func variable(flag string) string {
	return "FANFOLD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readConfig returns the values in the configuration file at path, or, if that is "", at the path in the environment. It
// returns them by the names of the flags and as these take them, and the path, "" for no file.
func readConfig(cmd *cobra.Command, path string) (values map[string]string, at string, err error) {
	if env, given := os.LookupEnv(variable("config")); path == "" && given {
		if path = env; path == "" {
			return nil, "", valueError(variable("config"), "", cmd.Flag("config"), nil)
		}
	}
	if path == "" {
		return nil, "", nil
	}
	text, err := readFile(path, "configuration", maxConfig)
	if err != nil {
		return nil, "", err
	}
	asJSON, err := yamltext.ToJSON(text)
	if err != nil {
		return nil, "", fanfold.Wrap(err, fanfold.Invalid, "%s is not YAML that is taken: %v", path, err)
	}
	t := jsondoc.MustParse(asJSON)
	switch t.Kind(jsondoc.Root) {
	case jsondoc.Null: // the file says nothing
		return nil, path, nil
	case jsondoc.Object:
	default:
		return nil, "", fanfold.Errorf(fanfold.Invalid,
			"%s is not a configuration: want the name of a flag and its value a line, such as listen: 127.0.0.1:8081", path)
	}
	values = map[string]string{}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		name := t.Key(n)
		if !hasFlag(cmd.Root(), name) {
			return nil, "", fanfold.Errorf(fanfold.Invalid, "%s: no command has a flag %q", path, name)
		}
		value, ok := valueText(t, n)
		if !ok {
			return nil, "", fanfold.Errorf(fanfold.Invalid, "%s in %s is neither a text, a number, true or false nor a list of those", name, path)
		}
		values[name] = value
	}
	return values, path, nil
}

// valueText returns a value of the configuration as the flag takes it: the members of a list are separated by commas. ok is
// false for a value that no flag takes.
func valueText(t *jsondoc.Tree, n jsondoc.Node) (text string, ok bool) {
	switch t.Kind(n) {
	case jsondoc.Null:
		return "", true
	case jsondoc.Object:
		return "", false
	case jsondoc.Array:
	default:
		return t.Text(n), true
	}
	var texts []string
	for e := t.First(n); e != jsondoc.None; e = t.Next(e) {
		text, ok := valueText(t, e)
		if !ok || t.Kind(e) == jsondoc.Array {
			return "", false
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), true
}

// hasFlag tells whether cmd, or a command below it, has a flag of this name.
func hasFlag(cmd *cobra.Command, flag string) bool {
	if cmd.Flags().Lookup(flag) != nil {
		return true
	}
	for _, c := range cmd.Commands() {
		if hasFlag(c, flag) {
			return true
		}
	}
	return false
}

// freshness has the flags that say how fresh a read is to be.
type freshness struct{ level, maxLag, position string }

// freshnessFlags adds the flags to a command.
func freshnessFlags(cmd *cobra.Command) *freshness {
	f := new(freshness)
	cmd.Flags().StringVar(&f.level, "consistency", "", "strong, bounded, session, prefix or eventual (default prefix): docs/use/consistency.md")
	cmd.Flags().StringVar(&f.maxLag, "max-lag", "", "with bounded: events, such as 10000, or time, such as 30s, that the node may be behind")
	cmd.Flags().StringVar(&f.position, "min-position", "", "show at least this position, as another command or answer gave it out")
	return f
}

// options returns the flags as options of the client. The error is Invalid for flags that do not go together.
func (f *freshness) options() (opts []client.ReadOption, err error) {
	switch {
	case (f.level == "bounded") != (f.maxLag != ""):
		return nil, fanfold.Errorf(fanfold.Invalid, "--consistency bounded and --max-lag go together, such as --consistency bounded --max-lag 30s")
	case f.level == "bounded":
		opts = append(opts, client.Bounded(f.maxLag))
	case f.level != "":
		opts = append(opts, client.Consistency(f.level))
	}
	if f.position != "" {
		opts = append(opts, client.AtLeast(f.position))
	}
	return opts, nil
}
