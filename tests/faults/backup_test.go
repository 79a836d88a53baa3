package faults_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/tests/harness"
)

// besideWrites returns a life with writes of few clients, and few deaths.
func besideWrites(name string, beside func(l *lives, p *harness.Process)) *life {
	of := writing(name, 4, 60, beside)
	of.deaths = map[string]int{"kill": 2, "power": 2}
	return of
}

// lifeOfReplay: the read model is built anew again and again.
func lifeOfReplay() *life {
	return besideWrites("replaying", func(_ *lives, p *harness.Process) {
		askUntilDead(func(int) error {
			_, err := p.Do(http.MethodPost, "/v1/_replay", nil)
			return err
		})
	})
}

// lifeOfPreparation: one model after the other is prepared in the background.
func lifeOfPreparation() *life {
	models := []string{strings.Replace(harness.CrashModel, "value: doc.name}", "value: \"doc.name + '!'\"}", 1), harness.CrashModel}
	of := besideWrites("preparing models", func(_ *lives, p *harness.Process) {
		askUntilDead(func(n int) error {
			_, err := p.Do(http.MethodPut, "/v1/_model?background=true&allowRemoval=true", []byte(models[n%2]), "Content-Type", "application/yaml", "Fanfold-Timeout", "1")
			return err
		})
	})
	of.end = func(l *lives, p *harness.Process) {
		harness.Await(l.T, "the last model to apply", time.Minute, func() bool {
			r, err := p.Do(http.MethodGet, "/v1/_model/_pending", nil)
			return err == nil && r.Status == http.StatusNotFound
		})
		requireRebuilt(l, p)
	}
	return of
}

// lifeOfBackup: backups are taken again and again. One that was cut is refused, and the last whole one can be restored.
func lifeOfBackup() *life {
	var whole []byte
	of := besideWrites("backing up", func(_ *lives, p *harness.Process) {
		askUntilDead(func(int) error {
			r, err := p.Do(http.MethodGet, "/v1/_backup", nil)
			if err == nil && r.Status == http.StatusOK {
				whole = r.Body
			}
			return err
		})
	})
	of.end = func(l *lives, p *harness.Process) {
		requireRebuilt(l, p)
		if whole == nil {
			whole = p.Want(http.StatusOK, http.MethodGet, "/v1/_backup", "").Body
		}
		if err := backup.Unpack(bytes.NewReader(whole[:len(whole)*2/3]), filepath.Join(l.TempDir(), "cut")); err == nil {
			l.Error("a backup that was cut is taken")
		}
		dir, data := filepath.Join(l.TempDir(), "backup"), filepath.Join(l.TempDir(), "data")
		must(l.T, backup.Unpack(bytes.NewReader(whole), dir))
		_, err := harness.Restore(l.Context(), dir, transfer.RestoreConfig{Data: data})
		must(l.T, err)
		restored := harness.StartProcess(l.T, "--data", data)
		checkTransactions(l.T, restored)
		restored.Verify(l.T)
		requireSameByHTTP(l.T, restored)
	}
	return of
}
