package codeact_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/codeact-dev/codeact/"

// arrows lists, for every package, which packages of ours it may import. A package
// that is not here is not on the plan.
var arrows = map[string][]string{
	"":             {},
	"spelling":     {},
	"policy":       {"policy/match"},
	"policy/match": {},
	"policy/rules": {"spelling", "policy", "policy/rules/celenv", "policy/rules/example", "policy/rules/source"},
	"leases":       {"policy"},

	"policy/rules/celenv":  {"spelling", "policy", "policy/rules/source", "policy/rules/urls"},
	"policy/rules/example": {"policy", "policy/rules/source", "policy/rules/urls"},
	"policy/rules/format":  {"policy/rules", "policy/rules/source"},
	"policy/rules/source":  {"spelling"},
	"policy/rules/urls":    {"policy"},
	"policy/policytest":    {"policy", "policy/rules", "policy/rules/example", "policy/rules/source"},
	"policy/defaults":      {"policy/rules"},

	"interp":                     {"interp/wire", "interp/worker"},
	"interp/wire":                {},
	"interp/kernel":              {},
	"interp/kernel/kerneltest":   {"interp/kernel"},
	"interp/worker":              {"spelling", "interp/kernel", "interp/wire"},
	"interp/flow":                {"spelling"},
	"interp/interptest":          {},
	"interp/internal/workermain": {"interp"},

	"bridge":            {"policy", "policy/rules", "leases", "interp", "interp/flow", "bridge/plain", "bridge/scan", "bridge/scan/redact", "bridge/htmltext", "bridge/hooks", "bridge/workspace", "bridge/egress", "bridge/sandbox", "bridge/shellrisk"},
	"bridge/plain":      {},
	"bridge/scan":       {"bridge/scan/rewrite", "bridge/scan/words"},
	"bridge/htmltext":   {},
	"bridge/hooks":      {},
	"bridge/workspace":  {},
	"bridge/egress":     {},
	"bridge/shellrisk":  {},
	"bridge/tools":      {"bridge", "bridge/egress", "bridge/plain", "bridge/sandbox", "bridge/shellrisk", "leases", "policy"},
	"bridge/mcp":        {"bridge", "bridge/mcp/schema", "bridge/scan", "policy"},
	"bridge/mcp/schema": {"bridge/scan"},

	"bridge/sandbox":          {"bridge/sandbox/boxproxy", "bridge/sandbox/restrict"},
	"bridge/sandbox/boxproxy": {},
	"bridge/sandbox/restrict": {"interp/kernel"},

	"bridge/egress/egresstest":       {},
	"bridge/scan/scantest":           {},
	"bridge/scan/redact":             {"bridge/scan", "bridge/scan/rewrite", "bridge/scan/words"},
	"bridge/scan/rewrite":            {},
	"bridge/scan/words":              {},
	"bridge/workspace/workspacetest": {},
	"bridge/bridgetest":              {"bridge", "bridge/scan", "leases", "policy"},

	"engine":        {"policy", "policy/rules", "leases", "interp", "bridge", "bridge/plain", "bridge/scan", "bridge/workspace", "engine/models", "engine/store"},
	"engine/models": {},
	"engine/store":  {"spelling"},
	"engine/outbox": {"bridge", "bridge/plain", "engine/store"},
	"engine/taskfile": {
		"spelling", "policy", "engine/taskfile/strictyaml",
	},
	"engine/taskfile/strictyaml": {"spelling"},
	"engine/assembly": {
		"spelling", "bridge/scan/redact", "policy", "leases", "policy/rules", "interp", "bridge", "bridge/egress", "bridge/hooks", "bridge/mcp", "bridge/sandbox", "bridge/scan", "bridge/tools",
		"bridge/workspace", "policy/defaults", "engine", "engine/models", "engine/outbox", "engine/store", "engine/taskfile", "engine/taskfile/strictyaml",
	},

	"cmd/codeact": {
		"bridge/scan/redact", "bridge/shellrisk", "policy", "policy/policytest", "policy/rules", "policy/rules/format", "policy/rules/source", "interp", "bridge", "bridge/mcp", "bridge/plain",
		"bridge/sandbox", "bridge/scan", "bridge/tools", "engine", "engine/assembly", "engine/outbox", "engine/store", "engine/taskfile",
	},
}

