package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
)

// The defaults of a Config.
const (
	DefaultMaxCalls    = 50             // per step: the seed's cap
	DefaultMaxOutput   = 256 << 10      // bytes of one result
	DefaultApprovalTTL = 24 * time.Hour // then a question expires to a denial

	// maxRaw bounds what a tool may return before anything looks at it, in bytes
	// of text. It keeps the scanners' time bounded; what is over it is cut.
	maxRaw = 8 << 20
)

// A Config says what an adapter may do and how it judges. The zero value of a
// field is the strictest or a stated default.
type Config struct {
	Tools    []Tool
	Policy   *rules.Policy   // nil is no rules
	Security policy.Security // Attended is taken from the Run
	Hooks    []Hook          // in the order in which their reasons are joined
	Approver Approver        // nil answers every question with no

	HTTP    *egress.Client                    // nil: tools have no network
	Box     *sandbox.Box                      // nil: tools run no commands. Who opened it closes it
	Secrets func(name string) (string, error) // nil: there are none

	Redactor     *redact.Redactor // nil redacts the known shapes of secrets
	KeepSecrets  bool             // scanOutputs.secrets: off
	BlockSecrets bool             // scanOutputs.secrets: block, a result with a secret is hidden
	Injection    InjectionMode
	Unmarked     bool // markUntrusted: false, third-party content is not wrapped

	Rate        Rate          // of all calls of a run together; the zero Rate is no bound
	MaxCalls    int           // per step; 0 means 50
	MaxOutput   int           // bytes of one result; 0 means 256 KiB
	ApprovalTTL time.Duration // 0 means 24 h

	// TaskTrusted says that the operator trusts the task file by its digest.
	// Until then its leases do not cover sends, nor destruction outside the
	// writable paths; TaskDigest is what the question tells him to trust.
	TaskTrusted bool
	TaskDigest  string

	Now func() time.Time // nil means time.Now
}

// An InjectionMode says what the injection scan does with a suspicious result.
type InjectionMode uint8

// The modes of the injection scan.
const (
	InjectionWarn  InjectionMode = iota // a warning beside the observation
	InjectionBlock                      // the value is hidden from script and model
	InjectionOff
)

// An EffectBridgeAdapter carries a script's calls to the world. It has no state
// of its own that outlives a call, so one may serve many runs at once; it is
// safe for concurrent use.
type EffectBridgeAdapter struct {
	cfg   Config
	tools map[string]*Tool
	pins  map[string]string // by tool: SHA-256 over its name, description and schema

	whens sync.Map // lease condition to *rules.Expr, or to the error of compiling it

	// testOnlyWithout names the one gate or step to leave out, so that a test can
	// see that its scenario fails then. Only test files of this package set it.
	testOnlyWithout string
}

