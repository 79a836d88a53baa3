package main

import "testing"

// TestFence: a fence is told as one. Logs on other servers have them, and logs of earlier programs.
func TestFence(t *testing.T) {
	if says, err := describe("fanfold.fanfold.fence", []byte(`{"v":1,"op":"fence"}`)); says != "fence" || err != nil {
		t.Errorf("%q, %v", says, err)
	}
}
