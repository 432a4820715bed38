package interp

import (
	"bytes"
	"encoding/json"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sample has an attack of each kind: the stack, the memory in one step and in many, the time of one builtin and of many
// steps, the text of the source, the output, and the names and files of the host.
var sample = []string{"c11_deep_json_decode_obj", "e01_escape_names", "e03_load_file", "g_defnest.gen", "m01_str_double", "m03_list_repeat_1step",
	"m06b_list_range_62", "m13_replace", "m18_print_flood", "m22_zip", "t01_all_range", "t09_tuple_hash_exp", "t19_while_true"}

// What root may set up, another user may not: the box must hold as well where the host has no privilege at all. This test
// runs itself again as such a user, which gets the attacks from its standard input, since it may not be able to read them.
func TestAttacksOnAHostWithoutPrivileges(t *testing.T) {
	if os.Getenv(workerEnv) != "" {
		attackWithoutPrivileges(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("TestEveryAttackEndsAndTheRunGoesOn has run them all as this user")
	}
	blocks := map[string]string{}
	for _, name := range sample {
		blocks[name] = attackText(t, name)
	}
	input, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	// The running file and not its path, which leads through a directory of this user.
	cmd := osexec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Env, cmd.Dir, cmd.Stdin = []string{workerEnv + "=" + workerPath}, "/", bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if passed := strings.Count(string(out), "    --- PASS: "); err != nil || passed != len(sample) {
		t.Errorf("%d of %d attacks ended as they should, %v:\n%s", passed, len(sample), err, out)
	}
}

func attackWithoutPrivileges(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Fatal("this is root")
	}
	blocks := map[string]string{}
	if err := json.NewDecoder(os.Stdin).Decode(&blocks); err != nil {
		t.Fatal(err)
	}
	const limit, grace = 500 * time.Millisecond, 2 * time.Second // grace is for a machine with other work
	in, err := New(Config{Worker: []string{workerPath}, Limits: Limits{Wall: limit, CPU: limit}, testOnlyUnguarded: true})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for name, block := range blocks {
		t.Run(name, func(t *testing.T) { _ = attack(t, in, name, block, limit+grace) }) // attack judges how it ended
	}
}
