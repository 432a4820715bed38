package leases

import "github.com/codeact-dev/codeact/policy"

// known is the seed's list of tools by tier, with the built-in tools beside
// their counterparts there (read_file is our fs_read). A name that is not in it
// asks every time.
var known = map[string]policy.Tier{
	"echo": policy.Free, "time": policy.Free, "json": policy.Free,
	"memory_search": policy.Free, "memory_read": policy.Free, "memory_tree": policy.Free,
	"web_search": policy.Free, "llm_context": policy.Free,
	"tool_info": policy.Free, "tool_list": policy.Free, "skill_list": policy.Free,
	"list_dir": policy.Free, "read_file": policy.Free,
	"job_status": policy.Free, "list_jobs": policy.Free, "routine_list": policy.Free,
	"fs_read": policy.Free, "fs_list": policy.Free, "fs_search": policy.Free, "time_now": policy.Free, "secret_list": policy.Free,

	"http": policy.AskOnce, "shell": policy.AskOnce, "write_file": policy.AskOnce, "apply_patch": policy.AskOnce,
	"memory_write": policy.AskOnce, "github": policy.AskOnce, "gmail": policy.AskOnce,
	"slack_tool": policy.AskOnce, "message": policy.AskOnce,
	"fs_write": policy.AskOnce, "fs_edit": policy.AskOnce, "http_fetch": policy.AskOnce,

	"build_software": policy.AlwaysAsk, "create_job": policy.AlwaysAsk,
	"routine_create": policy.AlwaysAsk, "routine_delete": policy.AlwaysAsk,
	"tool_install": policy.AlwaysAsk, "tool_remove": policy.AlwaysAsk,
	"skill_install": policy.AlwaysAsk, "skill_remove": policy.AlwaysAsk,
	"secret_delete": policy.AlwaysAsk, "fs_move": policy.AlwaysAsk, "fs_delete": policy.AlwaysAsk,
}

// KnownTier returns the tier of a tool name in the built-in list, and AlwaysAsk
// for every other name.
func KnownTier(tool string) policy.Tier { return known[tool] }
