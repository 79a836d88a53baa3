package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// image is what a Dockerfile says of the image and of how its program is built.
type image struct {
	stages      []instructions.Stage
	build       string            // the shell command that builds the program
	program     string            // where the program is in the image
	entrypoint  []string          // what a container runs, before its command
	command     []string          // what it runs by itself
	environment map[string]string // of each container
	user        string
	healthcheck []string
	warnings    []string // of the linter
}

// readDockerfile reads a Dockerfile as BuildKit does. The error says where it is wrong.
func readDockerfile(path string) (*image, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	img := &image{environment: map[string]string{}}
	for _, w := range parsed.Warnings {
		img.warnings = append(img.warnings, w.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) {
		img.warnings = append(img.warnings, rule+": "+message)
	}})
	if img.stages, _, err = instructions.Parse(parsed.AST, lint); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(img.stages) == 0 {
		return nil, fmt.Errorf("%s has no FROM", path)
	}
	for _, stage := range img.stages {
		for _, command := range stage.Commands {
			if run, ok := command.(*instructions.RunCommand); ok && strings.Contains(strings.Join(run.CmdLine, " "), "go build") {
				img.build = strings.Join(run.CmdLine, " ")
			}
		}
	}
	for _, command := range img.stages[len(img.stages)-1].Commands {
		img.take(command)
	}
	if img.build == "" || len(img.entrypoint) == 0 {
		return nil, fmt.Errorf("%s has no RUN with go build, or its last stage has no ENTRYPOINT", path)
	}
	img.program = img.entrypoint[0]
	return img, nil
}

// take takes over what an instruction of the last stage says of containers.
func (img *image) take(command instructions.Command) {
	switch c := command.(type) {
	case *instructions.EntrypointCommand:
		img.entrypoint = slices.Clone(c.CmdLine)
	case *instructions.CmdCommand:
		img.command = slices.Clone(c.CmdLine)
	case *instructions.UserCommand:
		img.user = c.User
	case *instructions.EnvCommand:
		for _, pair := range c.Env {
			img.environment[pair.Key] = pair.Value
		}
	case *instructions.HealthCheckCommand:
		if c.Health != nil {
			img.healthcheck = slices.Clone(c.Health.Test)
		}
	}
}
