package taskfile

import (
	"io"
	"time"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// A Fault is one thing that is wrong with a file. Every error of this package
// that is about a file is a multierror of them.
type Fault = strictyaml.Fault

// Options is what Load takes from outside the file.
type Options struct {
	Params map[string]string                // -p NAME=VALUE
	Env    func(name string) (string, bool) // for parameters with fromEnv only; nil knows no variable
	Stdin  io.Reader                        // read for the path "-"; nil is empty
	Cwd    string                           // what the path "-" is relative to; "" is the process's own
	Home   string                           // the user's home directory, for paths that begin with ~/
}

// A Task is a task file that was read, checked and expanded. Only Load makes
// one: the zero Task is no task. It is not changed after Load and Default, and
// is then safe for concurrent reading. Paths are absolute unless a field says
// otherwise.
type Task struct {
	Path   string // as given; "-" for standard input
	Dir    string // what relative paths in the file are relative to
	SHA256 string // hex, of the file's bytes
	Files  []Ref  // every file that the task names, in the order of their paths

	Metadata Metadata `yaml:"metadata"`
	// Params holds the value of every parameter that has one: string, int64,
	// float64 or bool. A file is its absolute path.
	Params map[string]any `yaml:"-"`
	// SensitiveParams holds the text of the sensitive ones, so that they can be
	// redacted.
	SensitiveParams map[string]string `yaml:"-"`

	Goal         string            `yaml:"goal"` // expanded; the text of goalFile if that was given
	GoalFile     string            `yaml:"goalFile"`
	Instructions []Instruction     `yaml:"-"`
	Model        Model             `yaml:"model"` // Provider is "" when neither task nor home names one
	Workspace    Workspace         `yaml:"workspace"`
	Tools        Tools             `yaml:"tools"`
	Servers      map[string]Server `yaml:"mcpServers"`
	Leases       []Lease           `yaml:"leases"`
	Security     Security          `yaml:"security"`
	Policies     []string          `yaml:"-"` // files, directories already listed
	PolicyParams map[string]any    `yaml:"policyParams"`
	Hooks        Hooks             `yaml:"hooks"`
	Approvals    Approvals         `yaml:"approvals"`
	Secrets      []Secret          `yaml:"secrets"`
	Redact       Redact            `yaml:"redact"`
	Limits       Limits            `yaml:"limits"`
	Reflection   Reflection        `yaml:"reflection"`
	Output       Output            `yaml:"output"`
	Trace        Trace             `yaml:"trace"`

	src  *strictyaml.Source
	root *strictyaml.Node
}

// Metadata names a task.
type Metadata struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Labels      map[string]string `yaml:"labels"`
}

// A Ref is a file that a task names.
type Ref struct {
	Path   string // relative to the task's directory, with slashes
	SHA256 string // hex
	Why    string // the path of the setting, as "$.hooks.PreToolUse[0].hooks[0].command"
}

// An Instruction is extra text for the system prompt. It is not expanded.
type Instruction struct {
	Path string // relative to the task's directory, as written
	Text string
}

// A Model says who writes the code.
type Model struct {
	Provider        string           `yaml:"provider"` // anthropic, openai-compatible, scripted or replay
	Name            string           `yaml:"name"`
	BaseURL         string           `yaml:"baseUrl"`
	Temperature     *float64         `yaml:"temperature"`     // nil leaves it to the provider
	MaxOutputTokens int              `yaml:"maxOutputTokens"` // 0 leaves it to the provider
	APIKeyEnv       string           `yaml:"apiKeyEnv"`       // "" is the provider's usual variable
	Trace           string           `yaml:"trace"`           // the recorded run, for replay
	Script          *Script          `yaml:"-"`               // for scripted
	Prices          *Prices          `yaml:"prices"`
	Roles           map[string]Model `yaml:"roles"`
}

// Prices are in USD per million tokens.
type Prices struct {
	Input       float64 `yaml:"input"`
	Output      float64 `yaml:"output"`
	CachedInput float64 `yaml:"cachedInput"`
}

// Reflection says whether a run may propose lessons.
type Reflection struct {
	Enabled     bool          `yaml:"enabled"`
	AutoApply   bool          `yaml:"autoApply"` // needs the home permit autoapply
	TTL         time.Duration `yaml:"ttl"`       // 30 days unless written
	MaxPerRun   int           `yaml:"maxPerRun"` // 3 unless written
	LessonsFrom []string      `yaml:"lessonsFrom"`
}

func (r *Reflection) defaults() { r.TTL, r.MaxPerRun = 30*24*time.Hour, 3 }

// Output is what the run must end with.
type Output struct {
	Schema  *strictyaml.Node `yaml:"schema"`  // a JSON Schema with its keys in order; nil accepts any value
	File    string           `yaml:"file"`    // relative to the workspace, as written
	Retries int              `yaml:"retries"` // 2 unless written
}

func (o *Output) defaults() { o.Retries = 2 }

// Trace says where the record of the run goes.
type Trace struct {
	Dir  string `yaml:"dir"` // "" is the home's
	OTLP OTLP   `yaml:"otlp"`
}

// OTLP is an exporter of spans; an empty Endpoint exports nothing.
type OTLP struct {
	Endpoint string `yaml:"endpoint"`
	Content  bool   `yaml:"content"` // also arguments and results
}
