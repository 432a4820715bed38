package models

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	// ErrScriptEnd is within the error of a call that a script has no step for.
	ErrScriptEnd = errors.New("script ended")
	// ErrExpectation is within the error of a call that is not what a step expects.
	ErrExpectation = errors.New("expectation failed")
)

// A Step is one reply of a script, and what must be true when it is asked for.
type Step struct {
	Text string // said before the code
	Code string // Starlark, sent as a fenced block; none if empty
	// ExpectContains must stand in the prompt's last message; empty expects nothing.
	ExpectContains string
	// ExpectTaint must be among the prompt's Taint.
	ExpectTaint   []string
	Input, Output int64 // tokens to report
}

// Scripted is a Model that replies by a script, without a network: the first call gets the
// first step, and so on. A call that fails uses up no step.
type Scripted struct {
	steps []Step

	mu   sync.Mutex
	next int // index of the next step; guarded by mu
}

// NewScripted returns the model of steps.
func NewScripted(steps []Step) *Scripted {
	return &Scripted{steps: slices.Clone(steps)}
}

// Name implements Model.
func (s *Scripted) Name() string { return "scripted" }

// Left returns how many steps were not asked for.
func (s *Scripted) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps) - s.next
}

// Skip leaves out the next n steps: a run that resumes has had them already.
func (s *Scripted) Skip(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n > len(s.steps)-s.next {
		return fmt.Errorf("models: scripted: skip %d: script has %d steps, %d of them left (%w)", n, len(s.steps), len(s.steps)-s.next, ErrScriptEnd)
	}
	s.next += n
	return nil
}

// Complete implements Model.
func (s *Scripted) Complete(ctx context.Context, p Prompt) (Reply, error) {
	if err := ctx.Err(); err != nil {
		return Reply{}, &Error{Provider: s.Name(), Kind: KindCanceled, msg: "by the caller", cause: err}
	}
	step, err := s.take(p)
	if err != nil {
		return Reply{}, err
	}
	text := step.reply()
	if p.OnText != nil && text != "" {
		p.OnText(text)
	}
	return Reply{
		Text:       text,
		Model:      s.Name(),
		StopReason: "end_turn",
		Usage:      Usage{Input: step.Input, Output: step.Output, Known: true, CostKnown: true},
	}, nil
}

// take uses up the next step, if p meets its expectations.
func (s *Scripted) take(p Prompt) (Step, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next >= len(s.steps) {
		return Step{}, fmt.Errorf("models: scripted: script has %d steps; the run asked for step %d (%w)", len(s.steps), s.next+1, ErrScriptEnd)
	}
	step := s.steps[s.next]
	if err := step.expect(p); err != nil {
		return Step{}, fmt.Errorf("models: scripted: step %d: %w", s.next+1, err)
	}
	s.next++
	return step, nil
}

// expect says what of the step's expectations p does not meet.
func (s Step) expect(p Prompt) error {
	const shown = 400 // bytes of the message that was there
	var last string
	for _, m := range p.Messages {
		if m.Role == RoleUser {
			last = m.Text
		}
	}
	var faults []string
	if !strings.Contains(last, s.ExpectContains) {
		faults = append(faults, fmt.Sprintf("want %q in the last message, which is %q", s.ExpectContains, cut(last, shown)))
	}
	for _, label := range s.ExpectTaint {
		if !slices.Contains(p.Taint, label) {
			faults = append(faults, fmt.Sprintf("want taint %q, have %q", label, p.Taint))
		}
	}
	if faults == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrExpectation, strings.Join(faults, "; "))
}

var fenceLine = regexp.MustCompile("(?m)^ {0,3}`{3,}")

// reply is the text of the step as a model would send it: the fence is longer than any
// that the code holds itself.
func (s Step) reply() string {
	if s.Code == "" {
		return s.Text
	}
	fence := "```"
	for _, f := range fenceLine.FindAllString(s.Code, -1) {
		fence = max(fence, strings.TrimLeft(f, " ")+"`") // of one letter each, so the longest
	}
	block := fence + "starlark\n" + strings.TrimSuffix(s.Code, "\n") + "\n" + fence
	if s.Text == "" {
		return block
	}
	return s.Text + "\n\n" + block
}
