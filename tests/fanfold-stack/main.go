// Fanfold-stack starts the services of docker-compose.yml as plain processes, where there is no engine that runs containers. Each service
// has its command line, environment, configuration files, volumes, health check and ports, on its own loopback address. Fanfold is built
// by the Dockerfile's own command, NATS from the module that Fanfold depends on; HAProxy and Prometheus are those that are installed, and
// Grafana is left out.
//
//	cd tests/fanfold-stack && go run . --scale 3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	root := flag.String("root", "../..", "directory of docker-compose.yml and the Dockerfile")
	scale := flag.Int("scale", 0, "how many Fanfold nodes; 0 for as many as the file says")
	flag.Parse()
	if err := run(*root, *scale); err != nil {
		fmt.Fprintln(os.Stderr, "fanfold-stack:", err)
		os.Exit(1)
	}
}

// run builds and starts everything, says where it is, and stops it once it is interrupted.
func run(root string, scale int) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "fanfold-stack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	say := func(text string) { fmt.Println(text) }
	say("building...")
	s, err := openStack(ctx, root, dir, say)
	if err != nil {
		return err
	}
	go func() { _ = s.names.Run(context.WithoutCancel(ctx)) }() // ends with Down
	defer func() { err = errors.Join(err, s.Down()) }()
	limited, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	if err := s.Up(limited); err != nil {
		return err
	}
	if scale > 0 {
		if err := errors.Join(s.Scale("fanfold", scale), s.Healthy(limited)); err != nil {
			return err
		}
	}
	for _, name := range s.services() {
		for _, c := range s.of(name) {
			say(fmt.Sprintf("%-12s %-15s %v", c.name, c.ip, c.argv))
		}
	}
	say("the API is at " + s.URL(s.of("balancer")[0], 8080) + ", Prometheus at " + s.URL(s.of("prometheus")[0], 9090) + "; Ctrl-C ends all")
	<-ctx.Done()
	return nil
}

// version is what the program is stamped with.
const version = "stack"

// openStack reads the files below root, builds the programs into dir, and prepares the services.
func openStack(ctx context.Context, root, dir string, logf func(string)) (*stack, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	project, err := loadProject(ctx, filepath.Join(root, "docker-compose.yml"), "FANFOLD_VERSION="+version)
	if err != nil {
		return nil, err
	}
	img, err := readDockerfile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	fanfold, err := buildImage(ctx, root, img, version, filepath.Join(dir, "build"))
	if err != nil {
		return nil, err
	}
	nats, err := goBuild(ctx, root, "github.com/nats-io/nats-server/v2", filepath.Join(dir, "nats-server"))
	if err != nil {
		return nil, err
	}
	return newStack(project, img, map[string]string{img.program: fanfold, "nats-server": nats}, dir, logf)
}
