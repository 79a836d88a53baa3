package faults_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestModelWhileCompacting: a model that is announced, prepared and applied while a compaction runs applies in the read model that takes over, too.
func TestModelWhileCompacting(t *testing.T) {
	suite.Concurrent(t)
	for _, step := range []string{rebuild.StepBuilt, rebuild.StepReadBack, rebuild.StepCompared, rebuild.StepAppended} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			reached, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
				quickPurge(cfg)
				cfg.Steps.Compact = func(at string) error {
					if at == step {
						once.Do(func() { close(reached); <-release })
					}
					return nil
				}
			}})
			defer func() { s.Close() }()
			harness.RunScript(t, s, harness.CrashScript)
			s.Put("hands", "h", `{"x":1}`)
			for i := range 30 {
				s.Put("fingers", fmt.Sprint(i), fmt.Sprintf(`{"hand":"h","n":%d}`, i))
			}
			s.CatchUp()
			horizon := s.Node.Store.Applied.Seq()
			s.Want(http.StatusAccepted, http.MethodPost, "/v1/_compact", fmt.Sprintf(`{"before":"%d"}`, horizon), "Content-Type", "application/json")
			<-reached
			applied := make(chan *harness.Response, 1)
			go func() {
				r, err := s.Do(http.MethodPatch, "/v1/_model", []byte(`{"collections":{"hands":{"derive":{"n":{"count":"fingers.hand"},"sum":{"sum":"fingers.hand","of":"n"}}},"fingers":{"unique":["n"],"relations":{"hand":{"path":"hand","to":"hands","strict":true}},"derive":{"x":{"copy":"hand","value":"doc.x","frozen":true}}}}}`), "Content-Type", "application/merge-patch+json")
				if err != nil {
					t.Error(err)
				}
				applied <- r
			}()
			select {
			case r := <-applied:
				applied <- r
			case <-time.After(2 * time.Second): // it waits for the compaction
			}
			s.Put("fingers", "31", `{"hand":"h","n":31}`)
			close(release)
			if r := <-applied; r.Status != http.StatusOK {
				t.Fatalf("the model: %d %s", r.Status, r.Body)
			}
			harness.Await(t, "the end of the compaction", time.Minute, func() bool {
				c := s.Node.Projector.Compaction()
				return c != nil && !c.Running
			})
			c := s.Node.Projector.Compaction()
			t.Logf("%s: %+v", step, c)
			s.Put("fingers", "32", `{"hand":"h","n":32}`)
			s.Want(http.StatusConflict, http.MethodPut, "/v1/fingers/33", `{"hand":"h","n":3}`)
			s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/fingers/33", `{"hand":"gone","n":33}`)
			s.CatchUp()
			s.Verify()
			t.Log(s.Get("hands", "h"))
			if c.Error == "" {
				awaitPurged(t, s)
			}
			requireSame(t, s)
			before := everything(t, s)
			s = s.Reopen()
			if after := everything(t, s); after != before {
				t.Errorf("after the restart\n%s\nis there, before it was\n%s", after, before)
			}
			requireSame(t, s)
		})
	}
}
