package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine/models"
)

// FAULTS D19: a budget that ran out was reported as completed.
func TestD19EveryLimitEndsTheRunAsALimit(t *testing.T) {
	again := block("attempt(note, text=\"x\")")
	for _, test := range []struct {
		name    string // as the task file names the limit
		limits  Limits
		replies []string
		effects int // that ran before the limit
	}{
		{"steps", Limits{Steps: 2}, []string{again, again, block("final(1)")}, 2},
		{"steps", Limits{Steps: 2}, []string{"no block", "no block", block("final(1)")}, 0},
		{"toolCalls", Limits{ToolCalls: 2}, []string{block("note(text=\"a\")\nnote(text=\"b\")\nattempt(note, text=\"c\")\nfinal(1)")}, 2},
		{"toolCalls", Limits{ToolCalls: 2}, []string{again, again, block("for i in range(3):\n    attempt(note, text=\"c\")\nfinal(1)")}, 2},
		{"bytesSent", Limits{BytesSent: 60}, []string{block("post(to=\"bob\", text=\"0123456789\")\nattempt(post, to=\"bob\", text=\"0123456789\")\nfinal(1)")}, 1},
		{"bytesPerDestination", Limits{BytesPerDestination: 60}, []string{block("post(to=\"bob@x.com\", text=\"0\")\nattempt(post, to=\"Bob <BOB@x.com.>\", text=\"0123456789\")\nfinal(1)")}, 1},
		{"identicalCalls", Limits{}, []string{block("for i in range(3):\n    attempt(fails, text=\"x\")\nfinal(1)")}, 0},
		{"identicalCalls", Limits{IdenticalCalls: 2}, []string{block("attempt(fails, text=\"x\")"), block("attempt(fails, text=\"x\")\nnote(text=\"late\")\nfinal(1)")}, 0},
		{"identicalCalls", Limits{}, []string{block("page()\ndiary()\nfor i in range(9):\n    attempt(post, to=\"mallory\")\nfinal(1)")}, 2},
		{"identicalCalls", Limits{}, []string{block("for i in range(9):\n    attempt(post, to={})\nfinal(1)")}, 0},
		{"identicalCalls", Limits{}, []string{block("for i in range(9):\n    attempt(always)\nfinal(1)")}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t, test.replies...)
			s.task.Limits = test.limits
			p := s.play(t)
			p.ended(t, LimitReached, "engine: limit "+test.name+" (")
			if len(s.effects) != test.effects {
				t.Errorf("effects %q, want %d", s.effects, test.effects)
			}
			if string(p.Output) != "null" {
				t.Errorf("output %s", p.Output)
			}
		})
	}
}

// A call that works, or another one, ends the row of failures.
func TestOnlyARowOfTheSameFailuresIsALimit(t *testing.T) {
	p := newStage(t, block("for i in range(4):\n    attempt(fails, text=\"x\")\n    note()\nfor i in range(6):\n    attempt(fails, text=i)\nfinal(1)")).play(t)
	p.ended(t, Completed, "")
}

func TestWhatARunMaySpendIsALimit(t *testing.T) {
	final := func(u models.Usage) models.Reply { return models.Reply{Text: block("note()\nfinal(1)"), Usage: u} }
	step := func(u models.Usage) models.Reply { return models.Reply{Text: block("note()"), Usage: u} }
	known := func(in, out int64, usd float64) models.Usage {
		return models.Usage{Input: in, Output: out, Known: true, CostUSD: usd, CostKnown: true}
	}
	for _, test := range []struct {
		name    string
		limits  Limits
		replies []models.Reply
		want    Status
		reason  string
		effects int
	}{
		{"tokens, to the last one", Limits{Tokens: 100}, []models.Reply{final(known(60, 40, 0))}, Completed, "", 1},
		{"one token over is not acted on", Limits{Tokens: 100}, []models.Reply{final(known(60, 41, 0))}, LimitReached, "limit tokens (100)", 0},
		{"no reply is asked for when none are left", Limits{Tokens: 100}, []models.Reply{step(known(60, 40, 0))}, LimitReached, "100 were used", 1},
		{"cost, to the last cent", Limits{CostUSD: 0.5}, []models.Reply{step(known(1, 1, 0.25)), final(known(1, 1, 0.25))}, Completed, "", 2},
		{"a cent over", Limits{CostUSD: 0.5}, []models.Reply{final(known(1, 1, 0.51))}, LimitReached, "limit costUsd (0.5)", 0},
		{"nothing left to spend", Limits{CostUSD: 0.5}, []models.Reply{step(known(1, 1, 0.5))}, LimitReached, "0.5000 were spent", 1},
		{"a reply of unknown cost", Limits{CostUSD: 0.5}, []models.Reply{final(models.Usage{})}, LimitReached, "did not say what a reply cost", 0},
		{"no limit of cost", Limits{}, []models.Reply{final(known(1, 1, 1000))}, Completed, "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.model = &replies{test.replies}
			s.task.Limits = test.limits
			p := s.play(t)
			p.ended(t, test.want, test.reason)
			if len(s.effects) != test.effects {
				t.Errorf("effects %q, want %d", s.effects, test.effects)
			}
		})
	}
}

