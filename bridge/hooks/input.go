package hooks

import (
	"encoding/json"
	"fmt"
)

// An Input is what a hook reads on its standard input: the names of Claude Code first, ours under codeact.
type Input struct {
	SessionID       string
	RunID           string // for the environment; "" means SessionID
	TranscriptPath  string // of a redacted copy
	Cwd             string // "" means the directory of the Set
	PermissionMode  string
	ToolInput       map[string]any // redacted
	ToolInputSecret map[string]any // as the tool gets it; only for a hook with ReceivesSecrets; nil means ToolInput
	ToolUseID       string
	ToolResponse    any   // PostToolUse
	DurationMs      int64 // PostToolUse
	External        bool  // PostToolUse: the response came from outside
	Message         string
	Prompt          string
	Codeact         json.RawMessage // an object: v, run_id, step, capabilities, tier, taint, …
}

// payload is an Input as JSON.
type payload struct {
	SessionID      string          `json:"session_id"`
	TranscriptPath string          `json:"transcript_path"`
	Cwd            string          `json:"cwd"`
	HookEventName  string          `json:"hook_event_name"`
	PermissionMode string          `json:"permission_mode,omitempty"`
	ToolName       string          `json:"tool_name,omitempty"`
	ToolInput      map[string]any  `json:"tool_input,omitzero"`
	ToolUseID      string          `json:"tool_use_id,omitempty"`
	Message        string          `json:"message,omitempty"`
	Prompt         string          `json:"prompt,omitempty"`
	Codeact        json.RawMessage `json:"codeact,omitempty"`
}

// after is what PostToolUse adds.
type after struct {
	ToolResponse any   `json:"tool_response"`
	DurationMs   int64 `json:"duration_ms"`
	External     bool  `json:"external"`
}

// marshal gives the JSON for one hook.
func (in Input) marshal(event, tool, dir string, secrets bool) ([]byte, error) {
	p := payload{
		SessionID: in.SessionID, TranscriptPath: in.TranscriptPath, Cwd: in.Cwd, HookEventName: event, PermissionMode: in.PermissionMode,
		ToolName: tool, ToolInput: in.ToolInput, ToolUseID: in.ToolUseID, Message: in.Message, Prompt: in.Prompt, Codeact: in.Codeact,
	}
	if p.Cwd == "" {
		p.Cwd = dir
	}
	if secrets && in.ToolInputSecret != nil {
		p.ToolInput = in.ToolInputSecret
	}
	if p.ToolInput == nil && tool != "" {
		p.ToolInput = map[string]any{}
	}
	var v any = p
	if event == PostToolUse {
		v = struct {
			payload
			after
		}{p, after{in.ToolResponse, in.DurationMs, in.External}}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return append(data, '\n'), nil
}

func (in Input) runID() string {
	if in.RunID != "" {
		return in.RunID
	}
	return in.SessionID
}
