package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/mcp/schema"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/policy"
)

// maxWarning bounds what a warning quotes of a schema, in bytes.
const maxWarning = 400

// tools makes bridge tools of what was approved, and says what a person should
// know of them.
func (s *server) tools() (tools []bridge.Tool, warnings []string, err error) {
	var errs []error
	for _, d := range s.pin.Tools {
		t, warned, err := s.tool(d)
		if err != nil {
			errs = append(errs, &Error{Server: s.Name, Tool: d.Name, Err: err})
			continue
		}
		tools, warnings = append(tools, t), append(warnings, warned...)
	}
	return tools, warnings, joined(errs)
}

func (s *server) tool(d Definition) (t bridge.Tool, warnings []string, err error) {
	name, err := toolName(s.Name, d.Name)
	if err != nil {
		return t, nil, err
	}
	flat, err := schema.Flatten(d.Schema)
	if err != nil {
		return t, nil, err
	}
	params, err := bridge.ParseSchema([]byte(flat.Text))
	if err != nil {
		return t, nil, err
	}
	var h hints
	if err := json.Unmarshal([]byte(d.Hints), &h); err != nil {
		return t, nil, err
	}
	if len(flat.Widens) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: its schema is checked by the server only in: %s", name, scan.Line(strings.Join(flat.Widens, ", "), maxWarning)))
	}
	if r := scan.Injection(d.Description + "\n" + flat.Text); r.Score >= scan.Suspicious {
		warnings = append(warnings, fmt.Sprintf("%s: its description reads like orders (score %.2f, %s): look at it before you use it", name, r.Score, r.Hits[0].Rule))
	}
	can := s.caps(h)
	return bridge.Tool{
		Name: name, Doc: schema.FirstLine(d.Description), Server: s.Name, Params: params, Tier: s.Tier, Caps: can, Pinned: true, Unconfined: s.URL == "", Idempotent: s.idempotent(h),
		Run: func(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
			return s.perform(ctx, p, d.Name, flat.Wire, can)
		},
	}, warnings, nil
}

// perform is one call, from the script's arguments to plain data.
func (s *server) perform(ctx context.Context, p *bridge.Permit, tool string, wire map[string]string, can policy.Capabilities) (bridge.Output, error) {
	args := make(map[string]any, len(p.Args()))
	for k, v := range p.Args() {
		if name, differs := wire[k]; differs {
			k = name
		}
		args[k] = sendable(v)
	}
	res, err := s.call(ctx, tool, p.Call(), args)
	if err != nil {
		return bridge.Output{}, err
	}
	fail := func(err error) (bridge.Output, error) {
		return bridge.Output{}, &Error{Server: s.Name, Tool: tool, Err: err}
	}
	for _, f := range labels(res.Meta["ifc"]) {
		if !can.Has(f) {
			return fail(fmt.Errorf("its result is kept back: the server labels it %s, and the tool does not declare that: add it to addCapabilities of the server", policy.Declare(f)))
		}
	}
	if res.NeedsInput() {
		return fail(errors.New("it asks for input, and nobody is there to give it"))
	}
	v, err := s.cfg.value(res, p.Call())
	if err != nil {
		return fail(err)
	}
	return bridge.Output{Value: v}, nil
}

// sendable is plain data as JSON has it: bytes are text where they can be.
func sendable(v any) any {
	switch v := v.(type) {
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
		return base64.StdEncoding.EncodeToString(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = sendable(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = sendable(e)
		}
		return out
	}
	return v
}
