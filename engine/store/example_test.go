package store_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/codeact-dev/codeact/engine/store"
)

func Example() {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	s, err := store.Open(filepath.Join(home, "traces"))
	if err != nil {
		log.Fatal(err)
	}
	run, err := s.Create("triage-1")
	if err != nil {
		log.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	// The intent of an effect is durable before the effect happens.
	if _, err := run.Append("call.started", map[string]any{"tool": "post"}, now, true); err != nil {
		log.Fatal(err)
	}
	if _, err := run.Append("call.completed", map[string]any{"tool": "post", "ms": 12}, now, false); err != nil {
		log.Fatal(err)
	}
	if err := run.Close(); err != nil {
		log.Fatal(err)
	}

	for line, err := range store.ReadFile(run.Path()) {
		fmt.Println(line.Seq, line.Type, err)
	}
	text, err := os.ReadFile(run.Path())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(run.Path(), bytes.Replace(text, []byte("post"), []byte("read"), 1), 0o600); err != nil {
		log.Fatal(err)
	}
	_, err = store.Verify(run.Path())
	fmt.Println(err)
	// Output:
	// 1 call.started <nil>
	// 2 call.completed <nil>
	// broken at line 1, byte 0: its bytes do not have the hash that line 2 recorded
}
