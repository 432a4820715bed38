package models

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestAScriptRepliesOnceAStep(t *testing.T) {
	s := NewScripted([]Step{
		{Text: "I will read it.", Code: "mail = inbox_read()\nprint(mail)\n", Input: 900, Output: 40},
		{Code: "final(1)"},
		{Text: "No code."},
		{},
	})
	for i, want := range []string{
		"I will read it.\n\n```starlark\nmail = inbox_read()\nprint(mail)\n```",
		"```starlark\nfinal(1)\n```",
		"No code.",
		"",
	} {
		var streamed string
		p := ask("go")
		p.OnText = func(delta string) { streamed += delta; s.Left() }
		got, err := s.Complete(t.Context(), p)
		if err != nil || got.Text != want || streamed != want {
			t.Fatalf("step %d: %q (streamed %q), %v; want %q", i+1, got.Text, streamed, err, want)
		}
		if i == 0 && got.Usage != (Usage{Input: 900, Output: 40, Known: true, CostKnown: true}) {
			t.Errorf("usage %+v", got.Usage)
		}
		if s.Left() != 3-i {
			t.Errorf("after step %d %d are left", i+1, s.Left())
		}
	}
	_, err := s.Complete(t.Context(), ask("go"))
	if !errors.Is(err, ErrScriptEnd) || !strings.Contains(err.Error(), "script has 4 steps; the run asked for step 5") {
		t.Errorf("past the end: %v", err)
	}
	if s.Name() != "scripted" {
		t.Errorf("Name() = %q", s.Name())
	}
}

func TestAFenceIsLongerThanThoseInTheCode(t *testing.T) {
	for code, fence := range map[string]string{
		"x = 1":                       "```",
		"x = '```'":                   "```", // not at the start of a line
		"x = '''\n```\n'''":           "````",
		"x = '''\n```\n  `````\n'''":  "``````",
		"x = '''\n     ````````\n'''": "```", // indented too far to be a fence
	} {
		got := Step{Code: code}.reply()
		if want := fence + "starlark\n" + code + "\n" + fence; got != want {
			t.Errorf("reply %q, want %q", got, want)
		}
	}
}

func TestExpectationsAreOfTheLastMessageAndTheTaint(t *testing.T) {
	long := strings.Repeat("é", 5000)
	prompt := func(last string, taint ...string) Prompt {
		return Prompt{Messages: []Message{{RoleUser, "hello first"}, {RoleAssistant, "hello too"}, {RoleUser, last}}, Taint: taint}
	}
	for _, tt := range []struct {
		name   string
		step   Step
		prompt Prompt
		want   []string // in the error; none if empty
	}{
		{"met", Step{ExpectContains: "hello", ExpectTaint: []string{"private"}}, prompt("say hello", "untrusted", "private"), nil},
		{"none", Step{}, prompt(""), nil},
		{"only in an earlier message", Step{ExpectContains: "hello"}, prompt("bye"), []string{`want "hello" in the last message, which is "bye"`}},
		{"long message", Step{ExpectContains: "hello"}, prompt(long), []string{"é…"}},
		{"taint", Step{ExpectTaint: []string{"private"}}, prompt("x", "untrusted"), []string{`want taint "private", have ["untrusted"]`}},
		{"both", Step{ExpectContains: "hello", ExpectTaint: []string{"private"}}, prompt("x"), []string{`"hello"`, `"private"`}},
		{"no message", Step{ExpectContains: "hello"}, Prompt{}, []string{`which is ""`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScripted([]Step{tt.step})
			_, err := s.Complete(t.Context(), tt.prompt)
			if tt.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrExpectation) || !strings.Contains(err.Error(), "step 1") {
				t.Fatalf("%v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if len(err.Error()) > 700 || s.Left() != 1 {
				t.Errorf("%d bytes, %d steps left", len(err.Error()), s.Left())
			}
		})
	}
}

func TestAResumedRunSkipsWhatItHad(t *testing.T) {
	s := NewScripted([]Step{{Text: "a"}, {Text: "b"}, {Text: "c"}})
	if err := s.Skip(2); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, 2} {
		if err := s.Skip(n); !errors.Is(err, ErrScriptEnd) {
			t.Errorf("Skip(%d): %v", n, err)
		}
	}
	if got, err := s.Complete(t.Context(), ask("go")); err != nil || got.Text != "c" || s.Left() != 0 {
		t.Errorf("%q, %v, %d left", got.Text, err, s.Left())
	}
}

func TestACancelledCallTakesNoStep(t *testing.T) {
	s := NewScripted([]Step{{Text: "a"}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Complete(ctx, ask("go"))
	if asError(t, err).Kind != KindCanceled || !errors.Is(err, context.Canceled) || s.Left() != 1 {
		t.Errorf("%v, %d left", err, s.Left())
	}
}

func TestConcurrentCallsShareNoStep(t *testing.T) {
	const n = 50
	s := NewScripted(make([]Step, n))
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := s.Complete(context.Background(), ask("go")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s.Left() != 0 {
		t.Errorf("%d steps left", s.Left())
	}
}
