// Package tools acts on files, on the clock and on the web, and plays tools that
// do not exist. Each built-in tool stands in a file of its own.
//
// What a tool here may touch comes from its Permit: the package imports neither
// os nor net, and the arrows test keeps it so. It checks no permission: that has
// happened before Run is called.
package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/leases"
)

// builtin is every built-in tool, by name.
var builtin = map[string]func() bridge.Tool{
	"fs_read": fsRead, "fs_list": fsList, "fs_search": fsSearch, "fs_write": fsWrite, "fs_edit": fsEdit,
	"time_now": timeNow, "http_fetch": httpFetch,
}

// Names returns the names of the built-in tools, sorted.
func Names() []string {
	var names []string
	for n := range builtin {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Builtin returns the named built-in tools, in the given order, with the tiers of
// the list that ships in package leases. An unknown name is an error that lists
// the known ones.
func Builtin(names ...string) ([]bridge.Tool, error) {
	var ts []bridge.Tool
	for _, n := range names {
		make, ok := builtin[n]
		if !ok {
			return nil, fmt.Errorf("tools: no built-in tool is called %q: there are %s", n, strings.Join(Names(), ", "))
		}
		t := make()
		t.Tier = leases.KnownTier(n)
		ts = append(ts, t)
	}
	return ts, nil
}
