package main

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mapping turns what a container sees into what its process on this machine sees: in command lines, the environment and
// configuration files.
type mapping struct {
	address string            // the container's own
	dns     string            // where names are asked for, in place of the engine's 127.0.0.11:53
	hosts   map[string]string // addresses of services with one container, by name; the others are asked for by DNS
	paths   map[string]string // files and directories, by their paths in the container
}

// boundaries around names and paths.
const (
	before = `(^|[\s"'=/@,\[(])`
	after  = `($|[\s"'/,;:\])])`
)

// text maps a text.
func (m mapping) text(s string) string {
	s = strings.ReplaceAll(s, "127.0.0.11:53", m.dns)
	s = regexp.MustCompile(`\b(0\.0\.0\.0|127\.0\.0\.1)\b`).ReplaceAllString(s, m.address)
	for name, address := range m.hosts {
		s = regexp.MustCompile(before+regexp.QuoteMeta(name)+`(:\d)`).ReplaceAllString(s, "${1}"+address+"${2}")
	}
	longestFirst := slices.SortedFunc(maps.Keys(m.paths), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, path := range longestFirst {
		s = regexp.MustCompile(`(^|[\s"'=,\[(])`+regexp.QuoteMeta(path)+after).ReplaceAllString(s, "${1}"+m.paths[path]+"${2}")
	}
	return s
}

// texts maps a list.
func (m mapping) texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = m.text(s)
	}
	return out
}

// prometheus maps a configuration of Prometheus, which asks for names where the system says. Its dns_sd_configs become file_sd_configs of
// the same targets; file returns the file that lists a service's addresses at a port.
func prometheus(text string, file func(service string, port int) string) (string, error) {
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return "", err
	}
	jobs, _ := config["scrape_configs"].([]any)
	for _, j := range jobs {
		job, _ := j.(map[string]any)
		found, _ := job["dns_sd_configs"].([]any)
		files := []string{}
		for _, d := range found {
			sd, _ := d.(map[string]any)
			names, _ := sd["names"].([]any)
			port, _ := sd["port"].(int)
			for _, name := range names {
				service, _ := name.(string)
				files = append(files, file(service, port))
			}
		}
		if len(files) > 0 {
			delete(job, "dns_sd_configs")
			job["file_sd_configs"] = []any{map[string]any{"files": files, "refresh_interval": "1s"}}
		}
	}
	out, err := yaml.Marshal(config)
	return string(out), err
}
