package assembly_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
)

// What configures a run may lie in its workspace, and all of that be writable. A
// script says nothing of what it is going to write, so only the box is in its way.
func TestACommandCannotChangeWhatConfiguresItsRun(t *testing.T) {
	const policy = "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: p, description: d}\n" +
		"spec: {matchConstraints: {tools: [note]}, validations: [{expression: 'false', message: m, action: ask}]}\n"
	const attack = `for f in task.yaml conf/policy.yaml hook.sh tools.yaml; do
echo x > $f; echo x > new; mv -f new $f; rm -f $f; ln -sf made $f; chmod 777 $f; ln $f l && echo x > l
done
mv conf moved; mkdir conf; echo x > conf/policy.yaml
echo ran > made
`
	task := head + `workspace: {dir: ., writable: ["**"], sandbox: {kind: bwrap}}
policies: [conf/policy.yaml]
tools: {builtin: [shell], mock: tools.yaml}
` + guard + code(`shell(command="sh attack.sh")`)
	p := newPlace(t, task, map[string]string{"conf/policy.yaml": policy, "attack.sh": attack})
	configures := []string{"task.yaml", "conf/policy.yaml", "hook.sh", "tools.yaml"}
	before := map[string]string{}
	for _, name := range configures {
		before[name] = read(t, filepath.Join(p.dir, name))
	}
	digest := p.digest(t)
	o := p.run(t, func(o *assembly.Options) { o.Approver, o.Trust = yes{}, digest })
	if made := read(t, filepath.Join(p.dir, "made")); o.Status != engine.Completed || made != "ran\n" {
		t.Fatalf("%s %s: the attack did not run: %s", o.Status, o.Reason, made)
	}
	for _, name := range configures {
		if after := read(t, filepath.Join(p.dir, name)); after != before[name] {
			t.Errorf("%s is %q now", name, after)
		}
	}
	if again := p.digest(t); again != digest {
		t.Errorf("it is another task now")
	}
}

// The box shows the system's own directories, and a secret may lie there.
func TestACommandCannotReadTheFileOfASecret(t *testing.T) {
	dir, err := os.MkdirTemp("/usr/local/lib", "codeact-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, filepath.Join(dir, "open"), "everyone's")
	write(t, filepath.Join(dir, "key"), "hunter-22-hunter")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "key"), 0o600)); err != nil {
		t.Fatal(err)
	}
	task := head + "workspace: {dir: ws, writable: [out/**], sandbox: {kind: bwrap}}\ntools: {builtin: [shell]}\nsecrets: [{name: S, file: " + dir + "/key}]\n" +
		code(`shell(command="cat "+"`+dir+`/open >out/open; base64 `+dir+`/key >out/key; true")`)
	p := newPlace(t, task, nil)
	o := p.run(t, func(o *assembly.Options) { o.Approver = yes{} })
	if open, key := read(t, filepath.Join(p.dir, "ws/out/open")), read(t, filepath.Join(p.dir, "ws/out/key")); o.Status != engine.Completed || open != "everyone's" || strings.TrimSpace(key) != "" {
		t.Errorf("%s %s: the command read %q of what all may read, and %q of the secret", o.Status, o.Reason, open, key)
	}
}

func TestTheEndOfTheContextStopsTheBox(t *testing.T) {
	p := newPlace(t, head+"workspace: {dir: ws, sandbox: {kind: bwrap}}\ntools: {builtin: [shell]}\n"+final, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := assembly.Open(ctx, filepath.Join(p.dir, "task.yaml"), assembly.Options{Home: p.home, UserHome: filepath.Dir(p.home), Unsafe: true})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "sandbox: ") {
		t.Errorf("got %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
