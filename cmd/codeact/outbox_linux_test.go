package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/outbox"
)

// staging is a task that stages one draft for each of so many texts. While there is a
// file named hold above its directory, where the digest of the task does not see it,
// its hook keeps every call waiting.
func staging(n int) string {
	return `tools: {mock: tools.yaml, staged: [post]}
hooks:
  PreToolUse: [{matcher: post, hooks: [{type: command, command: "cd ..; if [ -e hold ]; then touch began; while [ -e hold ]; do sleep 0.02; done; fi", timeout: 400}]}]
model:
  provider: scripted
  script:
    - code: |
        for i in range(` + fmt.Sprint(n) + `):
          post(to="bob", body="text %d." % i)
        final("done")
`
}

// drafts runs the task and returns what it staged, in the order of its texts.
func (s *stage) drafts(n int) []outbox.Entry {
	s.t.Helper()
	digest, _, _ := s.run("trust", "--print", "task.yaml")
	for _, args := range [][]string{{"trust", "--digest", strings.TrimSpace(digest), "task.yaml"}, {"run", "task.yaml"}} {
		if _, log, code := s.run(args...); code != 0 {
			s.t.Fatalf("%v: exit code %d\n%s", args, code, log)
		}
	}
	list, err := assembly.Outbox(s.home).List()
	if err != nil || len(list) != n {
		s.t.Fatalf("%d drafts, want %d: %v", len(list), n, err)
	}
	byText := make([]outbox.Entry, n)
	for _, e := range list {
		var i int
		if _, err := fmt.Sscanf(e.Args["body"].(string), "text %d.", &i); err != nil {
			s.t.Fatal(err)
		}
		byText[i] = e
	}
	return byText
}

func sending(t *testing.T, e outbox.Entry, flags ...string) []string {
	t.Helper()
	digest, err := e.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"outbox", "send", "--digest", digest, e.ID}, flags...)
}

// atOnce runs the program with each of the arguments, all at the same time.
func (s *stage) atOnce(all ...[]string) (codes map[int]int, log string) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes = make(map[int]int)
	for _, args := range all {
		wg.Go(func() {
			out, err := s.command(args...).CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			log += fmt.Sprintf("%v: %v\n%s", args, err, out)
			if err == nil {
				codes[0]++
				return
			}
			code := -1
			if e, ok := err.(interface{ ExitCode() int }); ok {
				code = e.ExitCode()
			}
			codes[code]++
		})
	}
	wg.Wait()
	return codes, log
}

func six(args []string) [][]string { return [][]string{args, args, args, args, args, args} }

