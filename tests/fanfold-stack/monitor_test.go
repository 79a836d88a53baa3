//go:build stack

package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"
)

// monitor is a running Prometheus.
type monitor struct {
	t   *testing.T
	url string
}

// get decodes the data of an answer of Prometheus's API.
func (m *monitor) get(path string, query url.Values, data any) error {
	resp, err := http.Get(m.url + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	text, err := readAll(resp)
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		return errors.Join(err, errors.New(text))
	}
	return nil
}

// value returns the only value of an expression, "" where there is none or more than one.
func (m *monitor) value(expression string) string {
	m.t.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	if err := m.get("/api/v1/query", url.Values{"query": {expression}}, &data); err != nil {
		m.t.Fatal(err)
	}
	if len(data.Result) != 1 {
		return ""
	}
	text, _ := data.Result[0].Value[1].(string)
	return text
}

// until waits until an expression has a value. Prometheus looks every five seconds.
func (m *monitor) until(what, expression, want string) {
	m.t.Helper()
	began, got := time.Now(), ""
	until(m.t, 90*time.Second, what+": "+expression, func() bool { got = m.value(expression); return got == want })
	m.t.Logf("%s, after %v", what, time.Since(began).Round(100*time.Millisecond))
}

// rulesAreLoaded fails the test unless Prometheus has every alert, and none whose evaluation fails.
func (m *monitor) rulesAreLoaded() {
	m.t.Helper()
	names := []string{}
	until(m.t, time.Minute, "every rule is evaluated", func() bool {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := m.get("/api/v1/rules", nil, &data); err != nil {
			m.t.Fatal(err)
		}
		names = nil
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					m.t.Fatalf("rule %s: %s", r.Name, r.LastError)
				}
				if r.Health != "ok" {
					return false
				}
				names = append(names, r.Name)
			}
		}
		return true
	})
	slices.Sort(names)
	if names = slices.Compact(names); !slices.Equal(names, alertNames) {
		m.t.Errorf("Prometheus has the alerts %v", names)
	}
}

// readAll reads an answer's body to its end.
func readAll(resp *http.Response) (string, error) {
	text, err := io.ReadAll(resp.Body)
	return string(text), errors.Join(err, resp.Body.Close())
}
