package assembly_test

import (
	"os"
	"path/filepath"
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

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
