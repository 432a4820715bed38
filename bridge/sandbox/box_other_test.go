//go:build !linux

package sandbox

import (
	"errors"
	"testing"
)

func TestElsewhereThereIsNoBox(t *testing.T) {
	if _, err := Open(t.Context(), Config{Dir: t.TempDir()}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
