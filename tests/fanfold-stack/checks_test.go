package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/nats-io/nats-server/v2/server"
)

// root is the repository's top.
const root = "../.."

func project(t *testing.T) *types.Project {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := loadProject(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exact finds the version of an image: three numbers at least, or a digest.
var exact = regexp.MustCompile(`:v?\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$`)

// TestComposeFile: compose accepts the compose file. Each service has a pinned image, a memory limit, a health check, a restart policy and
// files that are there. Any number of nodes can stand beside each other.
func TestComposeFile(t *testing.T) {
	p := project(t)
	want := []string{"balancer", "fanfold", "grafana", "nats-1", "nats-2", "nats-3", "prometheus"}
	if names := p.ServiceNames(); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Fatalf("the services are %v", names)
	}
	for name, s := range p.Services {
		if s.Build == nil && !exact.MatchString(s.Image) {
			t.Errorf("%s: the image %s has no exact version", name, s.Image)
		}
		if _, err := probeOf(s); err != nil {
			t.Error(err)
		}
		if s.Restart != types.RestartPolicyUnlessStopped {
			t.Errorf("%s does not start again", name)
		}
		if s.MemLimit < 256<<20 {
			t.Errorf("%s has a memory limit of %d bytes: one service may take the memory of all others", name, s.MemLimit)
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == types.VolumeTypeBind && (err != nil || !v.ReadOnly) {
				t.Errorf("%s: %s is mounted: read only %v, %v", name, v.Source, v.ReadOnly, err)
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to others", name, port.Published)
			}
		}
	}
	node := p.Services["fanfold"]
	if err := mayScale(node); err != nil || node.GetScale() != 2 {
		t.Errorf("%d nodes, %v", node.GetScale(), err)
	}
	if mayScale(p.Services["nats-1"]) == nil || mayScale(p.Services["balancer"]) == nil {
		t.Error("a shared volume or a port of the host does not hinder more containers")
	}
}

// TestComposeMistakes: a file that compose would refuse is refused.
func TestComposeMistakes(t *testing.T) {
	good := read(t, filepath.Join(root, "docker-compose.yml"))
	for name, change := range map[string][2]string{
		"an unknown member":      {"    stop_grace_period: 40s\n", "    stop_grace: 40s\n"},
		"a wrong type":           {"      replicas: 2\n", "      replicas: two\n"},
		"a service not there":    {"depends_on: [fanfold]", "depends_on: [fanfolds]"},
		"a volume not declared":  {"  prometheus:\n  grafana:\n\nnetworks", "  grafana:\n\nnetworks"},
		"a network not declared": {"networks: [web]", "networks: [www]"},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		path := filepath.Join(t.TempDir(), "docker-compose.yml")
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadProject(context.Background(), path); bad == good || err == nil {
			t.Errorf("%s is taken (%v)", name, bad == good)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDockerfile: the Dockerfile is sound to BuildKit's parser and linter, and pins what it builds on by digest. It ends with a small
// image whose program does not run as root and says by itself whether it is ready.
func TestDockerfile(t *testing.T) {
	img, err := readDockerfile(filepath.Join(root, "Dockerfile"))
	if err != nil || len(img.warnings) > 0 {
		t.Fatalf("%v %v", img, err)
	}
	for _, s := range img.stages {
		if s.BaseName != "scratch" && (!exact.MatchString(s.BaseName) || !strings.Contains(s.BaseName, "@sha256:")) {
			t.Errorf("FROM %s has no exact version", s.BaseName)
		}
	}
	if last := img.stages[len(img.stages)-1]; len(img.stages) != 2 || last.BaseName != "scratch" {
		t.Errorf("%d stages, the last from %s", len(img.stages), last.BaseName)
	}
	if img.user != "65532:65532" || !slices.Equal(img.healthcheck, []string{"CMD", img.program, "status", "--ready"}) {
		t.Errorf("user %s, health check %v", img.user, img.healthcheck)
	}
	node := project(t).Services["fanfold"]
	if node.Build == nil || node.Build.Args["VERSION"] == nil || !strings.Contains(img.build, "node.version=${VERSION}") {
		t.Errorf("the version is not stamped: %s", img.build)
	}
	volumes := []string{}
	for _, c := range img.stages[len(img.stages)-1].Commands {
		if v, ok := c.(*instructions.VolumeCommand); ok {
			volumes = append(volumes, v.Volumes...)
		}
	}
	if data := img.environment["FANFOLD_DATA"]; !slices.Equal(volumes, []string{data}) || node.Volumes[0].Target != data {
		t.Errorf("data in %s, volumes %v and %v", data, volumes, node.Volumes)
	}
}

// TestNATSIsTheOneThatIsTested: the images of NATS are of the version of the module that Fanfold is built and tested with.
func TestNATSIsTheOneThatIsTested(t *testing.T) {
	found := regexp.MustCompile(`nats-server/v2 v(\S+)`).FindStringSubmatch(read(t, filepath.Join(root, "go.mod")))
	if found == nil {
		t.Fatal("go.mod has no nats-server")
	}
	want := "nats:" + found[1] + "-alpine"
	for _, name := range []string{"nats-1", "nats-2", "nats-3"} {
		if got := project(t).Services[name].Image; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if !strings.Contains(read(t, filepath.Join(root, "deploy/kubernetes/nats.yaml")), "image: "+want+"\n") {
		t.Errorf("deploy/kubernetes/nats.yaml has another image than %s", want)
	}
}

// requireNATS fails the test unless a configuration of NATS is one under which an acknowledged write survives loss of power.
func requireNATS(t *testing.T, path string) {
	t.Helper()
	o, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || !o.JetStream || o.StoreDir != "/data" || o.MaxPayload != 8_000_000 && o.MaxPayload != 8<<20 || len(o.Routes) != 3 || o.Cluster.Name == "" || o.HTTPPort != 8222 {
		t.Errorf("%s: %+v", path, o)
	}
}

func TestNATSConfiguration(t *testing.T) {
	requireNATS(t, filepath.Join(root, "deploy/nats/nats.conf"))
}

// TestBuildContext: what .dockerignore leaves of the repository is enough to build the program from, embedded files
// included, and has neither tests nor what git keeps.
func TestBuildContext(t *testing.T) {
	dir := t.TempDir()
	if err := copyContext(root, dir); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{".git", "tests", "docs", "*_test.go", "*/*_test.go"} {
		if found, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(found) > 0 {
			t.Errorf("the build's context has %v, %v", found, err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Error}}{{.}}{{end}}", "./cmd/fanfold")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(text)) != "" {
		t.Errorf("%v %s", err, text)
	}
}
