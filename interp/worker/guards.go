package worker

import (
	"fmt"
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Bounds of what builtins take. They are for the writer of a block, who then reads what to change instead of losing the
// worker; operators and methods have none, and what holds is the confinement of the process.
const (
	maxElements  = 1_000_000 // of a sequence that a builtin walks in one step
	maxTextDepth = 64        // containers inside each other, in a value that becomes text and in JSON
	maxTextBytes = 4 << 20   // of such a text, estimated
	maxIndent    = 64        // bytes that json.indent repeats on each line
	maxDigits    = 4_300     // of a decimal integer: conversion is quadratic in them. The bound is Python's
)

// A guard refuses arguments before the builtin of the same name sees them.
type guard func(name string, args starlark.Tuple, kwargs []starlark.Tuple) error

// guards returns the guarded builtins by name. Those that pass behave exactly as the library's.
func guards() starlark.StringDict {
	out := starlark.StringDict{"range": starlark.NewBuiltin("range", boundedRange)}
	for name, g := range map[string]guard{
		"str": guardText, "repr": guardText, "int": guardInt,
		"list": guardLength, "tuple": guardLength, "sorted": guardLength, "reversed": guardLength, "set": guardLength,
		"zip": guardLength, "enumerate": guardLength, "all": guardLength, "any": guardLength, "max": guardLength, "min": guardLength,
	} {
		out[name] = guarded(starlark.Universe[name].(*starlark.Builtin), g)
	}
	members := starlark.StringDict{}
	for name, g := range map[string]guard{"encode": guardText, "decode": guardJSON, "indent": guardJSON} {
		members[name] = guarded(json.Module.Members[name].(*starlark.Builtin), g)
	}
	out["json"] = &starlarkstruct.Module{Name: "json", Members: members}
	return out
}

// removeGuards leaves the library's builtins.
func (s *session) removeGuards() {
	for name := range guards() {
		delete(s.globals, name)
	}
	s.globals["json"] = json.Module
}

func guarded(b *starlark.Builtin, g guard) *starlark.Builtin {
	return starlark.NewBuiltin(b.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := g(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		return b.CallInternal(thread, args, kwargs)
	})
}

func boundedRange(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Universe["range"].(*starlark.Builtin).CallInternal(thread, args, kwargs)
	if err != nil {
		return nil, err
	}
	if n := starlark.Len(v); n > maxElements {
		return nil, fmt.Errorf("range: %d numbers, at most %d: nest two loops, or use while", n, maxElements)
	}
	return v, nil
}

func guardLength(name string, args starlark.Tuple, _ []starlark.Tuple) error {
	for _, v := range args {
		if n := starlark.Len(v); n > maxElements {
			return fmt.Errorf("%s: a %s of %d elements, at most %d: work on parts of it", name, v.Type(), n, maxElements)
		}
	}
	return nil
}

func guardInt(name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	if s, ok := args[0].(starlark.String); ok && len(s) > maxDigits {
		return fmt.Errorf("%s: a text of %d bytes, at most %d digits", name, len(s), maxDigits)
	}
	return nil
}

func guardText(name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	if _, ok := args[0].(starlark.String); ok {
		return nil // costs no more than it did
	}
	if fault := measureText(args[0]); fault != "" {
		return fmt.Errorf("%s: %s", name, fault)
	}
	return nil
}

// measureText says why v should not become text. It needs no recursion, and visits a shared part as often as the text
// would show it, so that its work is bounded by the same number as the text.
func measureText(v starlark.Value) string {
	type item struct {
		value starlark.Value
		depth int
	}
	left := maxTextBytes
	for stack := []item{{v, 0}}; len(stack) > 0; {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		size := leafSize(it.value)
		left -= size + 2 // a separator
		switch _, number := it.value.(starlark.Int); {
		case number && size > maxDigits*10/24: // some 10/3 bits a digit, 8 bits a byte
			return fmt.Sprintf("an integer of more than %d digits", maxDigits)
		case it.depth > maxTextDepth:
			return fmt.Sprintf("a value nested deeper than %d levels, or that contains itself: convert its parts", maxTextDepth)
		case left < 0 || starlark.Len(it.value) > left:
			return fmt.Sprintf("a text of more than %d MiB: convert parts of the value", maxTextBytes>>20)
		}
		for _, part := range parts(it.value) {
			stack = append(stack, item{part, it.depth + 1})
		}
	}
	return ""
}

// parts returns what the text of v shows of other values.
func parts(v starlark.Value) (out []starlark.Value) {
	switch v := v.(type) {
	case starlark.Tuple:
		return v
	case *starlark.List, *starlark.Set:
		for e := range starlark.Elements(v.(starlark.Iterable)) {
			out = append(out, e)
		}
	case *starlark.Dict:
		for k, e := range starlark.Entries(v) {
			out = append(out, k, e)
		}
	case *starlarkstruct.Struct:
		for _, e := range v.Entries() {
			out = append(out, e)
		}
	}
	return out
}

// guardJSON bounds the nesting, the length and the numbers of a JSON text, and the prefixes that indent repeats.
func guardJSON(name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, kw := range kwargs {
		key := string(kw[0].(starlark.String))
		if s, ok := kw[1].(starlark.String); ok && len(s) > maxIndent && (key == "prefix" || key == "indent") {
			return fmt.Errorf("%s: %s of %d bytes, at most %d", name, key, len(s), maxIndent)
		}
	}
	if len(args) == 0 {
		return nil
	}
	s, ok := args[0].(starlark.String)
	if !ok {
		return nil
	}
	if len(s) > maxTextBytes {
		return fmt.Errorf("%s: a text of %d bytes, at most %d", name, len(s), maxTextBytes)
	}
	if fault := measureJSON(string(s)); fault != "" {
		return fmt.Errorf("%s: %s", name, fault)
	}
	return nil
}

// measureJSON counts brackets and digits outside strings. It does not validate: the decoder does.
func measureJSON(s string) string {
	depth, digits := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			i = stringEnd(s, i)
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case '0' <= c && c <= '9':
			digits++
		}
		if i >= len(s) || s[i] < '0' || s[i] > '9' {
			digits = 0
		}
		if depth > maxTextDepth {
			return fmt.Sprintf("nested deeper than %d levels", maxTextDepth)
		}
		if digits > maxDigits {
			return fmt.Sprintf("a number of more than %d digits", maxDigits)
		}
	}
	return ""
}

// stringEnd returns the index of the quote that ends the JSON string starting at i, or len(s).
func stringEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		end := strings.IndexAny(s[i:], `"\`)
		if end < 0 {
			return len(s)
		}
		if i += end; s[i] == '"' {
			return i
		}
		i++ // the escaped byte
	}
	return len(s)
}