// New checks cfg and returns an adapter. Its error names everything that is
// wrong, not only the first.
func New(cfg Config) (*EffectBridgeAdapter, error) {
	var errs *multierror.Error
	cfg.MaxCalls = orDefault(cfg.MaxCalls, DefaultMaxCalls, "MaxCalls", &errs)
	cfg.MaxOutput = orDefault(cfg.MaxOutput, DefaultMaxOutput, "MaxOutput", &errs)
	cfg.ApprovalTTL = orDefault(cfg.ApprovalTTL, DefaultApprovalTTL, "ApprovalTTL", &errs)
	if !cfg.Rate.valid() {
		errs = multierror.Append(errs, errors.New("bridge: Rate needs a count and a duration"))
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Redactor == nil {
		r, err := redact.New(redact.Config{})
		errs = appendErr(errs, err)
		cfg.Redactor = r
	}
	b := &EffectBridgeAdapter{cfg: cfg, tools: make(map[string]*Tool, len(cfg.Tools)), pins: make(map[string]string, len(cfg.Tools))}
	for i := range cfg.Tools {
		t := &cfg.Tools[i]
		errs = appendErr(errs, t.check())
		if b.tools[t.Name] != nil {
			errs = multierror.Append(errs, fmt.Errorf("bridge: tool %q: there are two of this name", t.Name))
		}
		b.tools[t.Name] = t
		b.pins[t.Name] = pin(t)
	}
	if err := errs.ErrorOrNil(); err != nil {
		return nil, err
	}
	return b, nil
}

func orDefault[T int | time.Duration](v, def T, name string, errs **multierror.Error) T {
	if v < 0 {
		*errs = multierror.Append(*errs, fmt.Errorf("bridge: %s is negative", name))
	}
	if v == 0 {
		return def
	}
	return v
}

func appendErr(errs *multierror.Error, err error) *multierror.Error {
	if err == nil {
		return errs
	}
	return multierror.Append(errs, err)
}

func pin(t *Tool) string {
	sum := sha256.Sum256([]byte(t.Name + "\x00" + t.Server + "\x00" + t.Doc + "\x00" + t.Params.JSON()))
	return hex.EncodeToString(sum[:])
}

// Signatures returns the tools as a script's interpreter knows them, in the
// order of the Config.
func (b *EffectBridgeAdapter) Signatures() []interp.Signature {
	sigs := make([]interp.Signature, len(b.cfg.Tools))
	for i := range b.cfg.Tools {
		sigs[i] = b.cfg.Tools[i].Signature()
	}
	return sigs
}

// Tools returns the tools as a policy sees them, for checks before a run.
func (b *EffectBridgeAdapter) Tools() []policy.ToolView {
	views := make([]policy.ToolView, len(b.cfg.Tools))
	for i := range b.cfg.Tools {
		views[i] = b.cfg.Tools[i].view(b.cfg.Tools[i].Tier)
	}
	return views
}

// A Run is one conversation, as its owner hands it to the bridge.
type Run struct {
	ID       string
	Attended bool // someone is there to answer
	Session  policy.SessionView
	Labels   map[string]string // metadata.labels of the task
	Space    *workspace.Space  // nil: tools have no files
	Journal  Journal
	State    *State
	Outbox   Outbox // nil: a staged call fails
	Marker   scan.Marker
	Key      []byte // of this run's keyed hashes; 32 random bytes that never enter the trace
}

// Open returns the door for step n of the run, narrowed to what f found in its
// block; the zero Preflight narrows nothing and proves nothing. The steps of one run are opened
// one after the other.
func (b *EffectBridgeAdapter) Open(r Run, n int, f Preflight) (*Door, error) {
	switch {
	case r.ID == "" || r.Journal == nil || r.State == nil || r.State.Leases == nil || r.State.Authority == nil:
		return nil, errors.New("bridge: a run needs an id, a journal and a state with leases and an authority")
	case len(r.Key) < 16:
		return nil, errors.New("bridge: a run needs a key of 16 bytes or more")
	}
	return &Door{b: b, run: r, step: n, flight: f}, nil
}

// CheckBlock refuses a block that holds a secret: it would stand in the trace,
// which is never altered. The error names the secret, not its value.
func (b *EffectBridgeAdapter) CheckBlock(code string) error {
	if name, ok := b.cfg.Redactor.HasKnown(code); ok {
		return fmt.Errorf("the block was not run: it holds the value of the secret %s; refer to secrets by name only", name)
	}
	if rule, ok := b.cfg.Redactor.HighConfidence(code); ok {
		return fmt.Errorf("the block was not run: it holds a literal that looks like a secret (%s); never write secrets into code", rule)
	}
	return nil
}

// A Hook looks at a call before it runs and at its result afterwards.
//
// What it decides is folded with the gates' decisions by Narrow, so it cannot
// widen. An error of its own must come back as a denial that says so.
type Hook interface {
	Before(ctx context.Context, c HookCall) HookResult
	After(ctx context.Context, c HookCall, r HookOutput) HookResult
}

// A HookCall is a call as a hook sees it.
type HookCall struct {
	Run     string
	Step    int
	Request policy.Request    // its Args are redacted
	Secret  map[string]any    // the arguments as they are; only for a hook that the operator lets see secrets
	Gates   []policy.Decision // what the other gates said
	ArgHash string
}

// A HookOutput is the cleaned result of a call.
type HookOutput struct {
	Value    any
	Failed   string
	External bool
	Took     time.Duration
}

// A HookResult is what a hook says. The zero value denies.
type HookResult struct {
	Decision policy.Decision
	Args     map[string]any // Before only: changed arguments; nil changes nothing. They pass every gate again
	Value    any            // After only: what to show instead, when Replace is set
	Replace  bool
	Stop     bool     // end the run
	Notes    []string // for the trace
}

// Clean takes secrets out of plain data and makes it visible, as results are.
func (b *EffectBridgeAdapter) Clean(v any) any {
	if !b.cfg.KeepSecrets {
		v, _ = b.cfg.Redactor.Value(v)
	}
	return scan.VisibleValue(v)
}

// CleanText takes secrets out of a text. It stays as it is otherwise.
func (b *EffectBridgeAdapter) CleanText(s string) string {
	s, _ = b.cfg.Redactor.String(s)
	return s
}

// MaxCalls is how many calls a step may make.
func (b *EffectBridgeAdapter) MaxCalls() int { return b.cfg.MaxCalls }

// Security is what the pure gates were configured with.
func (b *EffectBridgeAdapter) Security() policy.Security { return b.cfg.Security }

// PolicyDigest names the rules by their SHA-256.
func (b *EffectBridgeAdapter) PolicyDigest() string { return b.cfg.Policy.Digest() }

// Pin is the SHA-256 over a tool's name, description and schema, "" for an unknown
// tool.
func (b *EffectBridgeAdapter) Pin(tool string) string { return b.pins[tool] }

// RecordSpecs says, by tool, how results name things.
func (b *EffectBridgeAdapter) RecordSpecs() map[string]policy.RecordSpec {
	specs := make(map[string]policy.RecordSpec, len(b.tools))
	for name, t := range b.tools {
		specs[name] = t.Record
	}
	return specs
}
