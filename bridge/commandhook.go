package bridge

import (
	"context"
	"encoding/json"

	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/codeact-dev/codeact/policy"
)

// CommandHooks makes a set of commands the hook of an adapter. transcript is the
// path of the redacted copy that hooks are told of, "" for none.
func CommandHooks(set *hooks.Set, transcript string) Hook { return commandHooks{set, transcript} }

type commandHooks struct {
	set        *hooks.Set
	transcript string
}

func (h commandHooks) Before(ctx context.Context, c HookCall) HookResult {
	in, err := h.input(c)
	if err != nil {
		return HookResult{Decision: policy.Decision{Gate: "hooks", Reason: "the call could not be given to the hooks: " + err.Error()}}
	}
	v := h.set.Run(ctx, hooks.PreToolUse, c.Request.Tool.Name, in)
	r := result(v)
	r.Args = v.UpdatedInput
	return r
}

func (h commandHooks) After(ctx context.Context, c HookCall, o HookOutput) HookResult {
	in, err := h.input(c)
	if err != nil {
		return HookResult{Decision: policy.Decision{Gate: "hooks", Reason: "the result could not be given to the hooks: " + err.Error()}}
	}
	in.ToolResponse, in.DurationMs, in.External = o.Value, o.Took.Milliseconds(), o.External
	if o.Failed != "" {
		in.ToolResponse = map[string]any{"error": o.Failed}
	}
	v := h.set.Run(ctx, hooks.PostToolUse, c.Request.Tool.Name, in)
	r := result(v)
	r.Value, r.Replace = v.UpdatedOutput, v.UpdatedOutput != nil
	return r
}

// input says what the hooks are told of a call: Claude Code's names where it has one, ours under
// codeact.
func (h commandHooks) input(c HookCall) (hooks.Input, error) {
	type decided struct {
		Rule     string         `json:"rule"`
		Decision policy.Verdict `json:"decision"`
	}
	r := c.Request
	var rules []decided
	for _, g := range c.Gates {
		rules = append(rules, decided{g.Gate + "/" + g.Rule, g.Verdict})
	}
	ours, err := json.Marshal(map[string]any{"v": 1, "run_id": c.Run, "step": c.Step, "capabilities": r.Tool.Caps.Names(),
		"tier": r.Tool.Tier.Number(), "taint": r.Held, "lease_id": r.Lease.ID, "policy": rules, "args_digest": c.ArgHash,
		"server": r.Tool.Server, "pinned": r.Tool.Pinned})
	return hooks.Input{SessionID: c.Run, RunID: c.Run, TranscriptPath: h.transcript, PermissionMode: r.Run.Mode, ToolInput: r.Args,
		ToolInputSecret: c.Secret, ToolUseID: r.Call, Codeact: ours}, err
}

// result reads a verdict. Anything but the four known words denies.
func result(v hooks.Verdict) HookResult {
	r := HookResult{Decision: policy.Decision{Gate: "hooks", Reason: v.Reason}, Notes: v.Warnings}
	for _, ran := range v.Runs {
		if ran.Outcome != "none" {
			r.Decision.Rule = ran.Name
			r.Notes = append(r.Notes, "hook "+ran.Name+": "+ran.Outcome)
		}
	}
	switch v.Decision {
	case "none":
		r.Decision = policy.Allowed("hooks")
	case "ask":
		r.Decision.Verdict = policy.Ask
	case "stop":
		r.Stop = true
	}
	return r
}
