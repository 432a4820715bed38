package models

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// slowBody yields a byte after each pause, on the clock of a synctest bubble.
type slowBody struct {
	ctx    context.Context
	pauses []time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.pauses) == 0 {
		return 0, io.EOF
	}
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(b.pauses[0]):
	}
	b.pauses = b.pauses[1:]
	p[0] = 'x'
	return 1, nil
}

func (b *slowBody) Close() error { return nil }

func TestOnlySilenceIsIdle(t *testing.T) {
	const idle = time.Minute
	for name, tt := range map[string]struct {
		pauses []time.Duration
		want   error
	}{
		"slow but steady": {[]time.Duration{40 * time.Second, 40 * time.Second, 40 * time.Second, 40 * time.Second}, nil},
		"silent":          {[]time.Duration{40 * time.Second, 61 * time.Second}, errIdle},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			b := &watchedBody{ctx: ctx, cancel: cancel, idle: idle, left: maxStream, body: &slowBody{ctx, tt.pauses}}
			b.timer = time.AfterFunc(idle, func() { cancel(errIdle) })
			defer b.Close()
			if _, err := io.ReadAll(b); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
		})
	}
}
