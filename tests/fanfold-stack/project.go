package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// loadProject reads a compose file as compose itself does, checked against the specification's schema and for consistency. Its variables
// are replaced by the ones of environment (NAME=value), and its paths made absolute.
func loadProject(ctx context.Context, path string, environment ...string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{path}, cli.WithWorkingDirectory(filepath.Dir(path)), cli.WithEnv(environment),
		cli.WithInterpolation(true), cli.WithNormalization(true), cli.WithConsistency(true), cli.WithResolvedPaths(true))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return project, nil
}

// probe is a service's health check.
type probe struct {
	argv                 []string
	timeout, startPeriod time.Duration
}

// probeOf returns a service's health check. The error says that there is none, or none that is run without a shell.
func probeOf(service types.ServiceConfig) (probe, error) {
	check := service.HealthCheck
	if check == nil || len(check.Test) < 2 || check.Test[0] != "CMD" {
		return probe{}, fmt.Errorf("service %s: there is no health check of the form [CMD, program, ...]", service.Name)
	}
	p := probe{argv: check.Test[1:], timeout: 30 * time.Second}
	if check.Timeout != nil {
		p.timeout = time.Duration(*check.Timeout)
	}
	if check.StartPeriod != nil {
		p.startPeriod = time.Duration(*check.StartPeriod)
	}
	return p, nil
}

// stopTime returns how long a service's containers may take to end once they are told to.
func stopTime(service types.ServiceConfig) time.Duration {
	if service.StopGracePeriod != nil {
		return time.Duration(*service.StopGracePeriod)
	}
	return 10 * time.Second // the engine's default
}

// mayScale returns an error where a service's containers would get into each other's way. They would by a name of their own, a port of the
// host, or a volume that all of them share.
func mayScale(service types.ServiceConfig) error {
	var errs []error
	if service.ContainerName != "" {
		errs = append(errs, fmt.Errorf("service %s: container_name %s can be had by one container only", service.Name, service.ContainerName))
	}
	for _, port := range service.Ports {
		if port.Published != "" {
			errs = append(errs, fmt.Errorf("service %s: port %s of the host can be had by one container only", service.Name, port.Published))
		}
	}
	for _, v := range service.Volumes {
		if v.Source != "" && !v.ReadOnly {
			errs = append(errs, fmt.Errorf("service %s: its containers share the volume %s at %s", service.Name, v.Source, v.Target))
		}
	}
	return errors.Join(errs...)
}