// exits lists every way to the world, and why the package has it. Whoever is not
// here computes and nothing else.
var exits = map[string]map[string]string{
	"policy/rules/urls": {"net/netip": "reads addresses in rules; it dials nothing"},
	"interp":            {"os": "the path of this program, for its workers", "net": "a pipe in memory, for Unsafe"},
	"interp/worker": {
		"os": "the worker's socket and exit", "os/exec": "starts workers", "syscall": "their attributes",
		"golang.org/x/sys/unix": "confines them", "unsafe": "one sigaction that Go has no call for",
	},
	"interp/internal/workermain": {"os": "its exit"},
	"interp/interptest":          {"os": "a directory for the built worker", "os/exec": "builds it"},
	"bridge/workspace":           {"os": "the files of a run", "syscall": "names of errors", "golang.org/x/sys/unix": "openat2"},
	"bridge/egress":              {"net": "dials checked addresses", "net/http": "the one client of tools", "net/netip": "judges addresses", "syscall": "looks at the address once more at connect"},
	"bridge/mcp": {
		"os": "pins, and the pipes of servers", "os/exec": "starts servers", "syscall": "ends their process groups",
		"net/netip": "tells loopback from the rest", "net/http": "servers that are reached by URL, through the client of egress",
	},
	"bridge/sandbox": {
		"os": "the box's files and sockets", "os/exec": "starts bwrap, and this program in a box", "golang.org/x/sys/unix": "confines it", "unsafe": "calls that Go has no function for",
		"net": "the type of the checked dialler, and the canary's listener", "net/http": "the canary asks the proxy",
	},
	"bridge/sandbox/boxproxy":        {"net": "serves the box's one socket", "net/http": "reads requests of the box", "os": "removes that socket"},
	"bridge/sandbox/restrict":        {"golang.org/x/sys/unix": "names of calls and errors"},
	"interp/kernel":                  {"golang.org/x/sys/unix": "landlock and seccomp", "unsafe": "their calls, which Go has no function for", "syscall": "calls before the runtime knows of them"},
	"bridge/egress/egresstest":       {"net/netip": "addresses of a table; it dials nothing"},
	"bridge/workspace/workspacetest": {"os": "puts hostile files into a test's directory", "net": "one of them a socket", "golang.org/x/sys/unix": "others pipes and devices"},
	"bridge/hooks":                   {"os": "looks whether a hook can run", "os/exec": "runs hooks", "syscall": "ends their process groups"},
	"engine/models":                  {"net": "tells loopback from the rest", "net/http": "asks models"},
	"engine/store":                   {"os": "traces and keys", "golang.org/x/sys/unix": "locks them", "golang.org/x/sys/windows": "locks them"},
	"engine/taskfile":                {"os": "task files and what they name"},
	"engine/outbox":                  {"os": "drafts"},
	"engine/assembly":                {"os": "policies, secrets and the list of trusted tasks", "syscall": "who owns the home", "net": "the type of the checked dialler"},
	"cmd/codeact": {
		"os": "the program's own surroundings", "os/signal": "interrupts", "os/user": "who runs it", "syscall": "names of signals",
		"golang.org/x/sys/unix": "drops keys typed before a question",
	},
}

// worldly are the imports by which Go code reaches the world, or gets around its
// types.
var worldly = []string{"os", "os/exec", "os/signal", "os/user", "net", "net/http", "net/netip", "syscall", "plugin", "unsafe",
	"golang.org/x/sys/unix", "golang.org/x/sys/windows", "database/sql"}

