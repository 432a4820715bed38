package assembly_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/store"
)

// The secrets of the leaking run, by where they come from. Each has characters that
// every encoding writes in its own way.
var leaked = map[string]string{
	"a variable":            `env/hunter+22 "hunter"`,
	"a file":                `file~žluťoučký?&<kůň>`,
	"a command":             "cmd=correct+horse/battery",
	"a sensitive parameter": "pin-98761234/x",
	"the key of the model":  "model-key-0123456789abcdef",
}

// writings is how a secret may stand in a text. It is written without the scanner
// that it tests.
func writings(secret string) []string {
	quoted, _ := json.Marshal(secret)
	return []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret))}
}

// traces are texts of which none may stand anywhere: what is left of a secret, in any
// writing, where it was not redacted whole.
func traces(secret string) []string {
	list := writings(secret)
	for i := 0; i+12 <= len(secret); i++ {
		list = append(list, secret[i:][:12]) // enough to guess the rest from
	}
	for skip := range 3 {
		// Whole groups of three bytes: the ends depend on what stands around.
		whole := secret[skip:]
		whole = whole[:len(whole)/3*3]
		list = append(list, base64.RawStdEncoding.EncodeToString([]byte(whole)), base64.RawURLEncoding.EncodeToString([]byte(whole)))
	}
	return list
}

// breaking is a model's server that answers once, and then fails and repeats all
// that it was sent.
func breaking(t *testing.T, code string) (base string, requests *bytes.Buffer) {
	t.Helper()
	requests = new(bytes.Buffer) // written by one request after the other, and read when all are over
	chunk, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": "```starlark\n" + code + "\n```"}}}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests.Write(body)
		if n++; n == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", chunk)
			return
		}
		w.Header().Set("Retry-After", "3600") // it is not worth another try
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "no capacity for " + r.Header.Get("Authorization") + " who sent " + string(body[max(0, len(body)-20_000):])}})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", requests
}

// A curious person keeps the questions, and says yes.
type curious struct{ asked *bytes.Buffer }

func (c curious) Approve(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	return bridge.Answer{Yes: true, By: "alice"}, json.NewEncoder(c.asked).Encode(q)
}

