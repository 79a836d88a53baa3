package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
)

// stack is the services of a compose file as processes.
type stack struct {
	project  *types.Project
	img      *image
	programs map[string]string // the programs of the images, by the names that the images know them by
	dir      string            // holds volumes, configuration and logs
	network  [3]byte
	names    *nameServer
	logf     func(string)

	mu         sync.Mutex
	containers map[string][]*container // by service, in order
	addresses  int                     // given out so far
	listings   map[string]listing      // what Prometheus is told, by file
}

// listing is a file that lists the addresses of a service.
type listing struct {
	service string
	port    int
}

// absent are services whose programs are not on this machine, and are left out.
var absent = []string{"grafana"}

// newStack prepares the services of a project. programs has the program of each image by name (nats-server, haproxy,
// prometheus, and the path that the Dockerfile gives Fanfold). The caller runs its name server and calls Down.
func newStack(project *types.Project, img *image, programs map[string]string, dir string, logf func(string)) (*stack, error) {
	network, err := freeNetwork(uint16(os.Getpid()), 4222, 8080, 9090)
	if err != nil {
		return nil, err
	}
	s := &stack{project: project, img: img, programs: programs, dir: dir, network: network, logf: logf,
		containers: map[string][]*container{}, addresses: 1, listings: map[string]listing{}}
	if s.names, err = listenNames(loopback(network, 1)); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		if service := project.Services[name]; service.GetScale() == 1 && !slices.Contains(absent, name) {
			s.place(service)
		}
	}
	return s, nil
}

// place gives a further container of a service its name and address.
func (s *stack) place(service types.ServiceConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses++
	c := &container{name: fmt.Sprintf("%s-%d", service.Name, len(s.containers[service.Name])+1), service: service,
		ip: loopback(s.network, s.addresses), changed: func() { s.announce(service.Name) }, logf: s.logf}
	s.containers[service.Name] = append(s.containers[service.Name], c)
}

// Up starts every service, each once what it depends on is started or healthy, as the file says, and waits until all are
// healthy.
func (s *stack) Up(ctx context.Context) error {
	started := map[string]bool{}
	for len(started) < len(s.services()) {
		ready := slices.DeleteFunc(s.services(), func(name string) bool {
			return started[name] || slices.ContainsFunc(s.project.Services[name].GetDependencies(), func(on string) bool { return !started[on] })
		})
		if len(ready) == 0 {
			return fmt.Errorf("of the services only %v can be started: others depend on each other", slices.Sorted(maps.Keys(started)))
		}
		for _, name := range ready {
			if err := s.up(ctx, s.project.Services[name]); err != nil {
				return err
			}
			started[name] = true
		}
	}
	return s.Healthy(ctx)
}

// services are the names of the services that are run.
func (s *stack) services() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.project.Services)), func(name string) bool { return slices.Contains(absent, name) })
}

// up starts a service once those that it depends on, which are started, are healthy, where it wants them so.
func (s *stack) up(ctx context.Context, service types.ServiceConfig) error {
	for on, condition := range service.DependsOn {
		for _, c := range s.of(on) {
			if condition.Condition != types.ServiceConditionHealthy {
				continue
			}
			if err := c.Healthy(ctx); err != nil {
				return err
			}
		}
	}
	return s.Scale(service.Name, service.GetScale())
}

// Scale lets a service have n containers: it starts further ones, and stops the last ones.
func (s *stack) Scale(name string, n int) error {
	service, known := s.project.Services[name]
	if !known {
		return fmt.Errorf("there is no service %q", name)
	}
	if err := mayScale(service); n > 1 && err != nil {
		return err
	}
	for len(s.of(name)) < n {
		s.place(service)
	}
	for i, c := range s.of(name) {
		if i >= n {
			if err := c.Stop(); err != nil {
				return err
			}
			continue
		}
		if c.argv == nil {
			if err := s.prepare(c); err != nil {
				return err
			}
		}
		if err := c.Start(); err != nil {
			return err
		}
	}
	return nil
}

// of are the containers of a service.
func (s *stack) of(name string) []*container {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.containers[name])
}