// owners are the packages that alone may import a library, so that its types stay
// out of our interfaces.
var owners = map[string][]string{
	"cel.dev/cel-go":                         {"policy/rules", "policy/rules/celenv"},
	"mvdan.cc/sh":                            {"bridge/shellrisk"},
	"github.com/modelcontextprotocol/go-sdk": {"bridge/mcp"},
	"go.starlark.net":                        {"interp", "interp/worker", "interp/wire", "interp/flow", "engine/taskfile", "cmd/codeact"},
	"github.com/anthropics/anthropic-sdk-go": {"engine/models"},
	"github.com/sashabaranov/go-openai":      {"engine/models"},
	"github.com/goccy/go-yaml":               {"policy/match", "policy/rules/source", "policy/rules/format", "engine/taskfile/strictyaml"},
	"github.com/spf13/cobra":                 {"cmd/codeact"},
}

// source is one file that is not a test.
type source struct {
	path, pkg string
	file      *ast.File
}

// sources reads the code itself rather than asking the go command: the test cache
// notices the files that a test opened, not what a command has read.
func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		list = append(list, source{path, pkg, f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func imports(f *ast.File) []string {
	var list []string
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil {
			list = append(list, path)
		}
	}
	return list
}

func TestArrows(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		allowed, known := arrows[s.pkg]
		if !known {
			t.Errorf("%s: package %s is not on the plan", s.path, s.pkg)
		}
		seen[s.pkg] = true
		for _, path := range imports(s.file) {
			if to, ours := strings.CutPrefix(path, module); ours && !slices.Contains(allowed, to) {
				t.Errorf("%s: %s must not import %s", s.path, s.pkg, to)
			}
		}
	}
	for pkg := range arrows {
		if !seen[pkg] && pkg != "interp/flow" {
			t.Errorf("the plan has a package %s that is not there", pkg)
		}
	}
}

func TestExitsToTheWorld(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, path := range imports(s.file) {
			if !slices.Contains(worldly, path) {
				continue
			}
			used[s.pkg+" "+path] = true
			if exits[s.pkg][path] == "" {
				t.Errorf("%s: %s must not import %s: what it needs comes from a Permit or from cmd", s.path, s.pkg, path)
			}
		}
	}
	for pkg, paths := range exits {
		for path := range paths {
			if !used[pkg+" "+path] {
				t.Errorf("%s no longer imports %s: take it off the list", pkg, path)
			}
		}
	}
}

func TestLibrariesStayWithTheirOwners(t *testing.T) {
	for _, s := range sources(t) {
		for _, path := range imports(s.file) {
			for library, pkgs := range owners {
				if strings.HasPrefix(path, library) && !slices.Contains(pkgs, s.pkg) {
					t.Errorf("%s: %s must not import %s: only %v may", s.path, s.pkg, path, pkgs)
				}
			}
		}
	}
}

// A tool runs on one line, and on no other.
func TestToolRunIsCalledOnOneLine(t *testing.T) {
	var found []string
	for _, s := range sources(t) {
		if !slices.Contains(imports(s.file), module+"bridge") && s.pkg != "bridge" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Run" {
				return true
			}
			if on, ok := sel.X.(*ast.SelectorExpr); ok && on.Sel.Name == "tool" || isTool(sel.X) {
				found = append(found, s.path)
			}
			return true
		})
	}
	if !slices.Equal(found, []string{filepath.Join("bridge", "door.go")}) {
		t.Errorf("Tool.Run is called in %v, want once, in bridge/door.go", found)
	}
}

// isTool reports whether an expression is named as tools are: t, tool, b.
func isTool(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && slices.Contains([]string{"tool", "t"}, id.Name)
}

// boundary is what a reviewer must read to trust a call: lines of policy, leases and
// bridge's root, with their comments. RATIONALE says why they are more than was
// planned; they must not become more unseen.
var boundary = map[string]int{"policy": 1600, "leases": 400, "bridge": 4300}

func TestHouseSizes(t *testing.T) {
	lines := map[string]int{}
	for _, s := range sources(t) {
		data, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(data), "\n")
		if lines[s.pkg] += n; n > 600 {
			t.Errorf("%s has %d lines: split it", s.path, n)
		}
	}
	for pkg, most := range boundary {
		if lines[pkg] > most {
			t.Errorf("%s has %d lines, over %d: what must be read to trust a call has grown", pkg, lines[pkg], most)
		}
	}
}
