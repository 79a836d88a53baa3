package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

// TestOneDescriptionAtATime: a description with types waits while another one is made, and ends with its request.
func TestOneDescriptionAtATime(t *testing.T) {
	d := &describer{turn: make(chan struct{}, maxDescriptions)}
	d.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/openapi.json?model=true", nil)
	ended := make(chan error)
	go func() {
		_, err := d.typed(echo.New().NewContext(r, httptest.NewRecorder()))
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
