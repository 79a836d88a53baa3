package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// goBuild builds a package of the module in the directory root, and returns the program's path.
func goBuild(ctx context.Context, root, pkg, out string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return out, nil
}

// buildImage builds Fanfold as the Dockerfile does, by its own command, in the repository at root. It returns the program's
// path, below dir.
func buildImage(ctx context.Context, root string, img *image, version, dir string) (string, error) {
	out := filepath.Join(dir, "out")
	const there = "/out/" // where the Dockerfile puts what it builds
	if !strings.Contains(img.build, there) {
		return "", fmt.Errorf("the Dockerfile's build puts nothing into %s: %s", there, img.build)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(img.build, there, out+"/"))
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "VERSION="+version)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the Dockerfile's build: %w\n%s", err, text)
	}
	return filepath.Join(out, filepath.Base(img.program)), nil
}

// copyContext copies the build context that is sent to the engine: what is below root without what .dockerignore names.
func copyContext(root, to string) error {
	f, err := os.Open(filepath.Join(root, ".dockerignore"))
	if err != nil {
		return err
	}
	patterns, err := ignorefile.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return fmt.Errorf(".dockerignore: %w", err)
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." {
			return err
		}
		ignored, err := matcher.MatchesOrParentMatches(rel)
		switch {
		case err != nil:
			return err
		case ignored && d.IsDir() && !matcher.Exclusions():
			return fs.SkipDir
		case ignored || d.IsDir() || !d.Type().IsRegular():
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
