package interp

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// harmless are the attacks that may succeed: they find no name, freeze nothing here, and are cheap.
var harmless = []string{"e01_escape_names", "t08_tuple_freeze_exp", "t23_range_index"}

// ends are the errors with which an attack may end. A crash for no known reason is not among them.
var ends = []error{ErrSource, ErrSyntax, ErrRuntime, ErrSteps, ErrCPU, ErrMemory, ErrWall}

// attacks reads the corpus, one row of its manifest each.
func attacks(t testing.TB) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/attacks/MANIFEST.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, row := range rows[1:] {
		blocks[row[0]] = attackText(t, row[0])
	}
	return blocks
}

// attackText reads one attack, or generates it.
func attackText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/attacks", name+".star"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gen") {
		return generate(t, string(text))
	}
	return string(text)
}

// generate runs a program that computes the text of an attack too long to store.
func generate(t testing.TB, program string) string {
	t.Helper()
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}, &starlark.Thread{}, "generator", program, nil)
	if err != nil {
		t.Fatal(err)
	}
	source, ok := starlark.AsString(globals["source"])
	if !ok {
		t.Fatal("the generator sets no source")
	}
	return source
}

func TestEveryAttackEndsAndTheRunGoesOn(t *testing.T) {
	const limit, grace = time.Second, time.Second // grace is for a machine with other work
	blocks := attacks(t)
	if len(blocks) != 64 {
		t.Fatalf("%d attacks, want 64", len(blocks))
	}
	before := heapInUse()
	var survived sync.Map // names of attacks after which the worker lived on
	for _, guarded := range []bool{true, false} {
		in, err := New(Config{Worker: []string{workerPath}, Limits: Limits{Wall: limit, CPU: limit}, testOnlyUnguarded: !guarded})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("guarded %v", guarded), func(t *testing.T) {
			for name, block := range blocks {
				if _, lives := survived.Load(name); !guarded && !lives {
					continue // it has reached the box already
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if err := attack(t, in, name, block, limit+grace); errors.Is(err, ErrRuntime) {
						survived.Store(name, true)
					}
				})
			}
		})
		in.Close()
	}
	if after := heapInUse(); after > before+4<<20 {
		t.Errorf("the host's heap grew from %d to %d KiB", before>>10, after>>10)
	}
	runtime.KeepAlive(blocks)
}

// attack runs one block in a session of its own, sees that the next session is sound, and returns how the block ended.
func attack(t *testing.T, in *Interp, name, block string, deadline time.Duration) error {
	s, err := in.Session(t.Context(), testTools)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	start := time.Now()
	_, err = s.Exec(t.Context(), block, testCaller)
	if took := time.Since(start); took > deadline {
		t.Errorf("took %v", took)
	}
	t.Logf("ended with %.200v", err)
	var be *BlockError
	switch {
	case err == nil && slices.Contains(harmless, name):
	case !errors.As(err, &be) || !slices.Contains(ends, be.Err):
		t.Errorf("got %v, want one of %q", err, ends)
	case be.Msg == "":
		t.Error("the writer is told nothing")
	}
	next, nextErr := in.Session(t.Context(), testTools)
	if nextErr != nil {
		t.Fatal(nextErr)
	}
	defer next.Close()
	if r := mustExec(t, next, "echo(2) + 1"); r.Value != int64(3) {
		t.Errorf("the next session: got %v", r.Value)
	}
	return err
}

// heapInUse is the heap of this process after what is dead has been collected.
func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // finalizers of the first let go of more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
