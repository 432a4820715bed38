package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan/scantest"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/policy"
)

// A place shows a text of a stranger. Whoever reads it must see neither what steers
// the terminal nor a line that the program did not write.
type place struct {
	show func(text string) string
	open bool // the text may have lines of its own, each behind a mark of the place
	long int  // bytes that a line may have, where they are more than scantest.MaxLine
}

// run puts every text of the table through the place.
func (p place) run(t *testing.T, name string) {
	t.Helper()
	lines := strings.Count(p.show("x"), "\n")
	for _, e := range scantest.Escapes() {
		if e.Line && p.open {
			continue
		}
		shown := p.show(e.Text[:min(len(e.Text), 3*scantest.MaxLine/2)])
		if n := strings.Count(shown, "\n"); n != lines && !p.open {
			t.Errorf("%s: %s made %d lines of %d", name, e.Name, n, lines)
		}
		if e.Line && p.long > 0 && len(shown) < p.long {
			continue
		}
		if left := e.Left(strings.ReplaceAll(shown, "\n", " ")); left != "" {
			t.Errorf("%s: %s shows %.40q", name, e.Name, left)
		}
	}
}

// Every field of a question is escaped. (FAULTS B38: the title was not.)
func TestB38EveryFieldOfTheDialogIsEscaped(t *testing.T) {
	tainted := func(s string) policy.Taint {
		return policy.Tainted(policy.Private, s).Join(policy.Tainted(policy.Untrusted, s))
	}
	for name, p := range map[string]struct {
		question func(s string) bridge.Question
		open     bool
		long     int
	}{
		"tool":            {question: func(s string) bridge.Question { return bridge.Question{Tool: s} }},
		"server":          {question: func(s string) bridge.Question { return bridge.Question{Server: s} }},
		"pinned server":   {question: func(s string) bridge.Question { return bridge.Question{Server: s, Pinned: true} }},
		"call":            {question: func(s string) bridge.Question { return bridge.Question{Call: s} }},
		"gate":            {question: func(s string) bridge.Question { return bridge.Question{Gates: []policy.Decision{{Gate: s}}} }},
		"rule":            {question: func(s string) bridge.Question { return bridge.Question{Gates: []policy.Decision{{Rule: s}}} }},
		"reason":          {question: func(s string) bridge.Question { return bridge.Question{Gates: []policy.Decision{{Reason: s}}} }},
		"name of an arg":  {question: func(s string) bridge.Question { return bridge.Question{Args: []bridge.Arg{{Name: s}}} }},
		"value":           {question: func(s string) bridge.Question { return bridge.Question{Args: []bridge.Arg{{Value: s}}} }, open: true},
		"where it was":    {question: func(s string) bridge.Question { return bridge.Question{Args: []bridge.Arg{{Seen: []string{s}}}} }},
		"taint of an arg": {question: func(s string) bridge.Question { return bridge.Question{Args: []bridge.Arg{{Taint: tainted(s)}}} }},
		"parameter":       {question: func(s string) bridge.Question { return bridge.Question{Unnamed: []policy.UnnamedLeaf{{Param: s}}} }},
		"unnamed":         {question: func(s string) bridge.Question { return bridge.Question{Unnamed: []policy.UnnamedLeaf{{Value: s}}} }},
		"nearest":         {question: func(s string) bridge.Question { return bridge.Question{Unnamed: []policy.UnnamedLeaf{{Near: s}}} }},
		"path's name":     {question: func(s string) bridge.Question { return bridge.Question{Paths: []policy.PathFact{{Param: s}}} }},
		"path":            {question: func(s string) bridge.Question { return bridge.Question{Paths: []policy.PathFact{{Abs: s}}} }, long: 5000},
		"host's name":     {question: func(s string) bridge.Question { return bridge.Question{URLs: []policy.URLFact{{Param: s}}} }},
		"host":            {question: func(s string) bridge.Question { return bridge.Question{URLs: []policy.URLFact{{Host: s}}} }},
		"port":            {question: func(s string) bridge.Question { return bridge.Question{URLs: []policy.URLFact{{Port: s}}} }},
		"risk": {question: func(s string) bridge.Question {
			return bridge.Question{Shell: &policy.ShellFact{Parsed: true, Risk: s}}
		}},
		"shell's reason": {question: func(s string) bridge.Question { return bridge.Question{Shell: &policy.ShellFact{Reason: s}} }},
		"operand":        {question: func(s string) bridge.Question { return bridge.Question{Files: []bridge.Operand{{Path: s}}} }, long: 5000},
		"its digest":     {question: func(s string) bridge.Question { return bridge.Question{Files: []bridge.Operand{{SHA256: s}}} }},
		"capabilities":   {question: func(s string) bridge.Question { return bridge.Question{Capabilities: []string{s}} }},
		"taint":          {question: func(s string) bridge.Question { return bridge.Question{Held: tainted(s)} }},
		"lease":          {question: func(s string) bridge.Question { return bridge.Question{Lease: s} }, long: 5000},
		"diff":           {question: func(s string) bridge.Question { return bridge.Question{Diff: s} }, open: true},
	} {
		place{show: func(s string) string { return dialog(p.question(s)) }, open: p.open, long: p.long}.run(t, name)
	}
}

