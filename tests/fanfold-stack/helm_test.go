package main

import (
	"reflect"
	"sort"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// chartDir is the Helm chart.
const chartDir = root + "/deploy/helm/fanfold"

// rendered returns the objects that the chart makes of values, as a release of a name.
func rendered(t *testing.T, release string, values map[string]any) map[string]runtime.Object {
	t.Helper()
	files, err := render(t, release, values)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]runtime.Object{}
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") && strings.Contains(text, "kind:") { // a file whose objects are left out has a comment
			decode(t, name, text, out)
		}
	}
	return out
}

// render renders the chart.
func render(t *testing.T, release string, values map[string]any) (map[string]string, error) {
	t.Helper()
	c := loadChart(t)
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: release, Namespace: "default", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHelmLint: helm lint --strict finds nothing.
func TestHelmLint(t *testing.T) {
	for _, m := range lint.All(chartDir, map[string]any{}, "default", true).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

// TestHelmIsTheExample: with its own values the chart makes the objects of deploy/kubernetes, but for names and labels that tell releases apart.
func TestHelmIsTheExample(t *testing.T) {
	want, have := manifests(t), rendered(t, "fanfold", nil)
	if len(have) != len(want) {
		t.Errorf("the chart has %v, and the example %v", names(have), names(want))
	}
	for name, object := range want {
		kind, bare, _ := strings.Cut(name, " ")
		if bare == "nats" {
			bare = "fanfold-nats"
		}
		made := have[kind+" "+bare]
		if made == nil {
			t.Errorf("the chart has no %s", name)
			continue
		}
		if a, b := plain(t, made), plain(t, object); !reflect.DeepEqual(a, b) {
			t.Errorf("%s is\n%v\nand in the example\n%v", name, a, b)
		}
	}
}

// plain returns an object as maps, without what tells releases of the chart apart, and without what the example leaves to the API's defaults.
func plain(t *testing.T, object runtime.Object) any {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return plainValue(m)
}

func plainValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, inner := range v {
			switch k {
			case "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart", "imagePullPolicy", "status":
				continue
			case "type":
				if inner == string(corev1.ServiceTypeClusterIP) {
					continue
				}
			}
			out[k] = plainValue(inner)
		}
		if labels, ok := out["labels"].(map[string]any); ok && out["name"] != nil && len(labels) == 1 {
			delete(out, "labels") // the example's budgets and policies have none
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainValue(v[i])
		}
		return out
	case string:
		return strings.ReplaceAll(v, "fanfold-nats", "nats")
	}
	return v
}

// TestHelmValues: what a release may say otherwise reaches its objects, and two releases do not find each other's pods.
func TestHelmValues(t *testing.T) {
	all := rendered(t, "shop", map[string]any{
		"image": map[string]any{"repository": "images.example/fanfold", "tag": "v1.2.3"}, "replicas": 5, "adminKeySecret": "shop-key",
		"extraArgs": []any{"--token-issuer=https://issuer.example"}, "extraEnv": []any{map[string]any{"name": "OTEL_SERVICE_NAME", "value": "shop"}},
		"storage": map[string]any{"size": "1Gi", "className": "fast"}, "nats": map[string]any{"enabled": false, "urls": []any{"tls://a.example:4222", "tls://b.example:4222"}, "replicas": 1},
	})
	for name := range all {
		if strings.Contains(name, "nats") {
			t.Errorf("there is a %s", name)
		}
	}
	set, ok := all["StatefulSet shop-fanfold"].(*appsv1.StatefulSet)
	if !ok {
		t.Fatal(names(all))
	}
	c := set.Spec.Template.Spec.Containers[0]
	args := strings.Join(c.Args, " ")
	if c.Image != "images.example/fanfold:v1.2.3" || *set.Spec.Replicas != 5 || set.Spec.Template.Spec.Volumes[0].Secret.SecretName != "shop-key" ||
		!strings.Contains(args, "--nats=tls://a.example:4222,tls://b.example:4222 --replicas=1 ") || !strings.Contains(args, "http://$(POD_NAME).shop-fanfold-nodes:8080") ||
		!strings.HasSuffix(args, "--token-issuer=https://issuer.example") || c.Env[1].Name != "OTEL_SERVICE_NAME" || *set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName != "fast" {
		t.Errorf("%+v", set.Spec)
	}
	requireClosed(t, set.Spec.Template.Spec)
	other := rendered(t, "other", nil)["StatefulSet other-fanfold"].(*appsv1.StatefulSet)
	if selector, err := metav1.LabelSelectorAsMap(set.Spec.Selector); err != nil || within(selector, other.Spec.Template.Labels) || !within(selector, set.Spec.Template.Labels) {
		t.Errorf("%v finds %v, %v", selector, other.Spec.Template.Labels, err)
	}
}

// TestHelmMistakes: values that make no sense are refused before anything is installed.
func TestHelmMistakes(t *testing.T) {
	for _, values := range []map[string]any{
		{"replica": 3},
		{"replicas": 0},
		{"nats": map[string]any{"enabled": false}},
		{"nats": map[string]any{"replicas": 2}},
		{"extraArgs": []any{"insecure"}},
		{"adminKeySecret": ""},
	} {
		if _, err := render(t, "x", values); err == nil {
			t.Errorf("%v is taken", values)
		}
	}
}

// names returns the names of objects, in order.
func names(all map[string]runtime.Object) (out []string) {
	for name := range all {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}
