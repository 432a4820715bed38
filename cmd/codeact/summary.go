package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/policy"
)

// metadata are the keys of each event that say what happened and hold nothing that
// an agent, a tool or a server wrote. It is a list of what may be shown: a key that
// is new and was not thought of stays hidden without --content.
var metadata = map[string][]string{
	"run.started":        {"task", "mode", "principal", "model", "sandbox", "box", "loosened", "task_digest", "policy", "versions"},
	"step.started":       {"step"},
	"model.completed":    {"step", "usage"},
	"code.proposed":      {"step"},
	"call.decided":       {"call", "tool", "bad", "lease", "held"},
	"approval.requested": {"id", "call", "tool", "capabilities", "held", "unknown", "digest", "expires"},
	"approval.resolved":  {"call", "yes", "scope", "by", "waited"},
	"lease.granted":      {"id", "tool", "tier", "uses", "expires", "approved_by"},
	"call.started":       {"call", "tool", "lease", "attempt", "sends"},
	"call.completed":     {"call", "tool", "bytes", "ms", "external", "taint", "spill", "unknown", "draft"},
	"draft.opened":       {"draft", "call", "held"},
	"taint.changed":      {"held", "by"},
	"limit.warning":      {"limit", "used", "of"},
	"worker.died":        {"step", "cause", "security"},
	"step.completed":     {"step", "error", "lost"},
	"lesson.proposed":    {"id", "kind", "calls"},
	"hook.ran":           {"turn", "refused"},
	"run.paused":         {"approval", "call"},
	"run.completed":      {"status", "exit_code", "usage", "blocked_sends"},
}

// envelope are the keys that every line has.
var envelope = []string{"v", "seq", "ts", "run_id", "type", "prev"}

// toolName is how tools are named. Another name was made up by a script.
var toolName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,63}$`)

// summary is one event: a line of what happened, and with content, below it,
// everything else that the event holds, escaped.
func summary(l store.Line, content bool) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(l.Body, &fields); err != nil {
		return "", fmt.Errorf("line %d: %w", l.Seq, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%4d %s %-18s", l.Seq, l.TS.Local().Format("15:04:05.000"), scan.Line(l.Type, 40))
	if verdict := verdictOf(fields["decision"]); verdict != "" {
		b.WriteString(" " + verdict)
	}
	known := metadata[l.Type]
	for _, k := range known {
		v := plainText(fields[k])
		if k == "tool" && !toolName.MatchString(v) {
			v = "(not a tool's name)"
		}
		if k == "held" || k == "taint" {
			v = labels(fields[k])
		}
		v = strings.ReplaceAll(v, l.RunID+"/", "")
		if !slices.Contains(empty, v) || k == "yes" {
			b.WriteString(" " + k + "=" + scan.Line(v, 200))
		}
	}
	if !content {
		return b.String(), nil
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		v := plainText(fields[k])
		if !slices.Contains(envelope, k) && !slices.Contains(known, k) && !slices.Contains(empty, v) {
			b.WriteString(quoted(k, v))
		}
	}
	return b.String(), nil
}

// labels names what a taint holds. The calls that brought it in stand with the
// content.
func labels(raw json.RawMessage) string {
	var t policy.Taint
	if json.Unmarshal(raw, &t) != nil || t.Clean() {
		return ""
	}
	return t.String()
}

// empty are the values that say nothing.
var empty = []string{"", "null", "{}", "[]", "false", "0"}

// plainText is a JSON value as it is read: a text without its quotes.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// quoted shows content below its event. The bar in front of each line keeps it from
// looking like one.
func quoted(key, value string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n       %s:", scan.Line(key, 60))
	for line := range strings.Lines(strings.TrimRight(untabbed(value), "\n")) {
		b.WriteString("\n       | " + strings.TrimRight(line, "\n"))
	}
	return b.String()
}

// verdictOf is who decided what. The reason is not shown: it may quote arguments.
func verdictOf(raw json.RawMessage) string {
	var d struct{ Verdict, Gate, Rule string }
	if len(raw) == 0 || json.Unmarshal(raw, &d) != nil {
		return ""
	}
	return strings.TrimRight(scan.Line(d.Verdict+" "+d.Gate+"/"+d.Rule, 120), " /")
}
