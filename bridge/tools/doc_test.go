package tools_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/policy"
)

func TestBuiltinToolsComeByNameWithTheirTiers(t *testing.T) {
	want := map[string]policy.Tier{
		"fs_read": policy.Free, "fs_list": policy.Free, "fs_search": policy.Free, "time_now": policy.Free, "secret_list": policy.Free,
		"fs_write": policy.AskOnce, "fs_edit": policy.AskOnce, "http_fetch": policy.AskOnce, "web_search": policy.AskOnce, "shell": policy.AskOnce,
		"fs_move": policy.AlwaysAsk, "fs_delete": policy.AlwaysAsk,
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !slices.Contains(tools.Names(), name) {
			t.Errorf("%s is missing from %v", name, tools.Names())
		}
	}
	ts, err := tools.Builtin("time_now", "http_fetch")
	if err != nil || len(ts) != 2 || ts[0].Name != "time_now" || ts[1].Name != "http_fetch" {
		t.Errorf("%v, %v", ts, err)
	}
	ts, err = tools.Builtin(tools.Names()...)
	must(t, err)
	for _, tool := range ts {
		if tier := want[tool.Name]; tool.Tier != tier { // of one that is not in the table: the strictest
			t.Errorf("%s has tier %v, want %v", tool.Name, tool.Tier, tier)
		}
		if !tool.Caps.Declared() {
			t.Errorf("%s declares no capabilities", tool.Name)
		}
	}
	if ts, err := tools.Builtin("fs_read", "rm_rf"); ts != nil || err == nil || !strings.Contains(err.Error(), `no built-in tool is called "rm_rf": there are fs_delete, fs_edit, fs_list`) {
		t.Errorf("an unknown name: %v, %v", ts, err)
	}
}
