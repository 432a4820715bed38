package worker

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/codeact-dev/codeact/interp/wire"
)

// finish is final(value): it converts the value now, so that nothing later can change it, and ends the block.
func finish(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var value starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "value", &value); err != nil {
		return nil, err
	}
	r := runOf(thread)
	if r.ended != nil {
		return nil, r.ended
	}
	plain, err := toPlain(value, r.limits.FinalBytes)
	if err != nil {
		return nil, fmt.Errorf("final: %w", err)
	}
	r.final, r.finished = plain, true
	return nil, r.end(errFinal)
}

// attempt is attempt(tool, /, **kw): the tool's error becomes a value. What ends the block passes through.
func (s *session) attempt(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("attempt: got %d positional arguments; usage: attempt(tool, name=value, ...)", len(args))
	}
	b, ok := args[0].(*starlark.Builtin)
	if ok && b == s.final {
		return finish(thread, b, nil, kwargs)
	}
	t, ok := s.tools[b]
	if !ok {
		return nil, fmt.Errorf("attempt: the first argument is a %s, want a tool: attempt(tool, name=value, ...)", args[0].Type())
	}
	value, err := t.run(thread, b, nil, kwargs)
	switch {
	case runOf(thread).ended != nil:
		return nil, err
	case err != nil:
		return s.failure(err.Error()), nil
	}
	return outcome(true, value, starlark.None), nil
}

// failure is the outcome of a call that failed.
func (s *session) failure(text string) starlark.Value {
	return outcome(false, starlark.None, starlark.String(wire.Clip(text, s.limits.ErrorBytes)))
}

// outcome is what attempt returns.
func outcome(ok bool, value, err starlark.Value) starlark.Value {
	return starlarkstruct.FromStringDict(starlarkstruct.Default,
		starlark.StringDict{"ok": starlark.Bool(ok), "value": value, "error": err})
}
