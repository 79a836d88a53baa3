package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"
)

// alertNames are the alerts that docs/run/running.md explains.
var alertNames = []string{"FanfoldBatchesParked", "FanfoldCertificateEnding", "FanfoldDiskGrowing", "FanfoldGroupLagging", "FanfoldHighConflicts", "FanfoldKeysStale", "FanfoldLagging",
	"FanfoldLogFailing", "FanfoldNoBackup", "FanfoldNodeLost", "FanfoldNotReady", "FanfoldProjectorStopped", "FanfoldReplayStuck", "FanfoldSlowRequests"}

const (
	alertsFile    = root + "/deploy/prometheus/alerts.yml"
	dashboardFile = root + "/deploy/grafana/dashboards/fanfold.json"
)

// alerts reads the alert rules as Prometheus does, unknown members refused.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var rules []rulefmt.Rule
	for _, g := range groups.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// TestAlertRules: Prometheus's own parser takes the rules, there is one for each alert that is documented, and each says how
// grave it is and what it means.
func TestAlertRules(t *testing.T) {
	names := []string{}
	for _, r := range alerts(t) {
		names = append(names, r.Alert)
		if !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s: labels %v, annotations %v", r.Alert, r.Labels, r.Annotations)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); !slices.Equal(names, alertNames) {
		t.Errorf("the alerts are\n%v, want\n%v", names, alertNames)
	}
}

// metricsOf returns the names of the metrics that a PromQL expression reads.
func metricsOf(t *testing.T, expression string) (names []string) {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Fatalf("%v in %s", err, expression)
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			i := slices.IndexFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel })
			names = append(names, v.LabelMatchers[i].Value)
		}
		return nil
	})
	return names
}

// dashboard is what is checked of a dashboard.
type dashboard struct {
	UID        string
	Templating struct {
		List []struct {
			Name       string
			Datasource source
			Query      struct{ Query string }
		}
	}
	Panels []panel
}

type source struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct{ Expr, RefID string }
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// expressions are a panel's, with the values in them that Grafana fills in.
func (p panel) expressions() (out []string) {
	for _, target := range p.Targets {
		out = append(out, strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(target.Expr))
	}
	return out
}

// TestDashboard: Grafana's provisioning names files and a data source that are there, and every panel has a place of its
// own, a unit of reading and expressions that Prometheus takes.
func TestDashboard(t *testing.T) {
	sources := struct {
		Datasources []struct{ UID, Type, URL string }
	}{}
	providers := struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}{}
	for name, v := range map[string]any{"datasources/prometheus.yaml": &sources, "dashboards/fanfold.yaml": &providers} {
		if err := yaml.Unmarshal([]byte(read(t, root+"/deploy/grafana/provisioning/"+name)), v); err != nil {
			t.Fatal(err)
		}
	}
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" || len(providers.Providers) != 1 {
		t.Fatalf("%+v %+v", sources, providers)
	}
	grafana := project(t).Services["grafana"]
	mounted := slices.ContainsFunc(grafana.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == providers.Providers[0].Options.Path })
	home := grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if !mounted || home == nil || *home != providers.Providers[0].Options.Path+"/"+filepath.Base(dashboardFile) {
		t.Errorf("dashboards are looked for in %+v", providers)
	}
	d := readDashboard(t)
	want, ids, taken := source{"prometheus", sources.Datasources[0].UID}, map[int]bool{}, map[[2]int]bool{}
	for _, p := range d.Panels {
		if at := [2]int{p.GridPos.X, p.GridPos.Y}; ids[p.ID] || taken[at] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d, %s, stands where another one does", p.ID, p.Title)
		} else {
			ids[p.ID], taken[at] = true, true
		}
		if p.Type != "row" && (p.Datasource != want || p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %s: %+v", p.Title, p)
		}
	}
	if len(d.Panels) < 20 || len(d.Templating.List) != 1 || d.Templating.List[0].Datasource != want {
		t.Errorf("%d panels, variables %+v", len(d.Panels), d.Templating)
	}
}

// TestMetricsAreThere: every metric that an alert or a panel names is one that a node has.
func TestMetricsAreThere(t *testing.T) {
	named := map[string]string{}
	for _, r := range alerts(t) {
		for _, m := range metricsOf(t, r.Expr) {
			named[m] = "alert " + r.Alert
		}
	}
	for _, p := range readDashboard(t).Panels {
		for _, e := range p.expressions() {
			for _, m := range metricsOf(t, e) {
				named[m] = "panel " + p.Title
			}
		}
	}
	requireMetrics(t, named)
}

// fromPrometheus are the metrics that Prometheus itself makes, and withTLS the metrics of a node that serves TLS. Those withRules have series
// once the rule of a right has refused a document.
var (
	fromPrometheus = []string{"up", "ALERTS"}
	withTLS        = []string{"fanfold_tls_expiry_seconds"}
	withRules      = []string{"fanfold_rule_refusals_total"}
)

// requireMetrics fails the test where a running node lacks one of the metrics.
func requireMetrics(t *testing.T, named map[string]string) {
	t.Helper()
	have := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z]\w*)`).FindAllString(nodeMetrics(t), -1) {
		have[m] = true
	}
	for m, by := range named {
		if !have[m] && !slices.Contains(fromPrometheus, m) && !slices.Contains(withTLS, m) && !slices.Contains(withRules, m) {
			t.Errorf("%s names %s, which no node has", by, m)
		}
	}
}

// nodeMetrics returns the metrics of a node that has done a bit of everything that makes them appear.
func nodeMetrics(t *testing.T) string {
	t.Helper()
	url := startNode(t)
	do := func(method, path, kind, body string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %v %v", method, path, resp, err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	do("PUT", "/v1/_model", "application/yaml", `{"collections":{"books":{}}}`)
	do("PUT", "/v1/books/b", "application/json", `{"x":1}`)
	do("GET", "/v1/books/b", "", "")
	do("PUT", "/v1/_groups/g", "application/json", `{"partitions":1}`)
	do("GET", "/v1/_changes?since=0", "", "")
	for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		text := do("GET", "/metrics", "", "")
		if strings.Contains(text, "fanfold_group_lag_seconds{") || time.Now().After(limit) { // it asks for groups at intervals, not for long
			return text
		}
	}
}

// TestAlertsFire: promtool, where it is installed, runs the alerts over series in which each of them fires.
func TestAlertsFire(t *testing.T) {
	for _, name := range alertNames {
		if !strings.Contains(read(t, "testdata/alerts.yml"), `ALERTS{alertname="`+name+`", alertstate="firing", `) {
			t.Errorf("testdata/alerts.yml does not test %s", name)
		}
	}
	runWhereInstalled(t, "promtool", "check", "rules", alertsFile)
	runWhereInstalled(t, "promtool", "test", "rules", "testdata/alerts.yml")
}

// TestPrometheusConfiguration: promtool takes the configuration, with the rules where it looks for them.
func TestPrometheusConfiguration(t *testing.T) {
	dir := t.TempDir()
	text := strings.ReplaceAll(read(t, root+"/deploy/prometheus/prometheus.yml"), "/etc/prometheus/", dir+"/")
	for name, text := range map[string]string{"prometheus.yml": text, "alerts.yml": read(t, alertsFile)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runWhereInstalled(t, "promtool", "check", "config", dir+"/prometheus.yml")
}