// Nor does what is said around a question show anything of the table.
func TestB38WhatStandsAroundTheDialogIsEscaped(t *testing.T) {
	asked := func(qs ...bridge.Question) string {
		var b strings.Builder
		s := &sys{stdin: strings.NewReader(strings.Repeat("no\n", len(qs))), stderr: &b, env: noColor}
		p := &prompter{sys: s, progress: newProgress(s, "never"), flush: func() {}, here: func() bool { return true }, size: func() (int, int) { return 4000, 9000 }}
		if _, err := p.ApproveAll(t.Context(), qs); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	place{show: func(s string) string {
		return asked(bridge.Question{Tool: s, Diff: strings.Repeat("long ", maxDialog)})
	}}.run(t, "too long to be shown")
	place{show: func(s string) string { return asked(bridge.Question{Tool: s}) }}.run(t, "a tool of a batch")
	place{show: func(s string) string { return asked(bridge.Question{Call: s}) }}.run(t, "a call of a batch")
}

// A line of the progress is one line, whatever happened in it.
func TestProgressShowsNothingOfTheEscapeTable(t *testing.T) {
	shown := func(events ...engine.Event) string {
		var b strings.Builder
		p := newProgress(&sys{stderr: &b, errTTY: true, env: noColor}, "auto")
		p.every = true
		for _, e := range events {
			p.event(e)
		}
		return strings.ReplaceAll(b.String(), "\r\x1b[K", "")
	}
	decided := func(tool, reason string, args map[string]any) *engine.CallDecided {
		e := &engine.CallDecided{}
		e.Tool, e.Args, e.Decision = tool, args, policy.Decision{Gate: "policy", Reason: reason}
		return e
	}
	completed := func(tool, failed string) *engine.CallCompleted {
		e := &engine.CallCompleted{}
		e.Tool, e.Failed = tool, failed
		return e
	}
	ended := func(o engine.Outcome) string {
		var b strings.Builder
		newProgress(&sys{stderr: &b, env: noColor}, "auto").end(o)
		return b.String()
	}
	for name, p := range map[string]place{
		"thought":             {show: func(s string) string { return shown(&engine.ModelCompleted{Text: "x" + s}) }},
		"refused tool":        {show: func(s string) string { return shown(decided(s, "", nil)) }},
		"reason":              {show: func(s string) string { return shown(decided("t", s, nil)) }},
		"name of an argument": {show: func(s string) string { return shown(decided("t", "", map[string]any{s: 1})) }},
		"argument":            {show: func(s string) string { return shown(decided("t", "", map[string]any{"a": []any{s}})) }},
		"completed tool":      {show: func(s string) string { return shown(completed(s, "")) }},
		"failure":             {show: func(s string) string { return shown(completed("t", s)) }},
		"cause of death":      {show: func(s string) string { return shown(&engine.WorkerDied{Cause: s}) }},
		"error of a block":    {show: func(s string) string { return shown(&engine.StepCompleted{Error: "e", Detail: s}) }},
		"observation":         {show: func(s string) string { return shown(&engine.StepCompleted{Error: "e", Observation: s}) }},
		"note of a hook":      {show: func(s string) string { return shown(&engine.HookRan{Turn: "RunStart", Notes: []string{s}}) }},
		"lesson":              {show: func(s string) string { return shown(&engine.LessonProposed{Text: s}) }},
		"reason of the end":   {show: func(s string) string { return ended(engine.Outcome{Reason: "x" + s}) }},
		"trace":               {show: func(s string) string { return ended(engine.Outcome{Trace: s}) }, long: 5000},
		"denied":              {show: func(s string) string { return ended(engine.Outcome{Denied: []engine.Denial{{Tool: s}}}) }},
		"approval":            {show: func(s string) string { return ended(engine.Outcome{Approvals: []engine.ApprovalReport{{Tool: s}}}) }},
		"draft":               {show: func(s string) string { return ended(engine.Outcome{Calls: []engine.CallReport{{Draft: "d", Tool: s}}}) }},
		"unknown": {show: func(s string) string {
			return ended(engine.Outcome{Calls: []engine.CallReport{{Unknown: true, Tool: s}}})
		}},
		"task":                {show: func(s string) string { return began(func(r *assembly.Run) { r.File.Metadata.Name = s }) }},
		"model":               {show: func(s string) string { return began(func(r *assembly.Run) { r.Model = named(s) }) }},
		"server of the model": {show: func(s string) string { return began(func(r *assembly.Run) { r.Server = "x" + s }) }},
		"what is looser":      {show: func(s string) string { return began(func(r *assembly.Run) { r.Loosened = []string{s} }) }},
		"warning":             {show: func(s string) string { return began(func(r *assembly.Run) { r.Warnings = []string{s} }) }},
	} {
		p.run(t, name)
	}
}

// named is a model of which only the name matters.
type named string

func (n named) Name() string { return string(n) }

func (named) Complete(context.Context, models.Prompt) (models.Reply, error) {
	return models.Reply{}, nil
}

// began is what a person sees of a run when it starts.
func began(change func(*assembly.Run)) string {
	var b strings.Builder
	r := &assembly.Run{File: &taskfile.Task{}, Model: named("m")}
	change(r)
	newProgress(&sys{stderr: &b, env: noColor}, "never").start(r)
	return b.String()
}

// A trace is shown with nothing of the table, and with content also.
func TestTraceShowsNothingOfTheEscapeTable(t *testing.T) {
	for kind, known := range metadata {
		for _, content := range []bool{false, true} {
			show := func(key string, value func(string) any) place {
				return place{open: content, long: 300, show: func(s string) string {
					raw, err := json.Marshal(map[string]any{"type": kind, key: value(s)})
					if err != nil {
						t.Fatal(err)
					}
					text, err := summary(store.Line{Seq: 1, Type: kind, Body: raw}, content)
					if err != nil {
						t.Fatal(err)
					}
					return text
				}}
			}
			for _, key := range append([]string{"code"}, known...) {
				show(key, func(s string) any { return s }).run(t, kind+"."+key)
				show(key, func(s string) any { return []any{map[string]any{s: s}} }).run(t, kind+"."+key)
			}
			for _, part := range []string{"verdict", "gate", "rule", "reason"} {
				show("decision", func(s string) any { return map[string]any{part: s} }).run(t, kind+".decision."+part)
			}
		}
	}
	for _, content := range []bool{false, true} {
		place{long: 100, show: func(s string) string {
			text, err := summary(store.Line{Seq: 1, Type: s, Body: []byte("{}")}, content)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}}.run(t, "type of an event")
		place{open: true, long: 300, show: func(s string) string {
			raw, _ := json.Marshal(map[string]any{s: "x"})
			text, err := summary(store.Line{Seq: 1, Body: raw}, content)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}}.run(t, "key of an event")
	}
}
