package tools

import (
	"context"
	"slices"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// SecretList is the tool secret_list: it returns the names of the secrets that a
// task declares. There is no tool that returns a value.
func SecretList(names []string) bridge.Tool {
	list := make([]any, 0, len(names))
	for _, n := range slices.Sorted(slices.Values(names)) {
		list = append(list, n)
	}
	return bridge.Tool{
		Name:       "secret_list",
		Tier:       policy.Free,
		Doc:        "Returns the names of the secrets that this task declares, as a list of texts. Values cannot be had: tools and servers that need one are given it.",
		Caps:       policy.Declare(),
		Idempotent: true,
		Run: func(context.Context, *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Local: true, MediaType: "application/json", Value: slices.Clone(list)}, nil
		},
	}
}
