package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manifests decodes the objects of the Kubernetes example, by the API's types; a member that they do not have is an error.
func manifests(t *testing.T) map[string]runtime.Object {
	t.Helper()
	out := map[string]runtime.Object{}
	files, err := filepath.Glob(root + "/deploy/kubernetes/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		decode(t, path, read(t, path), out)
	}
	return out
}

// decode adds the objects of a text to out, by kind and name.
func decode(t *testing.T, path, text string, out map[string]runtime.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	codec := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(text)))
	for buf := make([]byte, 1<<20); ; {
		n, err := documents.Read(buf)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(strings.TrimSpace(string(buf[:n]))) == 0 {
			continue
		}
		object, kind, err := codec.Decode(buf[:n], nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, buf[:n])
		}
		out[kind.Kind+" "+object.(metav1.Object).GetName()] = object
	}
}

// TestKubernetes: the Kubernetes example is what the API takes, its objects fit each other, and its containers have probes,
// bounds, no rights, and time to end.
func TestKubernetes(t *testing.T) {
	all := manifests(t)
	for name, shutdown := range map[string]time.Duration{"fanfold": 30 * time.Second, "nats": 40 * time.Second} {
		set, ok := all["StatefulSet "+name].(*appsv1.StatefulSet)
		budget, _ := all["PodDisruptionBudget "+name].(*policyv1.PodDisruptionBudget)
		if !ok || budget == nil || *set.Spec.Replicas != 3 || budget.Spec.MaxUnavailable.IntValue() != 1 {
			t.Fatalf("%s: %+v", name, all)
		}
		labels := set.Spec.Template.Labels
		for _, selector := range []*metav1.LabelSelector{set.Spec.Selector, budget.Spec.Selector} {
			if s, err := metav1.LabelSelectorAsMap(selector); err != nil || !within(s, labels) {
				t.Errorf("%s: a selector %v does not find %v", name, s, labels)
			}
		}
		governing, _ := all["Service "+set.Spec.ServiceName].(*corev1.Service)
		if governing == nil || governing.Spec.ClusterIP != corev1.ClusterIPNone || !within(governing.Spec.Selector, labels) {
			t.Errorf("%s: the service %q does not give its pods names", name, set.Spec.ServiceName)
		}
		pod := set.Spec.Template.Spec
		if s := pod.SecurityContext; s == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: the pod's rights: %+v", name, s)
		}
		if time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second <= shutdown {
			t.Errorf("%s has %d s to end", name, *pod.TerminationGracePeriodSeconds)
		}
		for _, c := range pod.Containers {
			requireContainer(t, set, c)
		}
	}
	requireClosed(t, all["StatefulSet fanfold"].(*appsv1.StatefulSet).Spec.Template.Spec)
	front := all["Service fanfold"].(*corev1.Service)
	if !within(front.Spec.Selector, all["StatefulSet fanfold"].(*appsv1.StatefulSet).Spec.Template.Labels) {
		t.Error("the service does not find the nodes")
	}
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(all["ConfigMap nats"].(*corev1.ConfigMap).Data["nats.conf"]), 0o600); err != nil {
		t.Fatal(err)
	}
	requireNATS(t, path)
}

// requireClosed fails the test where the nodes let others in without a key, or where everybody in the container may read it.
func requireClosed(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	args := strings.Join(pod.Containers[0].Args, " ")
	if strings.Contains(args, "--insecure") || !strings.Contains(args, "--plaintext") || !strings.Contains(args, "--admin-key-file=/etc/fanfold/admin.key") {
		t.Errorf("the nodes start with %s", args)
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440) {
			t.Errorf("the secret %s has mode %v", v.Secret.SecretName, v.Secret.DefaultMode)
		}
	}
}

func within(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// requireContainer fails the test where a container lacks probes, bounds or a volume, or has rights.
func requireContainer(t *testing.T, set *appsv1.StatefulSet, c corev1.Container) {
	t.Helper()
	ports := map[string]bool{}
	for _, p := range c.Ports {
		ports[p.Name] = true
	}
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if probe == nil || probe.HTTPGet == nil || !ports[probe.HTTPGet.Port.StrVal] {
			t.Errorf("%s: a probe: %+v", c.Name, probe)
		}
	}
	if c.Name == "fanfold" && (c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz") {
		t.Error("the probes ask for other than /healthz and /readyz")
	}
	s := c.SecurityContext
	if s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%s: its rights: %+v", c.Name, s)
	}
	if r := c.Resources; r.Requests.Cpu().IsZero() || r.Requests.Memory().IsZero() || r.Limits.Memory().IsZero() {
		t.Errorf("%s: its resources: %+v", c.Name, r)
	}
	volumes := map[string]bool{}
	for _, v := range set.Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s mounts %s, which is not there", c.Name, m.Name)
		}
	}
	if !strings.Contains(c.Image, ":") {
		t.Errorf("%s: image %s has no version", c.Name, c.Image)
	}
}
