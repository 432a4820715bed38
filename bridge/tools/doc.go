// Package tools acts on files, on the clock and on the web, and plays tools that
// do not exist. Each built-in tool stands in a file of its own.
//
// What a tool here may touch comes from its Permit: the package imports neither
// os nor net, and the arrows test keeps it so. It checks no permission: that has
// happened before Run is called.
package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// Options are what the operator sets for built-in tools.
type Options struct {
	Search Searcher     // asked by web_search; nil refuses to grant it
	Box    *sandbox.Box // of shell; nil: it can only be looked at
}

// builtin is every built-in tool, by name.
var builtin = map[string]func(Options) bridge.Tool{
	"fs_read": plainly(fsRead), "fs_list": plainly(fsList), "fs_search": plainly(fsSearch), "fs_write": plainly(fsWrite), "fs_edit": plainly(fsEdit),
	"fs_move": plainly(fsMove), "fs_delete": plainly(fsDelete),
	"secret_list": plainly(func() bridge.Tool { return SecretList(nil) }), "time_now": plainly(timeNow), "http_fetch": plainly(httpFetch), "web_search": webSearch,
	"shell": shell,
}

// plainly is a tool that has no options.
func plainly(tool func() bridge.Tool) func(Options) bridge.Tool {
	return func(Options) bridge.Tool { return tool() }
}

// raised are the tools whose tier is above that of the list in package leases:
// there a search is free, but what it asks for leaves this machine.
var raised = map[string]policy.Tier{"web_search": policy.AskOnce}

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
// the list that ships in package leases or stricter ones. An unknown name is an
// error that lists the known ones. A tool that needs an option can only be looked
// at: when it is called it says what is missing.
func Builtin(names ...string) ([]bridge.Tool, error) {
	return build(Options{}, names)
}

// BuiltinWith is Builtin for a run, whose tools have the options that they need.
func BuiltinWith(o Options, names ...string) ([]bridge.Tool, error) {
	if o.Search == nil && slices.Contains(names, "web_search") {
		return nil, errNoSearch
	}
	return build(o, names)
}

var errNoSearch = errors.New("tools: web_search needs a search server: set tools.webSearch.baseUrl to the address of one that runs SearXNG")

func build(o Options, names []string) ([]bridge.Tool, error) {
	var ts []bridge.Tool
	for _, n := range names {
		tool, ok := builtin[n]
		if !ok {
			return nil, fmt.Errorf("tools: no built-in tool is called %q: there are %s", n, strings.Join(Names(), ", "))
		}
		t := tool(o)
		t.Tier = leases.KnownTier(n)
		if tier, ok := raised[n]; ok {
			t.Tier = t.Tier.Stricter(tier)
		}
		ts = append(ts, t)
	}
	return ts, nil
}