// leakyTools are mocks that return every secret in every writing, as value, error
// and large result.
func leakyTools(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("apiVersion: codeact.dev/v1\nkind: MockTools\ntools:\n")
	tool := func(name string, tier int, response map[string]any) {
		text, err := json.Marshal(map[string]any{"name": name, "tier": tier, "capabilities": []string{}, "responses": []any{response},
			"params": map[string]any{"type": "object", "properties": map[string]any{"note": map[string]any{}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("  - " + string(text) + "\n")
	}
	var all []any
	for _, secret := range leaked {
		for _, text := range writings(secret) {
			all = append(all, "around "+text+" around", map[string]any{text: []any{text}})
		}
		for before := range 3 {
			text := []byte(strings.Repeat("0", before) + secret + " and more")
			all = append(all, base64.StdEncoding.EncodeToString(text), base64.RawURLEncoding.EncodeToString(text))
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	tool("leak", 0, map[string]any{"value": all})
	tool("fails", 0, map[string]any{"error": "it broke on " + string(text)})
	tool("cut", 0, map[string]any{"error": strings.Repeat("x", 2030) + leaked["a file"] + strings.Repeat("y", 4000)}) // cut in the middle of it
	tool("large", 0, map[string]any{"value": strings.Repeat("x", 70_000) + string(text)})
	tool("huge", 0, map[string]any{"value": strings.Repeat("x", 300_000) + string(text)})
	tool("order", 1, map[string]any{"value": "ok"})
	tool("refused", 0, map[string]any{"value": "ok"})
	return b.String()
}

// leakyTask uses every secret in every way that a run has.
func leakyTask(base string) string {
	var events []string
	for _, e := range []string{"RunStart", "UserPromptSubmit", "ApprovalRequest", "Notification", "LessonProposed", "RunEnd", "PostToolUse"} {
		events = append(events, e+": [{hooks: [{type: command, command: ./hook.sh}]}]")
	}
	events = append(events, "PreToolUse: [{hooks: [{type: command, command: ./hook.sh}]}, {matcher: refused, hooks: [{type: command, command: ./no.sh}]}]")
	return head + ws + "tools: {mock: tools.yaml, builtin: [secret_list]}\n" +
		"secrets: [ENV, {name: FILE, file: secret.txt}, {name: CMD, command: [./get.sh]}]\n" +
		"parameters: {pin: {type: string, sensitive: true, fromEnv: PIN}}\n" +
		"hooks: {" + strings.Join(events, ", ") + "}\n" +
		"limits: {steps: 3}\n" +
		"model: {provider: openai-compatible, name: m, baseUrl: '" + base + "', apiKeyEnv: MODEL_KEY}\n"
}

// leakyCode is a block that shows, passes on and stumbles over all that it gets.
func leakyCode() string {
	var b strings.Builder
	b.WriteString("print(secret_list(), leak())\nprint(attempt(fails).error, attempt(large), attempt(huge), attempt(refused), attempt(cut).error)\nvalues = []\n")
	for from, secret := range leaked {
		if from == "the key of the model" {
			continue // it is not in any tool's reach
		}
		letters, _ := json.Marshal(strings.Split(secret, ""))
		fmt.Fprintf(&b, "values.append(\"\".join(%s))\n", letters) // a script that knows it already
	}
	b.WriteString("for v in values:\n    print(v)\n    attempt(order, note=v)\n    attempt(order, note={v: [v]})\nfail(\", \".join(values))")
	return b.String()
}

// FAULTS B40, B41 and D14: a secret's value stands in nothing that a run leaves behind or
// tells anyone, also when the model's server fails in the middle and repeats what it
// was sent.
func TestB40B41D14ASecretIsInNoArtefact(t *testing.T) {
	base, requests := breaking(t, leakyCode())
	p := scripted(t, leakyTask(base), listens, map[string]string{"tools.yaml": leakyTools(t), "secret.txt": leaked["a file"] + "\n",
		"get.sh": "#!/bin/sh\necho '" + leaked["a command"] + "'\n", "no.sh": "#!/bin/sh\ncat >/dev/null\necho 'not with " + leaked["a variable"] + "' >&2\nexit 2\n"})
	for name, mode := range map[string]os.FileMode{"secret.txt": 0o600, "get.sh": 0o700, "no.sh": 0o700} {
		if err := os.Chmod(filepath.Join(p.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	set := func(o *assembly.Options) {
		o.Env = func(name string) (string, bool) {
			v, ok := map[string]string{"ENV": leaked["a variable"], "PIN": leaked["a sensitive parameter"], "MODEL_KEY": leaked["the key of the model"]}[name]
			return v, ok
		}
	}
	digest := p.digest(t, set)
	var events, log, asked, text bytes.Buffer
	r := p.must(t, func(o *assembly.Options) {
		set(o)
		o.Trust, o.Approver, o.Log = digest, curious{&asked}, zerolog.New(&log).Level(zerolog.TraceLevel)
		o.OnText = func(s string) { text.WriteString(s) }
		o.Observe = func(e engine.Event, l store.Line) { fmt.Fprintf(&events, "%s\n%+v\n", l.Body, e) }
	})
	o, err := r.Do(t.Context())
	if err != nil || o.Status != engine.Failed || !strings.Contains(o.Reason, "no capacity for") {
		t.Fatalf("%s %s, %v", o.Status, o.Reason, err)
	}
	outcome, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	artefacts := map[string]string{"outcome": string(outcome), "events": events.String(), "log": log.String(), "questions": asked.String(),
		"requests": requests.String(), "warnings": strings.Join(r.Warnings, "\n")}
	for name, data := range files(t, p.home) {
		artefacts["home/"+name] = data
	}
	for name, data := range files(t, p.dir) {
		if strings.HasPrefix(name, "seen.") || strings.HasPrefix(name, "ws/") {
			artefacts[name] = data
		}
	}
	for what, want := range map[string]string{"questions": "order", "seen.PreToolUse": "leak", "seen.PostToolUse": "[redacted:known-secret]", "seen.RunEnd": "failed",
		"seen.ApprovalRequest": "order", "seen.Notification": "order", "seen.LessonProposed": "refused by hooks", "log": "run.completed", "requests": "[redacted:known-secret]"} {
		if !strings.Contains(artefacts[what], want) {
			t.Errorf("%s does not hold %q: nothing was tried there", what, want)
		}
	}
	kinds := strings.Join(slices.Sorted(maps.Keys(artefacts)), " ")
	for _, want := range []string{".jsonl", ".blobs/", "spill/"} {
		if !strings.Contains(kinds, want) {
			t.Errorf("the run left no %s: %s", want, kinds)
		}
	}
	for from, secret := range leaked {
		for what, data := range artefacts {
			for _, trace := range traces(secret) {
				if i := strings.Index(data, trace); i >= 0 {
					t.Errorf("%s: the secret of %s: …%.200s", what, from, data[max(0, i-80):])
					break
				}
			}
		}
	}
}

// files is every file below dir, by its path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
