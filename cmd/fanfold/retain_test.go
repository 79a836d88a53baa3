package main

import (
	"testing"
	"time"
)

// TestRetainFlag: --retain takes days and the units of other times, from an hour on.
func TestRetainFlag(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1h": time.Hour, "90d": 90 * day, "1d12h": 36 * time.Hour, "36500d": maxRetain, "60m": time.Hour,
		"59m": 0, "": 0, "d": 0, "1": 0, "-1d": 0, "36501d": 0, "1d-1h": 0, "1d1": 0, "1w": 0, "99999999d": 0, "0d": 0, "9000000h": 0,
	} {
		var got time.Duration
		if err := (retainFlag{&got}).Set(text); (err == nil) != (want > 0) || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again := time.Duration(0); want > 0 {
			if err := (retainFlag{&again}).Set(retainFlag{&got}.String()); err != nil || again != want {
				t.Errorf("%q is written as %q: %v, %v", text, retainFlag{&got}.String(), again, err)
			}
		}
	}
}