func TestEightyPercentOfALimitIsSaidOnce(t *testing.T) {
	s := newStage(t)
	usage := models.Usage{Input: 5, Output: 5, CostUSD: 0.1, Known: true, CostKnown: true}
	list := make([]models.Reply, 10)
	for i := range list {
		list[i] = models.Reply{Text: block("post(to=\"bob\", text=\"12345678\")"), Usage: usage}
	}
	list[9].Text = block("final(1)")
	s.model = &replies{list}
	s.task.Limits = Limits{Steps: 10, Tokens: 100, CostUSD: 1.01, ToolCalls: 10, BytesSent: 290}
	p := s.play(t)
	p.ended(t, Completed, "")
	warned := map[string]string{}
	for _, e := range p.events {
		if w, ok := e.(*LimitWarning); ok {
			if warned[w.Limit] != "" {
				t.Errorf("%s was said twice", w.Limit)
			}
			warned[w.Limit] = w.Used + " of " + w.Of
		}
	}
	want := map[string]string{"steps": "8 of 10", "tokens": "80 of 100", "costUsd": "0.9 of 1.01", "toolCalls": "8 of 10", "bytesSent": "240 of 290"}
	for name, text := range want {
		if warned[name] != text {
			t.Errorf("%s: %q, want %q", name, warned[name], text)
		}
	}
}

// A slow model and a slow tool use up the time alike; the clock is not the wall's.
func TestTimeIsALimit(t *testing.T) {
	for name, slow := range map[string]func(*stage){
		"in the model": func(s *stage) { s.model = sleeper{} },
		"in a tool": func(s *stage) {
			s.tools["note"] = func(*bridge.Permit) (bridge.Output, error) {
				time.Sleep(2 * time.Hour)
				return bridge.Output{Local: true}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, block("note()\nfinal(1)"))
				s.task.Limits.WallTime = time.Hour
				slow(s)
				p := s.play(t)
				p.ended(t, LimitReached, "limit wallTime (1h0m0s)")
			})
		})
	}
}

// A sleeper is a model that answers when nobody waits any more.
type sleeper struct{ before func() }

func (sleeper) Name() string { return "sleeper" }

func (s sleeper) Complete(ctx context.Context, _ models.Prompt) (models.Reply, error) {
	if s.before != nil {
		s.before()
	}
	<-ctx.Done()
	return models.Reply{}, context.Cause(ctx)
}

// A clerk is a person who takes an hour and says the same to everything.
type clerk struct{ yes bool }

func (c clerk) Approve(context.Context, bridge.Question) (bridge.Answer, error) {
	time.Sleep(time.Hour)
	return bridge.Answer{Yes: c.yes, By: "clerk"}, nil
}

func TestWaitingForAPersonIsNoTimeOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, block("always()\nalways()\nfinal(1)"))
		s.task.Limits.WallTime = time.Minute
		s.task.Attended = true
		s.bridge.Approver = clerk{yes: true}
		s.play(t).ended(t, Completed, "")
	})
}

func TestACancelledRunHasAWholeTrace(t *testing.T) {
	errSignal := errors.New("interrupt")
	for name, where := range map[string]string{"in a tool": block("note()\nnote(text=\"late\")\nfinal(1)"), "in the model": "", "between steps": block("note()")} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := newStage(t, where, block("final(1)"))
			s.tools["note"] = func(p *bridge.Permit) (bridge.Output, error) {
				cancel(errSignal)
				s.effects = append(s.effects, "note "+p.String("text"))
				return bridge.Output{Local: true}, nil
			}
			if where == "" {
				s.model = sleeper{before: func() { cancel(errSignal) }}
			}
			p := s.playIn(t, ctx)
			p.ended(t, Cancelled, "cancelled: interrupt")
			if slices.Contains(s.effects, "note late") || !strings.HasSuffix(p.kinds()[len(p.kinds())-1], "run.completed") {
				t.Errorf("effects %q, events %q", s.effects, p.kinds())
			}
			for _, c := range p.Calls {
				if r := p.conversation.records[c.ID]; c.Executed && r.Phase != bridge.Ended {
					t.Errorf("call %s began and its end is not recorded", c.ID)
				}
			}
		})
	}
}

// The interpreter of a run that was cancelled may be quicker than its end.
func TestACancelledRunBeginsNothing(t *testing.T) {
	s := newStage(t)
	var p played
	e, end := s.engine(t, &p)
	defer end()
	r, err := e.start(t.Context(), s.task, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	errSignal := errors.New("interrupt")
	r.cancel(errSignal)
	if err := r.Begin(bridge.Begun{Call: r.id + "/1/1", Tool: "note"}); !errors.Is(err, errSignal) || p.has("call.started") || r.state.Calls != 0 {
		t.Errorf("begun: %v, events %q", err, p.kinds())
	}
}

// What a command sent is known when it has ended: it ends the run then.
func TestWhatACommandSentCountsForTheBudgets(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit Limits
		sent  []map[string]int64
		want  string // of the last; the others are within the budget
	}{
		{"within both", Limits{BytesSent: 200, BytesPerDestination: 100}, []map[string]int64{{"a.test": 100}, {"b.test": 100}}, ""},
		{"over that of a host", Limits{BytesPerDestination: 100}, []map[string]int64{{"a.test": 60}, {"b.test": 60}, {"a.test": 60}}, "limit bytesPerDestination (100) reached"},
		{"over that of the run", Limits{BytesSent: 100}, []map[string]int64{{"a.test": 60}, {"b.test": 60}}, "limit bytesSent (100) reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			var p played
			e, end := s.engine(t, &p)
			defer end()
			s.task.Limits = tt.limit
			r, err := e.start(t.Context(), s.task, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			for i, sent := range tt.sent {
				err := r.End(bridge.Outcome{Call: fmt.Sprintf("%s/1/%d", r.id, i+1), Tool: "shell", Sent: sent})
				if i < len(tt.sent)-1 || tt.want == "" {
					if err != nil {
						t.Errorf("call %d: %v", i+1, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, ErrLimit) {
					t.Errorf("call %d: %v, want %q", i+1, err, tt.want)
				}
			}
		})
	}
}
