package flow

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// made is a tool call that a program made.
type made struct {
	Block          int
	Pos, Tool, Arg string
}

// machine runs blocks as the worker does, in this process, and keeps the calls.
type machine struct {
	globals starlark.StringDict
	tools   map[*starlark.Builtin]Tool
	answer  func(tool, args string) starlark.Value // nil: the tool fails
	calls   []made
	n       int
	steps   uint64
	ended   error
}

var errEnded = errors.New("ended")

func newMachine(tools []Tool, answer func(tool, args string) starlark.Value) *machine {
	m := &machine{tools: map[*starlark.Builtin]Tool{}, answer: answer}
	m.globals = starlark.StringDict{"json": json.Module, "math": math.Module,
		"struct":   starlark.NewBuiltin("struct", starlarkstruct.Make),
		"final":    starlark.NewBuiltin("final", m.final),
		"attempt":  starlark.NewBuiltin("attempt", m.attempt),
		"parallel": starlark.NewBuiltin("parallel", m.parallel)}
	for _, t := range tools {
		b := starlark.NewBuiltin(t.Name, m.tool)
		m.tools[b], m.globals[t.Name] = t, b
	}
	return m
}

func (m *machine) final(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	m.ended = errEnded
	return nil, m.ended
}

func (m *machine) tool(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	if m.ended != nil {
		return nil, m.ended
	}
	t := m.tools[b]
	bound := make([]string, len(t.Params))
	for i, v := range args {
		if i >= len(bound) {
			return nil, errors.New("too many arguments")
		}
		bound[i] = v.String()
	}
next:
	for _, pair := range kw {
		for i, p := range t.Params {
			if p == string(pair[0].(starlark.String)) && bound[i] == "" {
				bound[i] = pair[1].String()
				continue next
			}
		}
		return nil, errors.New("bad argument")
	}
	text := strings.Join(bound, ", ")
	m.calls = append(m.calls, made{m.n, m.position(th), t.Name, text})
	if len(m.calls) > 200 {
		m.ended = errEnded
		return nil, m.ended
	}
	if v := m.answer(t.Name, text); v != nil {
		return v, nil
	}
	return nil, errors.New("the tool failed")
}

// position is worker.run.position.
func (m *machine) position(th *starlark.Thread) string {
	pos := th.CallFrame(1).Pos
	if !pos.IsValid() || pos.Line == 0 {
		return ""
	}
	file := pos.Filename()
	if file == fmt.Sprintf("block#%d", m.n) {
		file = "block"
	}
	return fmt.Sprintf("%s:%d:%d", file, pos.Line, pos.Col)
}

func (m *machine) outcome(v starlark.Value, err error) (starlark.Value, error) {
	ok, text := err == nil, starlark.Value(starlark.None)
	if m.ended != nil {
		return nil, m.ended
	}
	if err != nil {
		v, text = starlark.None, starlark.String(err.Error())
	}
	return starlarkstruct.FromStringDict(starlarkstruct.Default,
		starlark.StringDict{"ok": starlark.Bool(ok), "value": v, "error": text}), nil
}

func (m *machine) attempt(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, errors.New("attempt: one positional argument")
	}
	b, ok := args[0].(*starlark.Builtin)
	if ok && b.Name() == "final" {
		return m.final(th, b, nil, kw)
	}
	if _, known := m.tools[b]; !ok || !known {
		return nil, errors.New("attempt: want a tool")
	}
	return m.outcome(m.tool(th, b, nil, kw))
}

func (m *machine) parallel(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, errors.New("parallel: one argument")
	}
	it := starlark.Iterate(args[0])
	if it == nil {
		return nil, errors.New("parallel: want a list")
	}
	defer it.Done()
	var x starlark.Value
	out := &starlark.List{}
	for it.Next(&x) {
		pair, ok := x.(starlark.Tuple)
		if !ok || len(pair) != 2 {
			return nil, errors.New("parallel: want pairs")
		}
		b, ok := pair[0].(*starlark.Builtin)
		d, isDict := pair[1].(*starlark.Dict)
		if _, known := m.tools[b]; !ok || !known || !isDict {
			return nil, errors.New("parallel: want (tool, {})")
		}
		v, err := m.outcome(m.tool(th, b, nil, d.Items()))
		if err != nil {
			return nil, err
		}
		out.Append(v)
	}
	return out, nil
}

// block runs one block, as worker.run.interpret does.
func (m *machine) block(src string) error {
	m.n++
	m.ended = nil
	f, err := dialect.Parse(fmt.Sprintf("block#%d", m.n), src, 0)
	if err != nil {
		return err
	}
	if k := len(f.Stmts); k > 0 {
		if last, ok := f.Stmts[k-1].(*syntax.ExprStmt); ok {
			start := syntax.Start(last)
			f.Stmts[k-1] = &syntax.AssignStmt{OpPos: start, Op: syntax.EQ, LHS: &syntax.Ident{NamePos: start, Name: "$value"}, RHS: last.X}
		}
	}
	th := &starlark.Thread{Print: func(*starlark.Thread, string) {}}
	th.SetMaxExecutionSteps(5_000)
	err = starlark.ExecREPLChunk(f, th, m.globals)
	delete(m.globals, "$value")
	m.steps += th.Steps
	return err
}
