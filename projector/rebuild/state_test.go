package rebuild

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestStateOfComingModel: the state of a coming model says what is left of a phase. It keeps its phase while events are replayed, and forgets an error once
// it goes on. An earlier model changes nothing of it, and a replay may run beside it.
func TestStateOfComingModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := &states{}
		b := &Builder{states: shown, proposals: newProposals(shown)}
		if p, _, _ := b.Preparations(); p != nil {
			t.Errorf("before a model is announced: %+v", p)
		}
		is := State{use: models, Model: 7}
		shown.show(State{use: models, Model: 7, Phase: phaseWaiting, Started: time.Now(), Err: errors.New("no room")})
		if p, _, _ := b.Preparations(); p.Phase != phaseWaiting || p.Error != "no room" || p.Model != 7 {
			t.Errorf("waiting: %+v", p)
		}
		shown.tell(is, Copying, 0, 100)
		time.Sleep(2 * time.Second)
		shown.tell(is, Copying, 40, 100)
		if s, _ := shown.get(models); s.Err != nil || s.Done != 40 || s.Left != 3 {
			t.Errorf("copying: %+v", s)
		}
		shown.tell(State{use: models, Model: 6}, phaseReady, 1, 1)
		shown.tell(is, phaseFollowing, 5, 9)
		shown.tell(is, Replaying, 6, 9)
		shown.update(is, func(s *State) { s.Changes = 3 })
		if p, _, _ := b.Preparations(); p.Phase != phaseFollowing || p.Done != 6 || p.Total != 9 || p.Changes != 3 || p.Error != "" {
			t.Errorf("following: %+v", p)
		}
		if !shown.begin(State{use: replays}) || shown.begin(State{use: erasures}) {
			t.Error("a coming model is no reason against a replay; another replay is")
		}
		shown.show(State{use: models})
		if p, _, _ := b.Preparations(); p != nil {
			t.Errorf("after the model has come: %+v", p)
		}
	})
}