// Healthy waits until every container that runs is healthy.
func (s *stack) Healthy(ctx context.Context) error {
	for _, name := range s.services() {
		for _, c := range s.of(name) {
			if c.Running() {
				if err := c.Healthy(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Down stops everything, users before what they use.
func (s *stack) Down() error {
	var errs []error
	for _, name := range []string{"prometheus", "balancer", "fanfold"} {
		for _, c := range s.of(name) {
			errs = append(errs, c.Stop())
		}
	}
	var wg sync.WaitGroup
	for _, name := range s.services() {
		for _, c := range s.of(name) {
			wg.Go(func() { _ = c.Stop() })
		}
	}
	wg.Wait()
	return errors.Join(append(errs, s.names.conn.Close())...)
}

// URL returns where a container's port is.
func (s *stack) URL(c *container, port int) string { return "http://" + s.Address(c, port) }

// Address is URL without the scheme.
func (s *stack) Address(c *container, port int) string {
	return netip.AddrPortFrom(c.ip, uint16(port)).String()
}

// announce tells the name server and Prometheus which containers of a service run.
func (s *stack) announce(service string) {
	running := []netip.Addr{}
	for _, c := range s.of(service) {
		if c.Running() {
			running = append(running, c.ip)
		}
	}
	s.names.set(service, running)
	s.mu.Lock()
	defer s.mu.Unlock()
	for file, l := range s.listings {
		if l.service == service {
			if err := writeListing(file, running, l.port); err != nil {
				s.logf(err.Error())
			}
		}
	}
}

// writeListing writes a file as Prometheus's file_sd_configs read it.
func writeListing(file string, addresses []netip.Addr, port int) error {
	targets := []string{}
	for _, a := range addresses {
		targets = append(targets, netip.AddrPortFrom(a, uint16(port)).String())
	}
	text, err := json.Marshal([]map[string]any{{"targets": targets}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// prepare makes a container's directories and configuration files, and its command line and environment.
func (s *stack) prepare(c *container) (err error) {
	if c.dir, err = mustDir(s.dir, c.name); err != nil {
		return err
	}
	c.logFile = filepath.Join(s.dir, c.name+".log")
	m := mapping{address: c.ip.String(), dns: s.names.conn.LocalAddr().String(), hosts: map[string]string{}, paths: map[string]string{}}
	for name, service := range s.project.Services {
		if all := s.of(name); service.GetScale() == 1 && len(all) > 0 {
			m.hosts[name] = all[0].ip.String()
		}
	}
	for name, program := range s.programs {
		m.paths[name] = program
	}
	if err := s.mount(c, m); err != nil {
		return err
	}
	argv, environment := slices.Clone([]string(c.service.Entrypoint)), map[string]string{}
	if c.service.Build != nil {
		argv = append(argv, s.img.entrypoint...)
		maps.Copy(environment, s.img.environment)
	} else if program := entrypoints[imageName(c.service.Image)]; program != "" {
		argv = append(argv, program)
	}
	for name, value := range c.service.Environment {
		if value != nil {
			environment[name] = *value
		}
	}
	c.argv = m.texts(append(argv, c.service.Command...))
	if c.argv[0], err = s.program(c.argv[0]); err != nil {
		return err
	}
	for name, value := range environment {
		c.env = append(c.env, name+"="+m.text(value))
	}
	c.env = append(c.env, "PATH="+os.Getenv("PATH"))
	if c.probe, err = probeOf(c.service); err != nil {
		return err
	}
	c.probe.argv = m.texts(c.probe.argv)
	return nil
}

// entrypoints are the programs that images run by themselves, which take their containers' commands.
var entrypoints = map[string]string{"prom/prometheus": "prometheus"}

// imageName returns an image's name without its version.
func imageName(image string) string {
	name, _, _ := strings.Cut(image, ":")
	return name
}

// program returns where a program is.
func (s *stack) program(name string) (string, error) {
	if path, ok := s.programs[name]; ok {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not installed: %w", name, err)
	}
	return path, nil
}

// mount makes what a container finds at its volumes' targets, and notes the places in m.
func (s *stack) mount(c *container, m mapping) error {
	for _, v := range c.service.Volumes {
		switch {
		case v.Type == types.VolumeTypeBind:
			if err := s.configure(c, m, v.Source, v.Target); err != nil {
				return err
			}
		case v.Source == "": // of this container alone
			dir, err := mustDir(c.dir, "volumes", v.Target)
			if err != nil {
				return err
			}
			m.paths[v.Target] = dir
		default:
			dir, err := mustDir(s.dir, "volumes", v.Source)
			if err != nil {
				return err
			}
			m.paths[v.Target] = dir
		}
	}
	// Files name each other and the volumes, so that they are written once all places are known.
	for _, v := range c.service.Volumes {
		if v.Type != types.VolumeTypeBind {
			continue
		}
		if err := s.writeConfig(c, m, v.Source, m.paths[v.Target]); err != nil {
			return fmt.Errorf("%s: %s: %w", c.name, v.Source, err)
		}
	}
	return nil
}

// configure notes where a configuration file of a container will be.
func (s *stack) configure(c *container, m mapping, source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %s is not a file", c.name, source)
	}
	dir, err := mustDir(c.dir, "files", filepath.Dir(target))
	m.paths[target] = filepath.Join(dir, filepath.Base(target))
	return err
}

// writeConfig writes a configuration file as a container's process sees it.
func (s *stack) writeConfig(c *container, m mapping, source, path string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	mapped := m.text(string(text))
	if imageName(c.service.Image) == "prom/prometheus" && filepath.Base(source) == "prometheus.yml" {
		if mapped, err = prometheus(mapped, func(service string, port int) string { return s.list(c, service, port) }); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(mapped), 0o644)
}

// list returns the file in which a service's addresses are kept, with a port, from now on.
func (s *stack) list(c *container, service string, port int) string {
	file := filepath.Join(c.dir, service+"-"+strconv.Itoa(port)+".json")
	s.mu.Lock()
	s.listings[file] = listing{service, port}
	s.mu.Unlock()
	s.announce(service)
	return file
}

// healthTime is how long all services may take to become healthy.
const healthTime = 2 * time.Minute
