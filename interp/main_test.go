package interp

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/codeact-dev/codeact/interp/interptest"
)

// workerPath is the plain worker program that the tests run.
var workerPath string

// workerEnv names that program to a test that is run again as another user.
const workerEnv = "CODEACT_TEST_WORKER"

func TestMain(m *testing.M) {
	cleanup := func() {}
	if workerPath = os.Getenv(workerEnv); workerPath == "" {
		workerPath, cleanup = interptest.Worker()
	}
	code := m.Run()
	cleanup()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// callerFunc serves calls by a function.
type callerFunc func(context.Context, Call) (any, error)

func (f callerFunc) Call(ctx context.Context, c Call) (any, error) { return f(ctx, c) }

var errBroken = errors.New("the tool broke")

var errPaused = errors.New("paused")

// testTools are the tools of most tests.
var testTools = []Signature{
	{Name: "echo", Params: []Param{{Name: "value", Required: true}}},
	{Name: "broken"},
	{Name: "pause"},
	{Name: "read", Params: []Param{{Name: "path", Type: "string", Required: true}, {Name: "start", Type: "integer"},
		{Name: "lines", Type: "integer"}}},
}

// testCaller serves testTools: echo returns its value, read its arguments, broken fails and pause unwinds.
var testCaller = callerFunc(func(_ context.Context, c Call) (any, error) {
	switch c.Tool {
	case "echo":
		return c.Args["value"], nil
	case "broken":
		return nil, errBroken
	case "pause":
		return nil, Unwind(errPaused)
	}
	return c.Args, nil
})

// forEachMode runs f with a worker process and, unless the block would end the process, with Unsafe.
func forEachMode(t *testing.T, f func(t *testing.T, cfg Config)) {
	t.Run("process", func(t *testing.T) { f(t, Config{Worker: []string{workerPath}}) })
	t.Run("unsafe", func(t *testing.T) { f(t, Config{Unsafe: true}) })
}

// open starts a session that ends with the test.
func open(t testing.TB, cfg Config) *Session {
	t.Helper()
	in, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	s, err := in.Session(t.Context(), testTools)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// exec runs a block with testCaller within a time that no test should need.
func exec(t testing.TB, s *Session, block string) (Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.Exec(ctx, block, testCaller)
}

// mustExec is exec for a block that must succeed.
func mustExec(t testing.TB, s *Session, block string) Result {
	t.Helper()
	r, err := exec(t, s, block)
	if err != nil {
		t.Fatalf("block %q: %v", block, err)
	}
	return r
}