// Six that send one draft at once make one effect, also where the sender before them
// was killed, and where nobody was.
func TestADraftIsSentByOneProcess(t *testing.T) {
	s := newStage(t, staging(1), "tools.yaml", postTool, "edit.json", `{"to": "eve"}`)
	e := s.drafts(1)[0]
	codes, log := s.atOnce(six(sending(t, e, "--again"))...)
	if codes[1] != 6 || s.effects() != 0 || !strings.Contains(log, outbox.ErrNotLost.Error()) {
		t.Fatalf("--again where no sender was lost: %v, %d effects\n%s", codes, s.effects(), log)
	}

	s.write("../hold", "")
	first := s.command(sending(t, e)...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	let := sync.OnceFunc(func() { _ = os.Remove(filepath.Join(s.dir, "../hold")) })
	t.Cleanup(let) // or the hook stays behind
	s.await("../began")
	others := append(six(sending(t, e, "--again")), sending(t, e), []string{"outbox", "edit", e.ID, "edit.json"},
		[]string{"outbox", "drop", e.ID}, []string{"outbox", "drop", "--lost", e.ID})
	codes, log = s.atOnce(others...)
	busy := fmt.Sprintf("%s is being sent or changed by process %d; wait", e.ID, first.Process.Pid)
	if codes[1] != len(others) || strings.Count(log, busy) != len(others) {
		t.Errorf("while it is sent: %v\n%s", codes, log)
	}

	_ = first.Process.Kill()
	_ = first.Wait()
	let()
	codes, log = s.atOnce(six(sending(t, e))...)
	if codes[1] != 6 || s.effects() != 0 || !strings.Contains(log, outbox.ErrUnknown.Error()) {
		t.Errorf("after the sender was killed: %v, %d effects\n%s", codes, s.effects(), log)
	}
	codes, log = s.atOnce(six(sending(t, e, "--again"))...)
	if codes[0] != 1 || codes[1] != 5 || s.effects() != 1 {
		t.Errorf("--again: %v, %d effects\n%s", codes, s.effects(), log)
	}
	want, _ := e.Digest()
	if e, err := assembly.Outbox(s.home).Load(e.ID); err != nil || e.State != outbox.Sent || e.End.Digest != want || e.Edited != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// A file that is cut would be another edit than the one that was looked at.
func TestAnEditIsTakenWholeOrNotAtAll(t *testing.T) {
	edit := `{"to": "eve"}`
	s := newStage(t, staging(1), "tools.yaml", postTool, "fits.json", edit+strings.Repeat(" ", maxEdit-len(edit)),
		"long.json", edit+strings.Repeat(" ", maxEdit-len(edit))+"]")
	id := s.drafts(1)[0].ID
	for _, c := range []struct {
		file, log string
		code      int
		edited    bool
	}{{"long.json", "long.json: longer than 1048576 bytes", exitUsage, false}, {"fits.json", "", exitOK, true}} {
		_, log, code := s.run("outbox", "edit", id, c.file)
		e, err := assembly.Outbox(s.home).Load(id)
		if code != c.code || !strings.Contains(log, c.log) || err != nil || (e.Edited != nil) != c.edited {
			t.Errorf("%s: exit code %d, edited to %v, %v\n%s", c.file, code, e.Edited, err, log)
		}
	}
}

// await returns once the hook made the file.
func (s *stage) await(name string) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s does not come", name)
		}
	}
}

// Wherever a sender is killed, what the outbox says of the draft is true, and nothing
// but --again sends it a second time.
func TestAKilledSenderLeavesNoFalseWord(t *testing.T) {
	const rounds = 12
	s := newStage(t, staging(rounds), "tools.yaml", postTool)
	for i, e := range s.drafts(rounds) {
		effects := func() int {
			data, _ := os.ReadFile(filepath.Join(s.dir, "effects.jsonl"))
			return strings.Count(string(data), fmt.Sprintf("text %d.", i))
		}
		c := s.command(sending(t, e)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(i)*killEvery, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		timer.Stop()
		at, done := s.stateOf(e.ID), effects()
		ok := map[outbox.State]bool{outbox.Staged: done == 0, outbox.Sending: done <= 1, outbox.Sent: done == 1}[at]
		t.Logf("round %d: %s, %d effects", i, at, done)
		if !ok {
			t.Errorf("round %d: %s with %d effects", i, at, done)
		}
		_, log, code := s.run(sending(t, e)...)
		if at == outbox.Staged && (code != 0 || effects() != 1) || at != outbox.Staged && (code != 1 || effects() != done) {
			t.Errorf("round %d: %s, sent once more: exit code %d, %d effects before and %d after\n%s", i, at, code, done, effects(), log)
		}
		if at != outbox.Sending {
			continue
		}
		if _, log, code := s.run(sending(t, e, "--again")...); code != 0 || effects() != done+1 || s.stateOf(e.ID) != outbox.Sent {
			t.Errorf("round %d: with --again: exit code %d, %d effects\n%s", i, code, effects(), log)
		}
	}
}

// killEvery is the step between the moments at which senders are killed: twelve of
// them span a whole send.
const killEvery = 15 * time.Millisecond

func (s *stage) stateOf(id string) outbox.State {
	s.t.Helper()
	out, log, code := s.run("outbox", "show", "--json", id)
	var shown struct{ State outbox.State }
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 {
		s.t.Fatalf("exit code %d, %v\n%s", code, err, log)
	}
	return shown.State
}
