package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// The decisions of a Verdict, the weakest first.
const (
	None = "none"
	Ask  = "ask"
	Deny = "deny"
	Stop = "stop"
)

var strictness = []string{None, Ask, Deny, Stop}

func stricter(a, b string) string {
	if slices.Index(strictness, b) > slices.Index(strictness, a) {
		return b
	}
	return a
}

// An answer is what one hook said.
type answer struct {
	decision string
	reason   string
	allowed  bool // it said allow, which counts for nothing
	input    map[string]any
	output   any
	prompt   string // UserPromptSubmit: instead of what the user asked
	context  string // UserPromptSubmit: beside it
}

// verdictKeys are the words by which JSON that is not alone on standard output is known to be a verdict.
var verdictKeys = []string{`"permissionDecision"`, `"decision"`, `"hookSpecificOutput"`, `"continue"`}

var errBuried = errors.New("invalid JSON: other text stands before the verdict; print nothing else on standard output")

// parse reads the standard output of a hook that exited with 0. Text that is not JSON is no opinion.
func parse(event string, out []byte) (answer, error) {
	out = bytes.TrimSpace(bytes.TrimPrefix(out, []byte("\ufeff")))
	if !bytes.HasPrefix(out, []byte("{")) {
		if len(out) > 0 && (out[0] == '[' || out[0] == '"') && json.Valid(out) {
			return answer{}, errors.New("invalid JSON: a list or a text is no verdict; print an object")
		}
		if buried(out) {
			return answer{}, errBuried
		}
		return answer{decision: None, context: spoken(event, out)}, nil
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	var top map[string]any
	if err := d.Decode(&top); err != nil {
		return answer{}, fmt.Errorf("invalid JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return answer{}, errors.New("invalid JSON: more text stands after the verdict")
	}
	d = json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	if err := once(d); err != nil {
		return answer{}, fmt.Errorf("invalid JSON: %w", err)
	}
	return read(event, top)
}

// once refuses JSON in which an object has a key twice: readers differ on which of the two counts, so nobody knows what was decided.
// Preconditions: d reads a value that was decoded once, which bounds its depth.
func once(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	seen := make(map[string]bool)
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("the key %q stands twice in one object", name)
			}
			seen[name] = true
		}
		if err := once(d); err != nil {
			return err
		}
	}
	_, err = d.Token() // the end of the object or list
	return err
}

// spoken is what text that is not JSON adds to a prompt, as it does in Claude Code. At every other event it is for people.
func spoken(event string, out []byte) string {
	if event != UserPromptSubmit {
		return ""
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}

// buried reports a verdict that a log line before it would hide.
func buried(out []byte) bool {
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
			return slices.ContainsFunc(verdictKeys, func(k string) bool { return bytes.Contains(out, []byte(k)) })
		}
	}
	return false
}

// The keys that a verdict may have, those of Claude Code's that say nothing here too. Another one is a misspelt verdict: it must
// not count for nothing.
var (
	topKeys = []string{"continue", "stopReason", "suppressOutput", "systemMessage", "terminalSequence", "additionalContext", "decision", "reason",
		"hookSpecificOutput"}
	specificKeys = []string{"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext",
		"updatedToolOutput", "updatedMCPToolOutput", "updatedPrompt"}
)

// unknown is the first key of m that is none of these, in order.
func unknown(m map[string]any, keys []string) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(keys, k) {
			return fmt.Errorf("invalid JSON: unknown key %q: want some of %s", k, strings.Join(keys, ", "))
		}
	}
	return nil
}

// fields reads members of an object and keeps the first that has a wrong type.
type fields struct {
	m   map[string]any
	err error
}

func field[T any](f *fields, name string) (v T, ok bool) {
	raw, present := f.m[name]
	if !present || raw == nil {
		return v, false
	}
	if v, ok = raw.(T); !ok && f.err == nil {
		f.err = fmt.Errorf("invalid JSON: %s is a %T, want a %T", name, raw, v)
	}
	return v, ok
}

func read(event string, top map[string]any) (a answer, err error) {
	a.decision = None
	f := &fields{m: top, err: unknown(top, topKeys)}
	a.judge(f, "decision", "reason")
	if goOn, ok := field[bool](f, "continue"); ok && !goOn {
		a.decision = Stop
		if why, _ := field[string](f, "stopReason"); why != "" {
			a.reason = why
		}
	}
	specific, _ := field[map[string]any](f, "hookSpecificOutput")
	g := &fields{m: specific, err: unknown(specific, specificKeys)}
	if name, ok := field[string](g, "hookEventName"); ok && name != event {
		return a, fmt.Errorf("invalid JSON: hookEventName is %q, the event is %s", name, event)
	}
	a.judge(g, "permissionDecision", "permissionDecisionReason")
	if in, ok := field[map[string]any](g, "updatedInput"); ok {
		if event != PreToolUse {
			return a, fmt.Errorf("invalid JSON: updatedInput in %s, where the call is over", event)
		}
		a.input = in
		plainNumbers(a.input)
	}
	for _, key := range []string{"updatedMCPToolOutput", "updatedToolOutput"} {
		if out, ok := g.m[key]; ok && event == PostToolUse {
			a.output = plainNumbers(out)
		}
	}
	if err := a.reword(event, f, g); err != nil {
		return a, err
	}
	if f.err == nil {
		f.err = g.err
	}
	return a, f.err
}

// reword reads what a hook makes of the prompt.
func (a *answer) reword(event string, top, specific *fields) error {
	prompt, ok := field[string](specific, "updatedPrompt")
	switch {
	case ok && event != UserPromptSubmit:
		return fmt.Errorf("invalid JSON: updatedPrompt in %s, where there is no prompt", event)
	case ok && strings.TrimSpace(prompt) == "":
		return errors.New("invalid JSON: updatedPrompt is empty; to refuse the prompt, give a decision")
	case event == UserPromptSubmit:
		outer, _ := field[string](top, "additionalContext")
		inner, _ := field[string](specific, "additionalContext")
		a.prompt, a.context = prompt, strings.TrimSpace(outer+"\n"+inner)
	}
	return nil
}

// judge adds one decision and its reason.
func (a *answer) judge(f *fields, decision, reason string) {
	said, ok := field[string](f, decision)
	why, _ := field[string](f, reason)
	if !ok {
		return
	}
	next := None
	switch said {
	case "deny", "block":
		next = Deny
	case "ask", "defer":
		next = Ask
	case "allow", "approve":
		a.allowed = true
	default:
		f.err = fmt.Errorf("invalid JSON: %s is %q, want deny, ask or allow", decision, said)
	}
	if a.decision = stricter(a.decision, next); a.decision == next && why != "" {
		a.reason = why
	}
}

// plainNumbers replaces json.Number, in place, by int64, by *big.Int where that is too small, or by float64. Its depth is bounded by
// the decoder, which stops at 10,000 levels.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plainNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainNumbers(e)
		}
	case json.Number:
		return plainNumber(v)
	}
	return v
}

func plainNumber(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	if !strings.ContainsAny(string(n), ".eE") {
		if b, ok := new(big.Int).SetString(string(n), 10); ok {
			return b
		}
	}
	f, err := n.Float64()
	if err != nil { // out of range: as text it at least cannot be taken for another number
		return string(n)
	}
	return f
}
