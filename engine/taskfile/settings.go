package taskfile

import (
	"time"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/policy"
)

// A Workspace is what the file tools and the sandbox see.
type Workspace struct {
	Dir       string     `yaml:"dir"`       // "" is the home's own for this task
	Writable  []string   `yaml:"writable"`  // globs relative to Dir; none: nothing is writable
	ReadDeny  []string   `yaml:"readDeny"`  // globs relative to Dir
	Untrusted []string   `yaml:"untrusted"` // globs relative to Dir whose files count as a third party's
	Read      []ReadRoot `yaml:"read"`
	Sandbox   Sandbox    `yaml:"sandbox"`
}

// untrustedGlobs are the places of a checkout that others fill.
var untrustedGlobs = []string{"vendor/**", "third_party/**", "**/node_modules/**", "**/*.eml", "downloads/**"}

func (w *Workspace) defaults() { w.Untrusted = untrustedGlobs }

// A ReadRoot is an extra read-only directory, seen as @As/.
type ReadRoot struct {
	Path string `yaml:"path"`
	As   string `yaml:"as"`
}

// A Sandbox is what shell commands run in. The zero value fails to start rather
// than run without one, and has no network.
type Sandbox struct {
	Optional bool     `yaml:"-"`       // required: false
	Network  string   `yaml:"network"` // none, allowlist or host
	Kind     string   `yaml:"kind"`    // auto, bwrap, landlock or none
	Allow    []string `yaml:"allow"`   // hosts, for allowlist
}

func (s *Sandbox) defaults() { s.Network, s.Kind = "none", "auto" }

// Tools are the tools without a server.
type Tools struct {
	Builtin   []string            `yaml:"builtin"` // none: no built-in tool is granted
	Overrides map[string]Override `yaml:"overrides"`
	Staged    []string            `yaml:"staged"`   // calls of these become drafts
	CallRate  Rate                `yaml:"callRate"` // of all calls of the run together
	Mock      *MockTools          `yaml:"-"`
	WebSearch struct {
		BaseURL string `yaml:"baseUrl"`
	} `yaml:"webSearch"`
}

// An Override adds to what a tool declares; it takes nothing away.
type Override struct {
	AddCapabilities []policy.Flag `yaml:"addCapabilities"`
	Tier            *policy.Tier  `yaml:"tier"` // nil leaves it; else the stricter of both holds
	SensitiveParams []string      `yaml:"sensitiveParams"`
	RateLimit       Rate          `yaml:"rateLimit"`     // of the run
	UserRateLimit   Rate          `yaml:"userRateLimit"` // of whoever runs it, over all runs of the home
	Destinations    []string      `yaml:"destinations"`
	Paths           []string      `yaml:"paths"`
	URLs            []string      `yaml:"urls"`
	Labels          []string      `yaml:"labels"`
	Directory       bool          `yaml:"directory"`
	Idempotent      bool          `yaml:"idempotent"`
	Record          *Record       `yaml:"record"`
}

// A Record says which fields of a result name and describe one record.
type Record struct {
	ID       string   `yaml:"id"`
	Title    string   `yaml:"title"`
	Metadata []string `yaml:"metadata"`
}

// A Rate bounds calls in a span of time. The zero Rate is no bound.
type Rate struct {
	Calls int
	Per   time.Duration // a second, a minute or an hour
}

// A Server is an MCP server: Command for one on standard input and output, else
// URL.
type Server struct {
	Command          string              `yaml:"command"`
	Args             []string            `yaml:"args"`
	Env              map[string]Template `yaml:"env"`
	Cwd              string              `yaml:"cwd"` // the task's directory unless written
	URL              string              `yaml:"url"`
	Type             string              `yaml:"type"` // stdio, http or streamable-http; says nothing that Command and URL do not
	Disabled         bool                `yaml:"disabled"`
	Headers          map[string]Template `yaml:"headers"`
	IncludeTools     []string            `yaml:"includeTools"` // none: all
	ExcludeTools     []string            `yaml:"excludeTools"`
	AddCapabilities  []policy.Flag       `yaml:"addCapabilities"`
	Tier             policy.Tier         `yaml:"tier"`             // AlwaysAsk unless written
	TrustAnnotations bool                `yaml:"trustAnnotations"` // believe what the server says of its tools
	Pin              string              `yaml:"pin"`              // required unless written, or record
	Timeout          time.Duration       `yaml:"timeout"`          // 0 is the client's default
	File             string              `yaml:"-"`                // of Command, when it names a file by path
}

func (s *Server) defaults() { s.Pin = "required" }

// confides reports whether the server is sent what only the operator has.
func (s *Server) confides() bool {
	for _, h := range s.Headers {
		if h.private() {
			return true
		}
	}
	return false
}

