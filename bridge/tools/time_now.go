package tools

import (
	"context"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

func timeNow() bridge.Tool {
	return bridge.Tool{
		Name:       "time_now",
		Doc:        "Returns the time in UTC as 2006-01-02T15:04:05Z.",
		Caps:       policy.Declare(),
		Idempotent: true,
		Run: func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Local: true, MediaType: "text/plain", Value: p.Now().UTC().Format(time.RFC3339)}, nil
		},
	}
}
