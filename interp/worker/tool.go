package worker

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/codeact-dev/codeact/interp/wire"
)

// tool is a granted tool as a builtin. It checks the shape of a call for the writer's sake; the host checks it again.
type tool struct{ wire.Signature }

// run is the builtin's function: bind, ask the host, convert the answer.
func (t tool) run(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r := runOf(thread)
	if r.ended != nil {
		return nil, r.ended
	}
	plain, err := t.plain(args, kwargs, &converter{budget: wire.Budget{Bytes: r.limits.ArgBytes}})
	if err != nil {
		return nil, err
	}
	reply, err := r.ask(wire.Call{Tool: t.Name, Args: plain, Position: r.position(thread)})
	switch {
	case err != nil:
		return nil, err
	case reply.Failed:
		return nil, errors.New(reply.Error)
	}
	return toStarlark(reply.Value), nil
}

// plain binds and converts the arguments of a call.
func (t tool) plain(args starlark.Tuple, kwargs []starlark.Tuple, c *converter) (map[string]any, error) {
	bound, err := t.bind(args, kwargs)
	if err != nil {
		return nil, err
	}
	plain, err := c.args(bound)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return plain, nil
}

// ask sends one call and waits for its reply. A lost or confused host ends the block.
func (r *run) ask(c wire.Call) (wire.Reply, error) {
	r.number(&c)
	var reply wire.Reply
	if err := r.exchange(c, &reply); err != nil {
		return reply, err
	}
	return reply, r.accept(c, reply)
}

// number gives c its place in the block.
func (r *run) number(c *wire.Call) {
	r.calls++
	c.Block, c.N = r.block.ID, r.calls
}

func (r *run) exchange(question, answer wire.Message) error {
	if err := r.conn.Send(question); err != nil {
		return r.end(err)
	}
	if err := receive(r.conn, answer); err != nil {
		return r.end(err)
	}
	return nil
}

// accept checks that reply answers c and that the block may go on.
func (r *run) accept(c wire.Call, reply wire.Reply) error {
	if reply.N != c.N {
		return r.end(fmt.Errorf("worker: reply to call %d, want %d", reply.N, c.N))
	}
	if reply.Unwind {
		return r.end(errUnwind)
	}
	return nil
}

// position says where the script called, as far as the worker can be believed: "block:line:col" in this block,
// "block#2:line:col" in a function of the second block. It is empty where a builtin made the call.
func (r *run) position(thread *starlark.Thread) string {
	pos := thread.CallFrame(1).Pos
	if !pos.IsValid() || pos.Line == 0 {
		return ""
	}
	file := pos.Filename()
	if file == r.name {
		file = "block"
	}
	return fmt.Sprintf("%s:%d:%d", file, pos.Line, pos.Col)
}

// bind maps arguments to parameters. Every fault of the call is reported at once, with the signature.
func (t tool) bind(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.StringDict, error) {
	bound := starlark.StringDict{}
	var faults []string
	fault := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }

	if len(args) > len(t.Params) {
		fault("%d positional arguments, at most %d", len(args), len(t.Params))
		args = args[:len(t.Params)]
	}
	for i, v := range args {
		bound[t.Params[i].Name] = v
	}
	for _, kw := range kwargs {
		name := string(kw[0].(starlark.String))
		switch _, dup := bound[name]; {
		case dup:
			fault("argument %q given twice", name)
		case !t.has(name):
			fault("unknown argument %q%s", wire.Clip(name, 60), didYouMean(name, t.paramNames()))
		default:
			bound[name] = kw[1]
		}
	}
	for _, p := range t.Params {
		v, given := bound[p.Name]
		switch {
		case !given && p.Required:
			fault("missing argument %q", p.Name)
		case given && v == starlark.None && !p.Required:
			delete(bound, p.Name)
		case given && !fits(p.Type, v):
			fault("argument %q is %s, want %s", p.Name, v.Type(), p.Type)
		}
	}
	if faults != nil {
		return nil, fmt.Errorf("%s: %s; usage: %s", t.Name, strings.Join(faults, "; "), t.Signature)
	}
	return bound, nil
}

func (t tool) has(name string) bool {
	for _, p := range t.Params {
		if p.Name == name {
			return true
		}
	}
	return false
}

func (t tool) paramNames() []string {
	names := make([]string, len(t.Params))
	for i, p := range t.Params {
		names[i] = p.Name
	}
	return names
}

// fits says whether v can be the JSON type; an unknown type takes nothing.
func fits(jsonType string, v starlark.Value) bool {
	switch v.(type) {
	case starlark.String:
		return jsonType == "string" || jsonType == ""
	case starlark.Int:
		return jsonType == "integer" || jsonType == "number" || jsonType == ""
	case starlark.Float:
		return jsonType == "number" || jsonType == ""
	case starlark.Bool:
		return jsonType == "boolean" || jsonType == ""
	case *starlark.Dict, *starlarkstruct.Struct:
		return jsonType == "object" || jsonType == ""
	case starlark.Sequence:
		return jsonType == "array" || jsonType == ""
	}
	return jsonType == ""
}