// A Lease is leave that the task gives in advance.
type Lease struct {
	Tool string        `yaml:"tool"` // a name or a glob
	Tier policy.Tier   `yaml:"tier"` // the strictest tier of tool it serves; AskOnce unless written
	Uses int           `yaml:"uses"` // 0 is the default of package leases
	TTL  time.Duration `yaml:"ttl"`  // 0 is the default of package leases
	When string        `yaml:"when"` // CEL; "" always
}

func (l *Lease) defaults() { l.Tier = policy.AskOnce }

// Security is the rules of the task. The zero value is the strictest, but for
// BlockSendsAfterPrivate, which a task must ask for.
type Security struct {
	Trifecta               string   `yaml:"trifecta"` // block, ask or allow
	BlockSendsAfterPrivate bool     `yaml:"blockSendsAfterPrivate"`
	PrivateIPs             bool     `yaml:"-"` // blockPrivateIPs: false
	Unmarked               bool     `yaml:"-"` // markUntrusted: false
	ScanOutputs            Scans    `yaml:"scanOutputs"`
	Named                  string   `yaml:"named"`      // ask, deny or off
	Provenance             string   `yaml:"provenance"` // precise or floor
	Interlock              string   `yaml:"interlock"`  // floor or precise
	Destinations           []string `yaml:"destinations"`
	Identity               []string `yaml:"identity"`
	AllowedDomains         []string `yaml:"allowedDomains"`
}

func (s *Security) defaults() {
	s.Trifecta, s.Named, s.Provenance, s.Interlock = "block", "ask", "precise", "floor"
}

// Scans says what to do with a finding in a tool's output.
type Scans struct {
	Injection string `yaml:"injection"` // off, warn or block
	Secrets   string `yaml:"secrets"`   // off, redact or block
}

func (s *Scans) defaults() { s.Injection, s.Secrets = "warn", "redact" }

// Rules returns the part that the pure gates read. What is not known to be
// looser is the strictest.
func (s Security) Rules() policy.Security {
	trifecta := map[string]policy.Verdict{"ask": policy.Ask, "allow": policy.Allow}
	named := map[string]policy.NamedMode{"ask": policy.NamedAsk, "off": policy.NamedOff}
	return policy.Security{
		Trifecta:          trifecta[s.Trifecta],
		SendsAfterPrivate: !s.BlockSendsAfterPrivate,
		Precise:           s.Interlock == "precise",
		Floor:             s.Provenance != "precise",
		Named:             named[s.Named],
	}
}

// Hooks are by event, in the order of the file.
type Hooks map[string][]HookGroup

// A HookGroup is the hooks of the tools that Matcher matches.
type HookGroup struct {
	Matcher string    `yaml:"matcher"` // anchored regular expression; "" and "*" match every tool
	Hooks   []Command `yaml:"hooks"`
}

// A Command is a program that a task brings.
type Command struct {
	Command   string        `yaml:"command"` // without Args a line for the shell
	Args      []string      `yaml:"args"`
	Timeout   time.Duration `yaml:"timeout,seconds"` // 10 s unless written
	OnFailure string        `yaml:"onFailure"`       // block unless written, or warn
	Name      string        `yaml:"name"`
	Receives  string        `yaml:"receives"` // "secrets": sensitive arguments are not redacted for it
	File      string        `yaml:"-"`        // of the program, when it is named by path: what was hashed
}

func (c *Command) defaults() { c.Timeout, c.OnFailure = 10*time.Second, "block" }

// Approvals says who answers.
type Approvals struct {
	Mode    string        `yaml:"mode"`    // interactive, unattended or deny; "": interactive with a terminal, else unattended
	OnAsk   string        `yaml:"onAsk"`   // pause or deny
	Timeout time.Duration `yaml:"timeout"` // 24 h unless written; then a question is a denial
	Notify  []Command     `yaml:"notify"`
}

func (a *Approvals) defaults() { a.OnAsk, a.Timeout = "pause", 24*time.Hour }

// A Secret is the name of a secret and where its value comes from: the variable
// of its name unless Env, File or Command says otherwise.
type Secret struct {
	Name    string   `yaml:"name"`
	Env     string   `yaml:"env"`
	File    string   `yaml:"file"`
	Command []string `yaml:"command"`
}

// Redact is what never stands in a trace.
type Redact struct {
	Params   []string `yaml:"params"`
	Patterns []string `yaml:"patterns"`
}

// short reads a bare name.
func (s *Secret) short(n *strictyaml.Node) {
	if n.Kind == strictyaml.String {
		s.Name = n.Text
	}
}
